package persistence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

const (
	// The pools are apart so that writers, which wait for each other, never take the last connection from readers. A handful of
	// processes stays well under PostgreSQL's usual hundred connections. One more may hold the claim on the state.
	postgresWriters = 4
	postgresReaders = 12
	postgresConnect = 10 * time.Second
	// postgresIdle frees the writers' lock when the process that holds it hangs in the middle of a transaction.
	postgresIdle = "60s"
)

var postgresDialect = &dialect{
	migrations: goose.DialectPostgres,
	numbered:   true,
	each:       "json_array_elements_text(CAST(? AS json))",
	// Transactions are READ COMMITTED, so every statement after this one sees all that earlier holders of the lock committed, and
	// nobody else writes. The number is "COMP" in ASCII; the lock ends with the transaction.
	lock:     "SELECT pg_advisory_xact_lock(1129270608)",
	classify: postgresFault,
}

func (s *SQL) openPostgres(ctx context.Context, address string) error {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		// The parser's own words may hold the password.
		return errors.New("the database address is malformed, or names a certificate file that cannot be read; it must look like postgres://user:password@host:5432/database")
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = postgresConnect
	}
	cfg.RuntimeParams["application_name"] = "comporta"
	cfg.RuntimeParams["idle_in_transaction_session_timeout"] = postgresIdle
	s.dialect = postgresDialect
	s.claims = cfg
	s.write = postgresPool(cfg, postgresWriters)
	if err := s.write.PingContext(ctx); err != nil {
		return errors.Join(fmt.Errorf("the database cannot be reached: %w; check the address, and that PostgreSQL runs and lets this user in", err), s.write.Close())
	}
	s.read = postgresPool(cfg, postgresReaders)
	if err := s.checkDurable(ctx); err != nil {
		return errors.Join(err, s.shut())
	}
	return nil
}

func postgresPool(cfg *pgx.ConnConfig, size int) *sql.DB {
	pool := stdlib.OpenDB(*cfg)
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	return pool
}

// checkDurable warns when the server acknowledges commits that a power loss can take back: that is its operator's choice, not ours.
func (s *SQL) checkDurable(ctx context.Context) error {
	var setting string
	if err := s.write.QueryRowContext(ctx, "SHOW synchronous_commit").Scan(&setting); err != nil {
		return fmt.Errorf("ask the database how it commits: %w", err)
	}
	if setting == "off" {
		s.log.Warn("PostgreSQL runs with synchronous_commit=off: acknowledged changes can be lost in a crash; switch it on for this database")
	}
	return nil
}

func postgresFault(err error) fault {
	var refused *pgconn.ConnectError
	var network net.Error
	if errors.As(err, &refused) || errors.As(err, &network) {
		return faultUnavailable
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return faultOther
	}
	switch e.Code {
	case "23505": // unique_violation; PostgreSQL names primary keys so, and the migrations name no constraint otherwise
		if strings.HasSuffix(e.ConstraintName, "_pkey") {
			return faultTakenID
		}
		return faultTaken
	case "23503": // foreign_key_violation
		return faultMissing
	case "40001", "40P01": // serialization_failure, deadlock_detected
		return faultRetry
	}
	switch e.Code[:2] {
	case "08", "53", "57", "58": // connection, resources, operator intervention, system
		return faultUnavailable
	}
	return faultOther
}
