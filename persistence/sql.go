package persistence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"comporta/service/gateway"
)

// Config says where the state lives.
type Config struct {
	// DataDir is the folder of the SQLite database (comporta.db). It is made when it is missing, readable by nobody else.
	DataDir string
	// URL, when set, is a PostgreSQL address (postgres:// or postgresql://) and wins over DataDir. It may hold a password and is
	// never printed.
	URL string
	// Exclusive, when set, refuses a state that another process holds exclusively, after waiting so long for it to end (ErrInUse).
	Exclusive time.Duration
	// Watch is how often it is looked whether the state is still held, 5 s when 0. OnLost is told, once, that another process holds it now;
	// nil for nobody. Both are for PostgreSQL, where whatever ends a connection ends the claim.
	Watch  time.Duration
	OnLost func(error)
	// Now is the clock. Required.
	Now func() time.Time
	// Log takes what an operator should know. Required.
	Log *slog.Logger
}

// SQL is the Store on SQLite or PostgreSQL. It is safe for concurrent use.
//
// A write that fails dooms its transaction: InTx rolls back and returns the failure even if fn hides it. PostgreSQL demands that;
// SQLite does the same here so that the two cannot differ.
type SQL struct {
	dialect *dialect
	write   *sql.DB
	read    *sql.DB
	schema  int64
	// claims is how to connect for the claim on a PostgreSQL database; nil on SQLite.
	claims *pgx.ConnConfig
	// release gives up the claim on the state; nil without one.
	release func() error
	now     func() time.Time
	log     *slog.Logger

	mu     sync.Mutex
	closed bool
	// latest is the moment of the last write.
	latest  time.Time
	running sync.WaitGroup
	closing sync.Once
	outcome error
}

var _ Store = (*SQL)(nil)

// Open connects to the database, brings its schema up to date and returns the store. The errors are for the operator and say what to
// do; one that wraps ErrNewerSchema means that a newer version of the product has used this database.
func Open(ctx context.Context, cfg Config) (*SQL, error) {
	if cfg.Now == nil || cfg.Log == nil {
		return nil, errors.New("persistence: Config needs Now and Log")
	}
	s, err := connect(ctx, cfg)
	if err != nil {
		return nil, explained(err)
	}
	// Before the schema is touched: the other service may be of another version.
	if cfg.Exclusive > 0 {
		err = s.claim(ctx, cfg)
	}
	if err == nil {
		err = s.ready(ctx)
	}
	if err != nil {
		return nil, errors.Join(explained(err), s.Close())
	}
	return s, nil
}

func connect(ctx context.Context, cfg Config) (*SQL, error) {
	s := &SQL{now: cfg.Now, log: cfg.Log}
	switch {
	case strings.HasPrefix(cfg.URL, "postgres://"), strings.HasPrefix(cfg.URL, "postgresql://"):
		return s, s.openPostgres(ctx, cfg.URL)
	case cfg.URL != "":
		return nil, errors.New("the database address must begin with postgres:// or postgresql://; leave it out to use SQLite in the data folder")
	case cfg.DataDir == "":
		return nil, errors.New("there is no place for the state: give a data folder (--data) or a database address (--database)")
	}
	return s, s.openSQLite(ctx, cfg.DataDir)
}

func (s *SQL) ready(ctx context.Context) error {
	version, err := migrate(ctx, s.write, s.dialect, s.log)
	if err != nil {
		return err
	}
	s.schema = version
	if err := s.goOn(ctx); err != nil {
		return err
	}
	return s.Ping(ctx)
}

// Ping answers whether the database answers and its migrations are done. A schema newer than ours is fine: another process of a newer
// version has migrated it while this one still runs.
func (s *SQL) Ping(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.running.Done()
	var version int64
	err := s.read.QueryRowContext(ctx, "SELECT COALESCE(MAX(version_id), 0) FROM "+versionTable).Scan(&version)
	if err != nil {
		return gateway.Wrap(gateway.CodeUnavailable, err, "The state database does not answer.")
	}
	if version < s.schema {
		return gateway.Errorf(gateway.CodeUnavailable, "The state database has schema %d instead of %d.", version, s.schema)
	}
	return nil
}

// Close waits for running transactions and closes the database. Later calls of any method fail with CodeUnavailable; closing again
// returns what the first time returned.
func (s *SQL) Close() error {
	s.closing.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.running.Wait()
		s.outcome = s.shut()
	})
	return s.outcome
}

// shut closes the readers first, so that the last connection to go is one that may clean up.
func (s *SQL) shut() error {
	var errs []error
	if s.read != nil {
		errs = append(errs, s.read.Close())
	}
	if s.write != nil {
		if s.dialect.checkpoint != "" {
			_, err := s.write.Exec(s.dialect.checkpoint)
			errs = append(errs, err)
		}
		errs = append(errs, s.write.Close())
	}
	if s.release != nil {
		errs = append(errs, s.release())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the state database: %w", err)
	}
	return nil
}

// enter counts a transaction in; the caller must call s.running.Done when it is over.
func (s *SQL) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return gateway.Errorf(gateway.CodeUnavailable, "The service is shutting down.")
	}
	s.running.Add(1)
	return nil
}
