package connector

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-sqlite3"

	"comporta/service/gateway"
)

// sqliteDialect is a SQLite file under a folder that the member's configuration allows.
type sqliteDialect struct {
	path string
	// readOnly: the file was opened for reading.
	readOnly bool
}

func openSQLite(d *gateway.TaskSource, readOnly bool, folders []string) (source, error) {
	place, err := gateway.ParsePlace(d.Type, d.ConnectionDetails)
	if err != nil {
		return nil, err
	}
	if _, err := allowedFile(place.Path, folders); err != nil {
		return nil, err
	}
	connector := &sqliteConnector{path: place.Path, folders: folders, readOnly: readOnly}
	return newDatabase(connector, &sqliteDialect{path: place.Path, readOnly: readOnly}), nil
}

// harmlessPragmas only tell something.
var harmlessPragmas = []string{
	"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list", "database_list",
	"collation_list", "function_list", "compile_options",
}

// readablePragmas tell something as long as no value is given.
var readablePragmas = []string{"user_version", "application_id", "encoding", "page_count", "page_size", "schema_version", "foreign_keys", "journal_mode"}

// authorise keeps statements within their one file and away from SQLite's switches.
func authorise(action int, first, second, _ string) int {
	switch action {
	case sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH:
		return sqlite3.SQLITE_DENY
	case sqlite3.SQLITE_PRAGMA:
		name := strings.ToLower(first)
		if slices.Contains(harmlessPragmas, name) || second == "" && slices.Contains(readablePragmas, name) {
			return sqlite3.SQLITE_OK
		}
		return sqlite3.SQLITE_DENY
	case sqlite3.SQLITE_FUNCTION:
		if strings.EqualFold(second, "load_extension") {
			return sqlite3.SQLITE_DENY
		}
	}
	return sqlite3.SQLITE_OK
}

func (s *sqliteDialect) guard(text string, readOnly bool) (verdict, error) {
	return guardSQLite(text, readOnly)
}

// begin: a statement that reads is a read transaction of its own.
func (s *sqliteDialect) begin(ctx context.Context, conn driver.Conn, readOnly bool) (driver.Tx, error) {
	if readOnly {
		return nil, nil
	}
	return conn.(driver.ConnBeginTx).BeginTx(ctx, driver.TxOptions{})
}

func (s *sqliteDialect) check(stmt driver.Stmt, readOnly bool) error {
	if readOnly && !stmt.(*sqliteStmt).Readonly() {
		return notReading()
	}
	return nil
}

// bound: PrepareContext has seen to it.
func (s *sqliteDialect) bound(driver.Conn, int) *meter { return nil }

func (s *sqliteDialect) affected() string { return "select changes()" }
func (s *sqliteDialect) drains() bool     { return false }
func (s *sqliteDialect) close()           {}

// kill has nothing to do: the driver interrupts its statement when the context ends.
func (s *sqliteDialect) kill(driver.Conn) {}

func (s *sqliteDialect) failure(err error) error {
	var known *gateway.Error
	var refused sqlite3.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case !errors.As(err, &refused):
		return gateway.Wrap(gateway.CodeDataSourceAccess, err, "The file %q cannot be read.", s.path)
	}
	var e *gateway.Error
	switch refused.Code {
	case sqlite3.ErrCantOpen, sqlite3.ErrNotADB, sqlite3.ErrIoErr, sqlite3.ErrCorrupt, sqlite3.ErrPerm:
		e = gateway.Errorf(gateway.CodeDataSourceAccess, "The file %q cannot be read as a SQLite database: %s", s.path, refused.Error())
	case sqlite3.ErrTooBig:
		e = rowTooLarge()
	case sqlite3.ErrReadonly:
		if !s.readOnly {
			e = gateway.Errorf(gateway.CodeDataSourceAccess, "The member may not write to the file %q, or to the folder it is in: %s", s.path, refused.Error())
			break
		}
		e = writes("the database says: " + refused.Error())
	case sqlite3.ErrAuth:
		e = gateway.Errorf(gateway.CodeNotAllowedHere, "The statement does something that this member does not allow: %s.", refused.Error())
	default:
		e = gateway.Errorf(gateway.CodeQuery, "The database refused the query: %s", refused.Error())
	}
	return e.With(gateway.DetailUnderlyingCode, strconv.Itoa(int(refused.ExtendedCode))).With(gateway.DetailUnderlyingMessage, refused.Error()).
		With(gateway.DetailUnderlyingNative, strconv.Itoa(int(refused.Code)))
}
