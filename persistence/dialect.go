package persistence

import (
	"database/sql"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"
)

// dialect is all in which the two databases differ once they are open.
type dialect interface {
	// name is the one that goose knows.
	name() string
	// rebind turns ? into the database's own placeholders.
	rebind(query string) string
	// ids is a subquery over the texts of a JSON array given as one argument, so that a list of any length is one placeholder.
	ids() string
	// unique and again read the driver's error code: a taken name, and a transaction to be run once more.
	unique(err error) bool
	again(err error) bool
	writeOptions() *sql.TxOptions
	// lock is the statement with which a write transaction begins, "" for none.
	lock() string
	readOptions() *sql.TxOptions
}

type sqliteDialect struct{}

func (sqliteDialect) name() string               { return "sqlite3" }
func (sqliteDialect) rebind(query string) string { return query }
func (sqliteDialect) ids() string                { return "(SELECT value FROM json_each(?))" }

func (sqliteDialect) unique(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.ExtendedCode == sqlite3.ErrConstraintUnique || e.ExtendedCode == sqlite3.ErrConstraintPrimaryKey)
}

func (sqliteDialect) again(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.Code == sqlite3.ErrBusy || e.Code == sqlite3.ErrLocked)
}

func (sqliteDialect) writeOptions() *sql.TxOptions { return nil }
func (sqliteDialect) lock() string                 { return "" }
func (sqliteDialect) readOptions() *sql.TxOptions  { return nil }

type postgresDialect struct{}

func (postgresDialect) name() string { return "postgres" }
func (postgresDialect) ids() string  { return "(SELECT json_array_elements_text(?::json))" }

func (postgresDialect) rebind(query string) string {
	var b strings.Builder
	n := 0
	for i := range len(query) {
		if query[i] != '?' {
			b.WriteByte(query[i])
			continue
		}
		n++
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// Codes from the PostgreSQL manual, appendix A.
func (postgresDialect) unique(err error) bool { return hasState(err, "23505") }
func (postgresDialect) again(err error) bool {
	return hasState(err, "40001") || hasState(err, "40P01")
}

func hasState(err error, state string) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == state
}

func (postgresDialect) writeOptions() *sql.TxOptions { return nil }

// Writers go one at a time, as they do with SQLite: "count, then insert" and "read, then write back" hold, and change numbers are given in
// the order in which they become visible.
func (postgresDialect) lock() string { return "SELECT pg_advisory_xact_lock(7305808861)" }

func (postgresDialect) readOptions() *sql.TxOptions {
	return &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
}
