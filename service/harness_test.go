package service

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"comporta/persistence"
	"comporta/service/gateway"
	"comporta/service/recovery"
)

const testRecoveryKey = "correct horse battery"

// world is the use cases on a real SQLite database, with scripted tunnels: the phases in which an attempt can fail are what these tests
// are about, and a real tunnel does not fail on request.
type world struct {
	*Service
	tunnels *scripted
	admin   *gateway.Caller
	now     func() time.Time
}

func newWorld(t testing.TB, change ...func(*Config)) *world {
	t.Helper()
	ctx := context.Background()
	store, err := persistence.Open(ctx, persistence.Config{DataDir: t.TempDir(), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	tunnels := &scripted{answers: map[gateway.ID]func(*gateway.Task) (*gateway.Answer, error){}, presence: map[gateway.ID]gateway.Presence{}}
	cfg := Config{Store: store, Tunnels: tunnels, Envelopes: anyEnvelope{}, Now: time.Now, NewID: func() gateway.ID { return gateway.ID(uuid.NewString()) },
		Random: rand.Reader, Pick: mathrand.IntN, Log: slog.New(slog.DiscardHandler), Issuer: "http://test", RecoveryCost: recovery.Cost{Time: 1, Memory: 64, Threads: 1},
		SecretCost: recovery.Cost{Time: 1, Memory: 64, Threads: 1}}
	for _, c := range change {
		c(&cfg)
	}
	s := New(cfg)
	first, err := s.Tenant.Start(ctx, "", "", "")
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() { s.Run(running); close(stopped) }()
	t.Cleanup(func() { stop(); <-stopped; store.Close() })
	return &world{Service: s, tunnels: tunnels, admin: &gateway.Caller{ID: first.ID, Name: "admin", TenantAdmin: true, RequestID: "r"}, now: cfg.Now}
}

// cluster makes a cluster with n members, all online, and a data source on it.
func (w *world) cluster(t testing.TB, n int) (cluster gateway.ID, members []gateway.ID, dataSource gateway.ID) {
	t.Helper()
	ctx := context.Background()
	first, err := w.Clusters.Create(ctx, w.admin, NewCluster{Name: "cluster " + uuid.NewString(), RecoveryKey: testRecoveryKey})
	if err != nil {
		t.Fatal(err)
	}
	members = append(members, first.MemberID)
	for i := 1; i < n; i++ {
		m, err := w.Members.Add(ctx, w.admin, first.ClusterID, NewMember{Name: uuid.NewString(), RecoveryKey: testRecoveryKey})
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, m.MemberID)
	}
	for _, m := range members {
		w.tunnels.online(m)
	}
	d, err := w.DataSources.Create(ctx, w.admin, first.ClusterID, NewDataSource{Name: "db", Type: gateway.TypePostgreSQL, ConnectionDetails: `{"server":"s","database":"d"}`,
		Credentials: map[gateway.ID]CredentialInput{"": {Type: "Basic", Envelope: "sealed"}}})
	if err != nil {
		t.Fatal(err)
	}
	return first.ClusterID, members, d.ID
}

func (w *world) principal(t *testing.T, name string) *gateway.Caller {
	t.Helper()
	p, _, err := w.Tenant.CreatePrincipal(context.Background(), w.admin, NewPrincipal{Kind: gateway.App, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return &gateway.Caller{ID: p.ID, Name: name, RequestID: "r"}
}

// scripted plays the live tunnels.
type scripted struct {
	mu       sync.Mutex
	presence map[gateway.ID]gateway.Presence
	answers  map[gateway.ID]func(*gateway.Task) (*gateway.Answer, error)
	sent     []gateway.ID
	told     []gateway.MemberSettings
	cut      []gateway.ID
	// counted, if set, is called when a request is counted in flight and not sent yet.
	counted func(gateway.ID)
}

func (s *scripted) online(m gateway.ID) {
	s.show(m, func(p *gateway.Presence) { p.Online = true })
	s.answer(m, func(*gateway.Task) (*gateway.Answer, error) { return small("from " + m.String()), nil })
}

func (s *scripted) show(m gateway.ID, change func(*gateway.Presence)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.presence[m]
	change(&p)
	s.presence[m] = p
}

func (s *scripted) answer(m gateway.ID, with func(*gateway.Task) (*gateway.Answer, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[m] = with
}

func (s *scripted) Presence(m gateway.ID) gateway.Presence {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.presence[m]
}

func (s *scripted) Send(_ context.Context, m gateway.ID, task *gateway.Task, _ gateway.Chance, wanted func() bool) (*gateway.Answer, error) {
	if s.counted != nil {
		s.counted(m)
	}
	if !wanted() {
		return nil, &gateway.AttemptError{Phase: gateway.PhaseRefused, Err: gateway.Errorf(gateway.CodeDisabled, "scripted")}
	}
	s.mu.Lock()
	s.sent = append(s.sent, m)
	with := s.answers[m]
	s.mu.Unlock()
	return with(task)
}

func (s *scripted) Configure(_ gateway.ID, settings gateway.MemberSettings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, settings)
}

func (s *scripted) Disconnect(m gateway.ID, _ string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = append(s.cut, m)
}

func (s *scripted) sentTo() []gateway.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.sent
	s.sent = nil
	return list
}

// small is an answer whose length is known.
func small(text string) *gateway.Answer {
	return &gateway.Answer{Body: io.NopCloser(bytes.NewReader([]byte(text))), Length: int64(len(text)), Summary: func() gateway.Summary { return gateway.Summary{Rows: 1} }}
}

// failing is an attempt that fails in that phase.
func failing(phase gateway.Phase, code gateway.Code) func(*gateway.Task) (*gateway.Answer, error) {
	return func(*gateway.Task) (*gateway.Answer, error) {
		return nil, &gateway.AttemptError{Phase: phase, Err: gateway.Errorf(code, "scripted")}
	}
}

// anyEnvelope takes every envelope; the real check has its own tests.
type anyEnvelope struct{}

func (anyEnvelope) CheckForm(int, string) error { return nil }
func (anyEnvelope) SealPlain(_, _ []byte, plain string) (string, error) {
	return base64.StdEncoding.EncodeToString([]byte(plain)), nil
}
