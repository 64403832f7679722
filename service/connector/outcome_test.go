package connector

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"comporta/service/gateway"
)

// clock is a context whose time ends when up is closed, and not before.
type clock struct {
	context.Context
	up chan struct{}
}

func (c *clock) Done() <-chan struct{} { return c.up }

func (c *clock) Err() error {
	select {
	case <-c.up:
		return context.DeadlineExceeded
	default:
		return c.Context.Err()
	}
}

// overtake lets the time of a request end when it is under way. It returns what the caller hears.
func overtake(t *testing.T, what string, request func(context.Context) error, underWay func() bool) *gateway.Error {
	t.Helper()
	ctx := &clock{t.Context(), make(chan struct{})}
	result := make(chan error, 1)
	go func() { result <- request(ctx) }()
	until(t, what, 30*time.Second, underWay)
	close(ctx.up)
	err := <-result
	if err == nil {
		t.Fatalf("%s: it ended well", what)
	}
	return gateway.AsError(err)
}

// late overtakes a statement that writes.
func (r *rig) late(t *testing.T, text string, underWay func() bool) *gateway.Error {
	t.Helper()
	return overtake(t, text, func(ctx context.Context) error {
		_, _, err := r.run(ctx, false, text)
		return err
	}, underWay)
}

// hears checks what the caller of a write heard.
func hears(t *testing.T, what string, e *gateway.Error, want gateway.Code) {
	t.Helper()
	if e.Code != want || e.Elsewhere || strings.Contains(e.Message, "once or not at all") != (want == gateway.CodeOutcomeUnknown) {
		t.Errorf("%s: the caller hears %+v, want %s", what, e, want)
	}
}

// shop is a web server that takes orders and does not come to the end of its answer.
type shop struct{ orders, questions atomic.Int64 }

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.ReadAll(r.Body)
	if r.URL.Path == "/begun" {
		_, _ = w.Write([]byte("the order"))
		_ = http.NewResponseController(w).Flush()
	}
	if r.Method == http.MethodPost {
		s.orders.Add(1)
	} else {
		s.questions.Add(1)
	}
	<-r.Context().Done()
}

// lateCall overtakes a web request when the server has counted it.
func (r *rig) lateCall(t *testing.T, method, path string, counted *atomic.Int64) *gateway.Error {
	t.Helper()
	before := counted.Load()
	return overtake(t, method+" "+path, func(ctx context.Context) error {
		_, err := r.call(ctx, method == http.MethodGet, gateway.HTTPCall{Method: method, Path: path})
		return err
	}, func() bool { return counted.Load() == before+1 })
}

func TestAWebWriteThatIsAnsweredTooLateMayHaveRun(t *testing.T) {
	t.Parallel()
	s := &shop{}
	plain := httptest.NewServer(s)
	defer plain.Close()
	second := httptest.NewUnstartedServer(s)
	second.EnableHTTP2 = true
	second.StartTLS()
	defer second.Close()
	for _, address := range []string{plain.URL, second.URL} {
		r := webRig(t, gateway.TypeWeb, address, nil)
		for _, path := range []string{"/", "/begun"} {
			hears(t, address+path, r.lateCall(t, "POST", path, &s.orders), gateway.CodeOutcomeUnknown)
			hears(t, "reading "+address+path, r.lateCall(t, "GET", path, &s.questions), gateway.CodeTimeout)
		}
	}
}

// A caller who goes away hears nothing, but the member's log says how it was.
func TestAWebWriteWhoseCallerGoesAwayMayHaveRun(t *testing.T) {
	t.Parallel()
	s := &shop{}
	here := httptest.NewServer(s)
	defer here.Close()
	r := webRig(t, gateway.TypeWeb, here.URL, nil)
	ctx, goAway := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := r.call(ctx, false, gateway.HTTPCall{Method: "POST", Path: "/", Body: "one"})
		result <- err
	}()
	until(t, "the order", 30*time.Second, func() bool { return s.orders.Load() == 1 })
	goAway()
	hears(t, "gone", gateway.AsError(<-result), gateway.CodeOutcomeUnknown)
}

// The server takes the connection and never says a word of TLS: the request has not left.
func TestAWebWriteThatNeverLeftRanOutOfItsTime(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	r := webRig(t, gateway.TypeWeb, "https://"+listener.Addr().String(), nil)
	r.task.TimeoutMillis = 300
	_, err = r.call(t.Context(), false, gateway.HTTPCall{Method: "POST", Path: "/", Body: "one"})
	hears(t, "never left", gateway.AsError(err), gateway.CodeTimeout)
}

func (r *rig) count(table string) string {
	r.t.Helper()
	return fmt.Sprint(r.read("select count(*) from " + table)[0][0])
}

// narrow passes connections on to PostgreSQL until shut is called, and no new ones from then on: no request to cancel comes through either.
func narrow(t *testing.T) (address string, shut func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", "127.0.0.1:5432")
			if err != nil {
				_ = near.Close()
				continue
			}
			go func() { _, _ = io.Copy(far, near); _ = far.Close() }()
			go func() { _, _ = io.Copy(near, far); _ = near.Close() }()
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String(), func() { _ = listener.Close() }
}

func TestAPostgresCommitUnderWayAtTheEndOfItsTimeMayStand(t *testing.T) {
	t.Parallel()
	r, admin := postgresRig(t)
	cfg := admin.Config().Copy()
	cfg.Database = r.creds["username"]
	gate, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close(context.Background())
	ask := func(text string) (holds bool) {
		if err := gate.QueryRow(t.Context(), text).Scan(&holds); err != nil {
			t.Error(text, err)
		}
		return holds
	}
	waits := func(like string) func() bool {
		return func() bool {
			return ask("select count(*) = 1 from pg_stat_activity where datname = current_database() and wait_event = 'advisory' and query like '" + like + "'")
		}
	}
	// Whoever commits an order waits at the gate.
	r.write("create table orders (n int)")
	r.write("create function wait() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(1); return null; end $$")
	r.write("create constraint trigger waiting after insert on orders deferrable initially deferred for each row execute function wait()")
	ask("select pg_try_advisory_lock(1)")

	hears(t, "a commit that is cancelled before it is one", r.late(t, "insert into orders values (1)", waits("commit")), gateway.CodeTimeout)
	hears(t, "a statement that is cancelled", r.late(t, "insert into orders select 2 from pg_advisory_xact_lock(1)", waits("insert%")), gateway.CodeTimeout)

	address, shut := narrow(t)
	far := *r
	far.task.DataSource.ConnectionDetails = strings.Replace(r.task.DataSource.ConnectionDetails, "127.0.0.1:5432", address, 1)
	committing := waits("commit")
	e := far.late(t, "insert into orders values (3)", func() bool {
		there := committing()
		if there {
			shut()
		}
		return there
	})
	hears(t, "a commit that nothing cancels, because no request to do so comes through", e, gateway.CodeOutcomeUnknown)
	ask("select pg_advisory_unlock(1)")
	until(t, "the commit", 30*time.Second, func() bool { return r.count("orders") == "1" })
	if got := fmt.Sprint(r.read("select n from orders")[0][0]); got != "3" {
		t.Errorf("order %s stands", got)
	}
}

func TestAStatementThatCommitsByItselfMayStandWhenItsTimeEnds(t *testing.T) {
	t.Parallel()
	r, admin := mariadbRig(t)
	sleeping := func() bool {
		var n int
		if err := admin.QueryRow("select count(*) from information_schema.processlist where user = ? and state = 'User sleep'", r.creds["username"]).Scan(&n); err != nil {
			t.Error(err)
		}
		return n == 1
	}
	r.write("create table stands (n int)")
	r.write("create table taken_back (n int)")
	r.write("create table without_transactions (n int) engine = MyISAM")
	r.write("create procedure orders() begin insert into stands values (1); commit; do sleep(600); end")
	for _, text := range []string{
		"call orders()",
		"create table made as select sleep(600) as n",
		"insert into without_transactions values (1), (sleep(600))",
		"insert into taken_back values (1), (sleep(600))", // nothing in the text tells it from the one before
	} {
		hears(t, text, r.late(t, text, sleeping), gateway.CodeOutcomeUnknown)
		until(t, "the end of "+text, 30*time.Second, func() bool { return !sleeping() })
	}
	if a, b, c := r.count("stands"), r.count("without_transactions"), r.count("taken_back"); a != "1" || b != "1" || c != "0" {
		t.Errorf("%s rows stand of what committed by itself, %s of what was written without a transaction, and %s of what was written with one", a, b, c)
	}
}

// A server that still prepares a statement, here behind a lock, has done nothing of it.
func TestAMariaDBWriteThatIsOnlyPreparedRanOutOfItsTime(t *testing.T) {
	t.Parallel()
	r, admin := mariadbRig(t)
	r.write("create table t (n int) engine = MyISAM")
	at := fmt.Sprint(r.read("select database()")[0][0])
	one := func(where string, values ...any) func() bool {
		return func() bool {
			var n int
			if err := admin.QueryRow("select count(*) from information_schema.processlist where "+where, values...).Scan(&n); err != nil {
				t.Error(err)
			}
			return n == 1
		}
	}
	// Who waits for the table alone lets nobody else come near it.
	holder, err := admin.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Rollback() }()
	if _, err := holder.Exec("insert into " + at + ".t select * from " + at + ".t"); err != nil {
		t.Fatal(err)
	}
	renamed := make(chan error, 1)
	go func() {
		_, err := admin.Exec("rename table " + at + ".t to " + at + ".u")
		renamed <- err
	}()
	until(t, "who waits for the table", 30*time.Second, one("state = 'Waiting for table metadata lock' and info like ?", "rename table "+at+".t %"))
	hears(t, "an insert", r.late(t, "insert into t values (1)", one("command = 'Prepare' and user = ?", r.creds["username"])), gateway.CodeTimeout)
	_ = holder.Rollback()
	if err, n := <-renamed, r.count("u"); err != nil || n != "0" {
		t.Errorf("what was told as cancelled stands: %s rows, %v", n, err)
	}
}

func TestASQLiteWriteThatRanOutOfItsTimeIsTakenBack(t *testing.T) {
	t.Parallel()
	r, _ := sqliteRig(t)
	r.write("create table taken_back (n int)")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, _, err := r.run(ctx, false, "insert into taken_back "+endless(gateway.TypeExtension))
	hears(t, "an insert", gateway.AsError(err), gateway.CodeTimeout)
	if n := r.count("taken_back"); n != "0" {
		t.Errorf("what was told as cancelled stands: %s rows", n)
	}
}

// A caller goes away before, during and after the COMMIT of his write.
func TestOnlyWhatMayBeCommittedIsOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before", "during", "after"} {
		ctx, goAway := context.WithCancel(t.Context())
		at := func(now string) error {
			if now == when {
				goAway()
			}
			return ctx.Err()
		}
		s := &fakeServer{statement: []fakeResult{{rows: 1, columns: []string{"n"}}}}
		s.running = func() { _ = at("before") }
		s.committing = func() error { return at("during") }
		err := s.runTo(ctx, &memory{gate: func() error { return at("after") }}, false, 0)
		want := gateway.CodeOutcomeUnknown
		if when == "before" {
			want = gateway.CodeBroken
		}
		hears(t, when, gateway.AsError(overtaken(ctx, false, err)), want)
		if early := when == "before"; s.committed == early || s.rolledBack != early {
			t.Errorf("%s: committed %v, rolled back %v", when, s.committed, s.rolledBack)
		}
		goAway()
	}
}

func TestWhichStatementsMayCommitByThemselves(t *testing.T) {
	t.Parallel()
	type guard = func(string, bool) (verdict, error)
	for _, c := range []struct {
		guard guard
		text  string
		want  bool
	}{
		{guardMySQL, "insert into t values (1)", true}, // t may be of an engine without transactions
		{guardMySQL, "/* a comment */ update t set n = n + 1", true},
		{guardMySQL, "select writes()", true},
		{guardMySQL, "create table t (n int)", true},
		{guardMySQL, "call p()", true},
		{guardMySQL, "begin not atomic insert into t values (1); commit; end", true},
		{guardMySQL, "execute immediate 'drop table t'", true},
		{guardMySQL, "/*!99999 select */ create table t (n int)", true},
		{guardSQLServer, "insert into t values (1); update t set n = 'commit'", false},
		{guardSQLServer, "insert into t values (1); commit", true},
		{guardSQLServer, "insert into t values (1); rollback; insert into t values (2)", true},
		{guardSQLServer, "insert into t exec p", true},
		{guardSQLServer, "p 1", true},
		{guardPostgres, "create table t (n int)", false},
		{guardPostgres, "call p()", false},
		{guardSQLite, "create table t (n int)", false},
	} {
		if v, err := c.guard(c.text, false); err != nil || v.commits != c.want {
			t.Errorf("%s: %v %v, want %v", c.text, v.commits, err, c.want)
		}
	}
}
