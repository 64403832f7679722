package persistence

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "github.com/mattn/go-sqlite3" // the SQLite driver
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"comporta/service/gateway"
)

//go:embed migrations/*.sql
var migrations embed.FS

// fileName is the database inside the data folder.
const fileName = "comporta.db"

// Pool sizes. SQLite readers hold a file handle and some cache each; PostgreSQL counts connections over all replicas.
const (
	sqliteReaders       = 8
	postgresConnections = 16
)

// The pragmas stand in the DSN, because through the pool a PRAGMA statement reaches one connection only.
const sharedPragmas = "_foreign_keys=on&_busy_timeout=10000&_journal_mode=WAL&_synchronous=FULL"

func (s *SQL) openSQLite(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the data folder cannot be made: %w; choose another one with --data", err)
	}
	path, err := filepath.Abs(filepath.Join(dir, fileName))
	if err != nil {
		return err
	}
	// Made here, so that the database and the files beside it are the owner's only.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("the state database cannot be opened: %w; is the folder yours, and on a local disk?", err)
	}
	f.Close()
	file := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String()
	s.dialect = sqliteDialect{}
	if s.writer, err = sql.Open("sqlite3", file+"?"+sharedPragmas+"&_txlock=immediate"); err != nil {
		return err
	}
	s.writer.SetMaxOpenConns(1)
	if s.reader, err = sql.Open("sqlite3", file+"?"+sharedPragmas+"&_query_only=on&_txlock=deferred"); err != nil {
		return err
	}
	s.reader.SetMaxOpenConns(sqliteReaders)
	s.reader.SetMaxIdleConns(sqliteReaders)
	if err := s.writer.PingContext(ctx); err != nil {
		s.Close()
		return fmt.Errorf("the state database %s cannot be opened: %w", path, err)
	}
	return nil
}

func (s *SQL) openPostgres(ctx context.Context, address string) error {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		// The parser's text may hold the password.
		return errors.New("--database is not an address such as postgres://user@host:5432/comporta")
	}
	cfg.RuntimeParams["application_name"] = "comporta"
	db := stdlib.OpenDB(*cfg)
	db.SetMaxOpenConns(postgresConnections)
	db.SetMaxIdleConns(postgresConnections)
	s.writer, s.reader, s.dialect = db, db, postgresDialect{}
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return fmt.Errorf("the state database on %s cannot be reached: %w; check address, user, password and pg_hba.conf", cfg.Host, err)
	}
	return nil
}

// migrate brings the schema up to date; several processes may do so at once.
func migrate(ctx context.Context, db *sql.DB, d dialect) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if d.name() == "postgres" {
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	provider, err := goose.NewProvider(goose.Dialect(d.name()), db, files, options...)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("bring the state database up to date: %w", err)
	}
	return refuseNewer(ctx, provider)
}

// refuseNewer stops a binary that is older than the schema: it would not know what it overwrites.
func refuseNewer(ctx context.Context, provider *goose.Provider) error {
	current, newest, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	if current > newest {
		return gateway.Errorf(gateway.CodeUnavailable,
			"The state database has schema version %d; this comporta knows up to %d. Start the newer comporta that wrote it.", current, newest)
	}
	return nil
}
