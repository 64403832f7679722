package fabric_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"comporta/api"
	"comporta/persistence"
	"comporta/service"
	"comporta/service/gateway"
	"comporta/service/recovery"
)

// world is the HTTP server over the real use cases on SQLite. The tunnels are scripted: what a probe finds out is what is tested.
type world struct {
	t       *testing.T
	service *service.Service
	handler http.Handler
	token   string
	admin   gateway.ID
	tunnels *tunnels
}

type tunnels struct {
	online bool
	// away is a member that cannot be reached while the others can.
	away gateway.ID
	fail *gateway.Error
}

func (f *tunnels) Presence(id gateway.ID) gateway.Presence {
	known := gateway.Reading{Percent: 1, Known: true}
	return gateway.Presence{Online: f.online && id != f.away, Version: "1.0", Load: gateway.Load{CPU: known, Memory: known}}
}
func (f *tunnels) Configure(gateway.ID, gateway.MemberSettings) {}
func (f *tunnels) Disconnect(gateway.ID, string)                {}
func (f *tunnels) Send(context.Context, gateway.ID, *gateway.Task, gateway.Chance, func() bool) (*gateway.Answer, error) {
	if f.fail != nil {
		return nil, &gateway.AttemptError{Phase: gateway.PhaseAnswered, Err: f.fail}
	}
	return &gateway.Answer{Body: io.NopCloser(strings.NewReader("{}")), Length: 2, Summary: func() gateway.Summary { return gateway.Summary{} }}, nil
}

type anyEnvelope struct{}

func (anyEnvelope) CheckForm(int, string) error                         { return nil }
func (anyEnvelope) SealPlain(_, _ []byte, plain string) (string, error) { return "sealed", nil }

func newWorld(t *testing.T) *world {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	store, err := persistence.Open(context.Background(), persistence.Config{DataDir: t.TempDir(), Now: time.Now, Log: quiet})
	must(t, err)
	newID := func() gateway.ID { return gateway.ID(uuid.NewString()) }
	f := &tunnels{online: true}
	s := service.New(service.Config{Store: store, Tunnels: f, Envelopes: anyEnvelope{}, Now: time.Now, NewID: newID, Random: rand.Reader, Pick: mathrand.IntN,
		Log: quiet, Issuer: "http://test", RecoveryCost: recovery.Cost{Time: 1, Memory: 64, Threads: 1},
		SecretCost: recovery.Cost{Time: 1, Memory: 64, Threads: 1}})
	first, err := s.Tenant.Start(context.Background(), "", "", "")
	must(t, err)
	running, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() { s.Run(running); close(stopped) }()
	t.Cleanup(func() { stop(); <-stopped; store.Close() })
	server := api.New(api.Config{Service: s, PublicURL: "http://test", Log: quiet, NewID: newID, Now: time.Now})
	w := &world{t: t, service: s, handler: server.Handler(), admin: first.ID, tunnels: f}
	w.token = w.tokenOf(first.ID, first.Secret)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) tokenOf(id gateway.ID, secret string) string {
	w.t.Helper()
	token, err := w.service.Access.IssueToken(context.Background(), id.String(), secret)
	must(w.t, err)
	return token.AccessToken
}

// as makes a principal and returns its id and token.
func (w *world) as(name string) (gateway.ID, string) {
	w.t.Helper()
	caller := &gateway.Caller{ID: w.admin, TenantAdmin: true}
	p, secret, err := w.service.Tenant.CreatePrincipal(context.Background(), caller, service.NewPrincipal{Kind: gateway.App, Name: name, Email: name + "@example.org"})
	must(w.t, err)
	return p.ID, w.tokenOf(p.ID, secret)
}

func (w *world) call(token, method, path, body string, want int) (map[string]any, http.Header) {
	w.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	a := httptest.NewRecorder()
	w.handler.ServeHTTP(a, r)
	if a.Code != want {
		w.t.Fatalf("%s %s: %d, want %d: %s", method, path, a.Code, want, a.Body)
	}
	if a.Body.Len() == 0 {
		return nil, a.Header()
	}
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader(a.Body.Bytes()))
	must(w.t, d.Decode(&v))
	return v, a.Header()
}

func (w *world) cluster(name string) string {
	w.t.Helper()
	i, err := w.service.Clusters.Create(context.Background(), &gateway.Caller{ID: w.admin, TenantAdmin: true}, service.NewCluster{Name: name, RecoveryKey: "correct horse battery"})
	must(w.t, err)
	return i.ClusterID.String()
}
