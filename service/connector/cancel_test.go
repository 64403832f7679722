package connector

import (
	"bytes"
	"context"
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
