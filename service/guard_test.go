package service

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"comporta/service/gateway"
)

func TestTenWrongRecoveryKeysLockTheClusterForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(time.Now)
		ctx := context.Background()
		for i := range maxWrongKeys {
			before := time.Now()
			err := g.try(ctx, "c1", func() bool { return false })
			if !gateway.IsCode(err, gateway.CodeRecoveryKeyWrong) {
				t.Fatalf("try %d: %v", i, err)
			}
			if time.Since(before) < firstDelay {
				t.Errorf("try %d cost no time", i)
			}
		}
		asked := false
		err := g.try(ctx, "c1", func() bool { asked = true; return true })
		if !gateway.IsCode(err, gateway.CodeRecoveryKeyLocked) || asked {
			t.Fatalf("locked: %v, asked %v", err, asked)
		}
		if e := gateway.AsError(err); e.RetryAfter <= 0 || e.RetryAfter > lockFor {
			t.Errorf("RetryAfter is %v", e.RetryAfter)
		}
		if err := g.try(ctx, "c2", func() bool { return true }); err != nil {
			t.Errorf("another cluster is locked too: %v", err)
		}
		time.Sleep(lockFor)
		if err := g.try(ctx, "c1", func() bool { return true }); err != nil {
			t.Errorf("still locked after a minute: %v", err)
		}
	})
}

func TestARightRecoveryKeyForgivesTheWrongOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(time.Now)
		for range 3 {
			for range maxWrongKeys - 1 {
				g.try(context.Background(), "c", func() bool { return false })
			}
			if err := g.try(context.Background(), "c", func() bool { return true }); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// guesses sends wrong keys at once, the right one as the last if there is one, and says how many were looked at and how the last one fared.
func guesses(g *guard, n int, lastIsRight bool) (looked int, last error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		right := lastIsRight && i == n-1
		all.Go(func() {
			err := g.try(context.Background(), "c", func() bool {
				mu.Lock()
				looked++
				mu.Unlock()
				time.Sleep(30 * time.Millisecond)
				return right
			})
			if right {
				last = err
			}
		})
		synctest.Wait()
	}
	all.Wait()
	return looked, last
}

func TestRecoveryKeysSentAtOnceAreCountedBeforeTheyAreChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(time.Now)
		for round := range 3 {
			if looked, err := guesses(g, 40, true); looked != maxWrongKeys || !gateway.IsCode(err, gateway.CodeRecoveryKeyLocked) || gateway.AsError(err).RetryAfter <= 0 {
				t.Errorf("round %d: %d of 40 keys were looked at; the right one as the last: %v", round, looked, err)
			}
			time.Sleep(lockFor)
		}
		if looked, err := guesses(g, maxWrongKeys, true); looked != maxWrongKeys || err != nil {
			t.Errorf("the right key as the tenth at once: %v, %d looked at", err, looked)
		}
	})
}

// Many machines that join at once with the right key are no guesses, also while somebody else guesses.
func TestManyRightRecoveryKeysAtOnceAreAllRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(time.Now)
		for range maxWrongKeys - 1 {
			g.try(context.Background(), "c", func() bool { return false })
		}
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				if err := g.try(context.Background(), "c", func() bool { time.Sleep(30 * time.Millisecond); return true }); err != nil {
					t.Errorf("right key %d: %v", i, err)
				}
			})
		}
		all.Wait()
		if len(g.tries) != 0 || g.waiting != 0 {
			t.Errorf("left over: %d clusters, %d waiting", len(g.tries), g.waiting)
		}
	})
}

func TestTheWaitingRoomOfTheGuardIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(time.Now)
		ctx, cancel := context.WithCancel(context.Background())
		var all sync.WaitGroup
		for range maxWrongKeys + maxWaiting {
			all.Go(func() { g.try(ctx, "c", func() bool { <-ctx.Done(); return true }) })
		}
		synctest.Wait()
		if err := g.try(ctx, "c", func() bool { return true }); !gateway.IsCode(err, gateway.CodeRecoveryKeyLocked) || gateway.AsError(err).RetryAfter <= 0 {
			t.Errorf("one more than fits: %v", err)
		}
		cancel()
		all.Wait()
		if g.waiting != 0 {
			t.Errorf("%d are still waiting", g.waiting)
		}
	})
}

// Whatever comes in whatever order: since the last right key never more than ten keys ran or were wrong.
func TestNeverMoreThanTenWrongRecoveryKeysSinceTheLastRightOne(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			g, random := newGuard(time.Now), rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			var all sync.WaitGroup
			since, running := 0, 0
			for range 60 {
				right, takes, waits := random.IntN(25) == 0, time.Duration(random.IntN(400))*time.Millisecond, time.Duration(random.IntN(200))*time.Millisecond
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(3000))*time.Millisecond)
				all.Go(func() {
					defer cancel()
					g.try(ctx, "c", func() bool {
						mu.Lock()
						if running++; since+running > maxWrongKeys {
							t.Errorf("seed %d: %d wrong keys and %d running", seed, since, running)
						}
						mu.Unlock()
						time.Sleep(takes)
						mu.Lock()
						defer mu.Unlock()
						running--
						if since++; right {
							since = 0
						}
						return right
					})
				})
				time.Sleep(waits)
			}
			all.Wait()
			// 60 tries at 100 ms each end before a lock of a minute does, so the lock never starts the count anew here.
		})
	}
}

func TestATryThatNeverRanIsNoWrongRecoveryKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(time.Now)
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		g.work <- struct{}{}
		g.work <- struct{}{}
		for range 2 * maxWrongKeys {
			g.try(gone, "c", func() bool { return false })
		}
		<-g.work
		if err := g.try(context.Background(), "c", func() bool { return true }); err != nil {
			t.Errorf("after tries of callers who went away: %v", err)
		}
	})
}

// Tries at ever new ids, which have no lock of their own, fill a bounded room: who comes then is told so at once.
func TestTriesOfAllClustersTogetherAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(time.Now)
		hold := make(chan struct{})
		var all sync.WaitGroup
		try := func(i int) error {
			return g.try(context.Background(), gateway.ID(fmt.Sprint(i)), func() bool { <-hold; return true })
		}
		for i := range maxDeriving + cap(g.work) {
			all.Go(func() {
				if err := try(i); err != nil {
					t.Errorf("try %d: %v", i, err)
				}
			})
		}
		synctest.Wait()
		if err := try(-1); !gateway.IsCode(err, gateway.CodeRecoveryKeyLocked) {
			t.Errorf("one more than there is room for: %v", err)
		}
		close(hold)
		all.Wait()
		if err := try(-1); err != nil {
			t.Errorf("when they are through: %v", err)
		}
	})
}
