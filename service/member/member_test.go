package member

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
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

	"comporta/service/credential"
	"comporta/service/gateway"
	"comporta/service/tunnel"
)

// office is the service's side of the tunnels.
type office struct {
	registry *tunnel.Registry
	server   *httptest.Server
	// dialled counts the tunnels that were asked for.
	dialled atomic.Int64
	// refused counts the questions for a member that is not known.
	refused atomic.Int64

	mu       sync.Mutex
	keys     map[gateway.ID]ed25519.PublicKey
	settings gateway.MemberSettings
}

func (o *office) TunnelKey(_ context.Context, id gateway.ID) (tunnel.TunnelAuth, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := o.keys[id]
	if key == nil {
		o.refused.Add(1)
		return tunnel.TunnelAuth{}, gateway.Errorf(gateway.CodeNotFound, "removed")
	}
	return tunnel.TunnelAuth{PublicKey: key, Settings: o.settings}, nil
}

// enrol makes the key known; nil removes the member.
func (o *office) enrol(id gateway.ID, key ed25519.PublicKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keys[id] = key
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{keys: map[gateway.ID]ed25519.PublicKey{}}
	o.registry = tunnel.NewRegistry(tunnel.Config{Keys: o, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	o.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		o.dialled.Add(1)
		o.registry.ServeHTTP(w, req)
	}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := o.registry.Close(ctx); err != nil {
			t.Errorf("close the registry: %v", err)
		}
		o.server.Close()
	})
	return o
}

// start runs a member of this office, made of a changed configuration and then adjusted, and returns it and what Run returns.
func (o *office) start(t *testing.T, change func(*Config), adjust ...func(*Member)) (*Member, <-chan error) {
	t.Helper()
	s := testState(t)
	s.Server = o.server.URL
	cfg := Config{State: s, Version: "test", Machine: "box", Probe: &fixed{known(12), known(34)}, Now: time.Now, Jitter: func() float64 { return 0 }, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&cfg)
	}
	o.enrol(s.MemberID, s.Key.Public().(ed25519.PublicKey))
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range adjust {
		a(m)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended, gone := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(gone)
		ended <- m.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-gone
	})
	return m, ended
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func (o *office) presence(m *Member) gateway.Presence {
	return o.registry.Presence(m.cfg.State.MemberID)
}

func TestAMemberConnectsReportsAndObeys(t *testing.T) {
	o := newOffice(t)
	o.settings.Limits.Concurrency = number(9)
	m, ended := o.start(t, nil)
	eventually(t, "two tunnels and a report with the central limit", func() bool {
		p := o.presence(m)
		return p.Tunnels == 2 && p.Limits.Concurrency == 9 && p.Load.CPU == known(12) && p.Load.Memory == known(34)
	})
	if p := o.presence(m); !p.Online || p.Version != "test" || p.Machine != "box" {
		t.Errorf("presence: %+v", p)
	}
	o.registry.Configure(m.cfg.State.MemberID, gateway.MemberSettings{Limits: gateway.Limits{CPU: number(66)}})
	eventually(t, "the new limit in force", func() bool { return o.presence(m).Limits.CPU == 66 })
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := m.Drain(ctx); err != nil {
		t.Errorf("drain: %v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
	eventually(t, "offline", func() bool { return !o.presence(m).Online })
}

func TestAMemberComesBack(t *testing.T) {
	o := newOffice(t)
	m, _ := o.start(t, nil)
	for range 3 {
		eventually(t, "two tunnels", func() bool { return o.presence(m).Tunnels == 2 })
		o.registry.Disconnect(m.cfg.State.MemberID, "shaken off by the test")
	}
	eventually(t, "back", func() bool { return o.presence(m).Tunnels == 2 })
}

func TestARemovedMemberStopsWithWords(t *testing.T) {
	o := newOffice(t)
	m, ended := o.start(t, nil)
	eventually(t, "online", func() bool { return o.presence(m).Tunnels == 2 })
	o.enrol(m.cfg.State.MemberID, nil)
	o.registry.Disconnect(m.cfg.State.MemberID, "removed")
	if err := <-ended; !errors.Is(err, tunnel.ErrRemoved) {
		t.Errorf("got %v", err)
	}
}

// A whole request: the envelope is opened and the file is queried, through a real tunnel.
func TestAMemberAnswersAQuery(t *testing.T) {
	o := newOffice(t)
	folder := t.TempDir()
	m, _ := o.start(t, func(c *Config) { c.AllowFolders = []string{folder} })
	eventually(t, "online", func() bool { return o.presence(m).Online })
	database := filepath.Join(folder, "db.sqlite")
	if err := os.WriteFile(database, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	public := m.cfg.State.ClusterKey.PublicKey
	envelope, err := credential.Seal(credential.Public{Modulus: public.N.Bytes(), Exponent: []byte{1, 0, 1}}, credential.Basic("u", "pä"), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	task := &gateway.Task{RequestID: "r", ReadOnly: true, Format: gateway.FormatJSON, TimeoutMillis: 10000, Query: &gateway.Query{Text: "select 1 as one"},
		DataSource: gateway.TaskSource{ID: "d", Type: gateway.TypeExtension, ConnectionDetails: `{"kind":"SQLite","path":"` + database + `"}`,
			Credential: gateway.StoredCredential{Type: "Anonymous", Envelope: envelope}}}
	answer, err := o.registry.Send(context.Background(), m.cfg.State.MemberID, task, gateway.First, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(text), `"rows":[[1]]`) {
		t.Errorf("got %s, %v", text, err)
	}
	task.Probe, task.Query = true, nil
	probe, err := o.registry.Send(context.Background(), m.cfg.State.MemberID, task, gateway.First, nil)
	if err != nil {
		t.Fatal(err)
	}
	probe.Body.Close()
	task.DataSource.Credential.Envelope = strings.Repeat("AAAA", 200)
	var attempt *gateway.AttemptError
	_, err = o.registry.Send(context.Background(), m.cfg.State.MemberID, task, gateway.First, nil)
	if !errors.As(err, &attempt) || attempt.Phase != gateway.PhaseAnswered || attempt.Err.Code != gateway.CodeDataSourceCredentials {
		t.Errorf("a broken envelope: %v", err)
	}
}
