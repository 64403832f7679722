package service

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"comporta/service/gateway"
)

func TestTheLineServesFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queues
		l := q.of("c")
		places := 0
		var mu sync.Mutex
		var served []int
		for i := range 5 {
			go func() {
				l.wait(context.Background(), time.Minute, func() bool {
					mu.Lock()
					defer mu.Unlock()
					if places == 0 {
						return false
					}
					places--
					served = append(served, i)
					return true
				})
			}()
			synctest.Wait()
		}
		if got := q.waiting("c"); got != 5 {
			t.Fatalf("%d wait, want 5", got)
		}
		for range 5 {
			mu.Lock()
			places++
			mu.Unlock()
			q.freed("c")
			synctest.Wait()
		}
		for i, got := range served {
			if i != got {
				t.Fatalf("served in the order %v", served)
			}
		}
		if len(served) != 5 || q.waiting("c") != 0 {
			t.Fatalf("served %v, %d still wait", served, q.waiting("c"))
		}
	})
}

func TestTheLineIsLeftOnTimeOutAndOnCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queues
		l := q.of("c")
		never := func() bool { return false }
		before := time.Now()
		if l.wait(context.Background(), 3*time.Second, never) || time.Since(before) != 3*time.Second {
			t.Errorf("a wait of three seconds took %v", time.Since(before))
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if l.wait(ctx, time.Minute, never) {
			t.Error("a cancelled wait says that it was served")
		}
		if q.waiting("c") != 0 {
			t.Error("somebody still stands in line")
		}
	})
}

func TestTheLineIsBounded(t *testing.T) {
	var l line
	for range maxQueued {
		if l.join() == nil {
			t.Fatal("full too early")
		}
	}
	if l.join() != nil {
		t.Error("one more than the line takes")
	}
}

// Who does not get his turn hears why: not that a gateway is unreachable which only had no place for him.
func TestWhyARequestLeftTheLine(t *testing.T) {
	for _, c := range []struct {
		name  string
		ahead int
		limit time.Duration
		end   func(up chan struct{}, goAway func())
		want  gateway.Code
	}{
		{"the line is full", maxQueued, time.Minute, nil, gateway.CodeConcurrencyLimit},
		{"its time in line is over", 1, time.Millisecond, nil, gateway.CodeConcurrencyLimit},
		{"its own time is over", 1, time.Minute, func(up chan struct{}, _ func()) { close(up) }, gateway.CodeTimeout},
		{"its caller went away", 1, time.Minute, func(_ chan struct{}, goAway func()) { goAway() }, gateway.CodeClientGone},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			cluster, _, source := w.cluster(t, 1)
			must(t, w.Clusters.Update(context.Background(), w.admin, cluster, ClusterPatch{QueueTimeout: &c.limit}))
			line := w.Dispatcher.queues.of(cluster)
			for range c.ahead {
				line.join()
			}
			bounded := newBounded()
			ctx, goAway := context.WithCancel(bounded)
			defer goAway()
			if c.end != nil {
				go func() {
					for w.Dispatcher.Waiting(cluster) <= c.ahead {
						runtime.Gosched()
					}
					c.end(bounded.up, goAway)
				}()
			}
			_, err := w.Dispatcher.Dispatch(ctx, w.admin, query(cluster, source, true))
			e := gateway.AsError(err)
			if e.Code != c.want || (e.RetryAfter > 0) != (c.want == gateway.CodeConcurrencyLimit) {
				t.Errorf("got %v, Retry-After %v", err, e.RetryAfter)
			}
			if got := w.Dispatcher.Waiting(cluster); got != c.ahead {
				t.Errorf("%d stand in line, %d did before", got, c.ahead)
			}
		})
	}
}
