package persistence

import (
	"context"
	"database/sql"
	"time"

	"comporta/service/gateway"
)

// maxAttempts bounds how often a transaction runs when the database asks to run it again.
const maxAttempts = 10

// reader is one transaction that reads.
type reader struct {
	sql *sql.Tx
	d   *dialect
	now time.Time
	// failed is the first statement that failed; nothing is committed after it.
	failed error
}

// tx is one transaction that writes.
type tx struct {
	*reader
	// changes holds the change number of this transaction for each kind that it has raised.
	changes map[string]int64
	touched map[gateway.ID]bool
}

var _ Tx = (*tx)(nil)

// InTx runs fn in one write transaction; see Store.
func (s *SQL) InTx(ctx context.Context, fn func(tx Tx) error) error {
	return s.repeat(ctx, func() error { return s.writeOnce(ctx, fn) })
}

// View runs fn on one consistent moment of the state; see Store. It may run more than once, like InTx's.
func (s *SQL) View(ctx context.Context, fn func(r Reader) error) error {
	return s.repeat(ctx, func() error { return s.readOnce(ctx, fn) })
}

func (s *SQL) repeat(ctx context.Context, once func() error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.running.Done()
	for attempt := 1; ; attempt++ {
		err := once()
		if err == nil || attempt == maxAttempts || ctx.Err() != nil || s.dialect.classify(err) != faultRetry {
			return err
		}
		s.log.Debug("the database asks to run a transaction again", "attempt", attempt, "error", err)
	}
}

func (s *SQL) writeOnce(ctx context.Context, fn func(tx Tx) error) error {
	r, err := s.begin(ctx, s.write, &sql.TxOptions{})
	if err != nil {
		return err
	}
	defer r.sql.Rollback()
	if s.dialect.lock != "" {
		if _, err := r.sql.ExecContext(ctx, s.dialect.lock); err != nil {
			return r.fail(ctx, err)
		}
	}
	// The clock is read under the lock, so that times of creation follow the order of commits.
	r.now = s.next()
	if err := s.run(r, func() error {
		return fn(&tx{reader: r, changes: map[string]int64{}, touched: map[gateway.ID]bool{}})
	}); err != nil {
		return err
	}
	return r.fail(ctx, r.sql.Commit())
}

func (s *SQL) readOnce(ctx context.Context, fn func(r Reader) error) error {
	r, err := s.begin(ctx, s.read, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return err
	}
	defer r.sql.Rollback()
	r.now = s.moment()
	return s.run(r, func() error { return fn(r) })
}

func (s *SQL) begin(ctx context.Context, pool *sql.DB, options *sql.TxOptions) (*reader, error) {
	r := &reader{d: s.dialect}
	t, err := pool.BeginTx(ctx, options)
	if err != nil {
		return nil, r.fail(ctx, err)
	}
	r.sql = t
	return r, nil
}

// run calls fn. A statement that failed counts even if fn hides it, and one that asks to be run again even if fn renamed it.
func (s *SQL) run(r *reader, fn func() error) error {
	err := fn()
	if r.failed != nil && (err == nil || s.dialect.classify(r.failed) == faultRetry) {
		return r.failed
	}
	return err
}

func (s *SQL) moment() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// maxStep bounds how far back the clock may be set for times to go on from the last one. A clock that is set back further was wrong before,
// and what is written then must not stay in the future for as long.
const maxStep = 10 * time.Minute

// next is the moment of a write. It is not before that of the write before it, also when the clock is set back meanwhile: lists are in the
// order of creation, and whoever follows the audit log goes on from the last entry that he has seen.
func (s *SQL) next() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.moment()
	if behind := s.latest.Sub(now); behind > 0 && behind <= maxStep {
		now = s.latest.Add(time.Microsecond)
	}
	s.latest = now
	return now
}

// goOn makes next go on from the last entry of the audit log, which a service before this one may have written under another clock.
func (s *SQL) goOn(ctx context.Context) error {
	var last sql.NullInt64
	if err := s.write.QueryRowContext(ctx, "SELECT MAX(at) FROM audit").Scan(&last); err != nil {
		return err
	}
	if last.Valid {
		s.latest = time.UnixMicro(last.Int64).UTC()
	}
	return nil
}

// Now is the transaction's one moment, in UTC with microseconds.
func (r *reader) Now() time.Time { return r.now }
