package connector

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"comporta/service/gateway"
)

const (
	postgresAdmin = "postgres://postgres@127.0.0.1:5432/postgres"
	mariadbAdmin  = "root@tcp(127.0.0.1:3306)/"
	// password is a secret that no error may repeat.
	password = "S3cret-Pa55word"
)

// absent skips the test because something is not there, or fails it when COMPORTA_TEST_REQUIRE names it.
func absent(t testing.TB, what string, err error) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("COMPORTA_TEST_REQUIRE"), ","), what) {
		t.Fatalf("%s is required and absent: %v", what, err)
	}
	t.Skipf("%s is absent: %v", what, err)
}

// memory is an Output that keeps what it gets.
type memory struct {
	mu      sync.Mutex
	header  *gateway.AnswerHeader
	body    bytes.Buffer
	flushes int
	// gate, when set, is asked before every Write.
	gate func() error
}

func (m *memory) Begin(h gateway.AnswerHeader) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.header != nil {
		return errors.New("begun twice")
	}
	m.header = &h
	return nil
}

func (m *memory) Write(p []byte) (int, error) {
	if m.gate != nil {
		if err := m.gate(); err != nil {
			return 0, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.header == nil {
		return 0, errors.New("not begun")
	}
	return m.body.Write(p)
}

func (m *memory) Flush() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flushes++
	return nil
}

func (m *memory) text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.body.String()
}

// bench is a set of Connectors and one data source.
type rig struct {
	t     testing.TB
	c     *Connectors
	task  gateway.Task
	creds gateway.Credentials
}

func newRig(t testing.TB, kind gateway.DataSourceType, details string, creds gateway.Credentials, folders ...string) *rig {
	t.Helper()
	r := &rig{t: t, c: New(Config{AllowFolders: folders, Now: time.Now}), creds: creds}
	t.Cleanup(func() { _ = r.c.Close() })
	r.task = gateway.Task{DataSource: gateway.TaskSource{
		ID: gateway.ID(uuid.NewString()), Type: kind, ConnectionDetails: details,
		Credential: gateway.StoredCredential{Type: "Basic", Encryption: "Any", Version: 1},
	}, Format: gateway.FormatJSON}
	return r
}

func (r *rig) run(ctx context.Context, readOnly bool, text string, params ...any) (string, gateway.Summary, error) {
	task := r.task
	task.ReadOnly = readOnly
	task.Query = &gateway.Query{Text: text, Parameters: params}
	out := &memory{}
	summary, err := r.c.Run(ctx, &task, r.creds, out)
	return out.text(), summary, err
}

// read runs a reading statement that must succeed, and returns its rows.
func (r *rig) read(text string, params ...any) [][]any {
	r.t.Helper()
	body, _, err := r.run(r.t.Context(), true, text, params...)
	if err != nil {
		r.t.Fatalf("%s: %v", text, err)
	}
	return decode(r.t, body).Rows
}

// write runs a statement that may write and must succeed.
func (r *rig) write(text string, params ...any) string {
	r.t.Helper()
	body, _, err := r.run(r.t.Context(), false, text, params...)
	if err != nil {
		r.t.Fatalf("%s: %v", text, err)
	}
	return body
}

// refused runs a statement that must fail with one of the codes.
func (r *rig) refused(readOnly bool, text string, codes ...gateway.Code) *gateway.Error {
	r.t.Helper()
	body, _, err := r.run(r.t.Context(), readOnly, text)
	var e *gateway.Error
	if !errors.As(err, &e) || !slices.Contains(codes, e.Code) {
		r.t.Fatalf("%s: got %v, want %v; body %s", text, err, codes, body)
	}
	if strings.Contains(fmt.Sprintf("%v %+v", err, e), password) {
		r.t.Fatalf("%s: the error holds the password", text)
	}
	return e
}

type document struct {
	Columns []struct {
		Name         string `json:"name"`
		Type         string `json:"type"`
		DatabaseType string `json:"databaseType"`
	} `json:"columns"`
	Rows         [][]any `json:"rows"`
	RowCount     int64   `json:"rowCount"`
	Truncated    bool    `json:"truncated"`
	RowsAffected *int64  `json:"rowsAffected"`
}

func decode(t testing.TB, body string) document {
	t.Helper()
	var d document
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&d); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, body)
	}
	return d
}

func detail(e *gateway.Error, code string) string {
	for _, d := range e.Details {
		if d.Code == code {
			return d.Message
		}
	}
	return ""
}

// until waits for a condition.
func until(t testing.TB, what string, within time.Duration, holds func() bool) {
	t.Helper()
	deadline := time.After(within)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s did not come within %v", what, within)
		}
	}
}

func newName() string { return "connector_" + strings.ReplaceAll(uuid.NewString(), "-", "") }

// postgresRig makes a database and a user of its own.
func postgresRig(t testing.TB) (*rig, *pgx.Conn) {
	t.Helper()
	ctx := context.Background()
	admin, err := pgx.Connect(ctx, postgresAdmin)
	if err != nil {
		absent(t, "postgres", err)
	}
	name := newName()
	must := func(text string) {
		if _, err := admin.Exec(ctx, text); err != nil {
			t.Fatal(text, err)
		}
	}
	must(fmt.Sprintf("create role %s login password '%s'", name, password))
	must(fmt.Sprintf("create database %s owner %s", name, name))
	r := newRig(t, gateway.TypePostgreSQL, `{"server":"127.0.0.1:5432","database":"`+name+`"}`, gateway.Credentials{"username": name, "password": password})
	t.Cleanup(func() {
		_ = r.c.Close()
		_, _ = admin.Exec(ctx, "drop database "+name+" with (force)")
		_, _ = admin.Exec(ctx, "drop role "+name)
		_ = admin.Close(ctx)
	})
	return r, admin
}

// mariadbRig makes a database and a user of its own.
func mariadbRig(t testing.TB) (*rig, *sql.DB) {
	t.Helper()
	admin, err := sql.Open("mysql", mariadbAdmin)
	if err == nil {
		err = admin.Ping()
	}
	if err != nil {
		absent(t, "mariadb", err)
	}
	name := newName()
	user := name[:30]
	for _, text := range []string{
		"create database " + name + " character set utf8mb4",
		fmt.Sprintf("create user '%s'@'%%' identified by '%s'", user, password),
		fmt.Sprintf("create user '%s'@'localhost' identified by '%s'", user, password),
		fmt.Sprintf("grant all on %s.* to '%s'@'%%'", name, user),
		fmt.Sprintf("grant all on %s.* to '%s'@'localhost'", name, user),
	} {
		if _, err := admin.Exec(text); err != nil {
			t.Fatal(text, err)
		}
	}
	r := newRig(t, gateway.TypeMySQL, `{"server":"127.0.0.1,3306","database":"`+name+`"}`, gateway.Credentials{"username": user, "password": password})
	t.Cleanup(func() {
		_ = r.c.Close()
		_, _ = admin.Exec("drop database " + name)
		_, _ = admin.Exec("drop user '" + user + "'@'%'")
		_, _ = admin.Exec("drop user '" + user + "'@'localhost'")
		_ = admin.Close()
	})
	return r, admin
}

// sqliteRig makes an empty database file under an allowed folder.
func sqliteRig(t testing.TB) (r *rig, folder string) {
	t.Helper()
	folder = t.TempDir()
	path := filepath.Join(folder, "my data?.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	details, _ := json.Marshal(map[string]string{"kind": "SQLite", "path": path})
	r = newRig(t, gateway.TypeExtension, string(details), nil, folder)
	r.task.DataSource.Credential.Type = "Anonymous"
	return r, folder
}

// everyRig runs a test against every database that is there.
func everyRig(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("postgres", func(t *testing.T) { r, _ := postgresRig(t); test(t, r) })
	t.Run("mariadb", func(t *testing.T) { r, _ := mariadbRig(t); test(t, r) })
	t.Run("sqlite", func(t *testing.T) { r, _ := sqliteRig(t); test(t, r) })
}
