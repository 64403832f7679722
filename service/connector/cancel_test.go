package connector

import (
	"bytes"
	"context"
	"database/sql/driver"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"comporta/service/gateway"
)

// A connection on whose account a cancel request was sent is closed, because the request may come late and hit somebody else's statement.
// Others are used again.
func TestAConnectionThatWasCancelledIsNotUsedAgain(t *testing.T) {
	r, admin := postgresRig(t)
	alive := func(pid string) (n int) {
		if err := admin.QueryRow(t.Context(), "select count(*) from pg_stat_activity where pid::text = $1", pid).Scan(&n); err != nil {
			t.Error(err)
		}
		return n
	}
	pid := func() string { return fmt.Sprint(r.read("select pg_backend_pid()")[0][0]) }
	kept := pid()
	until(t, "the connection is used again", 30*time.Second, func() bool { return pid() == kept })

	task := r.task
	task.ReadOnly, task.Query = true, &gateway.Query{Text: "select pg_backend_pid() from generate_series(1, 10000000)", MaxRows: 1}
	out := &memory{}
	if _, err := r.c.Run(t.Context(), &task, r.creds, out); err != nil {
		t.Fatal(err)
	}
	cut := fmt.Sprint(decode(t, out.text()).Rows[0][0])
	until(t, "the cancelled connection is closed", 30*time.Second, func() bool { return alive(cut) == 0 })
}

// heldLine is a connection that keeps back what the server answers to "discard all", until let is closed.
type heldLine struct {
	net.Conn
	held atomic.Bool
	let  chan struct{}
}

func (l *heldLine) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("discard all")) {
		l.held.Store(true)
	}
	return l.Conn.Write(p)
}

func (l *heldLine) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if l.held.Load() {
		<-l.let
	}
	return n, err
}

// The cleaning of a connection takes longer than it may and is cancelled, and then ends well: the cancel request may still come.
func TestAConnectionWhoseCleaningWasCancelledIsNotUsedAgain(t *testing.T) {
	r, _ := postgresRig(t)
	cfg, _, err := postgresConfig(&r.task.DataSource, r.creds)
	if err != nil {
		t.Fatal(err)
	}
	let, dials := make(chan struct{}), 0
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials++; dials == 2 { // the cancel request's own
			close(let)
		}
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		return &heldLine{Conn: c, let: let}, err
	}
	cfg.ConnConfig.TLSConfig = nil
	conn, err := pgconn.ConnectConfig(t.Context(), &cfg.ConnConfig.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if forget(conn, 50*time.Millisecond) || dials != 2 {
		t.Errorf("after %d dials the connection is taken for clean", dials)
	}
}

// killable counts how often a connection is killed.
type killable struct {
	sqlServerDialect
	kills atomic.Int32
}

func (k *killable) kill(driver.Conn) { k.kills.Add(1) }

// lateEnd is a context that ends right after somebody saw that it had not.
type lateEnd struct {
	context.Context
	cancel context.CancelFunc
}

func (c lateEnd) Err() error {
	defer c.cancel()
	return c.Context.Err()
}

// preparing is a connection during whose preparing of a statement the request's time ends.
type preparing struct {
	*fakeConn
	cancel context.CancelFunc
}

func (p preparing) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	p.cancel()
	return p.fakeConn.PrepareContext(ctx, text)
}

// A kill that was begun may come late and hit the next request. So the connection is given up also when the request's time ended so late
// that all went well.
func TestAConnectionThatIsKilledIsNotUsedAgain(t *testing.T) {
	for what, q := range map[string]driverQuery{
		"a read": {text: "select 1", readOnly: true}, "a write": {text: "insert"}, "only prepared": {text: "insert", readOnly: true, judged: verdict{prepareOnly: true}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		server := &fakeServer{statement: []fakeResult{{rows: 1, columns: []string{"n"}}}}
		var conn driver.Conn = &fakeConn{server}
		if q.judged.prepareOnly {
			conn = preparing{&fakeConn{server}, cancel}
		}
		dialect := &killable{}
		q.dialect = dialect
		task := &gateway.Task{ReadOnly: q.readOnly, Query: &gateway.Query{Text: q.text}, Format: gateway.FormatJSON}
		a, err := newAnswer(task, &memory{})
		if err != nil {
			t.Fatal(err)
		}
		discard, _ := q.run(lateEnd{ctx, cancel}, conn, a)
		if kills := dialect.kills.Load(); !discard || kills == 0 {
			t.Errorf("%s: killed %d times, discarded: %v", what, kills, discard)
		}
	}
}
