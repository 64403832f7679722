//go:build linux

package faults

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Who has nobody else to go to is served over a slow line too, behind large answers that fill it.
func TestTheOnlyMemberOnASlowLineServes(t *testing.T) {
	t.Parallel()
	onlyMember(t, narrow, 10*time.Second, 4)
}

// A line that needs more time for both ways than a member has for its word is no reason to give the only member up.
func TestTheOnlyMemberFarAwayServes(t *testing.T) {
	t.Parallel()
	onlyMember(t, far, 20*time.Second, 0)
}

// onlyMember asks the only member, over such a line, again and again for so long, with so many callers who want large answers.
func onlyMember(t *testing.T, line conditions, during time.Duration, greedy int) {
	db, network, reason := ground(t)
	if network == nil {
		absent(t, "netns", reason)
	}
	w, err := newWorld(network, db, false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if err := w.members[1].process.stop(); err != nil {
		t.Fatal(err)
	}
	w.members[0].wire.set(line, line)
	end := time.Now().Add(during)
	var callers sync.WaitGroup
	var answered, large atomic.Int64
	ask := func(k kind, rows int, done *atomic.Int64) {
		callers.Go(func() {
			for time.Now().Before(end) {
				n := numbers.Add(1)
				text := fmt.Sprintf("select %d + 0 * i as n, repeat('x', %d) as pad from generate_series(1, %d) i", n, padding, rows)
				if k == write {
					text = fmt.Sprintf("select execute(%d, 0, 0) as n, '' as pad", n)
				}
				if failure, detail, _ := w.dispatch(n, text, rows, k); failure != "" {
					t.Errorf("request %d of kind %d: %s, %s", n, k, failure, detail)
				}
				done.Add(1)
			}
		})
	}
	for range greedy {
		ask(stream, 60, &large)
	}
	for range 3 {
		ask(read, 1, &answered)
	}
	ask(write, 1, &answered)
	callers.Wait()
	t.Logf("%d small answers, %d large ones", answered.Load(), large.Load())
	if t.Failed() {
		t.Log(w.words())
	}
}
