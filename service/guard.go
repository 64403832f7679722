package service

import (
	"context"
	"sync"
	"time"

	"comporta/service/gateway"
)

// The price of guessing a recovery key. Source: contract section 5.
const (
	maxWrongKeys = 10
	lockFor      = time.Minute
	firstDelay   = 50 * time.Millisecond
	maxDelay     = 2 * time.Second
	// maxGuarded bounds how many clusters' wrong tries are remembered.
	maxGuarded = 10000
)

// guard slows down and locks out wrong recovery keys, per cluster.
type guard struct {
	now   func() time.Time
	mu    sync.Mutex
	tries map[gateway.ID]*wrongTries
	// work bounds how many key derivations run at once: each takes 64 MiB.
	work chan struct{}
}

type wrongTries struct {
	count int
	last  time.Time
}

func newGuard(now func() time.Time) *guard {
	return &guard{now: now, tries: map[gateway.ID]*wrongTries{}, work: make(chan struct{}, 2)}
}

// try runs check for the cluster. ten wrong results in a row lock the cluster's joining for a minute, and each one before costs time.
func (g *guard) try(ctx context.Context, cluster gateway.ID, check func() bool) error {
	if wait := g.locked(cluster); wait > 0 {
		e := gateway.Errorf(gateway.CodeRecoveryKeyLocked, "Too many wrong recovery keys: joining this cluster is locked for %d seconds.", int(wait.Seconds())+1)
		e.RetryAfter = wait
		return e
	}
	select {
	case g.work <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	right := check()
	<-g.work
	delay := g.count(cluster, right)
	if right {
		return nil
	}
	if err := pause(ctx, delay); err != nil {
		return err
	}
	return gateway.Errorf(gateway.CodeRecoveryKeyWrong, "The recovery key is not the one of this cluster.").About(cluster)
}

func (g *guard) locked(cluster gateway.ID) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.tries[cluster]
	if t == nil || t.count < maxWrongKeys {
		return 0
	}
	wait := lockFor - g.now().Sub(t.last)
	if wait <= 0 {
		delete(g.tries, cluster)
		return 0
	}
	return wait
}

// count takes a result in and returns how long a wrong one must wait.
func (g *guard) count(cluster gateway.ID, right bool) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if right {
		delete(g.tries, cluster)
		return 0
	}
	t := g.tries[cluster]
	if t == nil {
		g.makeRoom()
		t = &wrongTries{}
		g.tries[cluster] = t
	}
	t.count++
	t.last = g.now()
	return min(firstDelay<<min(t.count, 10), maxDelay)
}

// makeRoom forgets what is old enough not to matter.
func (g *guard) makeRoom() {
	if len(g.tries) < maxGuarded {
		return
	}
	for id, t := range g.tries {
		if g.now().Sub(t.last) > lockFor {
			delete(g.tries, id)
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
