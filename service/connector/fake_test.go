package connector

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"testing"

	"github.com/google/uuid"

	"comporta/service/gateway"
)

// fakeServer stands for the database server that no test has (SQL Server), behind the interfaces of its driver. A statement is a list of
// results. The server works them off while the client reads, and what the client cuts off by closing is not done: so it is with
// go-mssqldb, whose Rows.Close cancels what is left and returns nil (mssql.go, token.go nextToken).
type fakeServer struct {
	statement []fakeResult
	// fails is what running the statement gives.
	fails error
	// running and committing, when set, are called then.
	running    func()
	committing func() error

	done, cut              int // rows that were worked off, and times that a client cut some off
	committed, rolledBack  bool
	committedAfter, begins int
}

// fakeResult is one result set: its number of rows, and the error that comes in the place of its end.
type fakeResult struct {
	rows    int
	columns []string
	fails   error
}

func (s *fakeServer) Connect(context.Context) (driver.Conn, error) { return &fakeConn{s}, nil }
func (s *fakeServer) Driver() driver.Driver                        { return nil }

type fakeConn struct{ s *fakeServer }

func (c *fakeConn) Close() error                        { return nil }
func (c *fakeConn) Begin() (driver.Tx, error)           { return nil, errors.ErrUnsupported }
func (c *fakeConn) Prepare(string) (driver.Stmt, error) { return nil, errors.ErrUnsupported }

func (c *fakeConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	c.s.begins++
	return c, nil
}

func (c *fakeConn) Commit() error {
	c.s.committed, c.s.committedAfter = true, c.s.done
	if c.s.committing != nil {
		return c.s.committing()
	}
	return nil
}

func (c *fakeConn) Rollback() error {
	c.s.rolledBack = true
	return nil
}

func (c *fakeConn) PrepareContext(_ context.Context, text string) (driver.Stmt, error) {
	results := c.s.statement
	if text == (&sqlServerDialect{}).affected() {
		results = []fakeResult{{rows: 1, columns: []string{""}}}
	}
	return &fakeStmt{c.s, results}, nil
}

type fakeStmt struct {
	s       *fakeServer
	results []fakeResult
}

func (f *fakeStmt) Close() error                               { return nil }
func (f *fakeStmt) NumInput() int                              { return -1 }
func (f *fakeStmt) Exec([]driver.Value) (driver.Result, error) { return nil, errors.ErrUnsupported }
func (f *fakeStmt) Query([]driver.Value) (driver.Rows, error)  { return nil, errors.ErrUnsupported }

func (f *fakeStmt) QueryContext(context.Context, []driver.NamedValue) (driver.Rows, error) {
	if f.s.running != nil {
		f.s.running()
	}
	if f.s.fails != nil {
		return nil, f.s.fails
	}
	return &fakeRows{s: f.s, results: f.results}, nil
}

type fakeRows struct {
	s       *fakeServer
	results []fakeResult
	row     int
	over    bool
}

func (f *fakeRows) Columns() []string                     { return f.results[0].columns }
func (f *fakeRows) ColumnTypeDatabaseTypeName(int) string { return "BIGINT" }
func (f *fakeRows) HasNextResultSet() bool                { return len(f.results) > 1 }

func (f *fakeRows) Next(dest []driver.Value) error {
	now := f.results[0]
	if f.row == now.rows {
		f.over = len(f.results) == 1 || now.fails != nil
		if now.fails != nil {
			return now.fails
		}
		return io.EOF
	}
	if len(dest) != len(now.columns) {
		return errors.New("the values are those of another result")
	}
	f.row++
	f.s.done++
	for i := range dest {
		dest[i] = int64(f.row)
	}
	return nil
}

func (f *fakeRows) NextResultSet() error {
	if len(f.results) == 1 {
		return io.EOF
	}
	f.results, f.row = f.results[1:], 0
	return nil
}

func (f *fakeRows) Close() error {
	if !f.over {
		f.s.cut++
	}
	return nil
}

// run runs the statement as the SQL Server dialect does.
func (s *fakeServer) run(t *testing.T, readOnly bool, maxRows int64) (*memory, error) {
	t.Helper()
	out := &memory{}
	return out, s.runTo(t.Context(), out, readOnly, maxRows)
}

func (s *fakeServer) runTo(ctx context.Context, out *memory, readOnly bool, maxRows int64) error {
	db := newDatabase(s, &sqlServerDialect{where: "fake"})
	defer db.close()
	task := &gateway.Task{ReadOnly: readOnly, Query: &gateway.Query{Text: "select 1", MaxRows: maxRows}, Format: gateway.FormatJSON, DataSource: gateway.TaskSource{ID: gateway.ID(uuid.NewString())}}
	_, err := db.run(ctx, task, out)
	return err
}
