package api_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"comporta/api"
	"comporta/persistence"
	"comporta/persistence/storetest"
	"comporta/service"
	"comporta/service/credential"
	"comporta/service/gateway"
	"comporta/service/member"
	"comporta/service/recovery"
	"comporta/service/tunnel"
)

const recoveryKey = "correct horse battery"

// absent skips the test because something is not there, or fails it when COMPORTA_TEST_REQUIRE names it.
func absent(t *testing.T, what string, err error) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("COMPORTA_TEST_REQUIRE"), ","), what) {
		t.Fatalf("%s is required and absent: %v", what, err)
	}
	t.Skipf("%s is absent: %v", what, err)
}

// world is the real service with real tunnels behind the HTTP server.
type world struct {
	t       testing.TB
	api     *api.Server
	url     string
	client  *http.Client
	service *service.Service
	store   persistence.Store
	// admin is the TenantAdmin application.
	adminID, adminSecret string
	token                string
	cluster              string
	folder               string
	// configFile is the …GatewayCore.dll.config of members that join from now on; "" for none.
	configFile string
}

type keys struct{ members *service.Members }

func (k *keys) TunnelKey(ctx context.Context, id gateway.ID) (tunnel.TunnelAuth, error) {
	key, settings, err := k.members.TunnelKey(ctx, id)
	return tunnel.TunnelAuth{PublicKey: key, Settings: settings}, err
}

type envelopes struct{}

func (envelopes) CheckForm(n int, envelope string) error { return credential.CheckForm(n, envelope) }
func (envelopes) SealPlain(modulus, exponent []byte, plain string) (string, error) {
	pairs, err := credential.Parse([]byte(plain))
	if err != nil {
		return "", err
	}
	return credential.Seal(credential.Public{Modulus: modulus, Exponent: exponent}, pairs, rand.Reader)
}

func limitRate(c *api.Config) { c.RatePerSecond = 1 }

// onBothStores runs a test once with its state in SQLite and once in PostgreSQL.
func onBothStores(t *testing.T, test func(t *testing.T, state persistence.Config)) {
	t.Run("sqlite", func(t *testing.T) { test(t, persistence.Config{DataDir: t.TempDir()}) })
	t.Run("postgres", func(t *testing.T) { test(t, persistence.Config{URL: storetest.PostgresURL(t)}) })
}

func newWorld(t testing.TB, change ...func(*api.Config)) *world {
	t.Helper()
	return newWorldOn(t, persistence.Config{DataDir: t.TempDir()}, change...)
}

// newWorldOn is newWorld with its state in a place of the caller's choice.
func newWorldOn(t testing.TB, state persistence.Config, change ...func(*api.Config)) *world {
	t.Helper()
	return newWorldBehind(t, httptest.NewUnstartedServer(nil), http.DefaultClient, state, change...)
}

// newWorldBehind is newWorldOn behind a listener of the caller's choice, which speaks TLS if it has a configuration for that.
func newWorldBehind(t testing.TB, listener *httptest.Server, client *http.Client, state persistence.Config, change ...func(*api.Config)) *world {
	t.Helper()
	ctx := context.Background()
	quiet := slog.New(slog.DiscardHandler)
	state.Now, state.Log = time.Now, quiet
	store, err := persistence.Open(ctx, state)
	if err != nil {
		t.Fatal(err)
	}
	newID := func() gateway.ID { return gateway.ID(uuid.NewString()) }
	k := &keys{}
	registry := tunnel.NewRegistry(tunnel.Config{Keys: k, Now: time.Now, Log: quiet})
	scheme, start := "http://", listener.Start
	if listener.TLS != nil {
		scheme, start = "https://", listener.StartTLS
	}
	w := &world{t: t, store: store, client: client, url: scheme + listener.Listener.Addr().String(), adminID: uuid.NewString(), adminSecret: "0123456789-api-test", folder: t.TempDir()}
	w.service = service.New(service.Config{Store: store, Tunnels: registry, Envelopes: envelopes{}, Now: time.Now, NewID: newID, Random: rand.Reader, Pick: mathrand.IntN,
		Log: quiet, Issuer: w.url, RecoveryCost: recovery.Cost{Time: 1, Memory: 64, Threads: 1},
		SecretCost: recovery.Cost{Time: 1, Memory: 64, Threads: 1}})
	k.members = w.service.Members
	if _, err := w.service.Tenant.Start(ctx, "", w.adminID, w.adminSecret); err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() { w.service.Run(running); close(stopped) }()
	cfg := api.Config{Service: w.service, Tunnel: registry, PublicURL: w.url, Ready: store.Ping, Log: quiet, NewID: newID, Now: time.Now, Version: "test"}
	for _, c := range change {
		c(&cfg)
	}
	w.api = api.New(cfg)
	listener.Config.Handler = w.api.Handler()
	start()
	t.Cleanup(func() {
		closing, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		registry.Close(closing)
		listener.Close()
		stop()
		<-stopped
		store.Close()
	})
	w.token = w.login(w.adminID, w.adminSecret)
	return w
}

func (w *world) login(id, secret string) string {
	w.t.Helper()
	resp, err := w.client.PostForm(w.url+"/oauth2/v2.0/token", url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}})
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	var token struct {
		AccessToken string `json:"access_token"`
	}
	if json.NewDecoder(resp.Body).Decode(&token); token.AccessToken == "" {
		w.t.Fatalf("no token: %d", resp.StatusCode)
	}
	return token.AccessToken
}

// as is the world as another application sees it, a new one without any role.
func (w *world) as(name string) *world {
	w.t.Helper()
	var made struct{ ID, ClientSecret string }
	w.must(201, "POST", "/principals", map[string]any{"principalType": "App", "displayName": name}, &made)
	other := *w
	other.adminID, other.token = made.ID, w.login(made.ID, made.ClientSecret)
	return &other
}

// send sends a request below /v2.0/myorg, or to an absolute path that begins with "//".
func (w *world) send(method, path string, body any) *http.Response {
	w.t.Helper()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			w.t.Fatal(err)
		}
	}
	target := w.url + "/v2.0/myorg" + path
	if rest, ok := strings.CutPrefix(path, "//"); ok {
		target = w.url + "/" + rest
	}
	req, err := http.NewRequest(method, target, bytes.NewReader(text))
	if err != nil {
		w.t.Fatal(err)
	}
	if w.token != "" {
		req.Header.Set("Authorization", "Bearer "+w.token)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// must sends a request that has to give this status, and decodes the answer.
func (w *world) must(status int, method, path string, body, answer any) string {
	w.t.Helper()
	resp := w.send(method, path, body)
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		w.t.Fatalf("%s %s: %d %s %v, want %d", method, path, resp.StatusCode, text, err, status)
	}
	if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			w.t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
	return string(text)
}

// fails sends a request that has to give this status and code.
func (w *world) fails(status int, code, method, path string, body any) {
	w.t.Helper()
	resp := w.send(method, path, body)
	var answer struct {
		Error struct {
			Code string
			PBI  struct{ Code string } `json:"pbi.error"`
		}
	}
	text, _ := io.ReadAll(resp.Body)
	json.Unmarshal(text, &answer)
	if resp.StatusCode != status || answer.Error.Code != code || answer.Error.PBI.Code != code || resp.Header.Get("X-PowerBI-Error-Info") != code || resp.Header.Get("RequestId") == "" {
		w.t.Errorf("%s %s: %d %s, want %d %s", method, path, resp.StatusCode, text, status, code)
	}
}

// joined makes a cluster, joins this machine as its first member and waits until it is live.
func (w *world) joined() *member.Member {
	w.t.Helper()
	m := w.join(member.JoinRequest{NewCluster: "cluster " + uuid.NewString(), Name: "one"})
	return m
}

func (w *world) join(r member.JoinRequest) *member.Member {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	r.Server, r.StateDir, r.ClientID, r.ClientSecret, r.RecoveryKey = w.url, filepath.Join(w.t.TempDir(), "state"), w.adminID, w.adminSecret, recoveryKey
	r.HTTP, r.Random, r.Version, r.Machine = http.DefaultClient, rand.Reader, "1.2.3", "box"
	state, err := member.Join(ctx, r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.cluster = state.ClusterID.String()
	m, err := member.New(member.Config{State: state, ConfigFile: w.configFile, AllowFolders: []string{w.folder}, Version: "1.2.3", Machine: "box", Now: time.Now, Jitter: mathrand.Float64, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.t.Fatal(err)
	}
	running, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { m.Run(running); close(ended) }()
	w.t.Cleanup(func() { stop(); <-ended })
	w.eventually("live", func() bool {
		return strings.Contains(w.must(200, "GET", "/gatewayClusters/"+w.cluster+"/memberGateways/"+state.MemberID.String(), nil, nil), `"status":"Live"`)
	})
	return m
}

func (w *world) eventually(what string, holds func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			w.t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// credentials seals a password with the cluster's public key.
func (w *world) credentials() map[string]any {
	w.t.Helper()
	var c struct {
		PublicKey struct{ Modulus, Exponent string }
	}
	w.must(200, "GET", "/gatewayClusters/"+w.cluster, nil, &c)
	modulus, _ := base64.StdEncoding.DecodeString(c.PublicKey.Modulus)
	exponent, _ := base64.StdEncoding.DecodeString(c.PublicKey.Exponent)
	envelope, err := credential.Seal(credential.Public{Modulus: modulus, Exponent: exponent}, credential.Basic("u", "p"), rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	return map[string]any{"credentialType": "Basic", "credentials": envelope, "encryptionAlgorithm": "RSA-OAEP"}
}

// source registers a CSV file as a data source.
func (w *world) source(name string) string {
	w.t.Helper()
	path := filepath.Join(w.folder, uuid.NewString()+".csv")
	if err := os.WriteFile(path, []byte("a,b\n1,ä\n2,b\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	var made struct{ ID string }
	w.must(201, "POST", "/gatewayClusters/"+w.cluster+"/datasources", map[string]any{"datasourceType": "File", "datasourceName": name,
		"connectionDetails": fmt.Sprintf(`{"path":%q}`, path), "credentialDetails": w.credentials()}, &made)
	return made.ID
}
