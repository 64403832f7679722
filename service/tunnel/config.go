package tunnel

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"time"

	"comporta/service/gateway"
)

// TunnelAuth is what the service knows of a member that dials.
type TunnelAuth struct {
	// PublicKey is the key with which the member enrolled.
	PublicKey ed25519.PublicKey
	ClusterID gateway.ID
	// Settings are what the member is told as soon as it is connected.
	Settings gateway.MemberSettings
}

// Keys knows the members.
type Keys interface {
	// TunnelKey returns a *gateway.Error: CodeNotFound when the member is unknown, removed or not enrolled (the member then gives up);
	// any other code is passing trouble, after which it tries again. A disabled member is found like any other: it may connect and
	// simply gets no requests.
	TunnelKey(ctx context.Context, member gateway.ID) (TunnelAuth, error)
}

// Config is what a Registry needs. Keys, Now and Log must be set; a zero duration or number means its default.
type Config struct {
	Keys Keys
	// Now is the service's clock.
	Now func() time.Time
	Log *slog.Logger
	// AdmissionTimeout is how long a member may take to admit or refuse a request before it is taken back and tried elsewhere (2 s).
	AdmissionTimeout time.Duration
	// PingAfter is how long a connection may be silent before it is pinged, PingTimeout how much longer it may stay silent then (5 s each): a
	// dead network is noticed after their sum, or a quarter later.
	PingAfter, PingTimeout time.Duration
	// ReportTimeout closes a tunnel whose member is heard but sends no report (60 s).
	ReportTimeout time.Duration
	// HandshakeTimeout bounds the time between the Upgrade and the first report (20 s).
	HandshakeTimeout time.Duration
	// Grace is how much longer than a task's own time-out the service waits for the member to say that it is over (5 s).
	Grace time.Duration
	// AcceptRate is how many new tunnels per second are let in, AcceptBurst how many at once (250 each).
	AcceptRate, AcceptBurst int
	// OnPresence, when set, is called when a member goes online or offline and when a report arrives: without locks held, never twice
	// at once for one member, and always with the newest presence last. It must be quick.
	OnPresence func(member gateway.ID, p gateway.Presence)
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		value    *time.Duration
		fallback time.Duration
	}{
		{&c.AdmissionTimeout, 2 * time.Second},
		{&c.PingAfter, pingEvery},
		{&c.PingTimeout, pingEvery},
		{&c.ReportTimeout, time.Minute},
		{&c.HandshakeTimeout, 20 * time.Second},
		{&c.Grace, 5 * time.Second},
	} {
		if *d.value <= 0 {
			*d.value = d.fallback
		}
	}
	if c.AcceptRate <= 0 {
		c.AcceptRate = 250
	}
	if c.AcceptBurst <= 0 {
		c.AcceptBurst = 250
	}
	if c.OnPresence == nil {
		c.OnPresence = func(gateway.ID, gateway.Presence) {}
	}
	return c
}
