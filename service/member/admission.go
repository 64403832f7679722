package member

import (
	"context"
	"sync"
	"sync/atomic"

	"comporta/service/gateway"
)

// admission decides whether the member takes one more request, and counts the running ones exactly.
type admission struct {
	load *sampler
	// idle is signalled when the last request ends while the member drains.
	idle bell
	// central are the limits that the service set, file those of the member's own configuration.
	mu            sync.Mutex
	central, file gateway.Limits
	effective     atomic.Pointer[gateway.EffectiveLimits]
	running       atomic.Int64
	draining      atomic.Bool
}

func newAdmission(file gateway.Limits) *admission {
	a := &admission{file: file}
	a.setCentral(gateway.Limits{})
	return a
}

// limits are the ones in force: member setting, cluster setting (the service has merged these two), the member's file, default.
func (a *admission) limits() gateway.EffectiveLimits { return *a.effective.Load() }

// setCentral and setFile report whether the limits in force are other ones now.
func (a *admission) setCentral(l gateway.Limits) bool { return a.set(func() { a.central = l }) }
func (a *admission) setFile(l gateway.Limits) bool    { return a.set(func() { a.file = l }) }

func (a *admission) set(change func()) bool {
	a.mu.Lock()
	change()
	e := a.central.Over(a.file).Effective()
	before := a.effective.Swap(&e)
	a.mu.Unlock()
	if a.load != nil {
		a.load.changed()
	}
	return before == nil || *before != e
}

// admit takes one more request or says why not. Limits gate admission only: what runs is never cut.
func (a *admission) admit() (release func(), refusal *gateway.Error) {
	limits, load := a.limits(), a.load.average.Load()
	switch {
	case a.draining.Load():
		return nil, errDraining()
	case over(load.cpu, limits.CPU):
		return nil, gateway.OverLimit(gateway.CodeCPULimit)
	case over(load.memory, limits.Memory):
		return nil, gateway.OverLimit(gateway.CodeMemoryLimit)
	case !a.enter(int64(limits.Concurrency)):
		return nil, gateway.OverLimit(gateway.CodeConcurrencyLimit)
	}
	// Looked at again after counting: either this request sees a drain that began meanwhile, or the drain sees this request.
	if a.draining.Load() {
		a.done()
		return nil, errDraining()
	}
	return sync.OnceFunc(a.done), nil
}

// enter counts one more running request, unless there are as many as may be. A request that is refused is never counted, not even for a
// moment, so that it cannot take the place of one that comes just after another ended.
func (a *admission) enter(most int64) bool {
	for {
		n := a.running.Load()
		if most > 0 && n >= most {
			return false
		}
		if a.running.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (a *admission) done() {
	if a.running.Add(-1) == 0 && a.draining.Load() {
		a.idle.signal()
	}
}

// drain refuses every request from now on, says that to the service by way of announce, and waits until none runs or ctx ends, whose
// error it then returns.
func (a *admission) drain(ctx context.Context, announce func()) error {
	ended, stop := a.idle.listen()
	defer stop()
	a.draining.Store(true)
	announce()
	for a.running.Load() > 0 {
		select {
		case <-ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func errDraining() *gateway.Error {
	return gateway.Errorf(gateway.CodeDraining, "The member is draining: it takes no new request.")
}

// over holds for a known reading at or over a limit that is on.
func over(r gateway.Reading, limit int) bool {
	return limit > 0 && r.Known && r.Percent >= float64(limit)
}
