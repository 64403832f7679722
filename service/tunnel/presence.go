package tunnel

import (
	"slices"
	"sync"
	"sync/atomic"

	"comporta/service/gateway"
)

// member is what the registry knows of one member. Readers take the two atomic pointers; writers hold mu.
type member struct {
	id  gateway.ID
	cfg Config
	// inFlight counts the requests handed over and not ended.
	inFlight atomic.Int64
	shown    atomic.Pointer[gateway.Presence]
	// usable are the tunnels that take new requests.
	usable atomic.Pointer[[]*link]
	// turn spreads requests over equally good tunnels.
	turn atomic.Uint32
	// pulse is what arrives over all its tunnels.
	pulse Pulse
	// untold counts the changes of presence that OnPresence was not yet called for.
	untold atomic.Int64

	mu    sync.Mutex
	links []*link
}

func newMember(id gateway.ID, cfg Config) *member {
	m := &member{id: id, cfg: cfg}
	m.shown.Store(&gateway.Presence{})
	m.usable.Store(&[]*link{})
	return m
}

func (m *member) presence() gateway.Presence {
	p := *m.shown.Load()
	p.InFlight = int(m.inFlight.Load())
	return p
}

// all lists every tunnel of the member, also those that take no new request.
func (m *member) all() []*link {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.links)
}

// add makes a tunnel known. It shows only from its first report on.
func (m *member) add(l *link) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.links = append(m.links, l)
}

// update changes the member under its lock, works out anew what it shows, and tells OnPresence.
func (m *member) update(change func()) {
	m.mu.Lock()
	change()
	m.refresh()
	m.mu.Unlock()
	m.tell()
}

// refresh works out presence and usable tunnels. The newest epoch speaks for the member, so that a process that is going down does not
// show its successor as draining.
func (m *member) refresh() {
	usable := []*link{}
	var newest *link
	for _, l := range m.links {
		if !l.ready || !l.open() {
			continue
		}
		usable = append(usable, l)
		if newest == nil || l.claims.Epoch > newest.claims.Epoch || l.claims.Epoch == newest.claims.Epoch && l.reportAt.After(newest.reportAt) {
			newest = l
		}
	}
	next := *m.shown.Load()
	next.Tunnels = len(usable)
	if online := len(usable) > 0; online != next.Online {
		next.Online, next.Since = online, m.cfg.Now()
	}
	next.Draining = newest != nil && newest.report.Draining
	if newest != nil {
		next.Load, next.LoadAt, next.Limits = newest.report.Load, newest.reportAt, newest.report.Limits
		next.Version, next.Machine, next.Protocol = newest.claims.Version, newest.claims.Machine, Protocol
	}
	m.usable.Store(&usable)
	m.shown.Store(&next)
}

// tell calls OnPresence without holding a lock, one call at a time, until the newest presence was told.
func (m *member) tell() {
	if m.untold.Add(1) != 1 {
		return // whoever is telling now tells this change as well
	}
	for {
		changes := m.untold.Load()
		m.cfg.OnPresence(m.id, m.presence())
		if m.untold.Add(-changes) == 0 {
			return
		}
	}
}

// outranked reports whether a live tunnel of a newer process holds the place that c wants.
func (m *member) outranked(c claims) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.links, func(l *link) bool {
		return l.ready && l.open() && l.claims.Slot == c.Slot && l.claims.Epoch > c.Epoch
	})
}

// succeed makes l usable and ends what it replaces: the tunnel in its slot, and every tunnel of an older process. Those that are being
// moved or drained on purpose finish their requests; the others are half-open leftovers and are closed at once. It reports false when l
// itself has ended meanwhile: then what it was to replace may be all that the member has, and stays.
func (m *member) succeed(l *link) bool {
	if l.lost() {
		return false
	}
	var closing, finishing []*link
	m.update(func() {
		l.ready = true
		for _, old := range m.links {
			same := old.claims.Epoch == l.claims.Epoch && old.claims.Slot == l.claims.Slot
			switch {
			case old == l || !same && old.claims.Epoch >= l.claims.Epoch:
			case old.ready && (same && l.claims.Moving || old.report.Draining):
				finishing = append(finishing, old)
			default:
				closing = append(closing, old)
			}
		}
	})
	for _, old := range finishing {
		old.retire()
	}
	for _, old := range closing {
		old.close("replaced by a newer tunnel")
	}
	m.update(func() {})
	return true
}
