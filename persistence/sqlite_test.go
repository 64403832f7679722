package persistence

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func openIn(t *testing.T, dir string) (*SQL, error) {
	t.Helper()
	s, err := Open(t.Context(), Config{DataDir: dir, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		t.Cleanup(func() { s.Close() })
	}
	return s, err
}

// TestPragmas reads the settings back on two connections of each pool at once.
func TestPragmas(t *testing.T) {
	s, err := openIn(t, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// Two connections of the writers' pool are what two openings of it give: it never has more than one.
	again, err := sql.Open("sqlite3", sqliteAddress(databaseFile(t, s.write), sqliteWriter))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	wantPragmas(t, connections(t, s.write, again), "0")
	wantPragmas(t, connections(t, s.read, s.read), "1")
	if _, err := s.read.Exec("DELETE FROM clusters"); err == nil {
		t.Error("a reader may write")
	}
	if n := s.write.Stats().MaxOpenConnections; n != 1 {
		t.Errorf("there are up to %d writers", n)
	}
}

func connections(t *testing.T, pools ...*sql.DB) []*sql.Conn {
	t.Helper()
	var list []*sql.Conn
	for _, pool := range pools {
		c, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

func wantPragmas(t *testing.T, list []*sql.Conn, queryOnly string) {
	t.Helper()
	for i, c := range list {
		for name, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "10000", "query_only": queryOnly} {
			var got string
			if err := c.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("connection %d: %s is %s; want %s", i, name, got, want)
			}
		}
	}
	for _, c := range list {
		c.Close()
	}
}

func databaseFile(t *testing.T, db *sql.DB) (path string) {
	t.Helper()
	if err := db.QueryRow("SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFilesAreTheOwnersOnly: folder, database and what SQLite puts beside it; and nothing is left beside it after Close.
func TestFilesAreTheOwnersOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "dätä ?#%20 folder")
	s, err := openIn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.InTx(t.Context(), func(tx Tx) error { return tx.AppendAudit(t.Context(), auditSample) }); err != nil {
		t.Fatal(err)
	}
	wantMode(t, dir, 0o700)
	for _, name := range []string{SQLiteFile, SQLiteFile + "-wal", SQLiteFile + "-shm"} {
		wantMode(t, filepath.Join(dir, name), 0o600)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("after Close there is %v, %v", left, err)
	}
}

func wantMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != want {
		t.Errorf("%s has mode %o; want %o", path, got, want)
	}
}

func TestOpenSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	broken := filepath.Join(dir, "broken")
	for path, content := range map[string]string{file: "x", filepath.Join(broken, SQLiteFile): strings.Repeat("no database ", 1000)} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, v := range map[string]struct {
		cfg  Config
		want string
	}{
		"nothing given":     {Config{}, "--data"},
		"file as folder":    {Config{DataDir: file}, "choose another with --data"},
		"under a file":      {Config{DataDir: filepath.Join(file, "x")}, "choose another with --data"},
		"not a database":    {Config{DataDir: broken}, "check that it is a Comporta database"},
		"other scheme":      {Config{URL: "mysql://u:hush-hush@h/d"}, "postgres://"},
		"malformed address": {Config{URL: "postgres://u:hush-hush@h:port/d"}, "must look like"},
		"nobody answers":    {Config{URL: "postgres://u:hush-hush@127.0.0.1:1/d"}, "check the address"},
	} {
		v.cfg.Now, v.cfg.Log = time.Now, slog.New(slog.DiscardHandler)
		_, err := Open(t.Context(), v.cfg)
		if err == nil || !strings.Contains(err.Error(), v.want) {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: the error tells the password", name)
		}
	}
}

// TestLongViewHoldsNobodyUp: on SQLite a View that stays open neither blocks writers nor other Views.
func TestLongViewHoldsNobodyUp(t *testing.T) {
	s, err := openIn(t, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	err = s.View(ctx, func(r Reader) error {
		if _, err := r.Clusters(ctx, ClusterFilter{}); err != nil {
			return err
		}
		if err := s.InTx(ctx, func(tx Tx) error { return tx.AppendAudit(ctx, auditSample) }); err != nil {
			return err
		}
		return s.View(ctx, func(r Reader) error { return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What damages a restored backup is, nearly always, the old database's log beside it: the message names it.
func TestADamagedDatabaseSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	s, err := openIn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	path := filepath.Join(dir, SQLiteFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(text[4096:])
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = openIn(t, dir); err == nil || !strings.Contains(err.Error(), "comporta.db-wal") {
		t.Errorf("got %v", err)
	}
}
