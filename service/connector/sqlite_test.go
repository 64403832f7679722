package connector

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/mattn/go-sqlite3"

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
