package persistence

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	claimFile = "comporta.lock"
	// claimPause lies between two tries to get a claim that another process holds.
	claimPause = 100 * time.Millisecond
	// claimPostgres takes the claim for as long as its connection lasts. The first number is "COMP" in ASCII, as in the writers' lock.
	claimPostgres = "SELECT pg_try_advisory_lock(1129270608, 1)"
)

// ErrInUse is answered by Open when Exclusive was asked for and another process holds the state.
var ErrInUse = errors.New("another service uses this state")

// claim keeps every other service off the state until this store is closed or the process ends, however it ends. A service that is just
// ending is waited for.
func (s *SQL) claim(ctx context.Context, cfg Config) error {
	take := func(ctx context.Context) (string, error) { return s.claimDatabase(ctx, cfg) }
	if cfg.URL == "" {
		take = func(context.Context) (string, error) { return s.claimFolder(cfg.DataDir) }
	}
	said := false
	for deadline := s.now().Add(cfg.Exclusive); ; {
		holder, err := take(ctx)
		if err != nil || s.release != nil {
			return err
		}
		if s.now().After(deadline) {
			return fmt.Errorf("%w (%s): its members and tokens are with that one; stop it, or give this one a state of its own", ErrInUse, holder)
		}
		if !said {
			said = true
			s.log.Info("another service uses this state; waiting for it to end", "holder", holder, "within", cfg.Exclusive)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(claimPause):
		}
	}
}

// claimFolder locks a file beside the database. It answers who holds the lock if that is somebody else.
func (s *SQL) claimFolder(dir string) (holder string, err error) {
	path := filepath.Join(dir, claimFile)
	lock := flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDWR))
	switch got, err := lock.TryLock(); {
	case err != nil:
		return "", fmt.Errorf("the file %s cannot be locked: %w; the data folder must be on a local disk and writable", path, err)
	case !got:
		text, _ := os.ReadFile(path)
		return strings.TrimSpace(string(text)), nil
	}
	s.release = lock.Close
	host, _ := os.Hostname()
	// Who holds it is for people only; the lock is what counts.
	return "", os.WriteFile(path, fmt.Appendf(nil, "process %d on %s\n", os.Getpid(), host), 0o600)
}

func (s *SQL) claimDatabase(ctx context.Context, cfg Config) (holder string, err error) {
	conn, holder, err := s.tryLock(ctx)
	if conn != nil {
		s.release = s.hold(conn, cmp.Or(cfg.Watch, watchEvery), cfg.OnLost)
	}
	return holder, err
}

// tryLock returns the connection that holds the claim, or else who has it.
func (s *SQL) tryLock(ctx context.Context) (*sql.Conn, string, error) {
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return nil, "", err
	}
	var got bool
	if err := conn.QueryRowContext(ctx, claimPostgres).Scan(&got); err != nil {
		return nil, "", errors.Join(fmt.Errorf("the database cannot be claimed: %w", err), conn.Close())
	}
	if got {
		return conn, "", nil
	}
	holder := "its database connection is not known"
	var pid sql.NullInt64
	var from sql.NullString
	err = conn.QueryRowContext(ctx, `SELECT a.pid, host(a.client_addr) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.classid = 1129270608 AND l.objid = 1 AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&pid, &from)
	if err == nil {
		holder = fmt.Sprintf("database connection %d from %s", pid.Int64, from.String)
	}
	return nil, holder, conn.Close()
}
