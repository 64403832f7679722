package api

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"comporta/service/gateway"
)

// maxRated bounds how many callers' rates are remembered.
const maxRated = 50_000

// rates bounds each caller's requests per second.
type rates struct {
	perSecond float64
	limiters  sync.Map // gateway.ID -> *rate.Limiter
	mu        sync.Mutex
	size      int
}

func newRates(perSecond float64) *rates { return &rates{perSecond: perSecond} }

// take counts one request, or answers CodeTooManyRequests with the time to wait.
func (r *rates) take(caller gateway.ID, now time.Time) error {
	if r.perSecond <= 0 {
		return nil
	}
	reservation := r.of(caller).ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	reservation.CancelAt(now)
	e := gateway.Errorf(gateway.CodeTooManyRequests, "You have sent more than %g requests per second. Wait as long as Retry-After says.", r.perSecond)
	e.RetryAfter = max(wait, time.Second)
	return e
}

func (r *rates) of(caller gateway.ID) *rate.Limiter {
	if l, ok := r.limiters.Load(caller); ok {
		return l.(*rate.Limiter)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size >= maxRated {
		r.limiters.Clear()
		r.size = 0
	}
	l, had := r.limiters.LoadOrStore(caller, rate.NewLimiter(rate.Limit(r.perSecond), max(int(2*r.perSecond), 1)))
	if !had {
		r.size++
	}
	return l.(*rate.Limiter)
}
