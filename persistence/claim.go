package persistence

import (
	"cmp"
	"context"
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
)

// ErrInUse is answered by Open when Exclusive was asked for and another process holds the state.
var ErrInUse = errors.New("another service uses this state")

// claim keeps every other service off the state until this store is closed or the process ends, however it ends. A service that is just
// ending is waited for.
func (s *SQL) claim(ctx context.Context, cfg Config) error {
	if s.claims == nil {
		return s.await(ctx, cfg.Exclusive, func(context.Context) (string, error) { return s.claimFolder(cfg.DataDir) })
	}
	h := &holding{config: s.claims, every: cmp.Or(cfg.Watch, watchEvery), lost: cfg.OnLost, log: s.log}
	if err := s.await(ctx, cfg.Exclusive, h.request); err != nil {
		h.drop()
		return err
	}
	s.release = h.start()
	return nil
}

// await takes the claim. For some time it waits for who else holds it: whoever take names, nobody once it is taken.
func (s *SQL) await(ctx context.Context, within time.Duration, take func(context.Context) (holder string, err error)) error {
	said := false
	for deadline := s.now().Add(within); ; {
		holder, err := take(ctx)
		if err != nil || holder == "" {
			return err
		}
		if s.now().After(deadline) {
			return fmt.Errorf("%w (%s): its members and tokens are with that one; stop it, or give this one a state of its own", ErrInUse, holder)
		}
		if !said {
			said = true
			s.log.Info("another service uses this state; waiting for it to end", "holder", holder, "within", within)
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(claimPause):
		return nil
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
		return cmp.Or(strings.TrimSpace(string(text)), "its process is not known"), nil
	}
	s.release = lock.Close
	host, _ := os.Hostname()
	// Who holds it is for people only; the lock is what counts.
	return "", os.WriteFile(path, fmt.Appendf(nil, "process %d on %s\n", os.Getpid(), host), 0o600)
}
