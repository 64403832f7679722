package member

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"comporta/service/tunnel"
)

// dialTimeout bounds one try to connect, as far as the service's answer: TCP, TLS and the Upgrade, each with its way there and back, over a line that
// others may fill. The connection alone has less.
const dialTimeout = 20 * time.Second

// loop keeps one slot's tunnel open. It owns the back-off; each tunnel.Dial owns one connection.
type loop struct {
	member *Member
	dialer *tunnel.Dialer
	log    func(msg string, args ...any)
	warn   func(msg string, args ...any)

	mu      sync.Mutex
	current *tunnel.Tunnel
	retired sync.WaitGroup
	// open counts the slot's tunnels that have not ended: the current one, and those that finish their requests.
	open atomic.Int64
}

func newLoop(m *Member, slot int, epoch int64) *loop {
	c := m.cfg
	log := c.Log.With("member", c.State.MemberName, "tunnel", slot)
	return &loop{member: m, log: log.Info, warn: log.Warn,
		dialer: &tunnel.Dialer{Server: m.server, TLS: c.TLS, Member: c.State.MemberID, Key: c.State.Key, Version: c.Version, Machine: c.Machine,
			Epoch: epoch, Slot: slot, Now: c.Now, Log: log, Pulse: &m.pulse}}
}

// run connects for ever. It returns nil when ctx ended or the member leaves, and an error only when trying again is pointless.
func (l *loop) run(ctx context.Context) error {
	defer l.retired.Wait()
	entered, stop := l.member.entered.listen()
	defer stop()
	waits, told := newBackoff(), repeats{}
	for ctx.Err() == nil {
		empty(entered) // what came in before this try says nothing about it
		s := l.session(ctx)
		if l.member.leaving.Load() || ctx.Err() != nil {
			return nil
		}
		// While another tunnel of this member lives, the service cannot mean it: nothing that runs is cut for one odd answer.
		if tunnel.Fatal(s.err) && !l.member.Online() {
			return s.err
		}
		away := pause(waits.after(s), s.err, l.member.cfg.Jitter())
		if s.err != nil && told.worth(s, l.member.cfg.Now()) {
			l.warn("the tunnel is down; trying again", "in", away.Round(time.Millisecond), "reason", advice(l.member.server.String(), s.err))
		}
		wake := entered
		if !s.wakeable() {
			wake = nil
		}
		sleep(ctx, away, wake)
	}
	return nil
}

// sleep waits for d, until it is woken or ctx ends.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
}

// empty takes out what waits in the channel.
func empty(c <-chan struct{}) {
	select {
	case <-c:
	default:
	}
}

// session opens a tunnel and serves it and its successors until they end.
func (l *loop) session(ctx context.Context) session {
	how := l.dialer.Dial
	if l.open.Load() > 0 { // a tunnel that was moved still works; the service would close it to make room
		how = l.dialer.Redial
	}
	t, err := l.dial(ctx, how)
	if err != nil {
		return session{err: err}
	}
	started := l.member.cfg.Now()
	l.log("the tunnel is up", "server", l.member.server.Host)
	l.member.entered.signal()
	for t != nil {
		t, err = l.serve(ctx, t)
	}
	return session{accepted: true, lasted: l.member.cfg.Now().Sub(started), err: err}
}

func (l *loop) dial(ctx context.Context, how func(context.Context) (*tunnel.Tunnel, error)) (*tunnel.Tunnel, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return how(ctx)
}

// serve serves one tunnel. When the service asks for it, the replacement is dialled first; then the old tunnel finishes what it has
// while the new one, which is returned, takes over.
func (l *loop) serve(ctx context.Context, t *tunnel.Tunnel) (*tunnel.Tunnel, error) {
	l.set(t)
	l.open.Add(1)
	l.member.count(1)
	ended := make(chan error, 1)
	agent := &tunnelAgent{l.member.agent, make(chan time.Duration, 1)}
	l.retired.Go(func() {
		err := t.Serve(ctx, agent)
		l.member.calls.Go(t.Wait)
		l.open.Add(-1)
		l.member.count(-1) // before the loop goes on, which asks whether any tunnel is left
		ended <- err
	})
	for {
		select {
		case err := <-ended:
			return nil, err
		case after := <-agent.advice:
			if next := l.replace(ctx, after, t); next != nil {
				return next, nil
			}
		}
	}
}

// replace waits, dials the successor and retires the old tunnel. nil when that did not work out: the old one goes on.
func (l *loop) replace(ctx context.Context, after time.Duration, old *tunnel.Tunnel) *tunnel.Tunnel {
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-old.Done():
		return nil
	case <-ctx.Done():
		return nil
	}
	next, err := l.dial(ctx, l.dialer.Redial)
	if err != nil {
		l.log("the service asked for a new tunnel, which could not be opened; the old one stays", "reason", err)
		return nil
	}
	l.retired.Go(func() { l.retire(ctx, old) })
	return next
}

// retire ends a tunnel in order once its successor has taken over. The service says when that is: until the successor's first report has
// arrived there, the old tunnel may be the only way to this member. How long its requests may then take is theirs to say: each has its own
// time, after which the service, too, ends it.
func (l *loop) retire(ctx context.Context, old *tunnel.Tunnel) {
	for waiting := true; waiting; {
		takeover := time.NewTimer(dialTimeout)
		select {
		case <-old.Released():
			waiting = false
		case <-old.Done():
			waiting = false
		case <-takeover.C:
			waiting = !l.succeeded(old)
		case <-ctx.Done():
			waiting = false
		}
		takeover.Stop()
	}
	if err := old.Shutdown(ctx); err != nil {
		l.log("the replaced tunnel did not finish in order", "reason", err)
	}
}

// succeeded reports whether the slot has another tunnel now. A successor may end before it takes over; then the slot dials again.
func (l *loop) succeeded(old *tunnel.Tunnel) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == old {
		return false
	}
	select {
	case <-l.current.Done():
		return false
	default:
		return true
	}
}

func (l *loop) set(t *tunnel.Tunnel) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = t
}

// shutdown ends the slot's tunnel in order.
func (l *loop) shutdown(ctx context.Context) error {
	l.mu.Lock()
	t := l.current
	l.mu.Unlock()
	if t == nil {
		return nil
	}
	return t.Shutdown(ctx)
}

var _ tunnel.Agent = (*tunnelAgent)(nil)
