package connector

import (
	"context"
	"database/sql/driver"
	"errors"
	"net/url"
	"os"

	"github.com/mattn/go-sqlite3"

	"comporta/service/gateway"
)

// sqliteDSN opens an existing file, for reading only if that is all that is wanted.
func sqliteDSN(path string, readOnly bool) string {
	options := "?mode=rw&_txlock=immediate&_busy_timeout=5000&_foreign_keys=1"
	if readOnly {
		options = "?mode=ro&_query_only=1&_busy_timeout=5000"
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + options
}

// sqliteConnector opens connections with an authoriser, each to what lies at the path then.
type sqliteConnector struct {
	path     string
	folders  []string
	readOnly bool
}

func (c *sqliteConnector) Driver() driver.Driver {
	return &sqlite3.SQLiteDriver{ConnectHook: func(conn *sqlite3.SQLiteConn) error {
		if err := c.checkPlace(conn); err != nil {
			return err
		}
		conn.RegisterAuthorizer(authorise)
		return nil
	}}
}

// checkPlace asks SQLite which file it opened, links resolved: one of them may have changed since the path was checked.
func (c *sqliteConnector) checkPlace(conn *sqlite3.SQLiteConn) error {
	rows, err := conn.Query("SELECT file FROM pragma_database_list WHERE name = 'main'", nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	row := make([]driver.Value, 1)
	if err := rows.Next(row); err != nil {
		return err
	}
	file, _ := row[0].(string)
	if _, err := allowedFile(file, c.folders); err != nil {
		// Without the path: it is that of something nobody may learn of.
		return gateway.Errorf(gateway.CodeNotAllowedHere, "The file is not under a folder that this member allows any more.")
	}
	return nil
}

func (c *sqliteConnector) Connect(context.Context) (driver.Conn, error) {
	file, err := allowedFile(c.path, c.folders)
	if err != nil {
		return nil, err
	}
	return c.open(file.real)
}

// open opens a file. When another one was put in its place meanwhile, it is not known which of the two SQLite has.
func (c *sqliteConnector) open(real string) (driver.Conn, error) {
	before, err := os.Stat(real)
	if err != nil {
		return nil, err
	}
	conn, err := c.Driver().Open(sqliteDSN(real, c.readOnly))
	if err != nil {
		return nil, err
	}
	if after, err := os.Stat(real); err != nil || !os.SameFile(before, after) {
		return nil, errors.Join(driver.ErrBadConn, conn.Close())
	}
	return &sqliteConn{SQLiteConn: conn.(*sqlite3.SQLiteConn), path: c.path, file: before}, nil
}

// sqliteConn is a connection that bounds what its statements take.
type sqliteConn struct {
	*sqlite3.SQLiteConn
	path string
	// file is what lay at the path when it was opened.
	file os.FileInfo
}

// ResetSession gives up a connection whose file has been replaced (a new one is often published by renaming it, or a link to it): SQLite
// would go on reading the old one, and lose what it writes.
func (c *sqliteConn) ResetSession(context.Context) error {
	if now, err := os.Stat(c.path); err != nil || !os.SameFile(c.file, now) {
		return driver.ErrBadConn
	}
	return nil
}

// sqliteBound is how large a value of a row with so many columns may be.
type sqliteBound struct{ columns, value int }

// sqliteBounds allow eight times maxRow for all values of a row together.
var sqliteBounds = []sqliteBound{{8, maxRow}, {32, maxRow / 4}, {128, maxRow / 16}, {512, maxRow / 64}, {2000, maxRow / 256}}

// sqliteSorted is how many times larger a value may be when a statement runs once more: see sqliteStmt.
const sqliteSorted = 4

// PrepareContext prepares a statement and bounds its values. SQLite bounds values and not rows, makes a whole row before anybody sees it,
// and tells how many columns a statement has only then. So the statement is prepared with few columns allowed, and with more and smaller
// ones when SQLite refuses that. The last answer counts.
func (c *sqliteConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	stmt, err := c.prepareWithin(ctx, text, sqliteBounds[0])
	if err == nil {
		return stmt, nil
	}
	c.readSchema(ctx)
	for _, bound := range sqliteBounds {
		if stmt, err = c.prepareWithin(ctx, text, bound); err == nil {
			return stmt, nil
		}
	}
	return nil, err
}

func (c *sqliteConn) prepareWithin(ctx context.Context, text string, bound sqliteBound) (driver.Stmt, error) {
	c.SetLimit(sqlite3.SQLITE_LIMIT_COLUMN, bound.columns)
	c.SetLimit(sqlite3.SQLITE_LIMIT_LENGTH, bound.value)
	stmt, err := c.SQLiteConn.PrepareContext(ctx, text)
	// The schema may have to be read again when the statement runs, whatever its tables have.
	c.SetLimit(sqlite3.SQLITE_LIMIT_COLUMN, sqliteBounds[len(sqliteBounds)-1].columns)
	if err != nil {
		return nil, err
	}
	return &sqliteStmt{SQLiteStmt: stmt.(*sqlite3.SQLiteStmt), conn: c, value: bound.value}, nil
}

// readSchema lets SQLite read the schema when it has to: tables that a statement does not use are not to decide on its bounds. A failure
// comes again with the statement itself.
func (c *sqliteConn) readSchema(ctx context.Context) {
	if stmt, err := c.SQLiteConn.PrepareContext(ctx, "select 1 from sqlite_schema"); err == nil {
		_ = stmt.Close()
	}
}

// sqliteStmt is a prepared statement.
type sqliteStmt struct {
	*sqlite3.SQLiteStmt
	conn *sqliteConn
	// value is how large a value may be.
	value int
}

// QueryContext runs the statement as far as its first row. While SQLite sorts, it holds whole rows to the bound of a value. So one that only
// reads, and whose values were held to less than maxRow, runs once more with a higher bound when that was too low.
func (s *sqliteStmt) QueryContext(ctx context.Context, values []driver.NamedValue) (driver.Rows, error) {
	rows, err := s.SQLiteStmt.QueryContext(ctx, values)
	var refused sqlite3.Error
	if !errors.As(err, &refused) || refused.Code != sqlite3.ErrTooBig || s.value == maxRow || !s.Readonly() {
		return rows, err
	}
	s.conn.SetLimit(sqlite3.SQLITE_LIMIT_LENGTH, min(maxRow, sqliteSorted*s.value))
	return s.SQLiteStmt.QueryContext(ctx, values)
}
