package persistence

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"comporta/service/gateway"
)

// Config says where the state lives. URL is postgres://… or postgresql://…; without it the state is SQLite in DataDir/comporta.db.
type Config struct {
	DataDir, URL string
	Now          func() time.Time
	Log          *slog.Logger
}

// SQL is the one implementation of Store, for SQLite and PostgreSQL.
type SQL struct {
	// writer and reader are one pool on PostgreSQL; on SQLite the writer has one connection.
	writer, reader *sql.DB
	dialect        dialect
	now            func() time.Time
	log            *slog.Logger
}

// maxTries bounds how often a transaction is run again when the database asks for it.
const maxTries = 12

// Open opens the state database and brings its schema up to date.
func Open(ctx context.Context, cfg Config) (*SQL, error) {
	s := &SQL{now: cfg.Now, log: cfg.Log}
	var err error
	if cfg.URL != "" {
		err = s.openPostgres(ctx, cfg.URL)
	} else {
		err = s.openSQLite(ctx, cfg.DataDir)
	}
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, s.writer, s.dialect); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Ping answers whether the database answers and its migrations are done.
func (s *SQL) Ping(ctx context.Context) error {
	var n int
	if err := s.reader.QueryRowContext(ctx, "SELECT count(*) FROM policy").Scan(&n); err != nil {
		return gateway.Wrap(gateway.CodeUnavailable, err, "The state database does not answer.")
	}
	return nil
}

// Close waits for running transactions and closes the database.
func (s *SQL) Close() error {
	err := s.reader.Close()
	if s.writer != s.reader {
		if e := s.writer.Close(); err == nil {
			err = e
		}
	}
	return err
}

// InTx runs fn in one write transaction; it runs again when the database reports that it met another one.
func (s *SQL) InTx(ctx context.Context, fn func(tx Tx) error) error {
	for try := 1; ; try++ {
		err := s.once(ctx, s.writer, s.dialect.writeOptions(), func(c *conn) error {
			if lock := s.dialect.lock(); lock != "" {
				if _, err := c.tx.ExecContext(ctx, lock); err != nil {
					return fmt.Errorf("lock the state for writing: %w", err)
				}
			}
			c.now = s.moment()
			return fn(c)
		})
		if err == nil || try == maxTries || !s.dialect.again(err) {
			return err
		}
		if err := backOff(ctx, try); err != nil {
			return err
		}
	}
}

func backOff(ctx context.Context, try int) error {
	timer := time.NewTimer(time.Duration(try*try) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// View runs fn on one consistent moment of the state.
func (s *SQL) View(ctx context.Context, fn func(r Reader) error) error {
	return s.once(ctx, s.reader, s.dialect.readOptions(), func(c *conn) error { return fn(c) })
}

func (s *SQL) once(ctx context.Context, db *sql.DB, options *sql.TxOptions, fn func(c *conn) error) error {
	tx, err := db.BeginTx(ctx, options)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback()
	if err := fn(&conn{tx: tx, dialect: s.dialect, now: s.moment()}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// moment is the present, as exact as both databases keep it.
func (s *SQL) moment() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// conn is one transaction: the Reader of a View, the Tx of an InTx.
type conn struct {
	tx      *sql.Tx
	dialect dialect
	now     time.Time
}

// Now is the transaction's one moment.
func (c *conn) Now() time.Time { return c.now }

func (c *conn) exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := c.tx.ExecContext(ctx, c.dialect.rebind(query), args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", firstWords(query), err)
	}
	return result.RowsAffected()
}

// must runs a statement that has to meet a row.
func (c *conn) must(ctx context.Context, what string, id gateway.ID, query string, args ...any) error {
	n, err := c.exec(ctx, query, args...)
	if err == nil && n == 0 {
		return notFound(what, id)
	}
	return err
}

// firstWords names a statement in an error: what it does and to which table, without any value.
func firstWords(query string) string {
	words := strings.Fields(query)
	return strings.ToLower(strings.Join(words[:min(3, len(words))], " "))
}

func notFound(what string, id gateway.ID) *gateway.Error {
	return gateway.Errorf(gateway.CodeNotFound, "There is no such %s.", what).About(id)
}

// scanner is a row that can be read.
type scanner interface{ Scan(to ...any) error }

// one reads one row, or says that there is none.
func one[T any](ctx context.Context, c *conn, what string, id gateway.ID, read func(scanner) (T, error), query string, args ...any) (T, error) {
	list, err := many(ctx, c, read, query, args...)
	if err == nil && len(list) == 0 {
		err = notFound(what, id)
	}
	if err != nil {
		var none T
		return none, err
	}
	return list[0], nil
}

// many reads all rows; none is an empty list.
func many[T any](ctx context.Context, c *conn, read func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := c.tx.QueryContext(ctx, c.dialect.rebind(query), args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", firstWords(query), err)
	}
	defer rows.Close()
	list := []T{}
	for rows.Next() {
		v, err := read(rows)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", firstWords(query), err)
		}
		list = append(list, v)
	}
	return list, rows.Err()
}
