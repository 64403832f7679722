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
// waits stay short, and grow a little only when that has lasted for minutes. That all come at once is prevented by the jitter, and by the service, which lets in so many in a second and tells the
// others when to come.
//
// A proxy says when to come back: that is when the member comes, within bounds, and not sooner.
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
	// lostWait is the longest wait when nobody has answered for so long that the waits are patience in sum: two minutes at least.
	lostWait = 10 * time.Second
	patience = 4 * time.Minute
	// longestNamed bounds the time that somebody names.
	longestNamed = 5 * time.Minute
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
type backoff struct {
	silences, refusals, drops growing
	// silent is the sum of the waits since somebody answered.
	silent time.Duration
}

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
		b.answered()
		b.refusals.reset()
		return b.dropped(s.lasted)
	case tunnel.Unanswered(s.err), away(s.err) != nil:
		return b.unanswered()
	}
	b.answered()
	return b.refusals.take()
}

func (b *backoff) unanswered() time.Duration {
	wait := b.silences.take()
	if b.silent += wait; b.silent > patience {
		b.silences.most = lostWait
	}
	return wait
}

func (b *backoff) answered() { b.silences, b.silent = growing{most: silentWait}, 0 }

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

// pause is the wait with half of it at random, so that members do not come back as one. When the service or a proxy asked for more, that is what
// is waited at least, within bounds, and up to a quarter of it more at random.
func pause(wait time.Duration, err error, jitter float64) time.Duration {
	least, spread := wait/2, wait/2
	if asked := min(retryAfter(err), longestNamed); asked > least {
		least, spread = asked, max(spread, asked/4)
	}
	return least + time.Duration(float64(spread)*jitter)
}

// retryAfter is the time that the service or a proxy named, 0 if none was.
func retryAfter(err error) time.Duration {
	var refused *tunnel.RefusedError
	if errors.As(err, &refused) {
		return refused.Err.RetryAfter
	}
	if e := away(err); e != nil {
		return e.RetryAfter
	}
	return 0
}

// away is what a proxy said of the time, nil if it did not.
func away(err error) *tunnel.AwayError {
	var e *tunnel.AwayError
	errors.As(err, &e)
	return e
}

// repeatEvery is how often a failure that repeats itself is logged.
const repeatEvery = time.Minute

// repeats knows which failures are worth a line in the log: each kind at once, and the same again only now and then.
type repeats struct {
	kind string
	next time.Time
}

// worth reports whether what became of a try is worth a line. A tunnel that was up is.
func (r *repeats) worth(s session, now time.Time) bool {
	kind := s.kind()
	if !s.accepted && kind == r.kind && now.Before(r.next) {
		return false
	}
	r.kind, r.next = kind, now.Add(repeatEvery)
	return true
}

// kind tells failures apart. The words do not: they may hold port numbers.
func (s session) kind() string {
	var refused *tunnel.RefusedError
	switch {
	case s.accepted:
		return "was up"
	case errors.As(s.err, &refused):
		return "refused: " + string(refused.Err.Code)
	case away(s.err) != nil:
		return "away"
	case tunnel.Unanswered(s.err):
		return "unanswered"
	}
	return "other"
}
