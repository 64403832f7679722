package service

import (
	"context"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

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
				l.wait(context.Background(), time.Minute, func(*ticket) bool {
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
		never := func(*ticket) bool { return false }
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
	first := l.join()
	for range maxQueued - 1 {
		if l.join() == nil {
			t.Fatal("full too early")
		}
	}
	if l.join() != nil {
		t.Error("one more than the line takes")
	}
	first.leave()
	if l.join() == nil {
		t.Error("there is room for one")
	}
	if first.back(); !first.mayTry() || l.join() != nil {
		t.Error("who comes back is in front, and nobody new comes in")
	}
}

// Any order of coming, leaving and coming back against a plain list: who stands in line, who is first, and that a new first one is told to
// look when the one before him leaves, but not when he only comes back.
func TestTheLineStandsLikeAnOracleWould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l line
		var all, oracle []*ticket
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			action := rapid.IntRange(0, 2).Draw(t, "action")
			if action == 0 || len(all) == 0 {
				all = append(all, l.join())
				oracle = append(oracle, all[len(all)-1])
				continue
			}
			i := rapid.IntRange(0, len(all)-1).Draw(t, "who")
			who := all[i]
			stands := slices.Contains(oracle, who)
			if action == 1 {
				who.leave()
				oracle = slices.DeleteFunc(oracle, func(o *ticket) bool { return o == who })
			} else if who.back(); !stands {
				oracle = append(oracle, who)
				slices.SortFunc(oracle, func(a, b *ticket) int { return slices.Index(all, a) - slices.Index(all, b) })
			}
			told := len(oracle) > 0 && len(oracle[0].look) == 1
			if want := action == 1 && stands && len(oracle) > 0; told != want {
				t.Fatalf("the first one was told to look: %v, want %v", told, want)
			}
			for _, o := range oracle {
				for len(o.look) > 0 {
					<-o.look
				}
			}
			if !slices.Equal(l.waiting, oracle) || len(oracle) > 0 && !oracle[0].mayTry() {
				t.Fatalf("%d stand, %d should", len(l.waiting), len(oracle))
			}
		}
	})
}

// No place stays free while somebody waits, however long the answers of those before him take; and everybody is served, in turn.
func TestNoPlaceIsFreeWhileSomebodyWaits(t *testing.T) {
	for places := 1; places < 6; places++ {
		synctest.Test(t, func(t *testing.T) {
			const requests = 40
			var q queues
			var mu sync.Mutex
			var all sync.WaitGroup
			var served []int
			free, chance := places, rand.New(rand.NewPCG(uint64(places), 0))
			for i := range requests {
				all.Go(func() {
					q.of("c").wait(context.Background(), time.Hour, func(t *ticket) bool {
						mu.Lock()
						defer mu.Unlock()
						if free == 0 {
							return false
						}
						free--
						served = append(served, i)
						answer := time.Duration(chance.IntN(5000)) * time.Millisecond
						mu.Unlock()
						t.leave()
						<-time.After(answer)
						mu.Lock()
						free++
						q.freed("c")
						return true
					})
				})
				synctest.Wait()
			}
			for q.waiting("c") > 0 {
				if mu.Lock(); free > 0 {
					t.Errorf("%d places are free and %d wait", free, q.waiting("c"))
				}
				mu.Unlock()
				<-time.After(time.Millisecond)
				synctest.Wait()
			}
			all.Wait()
			if len(served) != requests || !slices.IsSorted(served) {
				t.Errorf("served %v", served)
			}
		})
	}
}

// Who is refused after he left the line is served before those who stood behind him, and does not ask without a pause.
func TestWhoIsRefusedAfterAllStandsWhereHeStood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queues
		var mu sync.Mutex
		var all sync.WaitGroup
		var served []int
		taken, refusals, began := false, 2, time.Now()
		for i := range 3 {
			all.Go(func() {
				q.of("c").wait(context.Background(), time.Hour, func(t *ticket) bool {
					mu.Lock()
					defer mu.Unlock()
					if taken {
						return false
					}
					taken = true
					mu.Unlock()
					t.leave()
					<-time.After(time.Millisecond)
					mu.Lock()
					taken = false
					if refusals--; refusals >= 0 {
						return false
					}
					served = append(served, i)
					return true
				})
			})
			synctest.Wait()
		}
		if got := q.waiting("c"); got != 2 {
			t.Errorf("%d wait while the first is out, want 2", got)
		}
		<-time.After(2 * time.Millisecond)
		if got := q.waiting("c"); got != 3 {
			t.Errorf("%d wait when the first was refused, want 3", got)
		}
		all.Wait()
		if took := time.Since(began); !slices.Equal(served, []int{0, 1, 2}) || took < 2*lookAgain {
			t.Errorf("served %v within %v", served, took)
		}
	})
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

// places is a member that counts its requests as the registry does, and answers each when the test says so.
type places struct {
	world  *world
	member gateway.ID
	mu     sync.Mutex
	taken  int
	begun  map[string]chan struct{}
}

func (w *world) places(member gateway.ID) *places {
	p := &places{world: w, member: member, begun: map[string]chan struct{}{}}
	w.tunnels.counted = func(gateway.ID) { p.count(1) }
	w.tunnels.answer(member, func(task *gateway.Task) (*gateway.Answer, error) {
		<-p.of(task.Query.Text)
		answer := small("fine")
		answer.Body = &counted{answer.Body, p}
		return answer, nil
	})
	return p
}

func (p *places) count(change int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken += change
	p.world.tunnels.show(p.member, func(presence *gateway.Presence) { presence.InFlight = p.taken })
}

// of is what the answer to a query waits for; whoever asks first makes it.
func (p *places) of(query string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun[query] == nil {
		p.begun[query] = make(chan struct{})
	}
	return p.begun[query]
}

func (p *places) runs(query string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun[query] != nil
}

// counted is a body whose end frees a place.
type counted struct {
	io.ReadCloser
	places *places
}

func (c *counted) Close() error {
	c.places.count(-1)
	return c.ReadCloser.Close()
}

// send dispatches a query and waits until it runs, or stands in line.
func (p *places) send(t *testing.T, cluster, source gateway.ID, text string) (done chan error) {
	t.Helper()
	done = make(chan error, 1)
	before := p.world.Dispatcher.Waiting(cluster)
	go func() {
		q := query(cluster, source, true)
		q.Query.Text = text
		response, err := p.world.Dispatcher.Dispatch(context.Background(), p.world.admin, q)
		if err == nil {
			err = response.Body.Close()
		}
		done <- err
	}()
	eventually(t, text+" runs or waits", func() bool { return p.runs(text) || p.world.Dispatcher.Waiting(cluster) > before })
	return done
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("not within ten seconds: %s", what)
		}
	}
}

// A request that got its place leaves the line at once. Those behind it do not wait for its answer.
func TestTheLineDoesNotWaitForAnAnswer(t *testing.T) {
	w := newWorld(t)
	cluster, members, source := w.cluster(t, 1)
	two, wait := 2, time.Minute
	must(t, w.Clusters.Update(context.Background(), w.admin, cluster, ClusterPatch{Limits: gateway.Limits{Concurrency: &two}, QueueTimeout: &wait}))
	p := w.places(members[0])
	a, b := p.send(t, cluster, source, "a"), p.send(t, cluster, source, "b")
	c, d := p.send(t, cluster, source, "c"), p.send(t, cluster, source, "d")
	if p.runs("c") || p.runs("d") || w.Dispatcher.Waiting(cluster) != 2 {
		t.Fatalf("%d wait", w.Dispatcher.Waiting(cluster))
	}
	close(p.of("a"))
	must(t, <-a)
	eventually(t, "c runs", func() bool { return p.runs("c") })
	eventually(t, "only d waits", func() bool { return w.Dispatcher.Waiting(cluster) == 1 })
	close(p.of("b"))
	must(t, <-b)
	eventually(t, "d runs", func() bool { return p.runs("d") })
	eventually(t, "nobody waits", func() bool { return w.Dispatcher.Waiting(cluster) == 0 })
	close(p.of("c"))
	close(p.of("d"))
	must(t, <-c)
	must(t, <-d)
}
