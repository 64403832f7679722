package connector

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"comporta/service/gateway"
)

// What acts at once is refused however it is written and called, and wherever a string only seems to end behind it.
func TestPostgresGuardSeesWhatActsAtOnce(t *testing.T) {
	for _, text := range []string{
		"select pg_terminate_backend(1)", `select "pg_terminate_backend"(1)`, "select pg_catalog . Pg_Cancel_Backend /* x */ (1)", `select pg_catalog."pg_notify"('a', 'b')`,
		"select (1).pg_cancel_backend", "select $1.pg_terminate_backend", `select U&"pg\005fnotify"('a', 'b')`, `select u&"pg!005fnotify" uescape '!' ('a', 'b')`,
		"select pg_logical_emit_message(false, 'a', 'b')", "explain analyze select pg_switch_wal()", "with x as (select pg_create_restore_point('a')) select * from x",
		"select pg_advisory_lock(1)", "select pg_try_advisory_xact_lock_shared(1, 2)", "table t union select lo_export(1, '/tmp/x')", "values (dblink_exec('a', 'b'))",
		"select * from query_to_xml('select pg_notify(1)', true, true, '')", "select 1pg_notify('a', 'b')", "select 1.e1pg_notify('a', 'b')", "select $1pg_stat_reset()",
		// Names that only seem to end before a dollar.
		"select 1 as x€$a$, pg_terminate_backend(4711) as y€$a$", "select 1 as ½$a$, pg_notify('a', 'b') as ½$a$", "select 1 as x😀$$, pg_notify('a', 'b') as y😀$$",
		"select 1 as \u00a0$a$, pg_notify('a', 'b') as x\u00a0$a$", "select 1 as e\u0301$a$, pg_notify('a', 'b') as e\u0301$a$", "select 1 as x\xff$a$, pg_notify('a', 'b') as y\xff$a$",
		"select 1 as \ufeff$a$, pg_notify('a', 'b') as \ufeff$a$", `select €E'\', pg_notify('a', 'b') --'`,
		// Strings that only seem to go on.
		`select E'\'', pg_notify('a', 'b') --'`, `select e'a''\'', pg_notify('a', 'b') --'`, "select E'a' -- x\n '\\'', pg_notify('a', 'b') --'",
		"select $$'$$, pg_notify('a', 'b') --'", "select $a$ $$ ' $a$, pg_notify('a', 'b') --'", `select '\', pg_notify('a', 'b') --'`, `select '\'', pg_notify('a', 'b') --'`,
		`select "a\", pg_notify('a', 'b') --"`, `select xE'\', pg_notify('a', 'b') --'`, "select a$$, pg_notify('a', 'b') --$$", "select U&'\\', pg_notify('a', 'b') --'",
	} {
		if v, err := guardPostgres(text, true); !gateway.IsCode(err, gateway.CodeReadOnly) {
			t.Errorf("%q: %+v %v", text, v, err)
		}
		if _, err := guardPostgres(text, false); err != nil {
			t.Errorf("read-write %q: %v", text, err)
		}
	}
	for _, text := range []string{
		"select 'pg_notify(1)', $$ pg_notify(1) $$, E'\\' pg_notify(1)' -- pg_notify(1)", "select U & \"x\" from t", "select * from pg_replication_origin_status, pg_stat_activity, pg_locks",
		"select lo_get(1), $1::text, a$1 from t", "select set_config('timezone', 'UTC', true), pg_sleep(0)", "/* pg_notify() */ table pg_notifying", "select €pg_notify, pg_notify€ from t",
		"select $€$ pg_notify('a', 'b') $€$, +$a$ pg_notify('a', 'b') $a$ as x€",
	} {
		if v, err := guardPostgres(text, true); err != nil || v.prepareOnly {
			t.Errorf("%q: %+v %v", text, v, err)
		}
	}
}

// Of what runs a text it is said that nobody can judge it, and not that it writes.
func TestPostgresGuardSaysWhatRunsAText(t *testing.T) {
	for text, want := range map[string]string{
		"select query_to_xml('select 1', true, true, '')": "query_to_xml runs a text that cannot be judged here", "select * from ts_stat('select v from t')": "ts_stat runs a text",
		`select "ts_rewrite"('a'::tsquery, 'select a, b from t')`: "ts_rewrite runs a text", "select * from dblink('a', 'select 1') as t(n int)": "dblink runs a text",
		"select 1dblink_exec('a', 'b')": "dblink_exec runs a text", "select pg_notify('a', 'b')": "pg_notify reaches beyond its transaction",
	} {
		_, err := guardPostgres(text, true)
		if !gateway.IsCode(err, gateway.CodeReadOnly) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"readOnly": false`) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A read-only request ends no other one of the same login, writes nothing to the log, and locks nothing for others.
func TestReadOnlyLeavesOthersAlone(t *testing.T) {
	r, _ := postgresRig(t)
	r.write("create table t (id int)")
	r.write("insert into t values (1)")
	admin, err := pgx.Connect(t.Context(), strings.TrimSuffix(postgresAdmin, "postgres")+r.creds["username"])
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.Background())
	if _, err := admin.Exec(t.Context(), "select pg_advisory_lock(4711)"); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		_, _, err := r.run(t.Context(), false, "insert into t select 2 from (select pg_advisory_xact_lock(l) from (select 4711 as l) a) b")
		written <- err
	}()
	waiting := "select count(*) from pg_stat_activity where usename = $1 and wait_event = 'advisory'"
	until(t, "the other request", 30*time.Second, func() bool {
		n := 0
		_ = admin.QueryRow(t.Context(), waiting, r.creds["username"]).Scan(&n)
		return n == 1
	})
	others := "from pg_stat_activity where usename = current_user and pid <> pg_backend_pid() and query like 'insert%'"
	for _, text := range []string{
		"select pg_terminate_backend(pid) " + others, "select pg_cancel_backend(pid) " + others, `select (pid).pg_terminate_backend ` + others,
		"select pg_logical_emit_message(false, 'a', 'b')", "select pg_advisory_lock(1)", "select * from t for update", "select * from t for no key update",
		"select * from t for share", "select * from t for key share", "with x as (select * from t for update) select * from x", "lock table t in access share mode", "lock table t",
	} {
		r.refused(true, text, gateway.CodeReadOnly)
	}
	if _, err := admin.Exec(t.Context(), "select pg_advisory_unlock(4711)"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-written:
		if got := r.read("select count(*) from t"); err != nil || fmt.Sprint(got) != "[[2]]" {
			t.Error(got, err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the other request does not end")
	}
}
