package persistence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/mattn/go-sqlite3"
	"github.com/pressly/goose/v3"
)

const (
	// SQLiteFile is the database in the data folder.
	SQLiteFile = "comporta.db"
	// sqliteReaders is how many Views run at once; more wait.
	sqliteReaders = 8
	// sqliteShared are the settings of every connection. They stand in the address because a statement would reach one connection of
	// the pool only. A lock held by somebody outside (a backup) is waited for, 10 s.
	sqliteShared = "_synchronous=FULL&_foreign_keys=ON&_busy_timeout=10000&_stmt_cache_size=128"
	sqliteWriter = sqliteShared + "&_journal_mode=WAL&_txlock=immediate"
	sqliteReader = sqliteShared + "&mode=ro&_query_only=ON&_txlock=deferred"
)

var sqliteDialect = &dialect{
	migrations: goose.DialectSQLite3,
	each:       "json_each(?)",
	checkpoint: "PRAGMA wal_checkpoint(TRUNCATE)",
	classify:   sqliteFault,
}

func (s *SQL) openSQLite(ctx context.Context, dir string) error {
	path, err := sqliteReady(dir)
	if err != nil {
		return err
	}
	s.dialect = sqliteDialect
	if s.write, err = sql.Open("sqlite3", sqliteAddress(path, sqliteWriter)); err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	// The file becomes a database in WAL mode here; readers, which cannot do that, open it afterwards.
	if err := s.write.PingContext(ctx); err != nil {
		return errors.Join(fmt.Errorf("the state database %s cannot be opened: %w; check that it is a Comporta database, on a local disk with room, and not in use by another service", path, err), s.write.Close())
	}
	if s.read, err = sql.Open("sqlite3", sqliteAddress(path, sqliteReader)); err != nil {
		return errors.Join(err, s.write.Close())
	}
	s.read.SetMaxOpenConns(sqliteReaders)
	s.read.SetMaxIdleConns(sqliteReaders)
	return nil
}

// sqliteReady makes the folder and the file, both closed to others, and returns the file's absolute path.
func sqliteReady(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	const advice = "choose another with --data, or give this user the right to write there"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("the data folder cannot be made: %w; %s", err, advice)
	}
	path := filepath.Join(dir, SQLiteFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", fmt.Errorf("the data folder cannot be written: %w; %s", err, advice)
	}
	return path, errors.Join(f.Chmod(0o600), f.Close())
}

func sqliteAddress(path, settings string) string {
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + "?" + settings
}

// explained says of a damaged database what most likely damaged it.
func explained(err error) error {
	if e := (sqlite3.Error{}); errors.As(err, &e) && e.Code == sqlite3.ErrCorrupt {
		return fmt.Errorf("the state database is damaged: %w; where a backup was put back, the comporta.db-wal and -shm of the old database must be moved away before: restore it anew so", err)
	}
	return err
}

func sqliteFault(err error) fault {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return faultOther
	}
	switch e.ExtendedCode {
	case sqlite3.ErrConstraintUnique:
		return faultTaken
	case sqlite3.ErrConstraintPrimaryKey:
		return faultTakenID
	case sqlite3.ErrConstraintForeignKey:
		return faultMissing
	}
	switch e.Code {
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrFull, sqlite3.ErrIoErr, sqlite3.ErrCantOpen, sqlite3.ErrReadonly:
		return faultUnavailable
	}
	return faultOther
}
