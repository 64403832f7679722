package service

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"comporta/service/gateway"
)

// The waiting line of a cluster with a queueTimeoutSeconds. Source: contract section 8, extension.
const (
	// maxQueued bounds how many requests of one cluster wait at once.
	maxQueued = 1000
	// lookAgain is how often the first in line looks by itself: a place may come free on another replica, or a limit may change.
	lookAgain = 100 * time.Millisecond
)

// queues holds the waiting lines of clusters, each made when first needed.
type queues struct{ lines sync.Map } // gateway.ID -> *line

// line lets requests wait for a place, first come first served.
type line struct {
	mu sync.Mutex
	// waiting stand in the order of their turns.
	waiting []*ticket
	last    uint64
	// out is how many have left the line for a place that they saw and may not get.
	out int
	// shut: a member refused the last one who had left, though it seemed to have a place. Until one is taken again only one goes at a time,
	// when a request has ended or the first in line has waited a while (allowed): the whole line would be sent and refused.
	shut, allowed bool
}

// ticket is one request's turn in a line. Who has left and comes back stands where it stood.
type ticket struct {
	line *line
	turn uint64
	// look says that it may be this request's turn.
	look chan struct{}
	// left: it is out. Under the line's lock.
	left bool
}

func (q *queues) of(cluster gateway.ID) *line {
	if l, ok := q.lines.Load(cluster); ok {
		return l.(*line)
	}
	l, _ := q.lines.LoadOrStore(cluster, new(line))
	return l.(*line)
}

// freed tells the first in line that a request of the cluster has ended.
func (q *queues) freed(cluster gateway.ID) {
	if l, ok := q.lines.Load(cluster); ok {
		l.(*line).wake()
	}
}

// waiting is how many requests of the cluster wait now.
func (q *queues) waiting(cluster gateway.ID) int {
	l, ok := q.lines.Load(cluster)
	if !ok {
		return 0
	}
	return l.(*line).length()
}

func (l *line) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

func (l *line) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.allowed = true
	l.notifyFirst()
}

func (l *line) notifyFirst() {
	if len(l.waiting) > 0 {
		notify(l.waiting[0].look)
	}
}

// notify never blocks: one signal that has not been taken yet is enough.
func notify(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// join takes a ticket and stands at the end; nil when the line is full.
func (l *line) join() *ticket {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= maxQueued {
		return nil
	}
	l.last++
	t := &ticket{line: l, turn: l.last, look: make(chan struct{}, 1)}
	l.waiting = append(l.waiting, t)
	return t
}

// where is the index at which the ticket stands, or would.
func (t *ticket) where() (i int, stands bool) {
	return slices.BinarySearchFunc(t.line.waiting, t.turn, func(other *ticket, turn uint64) int { return cmp.Compare(other.turn, turn) })
}

// leave is called with a place in sight: the next one may look. Who has left already is not there to leave.
func (t *ticket) leave() {
	t.line.mu.Lock()
	defer t.line.mu.Unlock()
	if t.remove() {
		t.left, t.line.allowed = true, false
		t.line.out++
	}
}

// quit leaves for good.
func (t *ticket) quit() {
	t.line.mu.Lock()
	defer t.line.mu.Unlock()
	t.remove()
}

func (t *ticket) remove() bool {
	i, stands := t.where()
	if stands {
		t.line.waiting = slices.Delete(t.line.waiting, i, i+1)
		t.line.notifyFirst()
	}
	return stands
}

// settle notes what came of the place that was in sight.
func (t *ticket) settle(taken bool) {
	t.line.mu.Lock()
	defer t.line.mu.Unlock()
	if !t.left {
		return
	}
	t.left = false
	t.line.out--
	if taken && t.line.shut {
		t.line.notifyFirst()
	}
	t.line.shut = !taken
}

// back stands in line again. The line may be longer than maxQueued then, by those whom a member has refused after they left. Nobody is told
// to look: there was no place a moment ago.
func (t *ticket) back() {
	t.line.mu.Lock()
	defer t.line.mu.Unlock()
	if i, stands := t.where(); !stands {
		t.line.waiting = slices.Insert(t.line.waiting, i, t)
	}
}

// mayTry holds for the first in line, unless members refuse what seems to have a place and one is out to see.
func (t *ticket) mayTry() bool {
	t.line.mu.Lock()
	defer t.line.mu.Unlock()
	l := t.line
	return len(l.waiting) > 0 && l.waiting[0] == t && (!l.shut || l.allowed || l.out == 0)
}

// again is called now and then while the ticket waits.
func (t *ticket) again() {
	t.line.mu.Lock()
	defer t.line.mu.Unlock()
	if len(t.line.waiting) > 0 && t.line.waiting[0] == t {
		t.line.allowed = true
	}
}

// wait stands in line and calls try each time it may be this request's turn, until try says done, the time is up or ctx ends. It reports
// whether try said done. try leaves the line when it has taken a place, long before it is done: the next one looks for a place meanwhile.
// If try is not done after all, the request is back where it stood.
func (l *line) wait(ctx context.Context, limit time.Duration, try func(*ticket) (done bool)) bool {
	t := l.join()
	if t == nil {
		return false
	}
	defer t.quit()
	deadline, again := time.NewTimer(limit), time.NewTicker(lookAgain)
	defer deadline.Stop()
	defer again.Stop()
	for {
		if t.mayTry() {
			done := try(t)
			t.settle(done)
			if done {
				return true
			}
			t.back()
		}
		select {
		case <-t.look:
		case <-again.C:
			t.again()
		case <-deadline.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
