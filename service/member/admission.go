package member

import (
	"sync"
	"sync/atomic"

	"comporta/service/gateway"
)

// The words of a refusal. Source: contract section 8; they are Microsoft's.
const (
	refusalHead = "The gateway you selected can't establish data source connections because it's exceeded the "
	refusalTail = " limit set by your gateway admin. Try again later, or ask your gateway admin to increase the limit."
)

// admission decides whether the member takes one more request, and counts the running ones exactly.
type admission struct {
	load *sampler
	// central are the limits that the service set, file those of the member's own configuration.
	mu            sync.Mutex
	central, file gateway.Limits
	effective     atomic.Pointer[gateway.EffectiveLimits]
	running       atomic.Int64
	draining      atomic.Bool
	// idle is signalled when a request ends while the member drains.
	idle chan struct{}
}

func newAdmission(file gateway.Limits) *admission {
	a := &admission{file: file, idle: make(chan struct{}, 1)}
	a.setCentral(gateway.Limits{})
	return a
}

// limits are the ones in force: member setting, cluster setting (the service has merged these two), the member's file, default.
func (a *admission) limits() gateway.EffectiveLimits { return *a.effective.Load() }

func (a *admission) setCentral(l gateway.Limits) { a.set(func() { a.central = l }) }
func (a *admission) setFile(l gateway.Limits)    { a.set(func() { a.file = l }) }

func (a *admission) set(change func()) {
	a.mu.Lock()
	change()
	e := a.central.Over(a.file).Effective()
	a.effective.Store(&e)
	a.mu.Unlock()
	if a.load != nil {
		a.load.changed()
	}
}

// admit takes one more request or says why not. Limits gate admission only: what runs is never cut.
func (a *admission) admit() (release func(), refusal *gateway.Error) {
	limits, load := a.limits(), a.load.average.Load()
	switch {
	case a.draining.Load():
		return nil, gateway.Errorf(gateway.CodeDraining, "The member is draining: it takes no new request.")
	case over(load.cpu, limits.CPU):
		return nil, refuse(gateway.CodeCPULimit, "CPU")
	case over(load.memory, limits.Memory):
		return nil, refuse(gateway.CodeMemoryLimit, "memory")
	}
	// Counted first and then compared, so that of many at once exactly as many pass as there are places.
	if n := a.running.Add(1); limits.Concurrency > 0 && n > int64(limits.Concurrency) {
		a.done()
		return nil, refuse(gateway.CodeConcurrencyLimit, "concurrency")
	}
	// A drain that began meanwhile must not miss this request, nor this request the drain.
	if a.draining.Load() {
		a.done()
		return nil, gateway.Errorf(gateway.CodeDraining, "The member is draining: it takes no new request.")
	}
	return sync.OnceFunc(a.done), nil
}

func (a *admission) done() {
	if a.running.Add(-1) == 0 && a.draining.Load() {
		select {
		case a.idle <- struct{}{}:
		default:
		}
	}
}

// over holds for a known reading at or over a limit that is on.
func over(r gateway.Reading, limit int) bool {
	return limit > 0 && r.Known && r.Percent >= float64(limit)
}

func refuse(code gateway.Code, what string) *gateway.Error {
	return gateway.Errorf(code, "%s%s%s", refusalHead, what, refusalTail)
}
