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

	"comporta/service/gateway"
)

// late runs a statement that writes and whose time ends under it. It returns what the caller hears.
func (r *rig) late(text string) *gateway.Error {
	r.t.Helper()
	task := r.task
	task.TimeoutMillis, task.Query = 700, &gateway.Query{Text: text}
	out := &memory{}
	_, err := r.c.Run(r.t.Context(), &task, r.creds, out)
	if err == nil {
		r.t.Fatalf("%s: it ended well: %s", text, out.text())
	}
	return gateway.AsError(err)
}

// hears checks what the caller of a write heard.
func hears(t *testing.T, what string, e *gateway.Error, want gateway.Code) {
	t.Helper()
	if e.Code != want || e.Elsewhere || strings.Contains(e.Message, "once or not at all") != (want == gateway.CodeOutcomeUnknown) {
		t.Errorf("%s: the caller hears %+v, want %s", what, e, want)
	}
}

// shop is a web server that takes orders and does not come to the end of its answer.
type shop struct{ orders atomic.Int64 }

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.ReadAll(r.Body)
	if r.Method == http.MethodPost {
		s.orders.Add(1)
	}
	if r.URL.Path == "/begun" {
		_, _ = w.Write([]byte("the order"))
		_ = http.NewResponseController(w).Flush()
	}
	<-r.Context().Done()
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
		r.task.TimeoutMillis = 300
		for _, path := range []string{"/", "/begun"} {
			before := s.orders.Load()
			_, err := r.call(t.Context(), false, gateway.HTTPCall{Method: "POST", Path: path, Body: "one"})
			if n := s.orders.Load() - before; n != 1 {
				t.Fatalf("%s%s: it was ordered %d times", address, path, n)
			}
			hears(t, address+path, gateway.AsError(err), gateway.CodeOutcomeUnknown)
			_, err = r.call(t.Context(), true, gateway.HTTPCall{Method: "GET", Path: path})
			hears(t, "reading "+address+path, gateway.AsError(err), gateway.CodeTimeout)
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

// deferring gives a PostgreSQL table a trigger that runs body when a transaction commits.
func (r *rig) deferring(table, body string) {
	r.t.Helper()
	r.write("create table " + table + " (n int)")
	r.write("create function of_" + table + "() returns trigger language plpgsql as $$ begin " + body + " return null; end $$")
	r.write("create constraint trigger t after insert on " + table + " deferrable initially deferred for each row execute function of_" + table + "()")
}

func (r *rig) count(table string) string {
	r.t.Helper()
	return fmt.Sprint(r.read("select count(*) from " + table)[0][0])
}

func TestAPostgresCommitUnderWayAtTheEndOfItsTimeMayStand(t *testing.T) {
	t.Parallel()
	r, admin := postgresRig(t)
	// The trigger heeds no cancellation for a while, and the connection is given up before the server goes on to commit.
	r.deferring("stands", `for i in 1..50 loop begin perform pg_sleep(0.1); exception when query_canceled then null; end; end loop;`)
	hears(t, "a commit that goes on", r.late("insert into stands values (1)"), gateway.CodeOutcomeUnknown)
	until(t, "the commit", 30*time.Second, func() bool { return r.count("stands") == "1" })

	r.deferring("taken_back", "perform pg_sleep(600);")
	hears(t, "a commit that the server cancelled before it was one", r.late("insert into taken_back values (1)"), gateway.CodeTimeout)
	r.write("create table plain (n int)")
	hears(t, "a statement that is cancelled", r.late("insert into plain select 1 from pg_sleep(600)"), gateway.CodeTimeout)
	until(t, "the end of all statements", 30*time.Second, func() (over bool) {
		const busy = "select count(*) = 0 from pg_stat_activity where usename = $1 and state <> 'idle'"
		if err := admin.QueryRow(t.Context(), busy, r.creds["username"]).Scan(&over); err != nil {
			t.Error(err)
		}
		return over
	})
	if a, b := r.count("taken_back"), r.count("plain"); a != "0" || b != "0" {
		t.Errorf("what was told as cancelled stands: %s and %s rows", a, b)
	}
}

func TestAStatementThatCommitsByItselfMayStandWhenItsTimeEnds(t *testing.T) {
	t.Parallel()
	r, _ := mariadbRig(t)
	r.write("create table stands (n int)")
	r.write("create procedure orders() begin insert into stands values (1); commit; do sleep(600); end")
	hears(t, "a procedure that commits", r.late("call orders()"), gateway.CodeOutcomeUnknown)
	if n := r.count("stands"); n != "1" {
		t.Errorf("%s rows stand", n)
	}
	hears(t, "a definition", r.late("create table made as select sleep(600) as n"), gateway.CodeOutcomeUnknown)
	r.write("create table taken_back (n int)")
	hears(t, "an insert", r.late("insert into taken_back select 1 from (select sleep(600)) as s"), gateway.CodeTimeout)
	if n := r.count("taken_back"); n != "0" {
		t.Errorf("what was told as cancelled stands: %s rows", n)
	}
}

func TestASQLiteWriteThatRanOutOfItsTimeIsTakenBack(t *testing.T) {
	t.Parallel()
	r, _ := sqliteRig(t)
	r.write("create table taken_back (n int)")
	hears(t, "an insert", r.late("insert into taken_back "+endless(gateway.TypeExtension)), gateway.CodeTimeout)
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
		{guardMySQL, "insert into t values (1)", false},
		{guardMySQL, "/* a comment */ update t set n = n + 1", false},
		{guardMySQL, "with x as (select 1) delete from t", false},
		{guardMySQL, "create table t (n int)", true},
		{guardMySQL, "call p()", true},
		{guardMySQL, "begin not atomic insert into t values (1); commit; end", true},
		{guardMySQL, "execute immediate 'drop table t'", true},
		{guardMySQL, "/*!99999 select */ create table t (n int)", true},
		{guardSQLServer, "insert into t values (1); update t set n = 'commit'", false},
		{guardSQLServer, "insert into t values (1); commit", true},
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
