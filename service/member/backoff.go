package member

import (
	"errors"
	"time"

	"comporta/service/tunnel"
)

// The back-off of the connect loop. The contract says: jittered, capped, begun anew after a stable minute. That would do for the service's
// sake alone, but it keeps members away long after the service is back, so what is here is stricter.
//
// Nobody answers: the service restarts, or the network is down. Both may be over at any moment, and asking costs nobody anything, so the
// waits stay short. That all come at once is prevented by the jitter, and by the service, which lets in so many in a second and tells the
// others when to come.
//
// The service says no: that does not change soon, and each answer costs it a look into its database. These waits grow long.
//
// A tunnel that was let in ends: the first time the slot is back at once. When it happens again and again, the waits grow, but never
// beyond a part of the time for which the tunnel lasted: a line that is cut every 50 s (some proxies do that) is up nine tenths of the
// time. Only tunnels that hardly begin let the wait grow as long as a no does.
const (
	firstWait   = 200 * time.Millisecond
	silentWait  = 2 * time.Second
	longestWait = 30 * time.Second
	// stable is after how long a tunnel counts as good, so that the waits begin anew.
	stable = time.Minute
	// hardly is how long a tunnel lasts that was no good from the beginning; after a longer one the wait is at most 1/awayPart of its time.
	hardly   = 2 * time.Second
	awayPart = 8
)

// growing is a wait that is doubled each time it is taken, up to most.
type growing struct{ next, most time.Duration }

func (g *growing) take() time.Duration {
	wait := max(g.next, firstWait)
	g.next = min(2*wait, g.most)
	return wait
}

func (g *growing) reset() { g.next = 0 }

// backoff knows how long a slot waits before its next try. Each kind of failure has a wait of its own.
type backoff struct{ silences, refusals, drops growing }

func newBackoff() *backoff {
	return &backoff{silences: growing{most: silentWait}, refusals: growing{most: longestWait}, drops: growing{most: longestWait}}
}

// session is what became of one try: whether the service let the slot in, for how long that lasted, and why it is over.
type session struct {
	accepted bool
	lasted   time.Duration
	err      error
}

// after returns the wait after a session, before jitter.
func (b *backoff) after(s session) time.Duration {
	switch {
	case s.accepted:
		b.silences.reset()
		b.refusals.reset()
		return b.dropped(s.lasted)
	case tunnel.Unanswered(s.err):
		return b.silences.take()
	}
	b.silences.reset()
	return b.refusals.take()
}

func (b *backoff) dropped(lasted time.Duration) time.Duration {
	if lasted >= stable {
		b.drops.reset()
	}
	wait := b.drops.take()
	if lasted >= hardly {
		wait = min(wait, max(firstWait, lasted/awayPart))
	}
	return wait
}

// wakeable reports whether the wait after s is over as soon as another tunnel of this member is let in. It is not when the service named a time,
// nor after a tunnel that was let in, or two that end again and again would wake each other without end.
func (s session) wakeable() bool { return !s.accepted && retryAfter(s.err) == 0 }

// pause is the wait with half of it at random, so that members do not come back as one. When the service asked for more, that is what is
// waited at least, up to the longest wait.
func pause(wait time.Duration, err error, jitter float64) time.Duration {
	random := time.Duration(float64(wait) * jitter / 2)
	if asked := retryAfter(err); asked > wait/2 {
		return min(asked, longestWait) + random
	}
	return wait/2 + random
}

// retryAfter is the time that the service named, 0 if it named none.
func retryAfter(err error) time.Duration {
	var refused *tunnel.RefusedError
	if errors.As(err, &refused) {
		return refused.Err.RetryAfter
	}
	return 0
}
