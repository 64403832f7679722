package connector

import (
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
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
