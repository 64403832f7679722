package service

import (
	"context"
	"sync"
	"sync/atomic"
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
	// maxWaiting bounds how many tries wait for a place, maxDeriving how many, of all clusters and of none, wait for a derivation: some seconds.
	maxWaiting  = 1000
	maxDeriving = 100
)

// guard slows down and locks out wrong recovery keys, per cluster.
type guard struct {
	now   func() time.Time
	mu    sync.Mutex
	tries map[gateway.ID]*keyTries
	// waiting is how many tries wait for a place.
	waiting int
	// deriving is how many wait for work.
	deriving atomic.Int64
	// work bounds how many key derivations run at once: each takes 64 MiB.
	work chan struct{}
}

// keyTries are the tries at one cluster's recovery key. A running try counts as a wrong one until it is known to be right; else guesses
// sent at once would all be under way before the first of them counts.
type keyTries struct {
	running, wrong int
	lastWrong      time.Time
	// settled is closed when a running try has ended.
	settled chan struct{}
}

func newGuard(now func() time.Time) *guard {
	return &guard{now: now, tries: map[gateway.ID]*keyTries{}, work: make(chan struct{}, 2)}
}

// try runs check for the cluster. Ten wrong results in a row lock the cluster's joining for a minute, and each one before costs time.
func (g *guard) try(ctx context.Context, cluster gateway.ID, check func() bool) error {
	if err := g.reserve(ctx, cluster); err != nil {
		return err
	}
	right, err := g.run(ctx, cluster, check)
	if right || err != nil {
		return err
	}
	if err := pause(ctx, g.delay(cluster)); err != nil {
		return err
	}
	return gateway.Errorf(gateway.CodeRecoveryKeyWrong, "The recovery key is not the one of this cluster.").About(cluster)
}

// reserve takes one of the tries that are left, or answers CodeRecoveryKeyLocked. While all that are left are under way it waits: ten machines
// that join at once with the right key do not lock out the eleventh, and ten wrong keys do as soon as they are known to be wrong.
func (g *guard) reserve(ctx context.Context, cluster gateway.ID) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		t := g.of(cluster)
		if t.wrong >= maxWrongKeys {
			if wait := lockFor - g.now().Sub(t.lastWrong); wait > 0 {
				return locked(wait, "Too many wrong recovery keys: joining this cluster is locked for %d seconds.", int(wait.Seconds())+1)
			}
			t.wrong = 0
		}
		if t.wrong+t.running < maxWrongKeys {
			t.running++
			return nil
		}
		if err := g.wait(ctx, t.settled); err != nil {
			return err
		}
	}
}

// of finds the tries at a cluster's key, or begins to count them.
func (g *guard) of(cluster gateway.ID) *keyTries {
	t := g.tries[cluster]
	if t == nil {
		g.makeRoom()
		t = &keyTries{settled: make(chan struct{})}
		g.tries[cluster] = t
	}
	return t
}

// wait leaves the guard to others until a running try has settled.
func (g *guard) wait(ctx context.Context, settled <-chan struct{}) error {
	if g.waiting >= maxWaiting {
		return tooMany()
	}
	g.waiting++
	g.mu.Unlock()
	defer func() { g.mu.Lock(); g.waiting-- }()
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func tooMany() *gateway.Error {
	return locked(maxDelay, "Too many recovery keys are being tried at once. Try again when they are through.")
}

func locked(wait time.Duration, words string, args ...any) *gateway.Error {
	e := gateway.Errorf(gateway.CodeRecoveryKeyLocked, words, args...)
	e.RetryAfter = wait
	return e
}

// run does a reserved try and ends its reservation. One that never came to its check, or died in it, tells nothing of the key.
func (g *guard) run(ctx context.Context, cluster gateway.ID, check func() bool) (right bool, err error) {
	checked := false
	defer func() { g.settle(cluster, checked, right) }()
	defer g.deriving.Add(-1)
	if g.deriving.Add(1) > maxDeriving+int64(cap(g.work)) {
		return false, tooMany()
	}
	select {
	case g.work <- struct{}{}:
		defer func() { <-g.work }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	right = check()
	checked = true
	return right, nil
}

func (g *guard) settle(cluster gateway.ID, checked, right bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.tries[cluster]
	t.running--
	close(t.settled)
	t.settled = make(chan struct{})
	switch {
	case checked && right:
		t.wrong = 0
	case checked:
		t.wrong++
		t.lastWrong = g.now()
	}
	if t.running == 0 && t.wrong == 0 {
		delete(g.tries, cluster)
	}
}

// delay is how long a wrong try must wait for its answer.
func (g *guard) delay(cluster gateway.ID) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	wrong := 0
	if t := g.tries[cluster]; t != nil {
		wrong = t.wrong
	}
	return min(firstDelay<<min(wrong, maxWrongKeys), maxDelay)
}

// makeRoom forgets what is old enough not to matter.
func (g *guard) makeRoom() {
	if len(g.tries) < maxGuarded {
		return
	}
	for id, t := range g.tries {
		if t.running == 0 && g.now().Sub(t.lastWrong) > lockFor {
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
