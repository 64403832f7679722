package issuer

import (
	"context"
	"sync"
)

// flight is a reading that runs once for all who wait for it. It goes on when they go away: what it brings is for the next one too, and so
// nobody can keep others from it by hanging up.
type flight struct {
	mu  sync.Mutex
	now *landing
}

// landing is the end of one reading.
type landing struct {
	done chan struct{}
	err  error
}

// start begins to read, unless that is under way.
func (f *flight) start(ctx context.Context, read func(context.Context) error) *landing {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now == nil {
		f.now = &landing{done: make(chan struct{})}
		go f.run(context.WithoutCancel(ctx), f.now, read)
	}
	return f.now
}

func (f *flight) run(ctx context.Context, l *landing, read func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	l.err = read(ctx)
	f.mu.Lock()
	f.now = nil
	f.mu.Unlock()
	close(l.done)
}

// wait returns what the reading came to, or why ctx ended before.
func (l *landing) wait(ctx context.Context) error {
	select {
	case <-l.done:
		return l.err
	case <-ctx.Done():
		return ctx.Err()
	}
}
