package persistence

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// versionTable is where goose keeps which migrations are done.
const versionTable = goose.DefaultTablename

// ErrNewerSchema means that the database was used by a newer version of the product, which this one cannot know how to read.
var ErrNewerSchema = errors.New("the state database was written by a newer version of Comporta")

// migrate brings the schema up to date and returns its version. Migrations are numbered and append-only. Any number of processes may
// start at once: on PostgreSQL they take turns; the waiting ones find nothing to do.
func migrate(ctx context.Context, db *sql.DB, d *dialect, log *slog.Logger) (int64, error) {
	provider, err := migrations(db, d, log)
	if err != nil {
		return 0, fmt.Errorf("read the migrations: %w", err)
	}
	found, known, err := provider.GetVersions(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the version of the state database: %w", err)
	}
	if found > known {
		return 0, fmt.Errorf("%w: it has schema %05d, this one knows up to %05d; start the newer version, or restore a backup from before the upgrade", ErrNewerSchema, found, known)
	}
	if _, err := provider.Up(ctx); err != nil {
		return 0, fmt.Errorf("bring the state database from schema %05d to %05d: %w; nothing of the failed step was kept", found, known, err)
	}
	return known, nil
}

func migrations(db *sql.DB, d *dialect, log *slog.Logger) (*goose.Provider, error) {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true), goose.WithSlog(log)}
	if d.numbered {
		// Asked for every second, for two minutes.
		turns, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 120))
		if err != nil {
			return nil, err
		}
		options = append(options, goose.WithSessionLocker(turns))
	}
	return goose.NewProvider(d.migrations, db, files, options...)
}
