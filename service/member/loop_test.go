package member

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"comporta/service/gateway"
	"comporta/service/tunnel"
)

// pond is a web data source whose answers wait until they are let out.
type pond struct {
	*httptest.Server
	arrived chan struct{}
	out     chan struct{}
}

func newPond(t *testing.T) *pond {
	p := &pond{arrived: make(chan struct{}, 100), out: make(chan struct{})}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		p.arrived <- struct{}{}
		select {
		case <-p.out:
			_, _ = io.WriteString(w, "water")
		case <-req.Context().Done():
		}
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *pond) task() *gateway.Task {
	return &gateway.Task{RequestID: "r", ReadOnly: true, Format: gateway.FormatJSON, TimeoutMillis: 60_000, HTTP: &gateway.HTTPCall{Method: "GET", Path: "/"},
		DataSource: gateway.TaskSource{ID: "w", Type: gateway.TypeWeb, ConnectionDetails: `{"url":"` + p.URL + `"}`, Credential: gateway.StoredCredential{Type: "Anonymous"}}}
}

// send sends a task and returns what becomes of it.
func (o *office) send(m *Member, task *gateway.Task) <-chan error {
	result := make(chan error, 1)
	go func() {
		answer, err := o.registry.Send(context.Background(), m.cfg.State.MemberID, task, gateway.First, nil)
		if err == nil {
			_, err = io.Copy(io.Discard, answer.Body)
			err = errors.Join(err, answer.Body.Close())
		}
		result <- err
	}()
	return result
}

// up waits until both tunnels of a member carry requests.
func (o *office) up(t *testing.T, m *Member) {
	t.Helper()
	eventually(t, "two tunnels", func() bool { return o.presence(m).Tunnels == 2 })
}

func refusedWith(err error) gateway.Code {
	var attempt *gateway.AttemptError
	if !errors.As(err, &attempt) || attempt.Phase != gateway.PhaseRefused {
		return ""
	}
	return attempt.Err.Code
}

func TestDrainingLetsTheRunningOnesFinish(t *testing.T) {
	o, p := newOffice(t), newPond(t)
	m, ended := o.start(t, nil)
	o.up(t, m)
	running := o.send(m, p.task())
	<-p.arrived
	drained := make(chan error, 1)
	go func() { drained <- m.Drain(context.Background()) }()
	eventually(t, "the service knows of the drain", func() bool { return o.presence(m).Draining })
	if code := refusedWith(<-o.send(m, p.task())); code != gateway.CodeDraining {
		t.Errorf("a new request: %q", code)
	}
	if m.Running() != 1 || !o.presence(m).Online {
		t.Errorf("running %d, %+v", m.Running(), o.presence(m))
	}
	close(p.out)
	for what, c := range map[string]<-chan error{"the running request": running, "drain": drained, "run": ended} {
		if err := <-c; err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if m.Running() != 0 || m.Online() {
		t.Errorf("running %d, online %v", m.Running(), m.Online())
	}
}

func TestTunnelsLostInADrainAreOpenedAgain(t *testing.T) {
	o := newOffice(t)
	m, ended := o.start(t, nil)
	o.up(t, m)
	release, _ := m.agent.Admit() // a request that runs, and depends on no tunnel
	drained := make(chan error, 1)
	go func() { drained <- m.Drain(context.Background()) }()
	eventually(t, "the service knows of the drain", func() bool { return o.presence(m).Draining })
	o.registry.Disconnect(m.cfg.State.MemberID, "shaken off by the test")
	eventually(t, "back, and draining", func() bool { p := o.presence(m); return p.Tunnels == 2 && p.Draining })
	release()
	if err := errors.Join(<-drained, <-ended); err != nil {
		t.Error(err)
	}
}

func TestADrainThatTakesTooLongCuts(t *testing.T) {
	o, p := newOffice(t), newPond(t)
	m, ended := o.start(t, nil)
	o.up(t, m)
	running := o.send(m, p.task())
	<-p.arrived
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := m.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("drain: %v", err)
	}
	if err := <-running; err == nil {
		t.Error("the request was not cut")
	}
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
	if m.Running() != 0 {
		t.Errorf("%d run", m.Running())
	}
}

func TestAMovedTunnelIsReplacedFirst(t *testing.T) {
	o, p := newOffice(t), newPond(t)
	m, _ := o.start(t, nil)
	o.up(t, m)
	before := o.dialled.Load()
	running := []<-chan error{o.send(m, p.task()), o.send(m, p.task())}
	<-p.arrived
	<-p.arrived
	gone := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for alive := true; alive; {
			if !o.presence(m).Online {
				t.Error("the member was offline for a moment")
			}
			select {
			case <-gone:
				alive = false
			case <-time.After(time.Millisecond):
			}
		}
	})
	o.registry.Advise(0)
	// The running requests may both be on one of the old tunnels; the other then goes as soon as it is replaced.
	eventually(t, "both tunnels replaced", func() bool { return o.dialled.Load() == before+2 && o.presence(m).Tunnels == 2 && m.online.Load() >= 3 })
	close(p.out)
	for _, r := range append(running, o.send(m, p.task())) {
		if err := <-r; err != nil {
			t.Error(err)
		}
	}
	eventually(t, "the old tunnels gone", func() bool { return m.online.Load() == 2 })
	close(gone)
	watch.Wait()
}

// One answer that says "removed" is not believed while another tunnel lives.
func TestAnOddRefusalCutsNothing(t *testing.T) {
	o, p := newOffice(t), newPond(t)
	m, _ := o.start(t, nil)
	o.up(t, m)
	running := o.send(m, p.task())
	<-p.arrived
	o.enrol(m.cfg.State.MemberID, nil)
	o.registry.Advise(0)
	eventually(t, "both slots refused", func() bool { return o.refused.Load() == 2 })
	o.enrol(m.cfg.State.MemberID, m.cfg.State.Key.Public().(ed25519.PublicKey))
	close(p.out)
	if err := <-running; err != nil {
		t.Error(err)
	}
	if !m.Online() {
		t.Error("the member gave up")
	}
}

func TestAKilledMemberHarmsNoOther(t *testing.T) {
	o, p := newOffice(t), newPond(t)
	m, ended := o.start(t, nil)
	other, _ := o.start(t, func(c *Config) { c.State.MemberID = "33333333-3333-3333-3333-333333333333" })
	o.up(t, m)
	o.up(t, other)
	broken, fine := o.send(m, p.task()), o.send(other, p.task())
	<-p.arrived
	<-p.arrived
	m.Kill()
	if err := <-broken; err == nil {
		t.Error("a killed member answered")
	}
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
	eventually(t, "offline", func() bool { return !o.presence(m).Online })
	if m.Running() != 0 || o.presence(m).Draining {
		t.Errorf("running %d, %+v", m.Running(), o.presence(m))
	}
	if err := m.WaitOnline(context.Background()); err == nil {
		t.Error("a dead member is online")
	}
	close(p.out)
	if err := <-fine; err != nil {
		t.Errorf("the other member: %v", err)
	}
}

func TestTheConcurrencyLimitHoldsThroughTheTunnel(t *testing.T) {
	o, p := newOffice(t), newPond(t)
	o.settings.Limits.Concurrency = number(1)
	m, _ := o.start(t, nil)
	eventually(t, "the limit", func() bool { return m.agent.admission.limits().Concurrency == 1 && o.presence(m).Tunnels == 2 })
	running := o.send(m, p.task())
	<-p.arrived
	if code := refusedWith(<-o.send(m, p.task())); code != gateway.CodeConcurrencyLimit {
		t.Errorf("got %q", code)
	}
	close(p.out)
	if err := <-running; err != nil {
		t.Error(err)
	}
	eventually(t, "nothing runs", func() bool { return m.Running() == 0 })
	if err := <-o.send(m, p.task()); err != nil {
		t.Error(err)
	}
}

func TestTheFileIsReadAgainOnRequest(t *testing.T) {
	o := newOffice(t)
	path := filepath.Join(t.TempDir(), "limits.config")
	write := func(limit string) {
		if err := os.WriteFile(path, []byte(file(setting(gateway.SettingCPU, limit))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("50")
	m, _ := o.start(t, func(c *Config) { c.ConfigFile = path })
	eventually(t, "the file's limit", func() bool { return o.presence(m).Limits.CPU == 50 })
	write("60")
	if err := m.Reload(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the file's new limit", func() bool { return o.presence(m).Limits.CPU == 60 })
	write("600")
	if err := m.Reload(); err == nil || !strings.Contains(err.Error(), gateway.SettingCPU) {
		t.Errorf("got %v", err)
	}
	if got := m.agent.admission.limits().CPU; got != 60 {
		t.Errorf("a bad file changed the limit to %d", got)
	}
	m.agent.Configure(gateway.MemberSettings{Limits: gateway.Limits{CPU: number(-1)}})
	if got := m.agent.admission.limits().CPU; got != 60 {
		t.Errorf("an absurd setting changed the limit to %d", got)
	}
}

func TestAnIncompatibleServiceStopsTheMemberWithWords(t *testing.T) {
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		complain(w, http.StatusUpgradeRequired, string(gateway.CodeNotSupported), "Install the same release on both.")
	}))
	defer old.Close()
	o := newOffice(t)
	_, ended := o.start(t, func(c *Config) { c.Server = old.URL })
	if err := <-ended; !errors.Is(err, tunnel.ErrIncompatible) || !strings.Contains(err.Error(), "same release") {
		t.Errorf("got %v", err)
	}
}

func TestWhatAMemberCannotStartWith(t *testing.T) {
	s := testState(t)
	for name, c := range map[string]Config{
		"address": {State: s, Server: "nowhere", Now: time.Now},
		"file":    {State: s, ConfigFile: filepath.Join(t.TempDir(), "none"), Now: time.Now},
		"tunnels": {State: s, Tunnels: tunnel.MaxSlots + 1, Now: time.Now},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%s: it starts", name)
		}
	}
}

func TestManyMayWaitForTheTunnel(t *testing.T) {
	o := newOffice(t)
	m, _ := o.start(t, nil)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := m.WaitOnline(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// opened is a log that counts the tunnels that took their place on the service.
type opened struct {
	slog.Handler
	n atomic.Int64
}

func (o *opened) Enabled(context.Context, slog.Level) bool { return true }

func (o *opened) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "tunnel: open" {
		o.n.Add(1)
	}
	return nil
}

// The service asks for a new tunnel, and the first that is dialled ends at once. What runs over the old one is not cut by the next.
func TestAMoveThatFailsAtFirstCutsNothing(t *testing.T) {
	o, p := newOffice(t), newPond(t)
	count := &opened{}
	o.registry = tunnel.NewRegistry(tunnel.Config{Keys: o, Now: time.Now, Log: slog.New(count)})
	var dialled atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if dialled.Add(1) != 2 {
			o.registry.ServeHTTP(w, req)
			return
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: comporta-tunnel\r\n\r\n")
		c.Close()
	}))
	t.Cleanup(front.Close)
	m, _ := o.start(t, func(c *Config) { c.Server, c.Tunnels = front.URL, 1 })
	eventually(t, "a tunnel", func() bool { return o.presence(m).Tunnels == 1 })
	task := p.task()
	task.ReadOnly = false // so that it is not sent a second time
	running := o.send(m, task)
	<-p.arrived
	o.registry.Advise(0)
	eventually(t, "the new tunnel", func() bool { return count.n.Load() == 2 })
	another := o.send(m, p.task())
	<-p.arrived
	close(p.out)
	for what, c := range map[string]<-chan error{"over the old tunnel": running, "over the new one": another} {
		if err := <-c; err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	eventually(t, "the old tunnel gone", func() bool { return m.online.Load() == 1 })
}
