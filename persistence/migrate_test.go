package persistence

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"comporta/service/gateway"
)

var auditSample = gateway.AuditEntry{ID: "00000000-0000-4000-8000-0000000000a1", At: time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC), Action: "cluster.create"}

// TestMigrationsAreNumbered: 00001, 00002 and so on without a gap, and none can be taken back.
func TestMigrationsAreNumbered(t *testing.T) {
	files, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for i, name := range files {
		if !strings.HasPrefix(name, fmt.Sprintf("migrations/%05d_", i+1)) {
			t.Errorf("%s is number %d", name, i+1)
		}
		text, err := fs.ReadFile(migrationFiles, name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "goose Down") {
			t.Errorf("%s goes back; migrations are append-only", name)
		}
	}
}

// TestOldDumps migrates every old database in testdata forward and reads what it held.
func TestOldDumps(t *testing.T) {
	dumps, err := filepath.Glob("testdata/*.sql")
	if err != nil || len(dumps) == 0 {
		t.Fatal(dumps, err)
	}
	for _, dump := range dumps {
		t.Run(filepath.Base(dump), func(t *testing.T) {
			dir := t.TempDir()
			load(t, dir, dump)
			s, err := openIn(t, dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.View(t.Context(), func(r Reader) error { return wantOldRows(t, r) }); err != nil {
				t.Fatal(err)
			}
			rows, err := s.write.Query("PRAGMA foreign_key_check")
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			if rows.Next() || rows.Err() != nil {
				t.Error("something refers to nothing", rows.Err())
			}
		})
	}
}

func load(t *testing.T, dir, dump string) {
	t.Helper()
	text, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	raw(t, dir, string(text))
}

// raw runs statements on the database file without the store.
func raw(t *testing.T, dir, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(dir, SQLiteFile))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
}

func wantOldRows(t *testing.T, r Reader) error {
	ctx := t.Context()
	clusters, err := r.Clusters(ctx, ClusterFilter{})
	if err != nil {
		return err
	}
	if len(clusters) != 2 || clusters[0].Name != "Fertigung Süd" || string(clusters[0].Key.Sealed) != "sealed" || *clusters[0].Limits.CPU != 80 {
		t.Errorf("clusters: %+v", clusters)
	}
	state, err := r.ClusterState(ctx, clusters[0].ID)
	if err != nil {
		return err
	}
	if len(state.Members) != 2 || len(state.Permissions) != 1 || len(state.DataSources) != 1 || state.Members[0].ID != state.Cluster.PrimaryID {
		t.Errorf("state: %+v", state)
	}
	for _, d := range state.DataSources {
		if d.DataSource.Credential.Envelope != "QUJD" || len(d.Users) != 1 {
			t.Errorf("data source: %+v", d)
		}
	}
	return wantOldHistory(t, r, state.Members[0].ID)
}

func wantOldHistory(t *testing.T, r Reader, member gateway.ID) error {
	ctx := t.Context()
	entries, err := r.Audit(ctx, AuditFilter{})
	if err != nil {
		return err
	}
	records, err := r.DispatchRecords(ctx, RecordFilter{})
	if err != nil {
		return err
	}
	samples, err := r.LoadSamples(ctx, member, time.Time{}, 10)
	if err != nil {
		return err
	}
	people, err := r.Principals(ctx, Page{})
	if err != nil {
		return err
	}
	if len(entries) != 1 || entries[0] != auditSample || len(records) != 1 || len(samples) != 1 || len(people) != 1 {
		t.Errorf("%+v, %+v, %+v, %+v", entries, records, samples, people)
	}
	return nil
}

func TestNewerSchemaIsRefused(t *testing.T) {
	dir := t.TempDir()
	s, err := openIn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw(t, dir, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (777, 1)")
	_, err = openIn(t, dir)
	if !errors.Is(err, ErrNewerSchema) || !strings.Contains(err.Error(), "00777") {
		t.Fatalf("the error is %v", err)
	}
}

// TestRewrite is about the one place where the two databases read different statements.
func TestRewrite(t *testing.T) {
	const statement = "SELECT a FROM t WHERE a = ? AND b IN (SELECT value FROM each(?)) LIMIT ?"
	for d, want := range map[*dialect]string{
		sqliteDialect:   "SELECT a FROM t WHERE a = ? AND b IN (SELECT value FROM json_each(?)) LIMIT ?",
		postgresDialect: "SELECT a FROM t WHERE a = $1 AND b IN (SELECT value FROM json_array_elements_text(CAST($2 AS json))) LIMIT $3",
	} {
		if got := d.rewrite(statement); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestRunsAgain: a transaction that lost is run again a bounded number of times, and no other is.
func TestRunsAgain(t *testing.T) {
	lost := errors.New("lost")
	s := &SQL{log: slog.New(slog.DiscardHandler), dialect: &dialect{classify: func(err error) fault {
		if errors.Is(err, lost) {
			return faultRetry
		}
		return faultOther
	}}}
	for name, v := range map[string]struct {
		fails     int
		err       error
		runs      int
		succeeded bool
	}{
		"wins at once":  {0, lost, 1, true},
		"wins later":    {3, fmt.Errorf("commit: %w", lost), 4, true},
		"never wins":    {1000, lost, maxAttempts, false},
		"other failure": {1000, errors.New("other"), 1, false},
	} {
		runs := 0
		err := s.repeat(t.Context(), func() error {
			if runs++; runs <= v.fails {
				return v.err
			}
			return nil
		})
		if runs != v.runs || (err == nil) != v.succeeded {
			t.Errorf("%s: %d runs, %v", name, runs, err)
		}
	}
}
