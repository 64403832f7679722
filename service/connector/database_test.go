package connector

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"comporta/service/gateway"
)

// matrixTables make a table with the same columns in each database.
var matrixTables = map[gateway.DataSourceType]string{
	gateway.TypePostgreSQL: `create table matrix (id int primary key, big bigint, exact decimal(38,10), price numeric(10,2), real8 double precision, name varchar(100), raw bytea, day date, at timestamp)`,
	gateway.TypeMySQL:      `create table matrix (id int primary key, big bigint, exact decimal(38,10), price numeric(10,2), real8 double, name varchar(100), raw varbinary(100), day date, at datetime(6))`,
	// SQLite keeps 38 digits only as text; the declaration says both.
	gateway.TypeExtension: `create table matrix (id int primary key, big bigint, exact "decimal(38,10) text", price numeric(10,2), real8 double, name varchar(100), raw blob, day date, at datetime)`,
}

const matrixRows = `insert into matrix values
 (1, 9223372036854775807, '9999999999999999999999999999.9999999999', 12.50, 0.1, 'Ærøskøbing 東京 🜁', %s, '2024-02-29', '2024-02-29 23:59:59.120000'),
 (2, -9223372036854775808, '-0.0000000001', 0, 1e300, '', %s, '0001-01-01', '1999-12-31 00:00:00'),
 (3, null, null, null, null, null, null, null, null),
 (4, 0, '0.0000000000', -7.1, -1e-7, 'quote " back \ line', %s, '9999-12-31', '2024-01-01 10:00:00.000001')`

func TestValueMatrix(t *testing.T) {
	want := `[[1,9223372036854775807,"9999999999999999999999999999.9999999999","12.50",0.1,"Ærøskøbing 東京 🜁","AP8=","2024-02-29","2024-02-29T23:59:59.12"],` +
		`[2,-9223372036854775808,"-0.0000000001","0.00",1e+300,"","","0001-01-01","1999-12-31T00:00:00"],` +
		`[3,null,null,null,null,null,null,null,null],` +
		`[4,0,"0.0000000000","-7.10",-1e-07,"quote \" back \\ line","AP8=","9999-12-31","2024-01-01T10:00:00.000001"]]`
	kinds := []string{"int64", "int64", "decimal", "decimal", "double", "text", "binary", "date", "timestamp"}
	everyRig(t, func(t *testing.T, r *rig) {
		r.write(matrixTables[r.task.DataSource.Type])
		raw, empty := "x'00ff'", "x''"
		if r.task.DataSource.Type == gateway.TypePostgreSQL {
			raw, empty = `'\x00ff'`, `''`
		}
		rows := fmt.Sprintf(matrixRows, raw, empty, raw)
		if r.task.DataSource.Type == gateway.TypeMySQL {
			rows = strings.ReplaceAll(rows, `\`, `\\`)
		}
		if d := decode(t, r.write(rows)); d.RowsAffected == nil || *d.RowsAffected != 4 {
			t.Fatalf("rowsAffected: %+v", d)
		}
		body, summary, err := r.run(t.Context(), true, "select * from matrix order by id")
		if err != nil || summary.Rows != 4 {
			t.Fatal(summary, err)
		}
		if !strings.Contains(body, `"rows":`+want+`,"rowCount":4}`) {
			t.Errorf("rows differ:\n%s\nwant\n%s", body, want)
		}
		for i, c := range decode(t, body).Columns {
			if c.Type != kinds[i] {
				t.Errorf("%s is %s, want %s", c.Name, c.Type, kinds[i])
			}
		}
	})
}

func TestParametersStayExact(t *testing.T) {
	everyRig(t, func(t *testing.T, r *rig) {
		r.write(matrixTables[r.task.DataSource.Type])
		mark := [6]string{"?", "?", "?", "?", "?", "?"}
		if r.task.DataSource.Type == gateway.TypePostgreSQL {
			mark = [6]string{"$1", "$2", "$3", "$4", "$5", "$6"}
		}
		insert := fmt.Sprintf("insert into matrix (id, big, exact, price, name, day) values (%s, %s, %s, %s, %s, %s)", mark[0], mark[1], mark[2], mark[3], mark[4], mark[5])
		r.write(insert, json.Number("1"), json.Number("9007199254740993"), json.Number("1234567890123456789012345678.0123456789"), json.Number("1.5"), "'; drop table matrix; --", nil)
		got := r.read("select big, exact, price, name, day from matrix where id = "+mark[0], json.Number("1"))
		want := [][]any{{json.Number("9007199254740993"), "1234567890123456789012345678.0123456789", "1.50", "'; drop table matrix; --", nil}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if _, _, err := r.run(t.Context(), true, "select "+mark[0], map[string]any{}); !gateway.IsCode(err, gateway.CodeInvalid) {
			t.Errorf("nested parameter: %v", err)
		}
	})
}

// A parameter with a fraction is a number to every database: it compares as one.
func TestFractionsCompareAsNumbers(t *testing.T) {
	everyRig(t, func(t *testing.T, r *rig) {
		text := "select case when 2 > ? then 'more' else 'less' end"
		if r.task.DataSource.Type == gateway.TypePostgreSQL {
			text = "select case when 2 > $1::numeric then 'more' else 'less' end"
		}
		for number, want := range map[json.Number]string{"1.5": "more", "2.5": "less", "-1e1": "more"} {
			if got := r.read(text, number); got[0][0] != want {
				t.Errorf("2 against %s: %v", number, got)
			}
		}
	})
}

func TestMistakesCarryTheDatabasesOwnWords(t *testing.T) {
	everyRig(t, func(t *testing.T, r *rig) {
		for _, text := range []string{"select * frm nowhere", "select * from nowhere", "selec 1"} {
			e := r.refused(true, text, gateway.CodeQuery)
			if detail(e, gateway.DetailUnderlyingMessage) == "" || detail(e, gateway.DetailUnderlyingCode) == "" {
				t.Errorf("%s: no details in %+v", text, e)
			}
			if r.task.DataSource.Type == gateway.TypePostgreSQL && detail(e, gateway.DetailPosition) == "" {
				t.Errorf("%s: no position in %+v", text, e)
			}
		}
	})
}

// What only looks like writing is read, and a plan of a write is at least not blamed on its INTO.
func TestMariaDBReadsWhatOnlyLooksLikeWriting(t *testing.T) {
	r, _ := mariadbRig(t)
	r.write("create table kept (id int)")
	if got := r.read("select '/*! x */', 'into' -- /*! y */"); !reflect.DeepEqual(got, [][]any{{"/*! x */", "into"}}) {
		t.Error(got)
	}
	if _, _, err := r.run(t.Context(), true, "explain insert into kept values (1)"); err != nil && (!gateway.IsCode(err, gateway.CodeReadOnly) || strings.Contains(err.Error(), "INTO and")) {
		t.Error(err)
	}
	if got := r.read("select id from kept"); len(got) != 0 {
		t.Error(got)
	}
}

// A database that refuses a statement can be reached, whatever code it refuses it with.
func TestMistakesAreTheQuerysAndNotTheConnections(t *testing.T) {
	own := map[gateway.DataSourceType][]struct {
		text   string
		params []any
	}{
		gateway.TypePostgreSQL: {{"select $1::int", nil}, {"select 1", []any{"x"}}, {"select $2::int", []any{"x"}},
			{"do $$ begin raise exception 'mine' using errcode = '08006'; end $$", nil}, {"do $$ begin raise exception 'mine' using errcode = '57P01'; end $$", nil}},
		gateway.TypeMySQL: {{"select ?", nil}, {"select 1", []any{"x"}}, {"select * from no_such_database.t", nil}, {"show tables from no_such_database", nil},
			{"show tables from mysql", nil}},
		gateway.TypeExtension: {{"select ?", nil}, {"select 1", []any{"x"}}},
	}
	everyRig(t, func(t *testing.T, r *rig) {
		for _, c := range own[r.task.DataSource.Type] {
			_, _, err := r.run(t.Context(), strings.HasPrefix(c.text, "s"), c.text, c.params...)
			if !gateway.IsCode(err, gateway.CodeQuery) && !gateway.IsCode(err, gateway.CodeInvalid) || strings.Contains(err.Error(), "refused the connection") {
				t.Errorf("%s with %v: %v", c.text, c.params, err)
			}
		}
		for _, params := range [][]any{nil, {"a\x00b"}} {
			text := "select 'a\x00b'"
			if params != nil {
				text = "select ?"
			}
			if _, _, err := r.run(t.Context(), true, text, params...); !gateway.IsCode(err, gateway.CodeInvalid) || !strings.Contains(err.Error(), "NUL") {
				t.Errorf("a NUL with %v: %v", params, err)
			}
		}
		if got := r.read("select 1"); len(got) != 1 {
			t.Error("and then", got)
		}
	})
}

// PostgreSQL up to 15 makes large objects in a read-only transaction, which must then not be committed.
func TestReadOnlyLeavesNothingBehind(t *testing.T) {
	r, _ := postgresRig(t)
	objects := "select count(*)::int from pg_largeobject_metadata where lomowner = (select oid from pg_roles where rolname = current_user)"
	for _, text := range []string{"select lo_create(0)", "select lo_creat(-1), g from generate_series(1, 2000) g"} {
		if _, _, err := r.run(t.Context(), true, text); err != nil && !gateway.IsCode(err, gateway.CodeReadOnly) {
			t.Fatal(err)
		}
		task := r.task
		task.ReadOnly, task.Query = true, &gateway.Query{Text: text, MaxRows: 1}
		_, _ = r.c.Run(t.Context(), &task, r.creds, &memory{})
		if got := r.read(objects); !reflect.DeepEqual(got, [][]any{{json.Number("0")}}) {
			t.Errorf("%s left %v large objects", text, got)
		}
	}
}

func TestReadOnlyCannotWrite(t *testing.T) {
	common := []string{
		"insert into kept values (2)", "update kept set id = 3", "delete from kept", "drop table kept", "create table other (id int)",
		"commit", "rollback", "begin", "select 1; delete from kept", "/* select */ delete from kept", "-- select\ndelete from kept",
		"explain select 1; delete from kept", "with x as (select 1) insert into kept select 2",
	}
	own := map[gateway.DataSourceType][]string{
		gateway.TypePostgreSQL: {
			"set transaction read write", "set session characteristics as transaction read write", "set default_transaction_read_only = off",
			"do $$ begin set transaction read write; insert into kept values (2); end $$", "copy kept to program 'true'", "copy kept from stdin",
			"with x as (delete from kept returning id) select * from x", "select set_config('transaction_read_only', 'off', true)",
			"select nextval('counter')", "select * into other from kept", "explain analyze delete from kept", "select sneaky()", "discard all",
			"-- \r set role none /* \n select 1 */", "-- \r copy kept to stdout /* \n select 1 */", "-- \r commit /* \n select 1 */",
		},
		gateway.TypeMySQL: {
			"set session transaction read write", "start transaction read write", "set autocommit = 1", "select 1 into outfile '/tmp/x'",
			"select id from kept into @a", "select 'a\\' into outfile '/tmp/b", "select 1 /*! into outfile '/tmp/x' */", "select sneaky()",
			"select 1 --1 into outfile '/tmp/c'", "call sneaked()", "lock tables kept write", "select nextval(counter)",
			"select id from kept where id = 1e0into @a", "select .5into @a", "select 1.e1into @a", "select \\Ninto @a", "select 1 --\x7f into @a",
			"analyze update kept set id = 3", "set statement max_statement_time=1 for delete from kept",
		},
		gateway.TypeExtension: {
			"attach database 'other.db' as other", "pragma query_only = off", "pragma journal_mode = delete", "pragma user_version = 7",
			"vacuum", "vacuum into 'copy.db'", "replace into kept values (2)", "reindex", "pragma writable_schema = 1", "savepoint a",
			"select 1e1delete from kept", "-- \r delete from kept", "-- \r \n delete from kept",
		},
	}
	everyRig(t, func(t *testing.T, r *rig) {
		kind := r.task.DataSource.Type
		r.write("create table kept (id int)")
		r.write("insert into kept values (1)")
		switch kind {
		case gateway.TypePostgreSQL:
			r.write("create sequence counter")
			r.write("create function sneaky() returns int language plpgsql as $$ begin insert into kept values (2); return 1; end $$")
		case gateway.TypeMySQL:
			r.write("create sequence counter")
			r.write("create function sneaky() returns int begin insert into kept values (2); return 1; end")
			r.write("create procedure sneaked() insert into kept values (2)")
		}
		for _, text := range append(common, own[kind]...) {
			r.refused(true, text, gateway.CodeReadOnly, gateway.CodeQuery, gateway.CodeInvalid, gateway.CodeNotAllowedHere)
			if got := r.read("select id from kept"); !reflect.DeepEqual(got, [][]any{{json.Number("1")}}) {
				t.Fatalf("after %q the table holds %v", text, got)
			}
		}
		for _, text := range []string{"select id from kept", "(select id from kept)", "with x as (select 1) select * from x", "/* hi */ select 1 -- ho"} {
			if kind == gateway.TypeExtension && text[0] == '(' {
				continue
			}
			r.read(text)
		}
	})
}

func TestSessionsDoNotLeak(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		r, _ := postgresRig(t)
		r.write("select set_config('datestyle', 'German', false), set_config('timezone', 'Asia/Tokyo', false), pg_advisory_lock(7)::text")
		r.read("select set_config('datestyle', 'German', false), set_config('timezone', 'Asia/Tokyo', false)")
		r.write("create temporary table mine as select 1")
		for range 5 {
			got := r.read("select date '2024-01-02', timestamptz '2024-01-02 03:04:05+00', (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()), to_regclass('mine')::text")
			if fmt.Sprint(got) != "[[2024-01-02 2024-01-02T03:04:05+00:00 0 <nil>]]" {
				t.Fatal(got)
			}
		}
	})
	t.Run("mariadb", func(t *testing.T) {
		r, _ := mariadbRig(t)
		r.read("select @leak := 5, get_lock('x', 0)")
		r.write("set session sql_mode = 'ANSI'")
		r.write("create temporary table mine (id int)")
		for range 5 {
			if got := r.read("select @leak, is_used_lock('x'), @@sql_mode like '%ANSI%'"); fmt.Sprint(got) != "[[<nil> <nil> 0]]" {
				t.Fatal(got)
			}
		}
		r.refused(true, "select * from mine", gateway.CodeQuery)
		mariadbForgets(t, r)
	})
	t.Run("sqlite", func(t *testing.T) {
		r, _ := sqliteRig(t)
		r.write("create temp table mine (id int)")
		r.refused(false, "select * from mine", gateway.CodeQuery)
	})
}

// mariadbForgets: what one request leaves in the session, by itself, by a function or by a trigger, the next does not see.
func mariadbForgets(t *testing.T, r *rig) {
	r.write("create function leaks() returns int begin set @leak = 42; do get_lock('zz', 0); return 1; end")
	r.write("create table counted (id int auto_increment primary key, n int)")
	r.write("create trigger locks before insert on counted for each row do get_lock('zz', 0)")
	for _, text := range []string{
		"select leaks()", "select leaks /* x */ ()", "select `leaks`()", "select counted.n, leaks() from counted", "with x(a) as (select leaks()) select * from x",
		"select `get_lock`('zz', 0)", "select GET_LOCK('zz', 0)", "select last_insert_id(4711)", "select last_insert_id (4711)",
	} {
		r.read(text)
		if got := r.read("select @leak, is_used_lock('zz'), last_insert_id()"); fmt.Sprint(got) != "[[<nil> <nil> 0]]" {
			t.Errorf("%s leaves %v", text, got)
		}
	}
	r.write("insert into counted (n) values (1)")
	if got := r.read("select is_used_lock('zz'), last_insert_id()"); fmt.Sprint(got) != "[[<nil> 0]]" {
		t.Errorf("a write leaves %v", got)
	}
	r.read("select cast('a secret' as signed)")
	for _, text := range []string{"show warnings", "show /* x */ Errors", "show count(*) warnings", "get diagnostics condition 1 @a = message_text",
		"begin not atomic get diagnostics condition 1 @a = message_text; select @a; end", "begin not atomic show warnings; end"} {
		for _, readOnly := range []bool{true, false} {
			if e := r.refused(readOnly, text, gateway.CodeInvalid); strings.Contains(e.Message, "a secret") {
				t.Errorf("%s: %v", text, e)
			}
		}
	}
	r.read("show tables like 'warnings'")
	r.write("create table diagnostics (id int primary key)")
	r.read("describe diagnostics")
	r.read("explain select * from diagnostics")
	r.write("create procedure told() show warnings")
	r.write("insert ignore into diagnostics values ('a secret')")
	if body := r.write("call told()"); strings.Contains(body, "secret") {
		t.Error("a procedure tells", body)
	}
}

func TestMaxRowsCutsAndSaysSo(t *testing.T) {
	everyRig(t, func(t *testing.T, r *rig) {
		many := "with recursive n(i) as (select 1 union all select i + 1 from n where i < 900) select a.i from n a, n b"
		for _, readOnly := range []bool{true, false} {
			for range 3 { // the connection stays usable
				task := r.task
				task.ReadOnly = readOnly
				task.Query = &gateway.Query{Text: many, MaxRows: 2}
				out := &memory{}
				summary, err := r.c.Run(t.Context(), &task, r.creds, out)
				if d := decode(t, out.text()); err != nil || summary.Rows != 2 || !summary.Truncated || !d.Truncated || len(d.Rows) != 2 {
					t.Fatalf("%v %v %s", summary, err, out.text())
				}
			}
		}
		task := r.task
		task.Query = &gateway.Query{Text: "select 1 as a", MaxRows: 1}
		out := &memory{}
		if summary, err := r.c.Run(t.Context(), &task, r.creds, out); err != nil || summary.Truncated {
			t.Fatal(summary, err)
		}
	})
}

func TestTimeoutIsTold(t *testing.T) {
	everyRig(t, func(t *testing.T, r *rig) {
		task := r.task
		task.ReadOnly, task.TimeoutMillis = true, 150
		task.Query = &gateway.Query{Text: endless(r.task.DataSource.Type)}
		began := time.Now()
		out := &memory{}
		_, err := r.c.Run(t.Context(), &task, r.creds, out)
		if !gateway.IsCode(err, gateway.CodeTimeout) || out.header != nil {
			t.Fatal(err, out.text())
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("took %v", took)
		}
		r.read("select 1")
	})
}

// endless is a query that computes for very long without answering a row.
func endless(kind gateway.DataSourceType) string {
	switch kind {
	case gateway.TypePostgreSQL:
		return "select pg_sleep(600)"
	case gateway.TypeMySQL:
		return "select benchmark(100000000000, sha2('x', 512))"
	}
	return "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
}

func TestCancelEndsTheQueryOnTheDatabase(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		r, admin := postgresRig(t)
		cancelling(t, r, endless(gateway.TypePostgreSQL), func() (n int) {
			if err := admin.QueryRow(t.Context(), "select count(*) from pg_stat_activity where usename = $1 and query like 'select pg_sleep%' and state = 'active'", r.creds["username"]).Scan(&n); err != nil {
				t.Error(err)
			}
			return n
		})
	})
	t.Run("mariadb", func(t *testing.T) {
		r, admin := mariadbRig(t)
		cancelling(t, r, endless(gateway.TypeMySQL), func() (n int) {
			if err := admin.QueryRow("select count(*) from information_schema.processlist where user = ? and info like 'select benchmark%'", r.creds["username"]).Scan(&n); err != nil {
				t.Error(err)
			}
			return n
		})
	})
}

func cancelling(t *testing.T, r *rig, text string, running func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, _, err := r.run(ctx, true, text)
		result <- err
	}()
	until(t, "the query", 30*time.Second, func() bool { return running() == 1 })
	cancel()
	until(t, "its end", 30*time.Second, func() bool { return running() == 0 })
	if err := <-result; !gateway.IsCode(err, gateway.CodeBroken) {
		t.Error(err)
	}
}

// A reader that stops reading stops the database; one that goes away ends the query.
func TestBackPressure(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		r, admin := postgresRig(t)
		stalling(t, r, "select generate_series(1, 100000000), repeat('x', 500)", func() (n int) {
			if err := admin.QueryRow(t.Context(), "select count(*) from pg_stat_activity where usename = $1 and state = 'active'", r.creds["username"]).Scan(&n); err != nil {
				t.Error(err)
			}
			return n
		})
	})
	t.Run("mariadb", func(t *testing.T) {
		r, admin := mariadbRig(t)
		stalling(t, r, "select seq, repeat('x', 500) from seq_1_to_100000000", func() (n int) {
			if err := admin.QueryRow("select count(*) from information_schema.processlist where user = ? and info like '%seq%'", r.creds["username"]).Scan(&n); err != nil {
				t.Error(err)
			}
			return n
		})
	})
}

func stalling(t *testing.T, r *rig, text string, running func() int) {
	t.Helper()
	stalled, gone := make(chan struct{}, 1000000), make(chan struct{})
	task := r.task
	task.ReadOnly, task.Format = true, gateway.FormatNDJSON
	task.Query = &gateway.Query{Text: text}
	out := &memory{gate: func() error {
		stalled <- struct{}{}
		<-gone
		return context.Canceled
	}}
	result := make(chan error, 1)
	go func() {
		_, err := r.c.Run(t.Context(), &task, r.creds, out)
		result <- err
	}()
	<-stalled
	if n := running(); n != 1 {
		t.Errorf("%d queries run while the reader stalls", n)
	}
	close(gone)
	until(t, "its end", 30*time.Second, func() bool { return running() == 0 })
	if err := <-result; !gateway.IsCode(err, gateway.CodeBroken) {
		t.Error(err)
	}
}

func TestAccessFailures(t *testing.T) {
	probe := func(t *testing.T, r *rig, want gateway.Code, words string) {
		t.Helper()
		err := r.c.Probe(t.Context(), &r.task, r.creds)
		if !gateway.IsCode(err, want) || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), password) {
			t.Errorf("got %v, want %s … %s", err, want, words)
		}
	}
	for _, kind := range []gateway.DataSourceType{gateway.TypePostgreSQL, gateway.TypeMySQL, gateway.TypeSQLServer} {
		creds := gateway.Credentials{"username": "nobody", "password": password}
		probe(t, newRig(t, kind, `{"server":"127.0.0.1:1","database":"x"}`, creds), gateway.CodeDataSourceAccess, "127.0.0.1:1")
		probe(t, newRig(t, kind, `{"server":"nowhere.invalid","database":"x"}`, creds), gateway.CodeDataSourceAccess, "nowhere.invalid")
	}
	everyRig(t, func(t *testing.T, r *rig) {
		if err := r.c.Probe(t.Context(), &r.task, r.creds); err != nil {
			t.Fatal(err)
		}
		if r.task.DataSource.Type == gateway.TypeExtension {
			return
		}
		good := r.task
		r.task.DataSource.ConnectionDetails = strings.Replace(r.task.DataSource.ConnectionDetails, "connector_", "nodatabase_", 1)
		probe(t, r, gateway.CodeDataSourceAccess, "refused the connection")
		r.task = good
		r.task.DataSource.Credential.Encryption = "Encrypted" // no TLS, or a certificate that nobody signed
		probe(t, r, gateway.CodeDataSourceAccess, "TLS")
		r.task = good
		if r.task.DataSource.Type == gateway.TypeMySQL {
			r.creds = gateway.Credentials{"username": r.creds["username"], "password": password + "!"}
			probe(t, r, gateway.CodeDataSourceAccess, "refused the connection")
		}
	})
}

func TestMillionsOfRowsStream(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	r, _ := postgresRig(t)
	task := r.task
	task.ReadOnly, task.Format = true, gateway.FormatCSV
	task.Query = &gateway.Query{Text: "select g, 'row ' || g, g / 7.0 from generate_series(1, 2000000) g"}
	out := &counting{}
	summary, err := r.c.Run(t.Context(), &task, r.creds, out)
	if err != nil || summary.Rows != 2_000_000 || out.largest > writeAt+8<<10 {
		t.Fatal(summary, err, out.largest)
	}
}

// counting keeps nothing.
type counting struct{ largest int }

func (c *counting) Begin(gateway.AnswerHeader) error { return nil }
func (c *counting) Flush() error                     { return nil }
func (c *counting) Write(p []byte) (int, error) {
	c.largest = max(c.largest, len(p))
	return len(p), nil
}
