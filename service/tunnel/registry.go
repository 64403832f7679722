package tunnel

import (
	"context"
	"sync"
	"time"

	"comporta/service/gateway"
)

// Registry is the service's side of all tunnels: it lets members in (ServeHTTP), knows each one's presence and hands tasks to them.
// Its methods may be called from many goroutines at once.
type Registry struct {
	cfg     Config
	started time.Time
	nonces  nonces
	bucket  *bucket
	// members holds *member by gateway.ID. One stays after its last tunnel is gone, so that the service can say since when it is offline.
	members sync.Map

	mu     sync.Mutex
	closed bool
	// running counts the goroutines of tunnels.
	running sync.WaitGroup
}

// NewRegistry makes a registry without tunnels. It starts nothing by itself.
func NewRegistry(cfg Config) *Registry {
	cfg = cfg.withDefaults()
	return &Registry{cfg: cfg, started: cfg.Now(), bucket: newBucket(cfg.AcceptRate, cfg.AcceptBurst)}
}

// Presence returns what the tunnels show of a member; the zero value when this process never saw it. It takes no lock.
func (r *Registry) Presence(id gateway.ID) gateway.Presence {
	if m := r.find(id); m != nil {
		return m.presence()
	}
	return gateway.Presence{}
}

// Online lists the members that are online now, in no particular order.
func (r *Registry) Online() []gateway.ID {
	var list []gateway.ID
	r.members.Range(func(_, value any) bool {
		if m := value.(*member); m.presence().Online {
			list = append(list, m.id)
		}
		return true
	})
	return list
}

// Configure tells a member its settings over all its tunnels, now. It does not wait for the member; a member without tunnels is told
// when it connects.
func (r *Registry) Configure(id gateway.ID, s gateway.MemberSettings) {
	if m := r.find(id); m != nil {
		for _, l := range m.all() {
			l.configure(s)
		}
	}
}

// Disconnect closes a member's tunnels and forgets it. Requests that run over them break.
func (r *Registry) Disconnect(id gateway.ID, reason string) {
	m := r.find(id)
	if m == nil {
		return
	}
	for _, l := range m.all() {
		l.close(reason)
	}
	m.update(func() {})
	r.members.CompareAndDelete(id, m)
}

// Advise asks all members to replace their tunnels, spread evenly over the time given, so that they do not all come at once.
func (r *Registry) Advise(within time.Duration) {
	var links []*link
	r.members.Range(func(_, value any) bool {
		links = append(links, value.(*member).all()...)
		return true
	})
	for i, l := range links {
		l.advise(within * time.Duration(i+1) / time.Duration(len(links)))
	}
}

// Close lets no tunnel in any more, ends all tunnels and waits until nothing of them runs, or until ctx ends, whose error it then
// returns. Requests still running break, so callers finish them first. Closing twice is harmless.
func (r *Registry) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.members.Range(func(_, value any) bool {
		for _, l := range value.(*member).all() {
			l.close("the service stops")
		}
		return true
	})
	done := make(chan struct{})
	go func() {
		r.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start counts one more goroutine, unless the registry is closed.
func (r *Registry) start() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.running.Add(1)
	}
	return !r.closed
}

func (r *Registry) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

func (r *Registry) find(id gateway.ID) *member {
	if value, ok := r.members.Load(id); ok {
		return value.(*member)
	}
	return nil
}

func (r *Registry) member(id gateway.ID) *member {
	if m := r.find(id); m != nil {
		return m
	}
	value, _ := r.members.LoadOrStore(id, newMember(id, r.cfg))
	return value.(*member)
}

// clock is the time since the start of the registry. It follows the monotonic clock, so it does not step when the wall clock does.
func (r *Registry) clock() time.Duration { return r.cfg.Now().Sub(r.started) }
