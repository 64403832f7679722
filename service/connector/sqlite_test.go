package connector

import (
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"
	"pgregory.net/rapid"

	"comporta/service/gateway"
)

// SQLite opens a file for reading when it may not write, and says so only at the first write. That is no matter of the request then.
func TestAFileThatTheMemberMayNotWriteIsNoReadOnlyRequest(t *testing.T) {
	refused := sqlite3.Error{Code: sqlite3.ErrReadonly}
	for readOnly, code := range map[bool]gateway.Code{true: gateway.CodeReadOnly, false: gateway.CodeDataSourceAccess} {
		if err := (&sqliteDialect{path: "data.db", readOnly: readOnly}).failure(refused); !gateway.IsCode(err, code) {
			t.Errorf("opened for reading (%v): %v", readOnly, err)
		}
	}
}

// publish makes a SQLite file with one value in it.
func publish(t *testing.T, path, value string) {
	t.Helper()
	writeText(t, path, "")
	details, _ := json.Marshal(map[string]string{"kind": "SQLite", "path": path})
	r := newRig(t, gateway.TypeExtension, string(details), nil, filepath.Dir(path))
	r.task.DataSource.Credential.Type = "Anonymous"
	r.write("create table v (x text)")
	r.write("insert into v values (?)", value)
	_ = r.c.Close()
}

// A new version of a file is often published by renaming it, or a link to it. It is what is read and written from then on.
func TestAReplacedSQLiteFileIsSeen(t *testing.T) {
	folder := t.TempDir()
	path, next, link := filepath.Join(folder, "sales.db"), filepath.Join(folder, "next.db"), filepath.Join(folder, "link")
	details, _ := json.Marshal(map[string]string{"kind": "SQLite", "path": path})
	r := newRig(t, gateway.TypeExtension, string(details), nil, folder)
	r.task.DataSource.Credential.Type = "Anonymous"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	holds := func(want ...string) {
		t.Helper()
		got := []string{}
		for _, row := range r.read("select x from v order by x") {
			got = append(got, row[0].(string))
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("the file holds %v, want %v", got, want)
		}
	}
	publish(t, path, "old")
	r.write("insert into v values ('older')")
	holds("old", "older")

	publish(t, next, "new")
	must(os.Rename(next, path))
	holds("new")
	r.write("insert into v values ('newer')")
	holds("new", "newer")
	_ = r.c.Close()

	r = newRig(t, gateway.TypeExtension, string(details), nil, folder)
	holds("new", "newer")
	publish(t, filepath.Join(folder, "linked.db"), "linked")
	must(os.Symlink("linked.db", link))
	must(os.Rename(link, path))
	holds("linked")

	must(os.Remove(path))
	r.refused(true, "select x from v", gateway.CodeDataSourceAccess)
	publish(t, path, "back")
	holds("back")
}

// To SQLite every text is greater than every number. So a number is bound as text only when it would lose digits otherwise.
func TestNumbersAreNumbersToSQLite(t *testing.T) {
	r, _ := sqliteRig(t)
	for number, want := range map[json.Number]string{
		"0.30000000000000004": "real", "3.3333333333333335": "real", "0.00000000000000012": "real", "100000000000000000000": "real", "1.5": "real",
		"-0.30000000000000004": "real", "0.1000000000000000000000": "real", "123.4500000000000000000e1": "real", "17976931348623157e292": "real",
		"0.30000000000000000000004": "text", "1234567890123456789012345678.0123456789": "text", "18446744073709551615": "text", "1e400": "text", "1e-400": "real",
		"0.1234567890123456789e-999999999999": "text",
	} {
		if got := r.read("select typeof(?)", number); got[0][0] != want {
			t.Errorf("%s is bound as %v, want %s", number, got, want)
		}
	}
	if got := r.read("select 5 > ?, 5 > ?, 5 < ?", json.Number("0.30000000000000004"), json.Number("-3.3333333333333335"), json.Number("100000000000000000000")); !reflect.DeepEqual(got, [][]any{{json.Number("1"), json.Number("1"), json.Number("1")}}) {
		t.Error(got)
	}
}

// What is bound as a real reads back as the same decimal, however it was written.
func TestARealKeepsItsDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := fmt.Sprintf("%s%de%d", rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?`).Draw(t, "number"), rapid.IntRange(0, 9).Draw(t, "digit"), rapid.IntRange(-40, 40).Draw(t, "exponent"))
		real, ok := (&sqliteDialect{}).decimal(text).(float64)
		if !ok {
			return
		}
		want, _ := new(big.Rat).SetString(text)
		if got, _ := new(big.Rat).SetString(strconv.FormatFloat(real, 'e', -1, 64)); got.Cmp(want) != 0 {
			t.Fatalf("%s becomes %v", text, real)
		}
	})
}

// SQLite holds a whole row to the bound of a value while it sorts. Rows far below maxRow are sorted, however many columns they have.
func TestWideSQLiteRowsAreSorted(t *testing.T) {
	r, _ := sqliteRig(t)
	for columns, size := range map[int]int{130: 600, 40: 30000, 10: 500000} {
		names, table := make([]string, columns), fmt.Sprintf("w%d", columns)
		for i := range names {
			names[i] = fmt.Sprintf("c%d", i)
		}
		names[1] += " decimal(5,2)"
		r.write("create table " + table + " (" + strings.Join(names, ", ") + ")")
		for _, n := range []string{"1", "2"} {
			r.write("insert into " + table + " values (" + n + ", 1.5" + strings.Repeat(fmt.Sprintf(", hex(zeroblob(%d))", size/2), columns-2) + ")")
		}
		for _, text := range []string{"select * from %s order by c0", "select distinct * from %s", "select * from %[1]s union select * from %[1]s", "with x as materialized (select * from %s) select * from x"} {
			got := r.read(fmt.Sprintf(text, table))
			if len(got) != 2 || fmt.Sprint(got[0][:2], got[1][:2]) != "[1 1.50] [2 1.50]" || len(got[1][columns-1].(string)) != size {
				t.Errorf("%d columns, %s: %d rows", columns, text, len(got))
			}
		}
		r.refused(true, "select hex(zeroblob(9000000)), * from "+table+" order by c0", gateway.CodeQuery)
	}
}

// What is read of a column is what was stored there, whatever its declaration promises.
func TestSQLiteValuesAreNotBentToTheirDeclaration(t *testing.T) {
	r, _ := sqliteRig(t)
	r.write("create table g (id uniqueidentifier, note guid, five decimal(5), rate numeric(10,2), price decimal(10,2), doc json)")
	r.write(`insert into g values ('6F9619FF-8B86-D011-B42D-00C04FC964FF', 'Hello World', 2.5, 0.12345, 12.5, cast(x'7b2261223a22ff227d' as text))`)
	r.write("insert into g (five, rate, price) values (3, 9e999, 1e20)")
	got := r.read("select * from g order by rowid")
	if want := "[[6F9619FF-8B86-D011-B42D-00C04FC964FF Hello World 2.5 0.12345 12.50 map[a:\ufffd]] [<nil> <nil> 3 Infinity 100000000000000000000.00 <nil>]]"; fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if found := r.read("select count(*) from g where id = ?", got[0][0]); fmt.Sprint(found) != "[[1]]" {
		t.Error("by the id that was read:", found)
	}
}

// What is no number in a decimal column is not made to look like one.
func TestADecimalWithoutADigitStaysAsItIs(t *testing.T) {
	r, _ := sqliteRig(t)
	r.write("create table g (price decimal(10,2))")
	for _, c := range [][2]string{{"", ""}, {"-", "-"}, {".", "."}, {"-.", "-."}, {"x", "x"}, {".5", "0.50"}, {"7.", "7.00"}} {
		r.write("insert into g values (?)", c[0])
		if got := r.read("select price from g where rowid = (select max(rowid) from g)"); got[0][0] != c[1] {
			t.Errorf("%q is read as %q", c[0], got[0][0])
		}
	}
}

func TestOnlyChangesAreCounted(t *testing.T) {
	r, _ := sqliteRig(t)
	for _, c := range []struct {
		text string
		want int64
	}{
		{"create table a (x)", 0}, {"insert into a values (1), (2), (3)", 3}, {"create table b (x)", 0}, {"update a set x = 2 where x < 3", 2},
		{"create table d as select * from a", 0}, {"with n(i) as (select 7) insert into a select i from n", 1}, {"create index i on a (x)", 0},
		{"replace into a values (9)", 1}, {"delete from a", 5}, {"drop table b", 0}, {"delete from a", 0},
	} {
		if got := decode(t, r.write(c.text)).RowsAffected; got == nil || *got != c.want {
			t.Errorf("%s: %v rows, want %d", c.text, got, c.want)
		}
	}
}
