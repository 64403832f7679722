package member

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"comporta/service/gateway"
)

// deaf are connectors whose calls do not heed their cancellation, like those to a hung network drive: they end when they are let go.
type deaf struct {
	begun  atomic.Int64
	free   chan struct{}
	closed chan struct{}
}

func (d *deaf) Run(context.Context, *gateway.Task, gateway.Credentials, gateway.Output) (gateway.Summary, error) {
	d.begun.Add(1)
	<-d.free
	return gateway.Summary{}, errors.New("let go")
}

func (d *deaf) Probe(context.Context, *gateway.Task, gateway.Credentials) error { return nil }

func (d *deaf) Close() error {
	close(d.closed)
	return nil
}

// hung is a member with one call on each tunnel that does not end.
func (o *office) hung(t *testing.T, linger time.Duration) (*Member, *deaf, <-chan error) {
	t.Helper()
	d := &deaf{free: make(chan struct{}), closed: make(chan struct{})}
	m, ended := o.start(t, func(c *Config) { c.Linger = linger }, func(m *Member) { m.agent.connectors = d })
	o.up(t, m)
	for _, readOnly := range []bool{true, true, false, false} { // reads share a lane, the others take the tunnels in turn
		o.send(m, &gateway.Task{RequestID: "r", ReadOnly: readOnly, TimeoutMillis: 60_000})
	}
	eventually(t, "all run", func() bool { return d.begun.Load() == 4 })
	return m, d, ended
}

func TestACallThatHangsKeepsNoTunnelAway(t *testing.T) {
	o := newOffice(t)
	m, d, _ := o.hung(t, 0)
	o.registry.Disconnect(m.cfg.State.MemberID, "shaken off by the test")
	eventually(t, "both tunnels are back", func() bool { return o.presence(m).Tunnels == 2 && m.online.Load() == 2 })
	if n := m.Running(); n < 4 { // more, when reads of the tunnel that went first were tried over the other one
		t.Errorf("%d run", n)
	}
	close(d.free)
	eventually(t, "nothing runs", func() bool { return m.Running() == 0 })
}

func TestACallThatHangsDoesNotKeepTheMember(t *testing.T) {
	o := newOffice(t)
	m, d, ended := o.hung(t, 20*time.Millisecond)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := m.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("drain: %v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
	select {
	case <-d.closed:
		t.Error("the data sources were closed under running calls")
	default:
	}
	close(d.free)
	<-d.closed
}

// As long as it is allowed to linger, the member does not end before its calls.
func TestAMemberLingersForItsCalls(t *testing.T) {
	o := newOffice(t)
	m, d, ended := o.hung(t, time.Minute)
	m.Kill()
	eventually(t, "the tunnels are gone", func() bool { return !m.Online() })
	select {
	case err := <-ended:
		t.Errorf("it ended at once: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(d.free)
	if err := <-ended; err != nil || m.Running() != 0 {
		t.Errorf("%v, %d run", err, m.Running())
	}
}
