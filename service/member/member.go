package member

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"comporta/service/connector"
	"comporta/service/tunnel"
)

const (
	// defaultTunnels is how many connections a member keeps. Source: contract section 10.
	defaultTunnels = 2
	// defaultLinger is longer than a data source of good will needs to end what was cancelled.
	defaultLinger = 5 * time.Second
)

// Config is what a member runs with. State, Now, Jitter, Log and Version are needed.
type Config struct {
	State *State
	// Server is the service's address when it is not the one in State; "" for that one.
	Server string
	// TLS may add authorities; nil is the system's default.
	TLS *tls.Config
	// ConfigFile is the member's own …GatewayCore.dll.config; "" for none.
	ConfigFile string
	// AllowFolders are the folders under which files may be read; none allows no file.
	AllowFolders []string
	// Tunnels is how many connections to keep, 1 to tunnel.MaxSlots; 0 means 2.
	Tunnels int
	// Version and Machine are shown to administrators.
	Version, Machine string
	// Epoch numbers this start of the member, higher than those before (NextEpoch); 0 means the time in nanoseconds.
	Epoch int64
	// Linger is how long the member waits at its end for calls that do not heed their cancellation; 0 means 5 s.
	Linger time.Duration
	// Probe reads the machine's load; nil is the real one.
	Probe LoadProbe
	Now   func() time.Time
	// Jitter returns a uniform number in [0, 1).
	Jitter func() float64
	Log    *slog.Logger
}

// Member is one gateway machine at work.
type Member struct {
	cfg    Config
	server *url.URL
	agent  *agent
	urgent bell
	loops  []*loop
	online atomic.Int64
	// calls are what still runs over tunnels that have ended.
	calls sync.WaitGroup
	// changed is signalled when a tunnel comes or goes.
	changed bell
	// entered is signalled when a tunnel was let in, for the slots that wait for the service.
	entered bell
	// pulse is what the tunnels have in common.
	pulse tunnel.Pulse
	// leaving: nothing runs any more and no tunnel is wanted.
	leaving atomic.Bool
	stop    context.CancelFunc
	stopped context.Context
}

// New readies a member; Run starts it. A configuration file with a bad value is an error that names the setting and its range.
func New(cfg Config) (*Member, error) {
	if cfg.Server == "" {
		cfg.Server = cfg.State.Server
	}
	server, err := parseServer(cfg.Server)
	if err != nil {
		return nil, err
	}
	limits, err := ReadConfig(cfg.ConfigFile)
	if err != nil {
		return nil, err
	}
	if cfg.Tunnels == 0 {
		cfg.Tunnels = defaultTunnels
	}
	if cfg.Tunnels < 1 || cfg.Tunnels > tunnel.MaxSlots {
		return nil, fmt.Errorf("a member keeps between 1 and %d tunnels", tunnel.MaxSlots)
	}
	cfg.Linger = cmp.Or(cfg.Linger, defaultLinger)
	if cfg.Probe == nil {
		cfg.Probe = &Machine{}
	}
	m := &Member{cfg: cfg, server: server}
	m.stopped, m.stop = context.WithCancel(context.Background())
	a := newAdmission(limits)
	a.load = newSampler(cfg.Probe, cfg.Now, func() time.Duration { return a.limits().Window })
	m.agent = &agent{member: m, admission: a, vault: newVault(cfg.State.ClusterKey),
		connectors: connector.New(connector.Config{AllowFolders: cfg.AllowFolders, Log: cfg.Log, Now: cfg.Now})}
	epoch := cmp.Or(cfg.Epoch, cfg.Now().UnixNano())
	for slot := range cfg.Tunnels {
		m.loops = append(m.loops, newLoop(m, slot, epoch))
	}
	return m, nil
}

// Reload reads the configuration file again; a bad value leaves the limits as they are.
func (m *Member) Reload() error {
	limits, err := ReadConfig(m.cfg.ConfigFile)
	if err != nil {
		return err
	}
	if m.agent.admission.setFile(limits) {
		m.urgent.signal()
	}
	return nil
}

// Run keeps the tunnels open until ctx ends, Drain or Kill is called (then nil), or the service says that trying again is pointless:
// errors.Is finds tunnel.ErrRemoved, ErrKeyRefused or ErrIncompatible then. A call that does not end when it is cancelled keeps Run for no
// longer than Linger. It is called once.
func (m *Member) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(m.stopped, func() { cancel(nil) })()
	var running sync.WaitGroup
	running.Go(func() { m.agent.admission.load.run(ctx) })
	for _, l := range m.loops {
		running.Go(func() {
			if err := l.run(ctx); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	m.stop()
	err := m.close()
	if cause := context.Cause(ctx); tunnel.Fatal(cause) {
		return cause
	}
	return err
}

// close lets go of the data sources once the last call has ended. It does not wait for ever: whoever stops the member wants it to end, and
// nobody waits for the answers any more. What is left behind ends with the process.
func (m *Member) close() error {
	closed := make(chan error, 1)
	go func() {
		m.calls.Wait()
		closed <- m.agent.connectors.Close()
	}()
	timer := time.NewTimer(m.cfg.Linger)
	defer timer.Stop()
	select {
	case err := <-closed:
		return err
	case <-timer.C:
		m.cfg.Log.Warn("the member ends although data sources are still at work; they do not heed that their requests were cancelled", "running", m.Running())
		return nil
	}
}

// Drain says to the service at once that the member takes no new request, waits for the running ones until ctx ends, and ends Run. The
// tunnels are kept open, and opened again, as long as requests run. It returns ctx's error when requests had to be cut.
func (m *Member) Drain(ctx context.Context) error {
	err := m.agent.admission.drain(ctx, m.urgent.signal)
	m.leaving.Store(true)
	for _, l := range m.loops {
		err = errors.Join(err, l.shutdown(ctx))
	}
	m.stop()
	return err
}

// Kill ends the member as a crash would: its connections are closed, nobody is told and nothing finishes.
func (m *Member) Kill() { m.stop() }

// Running is how many requests run now.
func (m *Member) Running() int { return int(m.agent.admission.running.Load()) }

// Online reports whether at least one tunnel is open.
func (m *Member) Online() bool { return m.online.Load() > 0 }

// WaitOnline returns when a tunnel is open, or with an error when ctx or the member ended.
func (m *Member) WaitOnline(ctx context.Context) error {
	changed, stop := m.changed.listen()
	defer stop()
	for !m.Online() {
		select {
		case <-changed:
		case <-m.stopped.Done():
			return errors.New("the member has ended")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// count takes in that a tunnel came (1) or went (-1).
func (m *Member) count(n int64) {
	m.online.Add(n)
	m.changed.signal()
}
