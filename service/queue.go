package service

import (
	"context"
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
	mu      sync.Mutex
	waiting []chan struct{}
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
	if len(l.waiting) > 0 {
		notify(l.waiting[0])
	}
}

// notify never blocks: one signal that has not been taken yet is enough.
func notify(ticket chan struct{}) {
	select {
	case ticket <- struct{}{}:
	default:
	}
}

// join takes a place at the end; nil when the line is full.
func (l *line) join() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= maxQueued {
		return nil
	}
	ticket := make(chan struct{}, 1)
	l.waiting = append(l.waiting, ticket)
	return ticket
}

// leave gives the place up and lets the next one look.
func (l *line) leave(ticket chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, t := range l.waiting {
		if t == ticket {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			break
		}
	}
	if len(l.waiting) > 0 {
		notify(l.waiting[0])
	}
}

func (l *line) first(ticket chan struct{}) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting) > 0 && l.waiting[0] == ticket
}

// wait stands in line and calls try each time it may be this request's turn, until try says done, the time is up or ctx ends.
// It reports whether try said done.
func (l *line) wait(ctx context.Context, limit time.Duration, try func() (done bool)) bool {
	ticket := l.join()
	if ticket == nil {
		return false
	}
	defer l.leave(ticket)
	deadline, again := time.NewTimer(limit), time.NewTicker(lookAgain)
	defer deadline.Stop()
	defer again.Stop()
	for {
		if l.first(ticket) && try() {
			return true
		}
		select {
		case <-ticket:
		case <-again.C:
		case <-deadline.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
