// Package e2e drives the built binary as its users do: service and members as processes, real tunnels, real databases.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"comporta/service/credential"
)

const (
	adminSecret = "e2e-Adm1n-secret-0123456789"
	recoveryKey = "e2e-Rec0very-key-ÄÖ-987654"
	dbPassword  = "e2e-Db-Pa55word-42-xyz"
	// patience bounds every wait for a condition.
	patience = 30 * time.Second
)

var binary string

// TestMain builds the binary once.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "comporta-e2e-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "comporta")
	build := exec.Command("go", "build", "-o", binary, "comporta/cmd/comporta")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "building the binary failed:", err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// absent skips the test because something is not there, or fails it when COMPORTA_TEST_REQUIRE names it.
func absent(t *testing.T, what string, err error) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("COMPORTA_TEST_REQUIRE"), ","), what) {
		t.Fatalf("%s is required and absent: %v", what, err)
	}
	t.Skipf("%s is absent: %v", what, err)
}

// process is one running comporta.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	mu    sync.Mutex
	lines []string
	more  chan struct{}
	ended chan struct{}
	// Everything that it printed goes here, for the search for secrets.
	output bytes.Buffer
}

// start runs comporta with these arguments and extra environment, and ends it with the test.
func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(binary, args...), more: make(chan struct{}, 1), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = w, w
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	go p.read(r)
	t.Cleanup(p.kill)
	return p
}

func (p *process) read(r io.Reader) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		p.mu.Lock()
		p.lines = append(p.lines, scanner.Text())
		p.output.WriteString(scanner.Text() + "\n")
		p.mu.Unlock()
		select {
		case p.more <- struct{}{}:
		default:
		}
	}
	p.cmd.Wait()
	close(p.ended)
}

// text is what the process has printed so far.
func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// expect waits for a line that holds the word and returns what follows it.
func (p *process) expect(word string) string {
	p.t.Helper()
	deadline := time.After(patience)
	for next := 0; ; {
		p.mu.Lock()
		for ; next < len(p.lines); next++ {
			if _, after, ok := strings.Cut(p.lines[next], word); ok {
				p.mu.Unlock()
				return strings.TrimSpace(after)
			}
		}
		p.mu.Unlock()
		select {
		case <-p.more:
		case <-p.ended:
			if !strings.Contains(p.text(), word) {
				p.t.Fatalf("comporta ended without %q:\n%s", word, p.text())
			}
		case <-deadline:
			p.t.Fatalf("no %q within %v:\n%s", word, patience, p.text())
		}
	}
}

// kill is kill -9.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.ended
}

// stop is SIGTERM, and waits for the end.
func (p *process) stop() {
	p.t.Helper()
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("comporta does not end on SIGTERM:\n%s", p.text())
	}
}

// world is a service with what a caller needs to use it.
type world struct {
	t       *testing.T
	service *process
	url     string
	adminID string
	token   string
	cluster string
	dir     string
}

// serve starts a service with an administrator of ours.
func serve(t *testing.T, dir, listen string, args ...string) *world {
	t.Helper()
	w := &world{t: t, dir: dir, adminID: uuid.NewString()}
	w.startService(listen, args...)
	return w
}

func (w *world) startService(listen string, args ...string) {
	w.t.Helper()
	place := []string{"--data", w.dir}
	if len(args) > 0 {
		place = args
	}
	env := []string{"COMPORTA_ADMIN_ID=" + w.adminID, "COMPORTA_ADMIN_SECRET=" + adminSecret}
	w.service = start(w.t, env, append([]string{"serve", "--listen", listen}, place...)...)
	w.url = w.service.expect("listening on ")
	w.login()
}

func (w *world) login() {
	w.t.Helper()
	var token struct {
		AccessToken string `json:"access_token"`
	}
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {w.adminID}, "client_secret": {adminSecret}}
	resp, err := http.PostForm(w.url+"/oauth2/v2.0/token", form)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&token); err != nil || token.AccessToken == "" {
		w.t.Fatalf("no token: %d, %v", resp.StatusCode, err)
	}
	w.token = token.AccessToken
}

// try sends a request and returns status and body.
func (w *world) try(method, path string, body any) (int, []byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequest(method, w.url+"/v2.0/myorg"+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// call sends a request that must succeed and decodes the answer.
func (w *world) call(method, path string, body, answer any) {
	w.t.Helper()
	status, text, err := w.try(method, path, body)
	if err != nil || status >= 300 {
		w.t.Fatalf("%s %s: %d %s %v", method, path, status, text, err)
	}
	if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			w.t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
}

// join makes a member of the world's cluster, the first one with the cluster, and returns its state folder.
func (w *world) join(name string) (state string) {
	w.t.Helper()
	state = filepath.Join(w.t.TempDir(), "state")
	args := []string{"member", "join", "--server", w.url, "--state", state, "--name", name, "--new-cluster", "e2e " + uuid.NewString()}
	if w.cluster != "" {
		args = append(args[:len(args)-2], "--cluster", w.cluster)
	}
	env := []string{"COMPORTA_CLIENT_ID=" + w.adminID, "COMPORTA_CLIENT_SECRET=" + adminSecret, "COMPORTA_RECOVERY_KEY=" + recoveryKey}
	p := start(w.t, env, args...)
	cluster := p.expect("cluster id")
	<-p.ended
	if w.cluster == "" {
		w.cluster = cluster
	}
	return state
}

// member joins and runs one more member and waits until the service sees it.
func (w *world) member(name string, args ...string) *process {
	w.t.Helper()
	return w.run(w.join(name), name, args...)
}

func (w *world) run(state, name string, args ...string) *process {
	w.t.Helper()
	p := start(w.t, nil, append([]string{"member", "run", "--state", state}, args...)...)
	w.eventually(name+" is live", func() bool {
		m := w.members()[name]
		return m.Status == "Live"
	})
	return p
}

type memberView struct {
	ID, Name, Status, State string
	RunningRequests         int
}

func (w *world) members() map[string]memberView {
	w.t.Helper()
	var list struct{ Value []memberView }
	w.call("GET", "/gatewayClusters/"+w.cluster+"/memberGateways", nil, &list)
	byName := map[string]memberView{}
	for _, m := range list.Value {
		byName[m.Name] = m
	}
	return byName
}

// eventually waits for a condition.
func (w *world) eventually(what string, holds func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); {
		if time.Now().After(deadline) {
			w.t.Fatalf("not within %v: %s\nservice:\n%s", patience, what, w.service.text())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// source registers a data source with credentials that only members can open.
func (w *world) source(name, kind, details string, pairs credential.Pairs) string {
	w.t.Helper()
	var cluster struct {
		PublicKey struct{ Modulus, Exponent string }
	}
	w.call("GET", "/gatewayClusters/"+w.cluster, nil, &cluster)
	modulus, err1 := base64.StdEncoding.DecodeString(cluster.PublicKey.Modulus)
	exponent, err2 := base64.StdEncoding.DecodeString(cluster.PublicKey.Exponent)
	envelope, err3 := credential.Seal(credential.Public{Modulus: modulus, Exponent: exponent}, pairs, rand.Reader)
	if err := errors.Join(err1, err2, err3); err != nil {
		w.t.Fatal(err)
	}
	var made struct{ ID string }
	w.call("POST", "/gatewayClusters/"+w.cluster+"/datasources", map[string]any{"datasourceType": kind, "datasourceName": name, "connectionDetails": details,
		"credentialDetails": map[string]any{"credentialType": "Basic", "credentials": envelope, "encryptionAlgorithm": "RSA-OAEP", "encryptedConnection": "NotEncrypted", "privacyLevel": "None"}}, &made)
	return made.ID
}

// dispatch sends a query and returns the open answer.
func (w *world) dispatch(ctx context.Context, source, query, accept string, readOnly bool) (*http.Response, error) {
	return w.send(ctx, map[string]any{"datasourceId": source, "query": map[string]any{"text": query}, "readOnly": readOnly}, accept)
}

// send dispatches a request and returns the open answer.
func (w *world) send(ctx context.Context, request any, accept string) (*http.Response, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/v2.0/myorg/gatewayClusters/"+w.cluster+"/dispatch", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", accept)
	return http.DefaultClient.Do(req)
}

// rows sends a query that must succeed and returns the rows as JSON text.
func (w *world) rows(source, query string) string {
	w.t.Helper()
	resp, err := w.dispatch(context.Background(), source, query, "application/json", true)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct{ Rows json.RawMessage }
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 || json.Unmarshal(text, &answer) != nil {
		w.t.Fatalf("%s: %d %s %v", query, resp.StatusCode, text, err)
	}
	return string(answer.Rows)
}
