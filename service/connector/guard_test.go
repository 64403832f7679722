package connector

import (
	"reflect"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"

	"comporta/service/gateway"
)

func TestSQLServerGuard(t *testing.T) {
	for text, allowed := range map[string]bool{
		"select 1":  true,
		"select 1;": true,
		"  /* a /* nested */ comment */ with x as (select 1 as [into]) select * from x -- delete": true,
		"select 'insert into t' as \"update\"":                                                    true,
		"select it's":                                                                             false,
		"select * into t from u":                                                                  false,
		"select 1; select 2":                                                                      false,
		"select 1 delete from t":                                                                  false,
		"select 1 exec sp_who":                                                                    false,
		"exec sp_who":                                                                             false,
		"sp_who":                                                                                  false,
		"with x as (select 1) update t set a=1":                                                   false,
		"select next value for s":                                                                 false,
		"select * from openrowset('a','b','c')":                                                   false,
		"select 1 /* open":                                                                        false,
		"select '":                                                                                false,
		"select [a":                                                                               false,
		"begin tran select 1":                                                                     false,
		"-- select\ninsert t values (1)":                                                          false,
		"select 1 /**/ into /**/ t":                                                               false,
		"select 'a''' into t from u":                                                              false,
		"select [a]]] into t from u":                                                              false,
		"select 1delete from t select 1commit":                                                    false,
		"select $1exec xp_cmdshell 'x'":                                                           false,
		"select $exec xp_cmdshell 'x'":                                                            false,
		"select £1exec xp_cmdshell 'x'":                                                           false,
		"select 0x1drop table t":                                                                  false,
		"select 1.e1drop table t":                                                                 false,
		"select .5e-1drop table t":                                                                false,
		"select 1 setuser 'x'":                                                                    false,
		"select 1next value for s":                                                                false,
		"select 1.e1next value for s":                                                             false,
		"select 1end conversation 'x'":                                                            false,
		"select 1 add signature to p by certificate c":                                            false,
		`select 1 add sensitivity classification to dbo.t.c with (label = 'x')`: false,
		`select 1rename object a to b`:                                          false,
		`select 1 rename object [a] to b`:                                       false,
		`select 1 {call xp_cmdshell('x')}`:                                      false,
		`select 1 { /* x */ call p}`:                                            false,
		`select 1 {? = call p}`:                                                 false,
		`select 1 {{d '2024-01-01'} call p}`:                                    false,
		`select 1 { [call] p}`:                                                  false,
		`select * from t with (tablockx, rowlock)`:                              false,
		`select * from t (holdlock)`:                                            false,
		`select * from t with (xlock)`:                                          false,
		`select * from t with (updlock, readpast)`:                              false,
		`select * from t option (table hint (t, repeatableread))`:               false,
		`select * from t with(nolock,serializable)`:                             false,
		`select {d '2024-01-01'}, {ts '2024-01-01 00:00:00'}, {fn now()}, '{call p}' from {oj a left outer join b on a.i = b.i}`:             true,
		`select [xlock], object, rename from t with (nolock, rowlock, readpast, index(i)) where [object] = 1`:                                true,
		`select * from a inner merge join b on a.i = b.i`:                                                                                    true,
		`select * from a left outer merge /* x */ join b on a.i = b.i`:                                                                       true,
		`select * from t option (hash group, merge join)`:                                                                                    true,
		`select 1 union select 2 option (merge union)`:                                                                                       true,
		`select 1 option (recompile, use hint ('FORCE_ORDER'))`:                                                                              true,
		`select 1 option (use plan N'<x/>')`:                                                                                                 true,
		`select enable, disable, send, throw, receive from t`:                                                                                true,
		`select m.send, m.receive, sum(receive) as receive from m where receive = 1 and m.[x].receive > 2 group by receive order by receive`: true,
		`select a from send join receive on send.i = receive.i`:                                                                              true,
		`select 1 as conversation, t.send from t`:                                                                                            true,
		`select 1 merge t using u on 1 = 1 when matched then throw 1`:                                                                        false,
		`select a from t where a like '10\%' {escape '\'}`:                                                                                   true,
		`select a from t where a like '10\%' {escape '\'} {call p}`:                                                                          false,
		`select lead(v) over (order by d) as next, value from t`:                                                                             true,
		`select n.next, n.value from n`:                                                                                                      true,
		`select next.value, next , [a], value from next`:                                                                                     true,
		`select rename, object from t`:                                                                                                       true,
		`select a, next /* , */ value for s`:                                                                                                 false,
		`select n.next value for s`:                                                                                                          false,
		`select next, 1next value for s`:                                                                                                     false,
		`select next, value, next value for s`:                                                                                               false,
		`select 1 merge join# using u on 1 = 1`:                                                                                              false,
		`select 1 merge join@ using u on 1 = 1`:                                                                                              false,
		`select 1 merge joın using u on 1 = 1`:                                                                                               false,
		`ſelect 1`:                                                                                                                           false,
		`select 1 a#as receive * from q`:                                                                                                     false,
		`select 1 a@on receive * from q`:                                                                                                     false,
		`select 1 aſ receive * from q`:                                                                                                       false,
		`select 1 #as receive * from q`:                                                                                                      false,
		`select 1#delete from t`:                                                                                                             false,
		`select a#delete, @into, #update.x from #update`:                                                                                     true,
		`select 1 merge [join] using u on 1 = 1`:                                                                                             false,
		`select 1 merge #join using u on 1 = 1`:                                                                                              false,
		`select 1merge join using u on 1 = 1`:                                                                                                false,
		`select 1 use hint`:                                                                                                                  false,
		`select 1 use master`:                                                                                                                false,
		`select (1) use hint`:                                                                                                                false,
		`select 1 option (use master)`:                                                                                                       false,
		`select 1use hint ('x')`:                                                                                                             false,
		`select 1 receive * from q`:                                                                                                          false,
		`select 1.receive * from q`:                                                                                                          false,
		`select 1. receive * from q`:                                                                                                         false,
		`select $.receive * from q`:                                                                                                          false,
		`select 1.e1 . receive * from q`:                                                                                                     false,
		`select 'a'.receive * from q`:                                                                                                        false,
		`select * from t receive top (1) a from q`:                                                                                           false,
		`select * receive * from q`:                                                                                                          false,
		`select (1) receive * from q`:                                                                                                        false,
		`select [a] receive * from q`:                                                                                                        false,
		`select case 1 when 1 then 2 end receive * from q`:                                                                                   false,
		`select 1receive * from q`:                                                                                                           false,
		`select 1.e1receive * from q`:                                                                                                        false,
		`select 1 enable trigger t on u`:                                                                                                     false,
		`select 1disable trigger all on database`:                                                                                            false,
		`select 1 send on conversation @h`:                                                                                                   false,
		`select 1send /**/ on conversation @h`:                                                                                               false,
		"[dbo].[delete_all] select 1":                                                                                                        false,
		"\"dbo\".\"p\" select 1":                                                                                                             false,
		"[master]..[xp_cmdshell] 'whoami' select 1":                                                                                          false,
		"[p] with x as (select 1 a) select * from x":                                                                                         false,
		";[p] select 1":                                                                                                                      false,
		"; ([p]) select 1":                                                                                                                   false,
		"'p' select 1":                                                                                                                       false,
		"@p select 1":                                                                                                                        false,
		"\ufeff[p] select 1":                                                                                                                 false,
		"((select 1) union select 2)":                                                                                                        true,
		";with x as (select 1 a) select * from x":                                                                                            true,
		"select 1 -- \r delete from t":                                                                                                       false,
		"select 1 -- '\r ' delete from t -- '":                                                                                               false,
		"select 1 -- \u2028 delete from t":                                                                                                   false,
		"select 1 -- a\r\n, 2 -- b\r\n":                                                                                                      true,
		"select t1.last_update, 1e5, $1, 0xadd, 0x1, 1.e1 from t1":                                                                           true,
		"select case when a = 1 then 2 end as conversation, signature from t":                                                                true,
	} {
		_, err := guardSQLServer(text, true)
		if (err == nil) != allowed {
			t.Errorf("%q: %v", text, err)
		}
		if err != nil && !gateway.IsCode(err, gateway.CodeReadOnly) {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := guardSQLServer(text, false); err != nil {
			t.Errorf("read-write %q: %v", text, err)
		}
	}
}

func TestMySQLGuardReadsBothWays(t *testing.T) {
	for _, text := range []string{
		`select 'a\' into outfile '/tmp/x' -- '`, `select 'a\'' into outfile '/tmp/x'`, "select 1 --1 into outfile '/tmp/x'",
		"select 1 /*!50000 into outfile '/tmp/x' */", "select 1 /*!into outfile '/tmp/x'*/",
		// With sql_mode ANSI_QUOTES a backslash escapes in '…' and not in "…".
		`select 'x\'', "a\" into outfile '/tmp/x' -- "`, `select 'x\'', "a\" /*! into outfile '/tmp/x' */ -- "`,
		"explain select 1 into @a", "explain insert into t select 1 into @a", "explain analyze insert into t values (1)", "explain format=json into @x select 1",
		"select 1 /*M! into @a */", "select `a` into @x",
		// A number ends where a keyword begins.
		"select 1e1into @a", "select .5into @a", "select 1.e1into @a", "select 1e+1into @a", `select \Ninto @a`, "explain insert into t select 1e1into @a",
		"select 1 --\x7f ' \n into @a -- '", "select 1 --\x7f into @a",
		// An executable comment may be none, and then what begins a string in it begins none.
		"select 1 into @a /*!99999 ' */", "select 1 from t for update /*!99999 ' */", "select 1 into @a --\x7f '",
		`select 'can\'t' into @a`, `select 'can\'t' from t for update`, `select "a" into @a from t where b = "c`, "select 1 into @a from `t",
		"select 1 from t where a = .5for update", "select 1 from t where a < 1.for update", "select 1 from t where a < 1. lock in share mode", "select t.lock from t lock in share mode",
		"select * from t for update", "select * from t for /* x */ share of t skip locked", "(select * from t LOCK IN share mode)", "table t for update",
		"with x as (select * from t where id = 1e0for update) select * from x", `select 'a\', id from t for update -- '`,
	} {
		if v, err := guardMySQL(text, true); err == nil {
			t.Errorf("%q passed with %+v", text, v)
		}
	}
	for _, text := range []string{"select '/*! x */'", "select '/*M! x */', `/*!`", "select 1 -- /*! x */", "/* /*! */ select 1", "explain insert into t values (1)", "describe replace into t select 'into'", "select 'into'", "select `into` from t # into", "select 1 -- into", "select 'it\\'s'", "select t1.e1into from t1", "select 1 --\x01 into @a", "select 1 -- \r into @a",
		"select 'for update', `lock` in (1), substring(a from 1 for 2) from t use index for join (i) -- for update", "select share, t.lock from t", "select * from doors d where d.lock in (1,2)", "select d.lock in (share), d . for, update from doors d", "select * from Türen where Türen.lock in (share)",
		`select * from t where note like '%can\'t wait for update%'`, `select 'don\'t put it into the box, or it won\'t fit'`, `select 'it\'s a lock in share mode'`} {
		if v, err := guardMySQL(text, true); err != nil || v.prepareOnly {
			t.Errorf("%q: %+v %v", text, v, err)
		}
	}
}

// What tells of the statement before is refused wherever it stands, and its words are no more than names elsewhere.
func TestMySQLGuardKnowsWhatTellsOfOthers(t *testing.T) {
	for _, text := range []string{
		"show warnings", "show /* x */ errors limit 1", "show count(*) warnings", "get diagnostics @a = number", "get current diagnostics condition 1 @a = message_text",
		"begin not atomic show warnings; end", "begin not atomic select 1; show errors; end", "if 1 then show count(*) errors; end if", "`l`: begin not atomic show warnings; end",
		"begin not atomic get stacked diagnostics @a = number; end", "for i in 1..2 do get diagnostics @a = number; end for", "show /*!50000 warnings */",
		"/*!50000 begin not atomic show warnings; end */", "show --\x7f\nwarnings", "begin not atomic show # x\n warnings; end", "explain show warnings",
		"x€: begin not atomic show warnings; end", "€insert: begin not atomic show warnings; end", "½ insert: begin not atomic show warnings; end", "'a' insert: begin not atomic show warnings; end",
		"insert into t values (1) /*!99999 ; show warnings */", `begin not atomic select 'can\'t'; show errors; end`,
	} {
		for _, readOnly := range []bool{true, false} {
			if _, err := guardMySQL(text, readOnly); !gateway.IsCode(err, gateway.CodeInvalid) {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
	for _, text := range []string{
		"describe diagnostics", "explain select * from diagnostics", "table diagnostics", "call diagnostics()", "show create table diagnostics", "show tables like 'warnings'",
		"select a.get, diagnostics, warnings from t", "select t.show errors from t", "show columns from warnings", "insert into diagnostics (get) values (1)",
		"create procedure p() begin declare exit handler for sqlexception begin get diagnostics condition 1 @a = message_text; end; end", "select 'show warnings' -- show warnings",
		`insert into tickets (body) values ('The app doesn\'t show errors')`, `update t set a = 'don\'t show warnings, they aren\'t read'`, `replace into t values ('can\'t get diagnostics')`,
		`delete from t where a = 'can\'t show errors, won\'t show warnings'`, `with x as (select 'don\'t show errors' a) select * from x`,
	} {
		if _, err := guardMySQL(text, false); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A connection is closed after what may leave something in its session, and kept after everything common.
func TestMySQLGuardKeepsConnections(t *testing.T) {
	for text, kept := range map[string]bool{
		"select 1": true, "select count(*), max(id), `lower`(name) from t where id in (1, 2) and (a or (b))": true, "select t.a from t join (select 1) x using (id)": true,
		"with x (a) as (select 1), y as (select 2) select * from x": true, "select cast(a as decimal(10, 2)), row_number() over (order by b) from t": true,
		"insert into t (a, b) values (1, now())": true, "insert into db.`t` (a) values (1)": true, "replace t (a) values (1)": true, "insert ignore into t (a) values (1) on duplicate key update a = values(a)": true,
		"update t set a = (select 1) where b = if(1, 2, 3)": true, "select 'leaks()'": true, "select 1 -- leaks()": true, "select a.b, (1), -(2) from a": true,
		"select leaks()": false, "select db.lower('x')": false, "select db . leaks ()": false, "select `leaks`()": false, "select \"leaks\"()": false,
		"select `GET_LOCK`('a', 0)": false, "select last_insert_id(1)": false, "insert into t (a) values (leaks())": false, "insert into t values (leaks())": false,
		"select leaks\n-- x\n(1)": false, "select @a": false, "delete from t where leaks()": false, "select lower(leaks())": false, "select x€now()": false, "select \u00a0lower('x')": false, "select ½, now()": true,
	} {
		v, err := guardMySQL(text, strings.HasPrefix(text, "select") || strings.HasPrefix(text, "with"))
		if err != nil || v.discard == kept {
			t.Errorf("%q: %+v, %v", text, v, err)
		}
	}
}

// A comment that -- begins ends at a carriage return too, as PostgreSQL sees it.
func TestPostgresGuardSeesWhatACarriageReturnUncovers(t *testing.T) {
	for text, reads := range map[string]bool{
		"-- \r copy (select 1) to program 'true' /* \n select 1 */": false, "-- \r commit /* \n select 1 */": false,
		"-- select\rdelete from t": false, "-- delete\r\nselect 1": true, "-- delete\rselect 1": true,
	} {
		if v, err := guardPostgres(text, true); err != nil || v.prepareOnly == reads {
			t.Errorf("%q: %+v, %v", text, v, err)
		}
	}
	if _, err := guardPostgres("-- \r copy t from stdin /* \n */", false); !gateway.IsCode(err, gateway.CodeInvalid) {
		t.Error(err)
	}
}

// What SQLite makes no statement of must not reach the driver, which ends the process then.
func TestATextWithoutAStatementIsRefused(t *testing.T) {
	everyRig(t, func(t *testing.T, r *rig) {
		nothing := []string{"-- x", ";", "/* */", " \t\r\n", ";;-- x\n;/* ; */"}
		if r.task.DataSource.Type == gateway.TypeExtension {
			nothing = append(nothing, "\ufeff", "/* open", "\ufeff;/**", "; \ufeff -- x\n/*/")
		}
		for _, text := range nothing {
			for _, readOnly := range []bool{true, false} {
				r.refused(readOnly, text, gateway.CodeInvalid)
			}
		}
		r.read("-- x\n select 1 -- y")
	})
	for _, readOnly := range []bool{true, false} {
		if _, err := guardSQLServer(" ; -- x\n", readOnly); !gateway.IsCode(err, gateway.CodeInvalid) {
			t.Error(err)
		}
	}
	r, _ := sqliteRig(t)
	for _, text := range []string{"\ufeffselect 1", ";\ufeff;select 1 /* open", "select 1; /* open"} {
		r.read(text)
	}
}

// isNothing reports whether SQLite makes no statement of a text. The driver keeps to itself that it did not.
func isNothing(t *testing.T, conn *sqlite3.SQLiteConn, text string) bool {
	if strings.Contains(text, "\x00") {
		return false // refused before a guard sees it
	}
	stmt, err := conn.Prepare(text)
	if err != nil {
		return false
	}
	defer stmt.Close()
	return reflect.ValueOf(stmt).Elem().FieldByName("s").IsNil()
}

// sqlServerWriting are texts that write, before and behind whatever else.
var sqlServerWriting = []string{";drop table t;", " delete from t", ",1delete from t", ";[dbo].[p]; delete from t", " 1 add sensitivity classification to a.b with (label = 'x')",
	" 1rename object a to b", " {call p}", " 1 receive * from q", " 1 merge t using u on 1 = 1 when matched then throw;", " 1 use hint", " 1 enable trigger a on b",
	" 1. receive * from q", " 1 send on conversation 'x'"}

// sqlServerCalling are texts that run a procedure when something begins with them.
var sqlServerCalling = []string{"[p]", "\"a\".b 'x'", "[a]..[b] 1,", "p", ";[p]"}

// postgresSees: a call before or behind a text is seen, unless the text ends inside a string and PostgreSQL refuses it.
func postgresSees(t *testing.T, text string) {
	if _, err := guardPostgres("select pg_notify('a', 'b'), "+text, true); err == nil {
		t.Errorf("%q hides what is before it from PostgreSQL's guard", text)
	}
	for _, both := range []string{text + "\n, pg_notify('a', 'b')", text + "\n, pg_notify('a', 'b'), " + text} {
		if v, err := guardPostgres(both, true); err == nil && !v.prepareOnly {
			if s := scan(text, postgresLexis); !s.open {
				t.Errorf("%q hides what follows it from PostgreSQL's guard", text)
			}
		}
	}
	if postgresName(text) {
		postgresSeesBetween(t, text)
	}
}

// postgresSeesBetween: a call between names is seen, whatever they end with.
func postgresSeesBetween(t *testing.T, name string) {
	for _, frame := range []string{"select 1 as N$a$, pg_notify('a', 'b') as N$a$", "select 1 as N$$, pg_notify('a', 'b') as N$$", "select 1 as N, pg_notify('a', 'b') as N",
		`select NE'\', pg_notify('a', 'b') as N --'`, "select $N$ ' $N$, pg_notify('a', 'b'), $N$ ' $N$"} {
		between := strings.ReplaceAll(frame, "N", name)
		if _, err := guardPostgres(between, true); err == nil && !(strings.Contains(frame, "$N$") && strings.Contains(name, "$")) {
			t.Errorf("%q hides what is between from PostgreSQL's guard", between)
		}
	}
}

// postgresName reports whether a text is a name by PostgreSQL's own rule, byte by byte: [A-Za-z\200-\377_][A-Za-z\200-\377_0-9\$]* (scan.l).
func postgresName(text string) bool {
	for i, b := range []byte(text) {
		letter := 'a' <= b|0x20 && b|0x20 <= 'z' || b >= 0x80 || b == '_'
		if !letter && (i == 0 || b != '$' && (b < '0' || b > '9')) {
			return false
		}
	}
	return text != ""
}

// Whatever a guard lets through as one reading statement must still be seen to write when a writing one stands before or behind it.
func FuzzGuard(f *testing.F) {
	for _, seed := range []string{"select 1", "select 'a' -- b", "with x as (select [a]) select 1 /* x */", "select \"", "select `a\\`", "é", "/*!", ";;", "-- \r copy t to program 'x' /* \n select 1 */", "select 1 -- \r", "select 1delete from t",
		"select 1e1into @a", "select 1.e1into @a", "select .5into @a", `select \Ninto @a`, "select $1exec p", "select 1 --\x7f into @a", "select 0x",
		"select E'\\'' --", "select $a$ ' $a$ --", "select E'a' -- x\n '\\' --", "select U&\"\\0061\"", "-- x", "/* */;", "\ufeff", "/* open", "/*/",
		"x€", "½", "x😀", "\u00a0", "e\u0301", "x\xff", "a$b", "\ufeff", "€$a$"} {
		f.Add(seed)
	}
	memory, err := (&sqlite3.SQLiteDriver{}).Open(":memory:")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, readOnly := range []bool{true, false} {
			_, _ = guardPostgres(text, readOnly)
			_, _ = guardMySQL(text, readOnly)
			if _, err := guardSQLite(text, readOnly); err == nil && isNothing(t, memory.(*sqlite3.SQLiteConn), text) {
				t.Errorf("%q makes no statement", text)
			}
		}
		postgresSees(t, text)
		if _, err := guardSQLServer(text, true); err != nil {
			return
		}
		for _, writing := range sqlServerWriting {
			for _, both := range []string{text + "\n" + writing, writing + "\n" + text} {
				if _, err := guardSQLServer(both, true); err == nil {
					t.Errorf("%q hides the %q next to it", text, writing)
				}
			}
		}
		for _, calling := range sqlServerCalling {
			if _, err := guardSQLServer(calling+" "+text, true); err == nil {
				t.Errorf("%q hides the %q before it", text, calling)
			}
		}
		if s := scan(text, sqlServerLexis); strings.TrimSpace(text) == "" && s.statements > 0 {
			t.Errorf("%q has statements", text)
		}
	})
}
