package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"comporta/api"
)

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// answering puts a handler where the tunnel stands: a route whose inside a test can choose.
func answering(j *journal, h http.HandlerFunc) func(*api.Config) {
	return func(c *api.Config) {
		c.Tunnel, c.Log = h, slog.New(slog.NewJSONHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
}

func TestAPanicIsA500ThatSaysNothingOfTheInside(t *testing.T) {
	j := &journal{}
	w := newWorld(t, answering(j, func(http.ResponseWriter, *http.Request) { panic("the inside") }))
	resp := w.send("GET", "//tunnel", nil)
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 500 || strings.Contains(string(text), "the inside") || resp.Header.Get("RequestId") == "" {
		t.Errorf("got %d %s", resp.StatusCode, text)
	}
	if log := j.String(); !strings.Contains(log, "the inside") || !strings.Contains(log, resp.Header.Get("RequestId")) {
		t.Errorf("the log does not say what happened: %s", log)
	}
}

func TestAPanicAfterTheFirstByteIsNoShortSuccess(t *testing.T) {
	j := &journal{}
	w := newWorld(t, answering(j, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half"))
		_ = http.NewResponseController(w).Flush()
		panic("the inside")
	}))
	resp := w.send("GET", "//tunnel", nil)
	if text, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("the answer ended well: %q", text)
	}
	w.eventually("the cut stands in the access log", func() bool { return strings.Contains(j.String(), `"aborted":true`) })
}

func TestNothingSecretStandsInTheLog(t *testing.T) {
	j := &journal{}
	w := newWorld(t, answering(j, func(http.ResponseWriter, *http.Request) {}))
	w.token = w.login(w.adminID, w.adminSecret) // so that a secret has passed through this server
	w.send("GET", "/gatewayClusters?$filter=secret-in-a-query", nil)
	w.send("POST", "/gatewayClusters", map[string]any{"name": "x", "recoveryKey": recoveryKey})
	log := j.String()
	if !strings.Contains(log, "/gatewayClusters") {
		t.Fatalf("nothing was logged: %s", log)
	}
	for _, secret := range []string{w.token, w.adminSecret, recoveryKey, "secret-in-a-query"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// What is no route, no method of it, too large, no JSON or not to be had now: each has its status and a JSON body of its surface.
func TestEveryFailureHasTheFormOfItsSurface(t *testing.T) {
	w := newWorld(t, func(c *api.Config) { c.Ready = func(context.Context) error { return errors.New("no database") } })
	for _, c := range []struct {
		status       int
		method, path string
		body         any
		code         string
	}{
		{404, "GET", "/nothing", nil, "EndpointNotFound"},
		{405, "PUT", "/gatewayClusters", nil, "MethodNotAllowed"},
		{413, "POST", "/gatewayClusters", map[string]any{"name": strings.Repeat("x", 1<<20)}, "RequestTooLarge"},
		{400, "POST", "/gatewayClusters", []any{}, "InvalidInput"},
		{400, "GET", "/gatewayClusters?$top=-1", nil, "InvalidInput"},
		{400, "GET", "/gatewayClusters?$expand=everything", nil, "InvalidInput"},
		{400, "GET", "/auditEvents?continuationToken=garbled", nil, "InvalidContinuationToken"},
		{404, "GET", "/gatewayClusters/not-a-guid", nil, "PowerBIEntityNotFound"},
		{503, "GET", "//readyz", nil, "ServiceUnavailable"},
	} {
		resp := w.send(c.method, c.path, c.body)
		var answer struct {
			Error struct {
				Code, Message string
				PBI           struct{ Code string } `json:"pbi.error"`
			}
		}
		text, _ := io.ReadAll(resp.Body)
		if err := json.Unmarshal(text, &answer); err != nil {
			t.Errorf("%s %s: %v in %s", c.method, c.path, err, text)
		}
		if resp.StatusCode != c.status || resp.Header.Get("RequestId") == "" || answer.Error.Message == "" || strings.Contains(string(text), "no database") {
			t.Errorf("%s %s: %d %s, want %d", c.method, c.path, resp.StatusCode, text, c.status)
		}
		if waits := resp.Header.Get("Retry-After") != ""; waits != (c.status == 503) {
			t.Errorf("%s %s: %d with Retry-After %q", c.method, c.path, resp.StatusCode, resp.Header.Get("Retry-After"))
		}
		if answer.Error.Code != c.code || answer.Error.PBI.Code != c.code || resp.Header.Get("X-PowerBI-Error-Info") != c.code {
			t.Errorf("%s %s: code %q, want %q", c.method, c.path, answer.Error.Code, c.code)
		}
	}
}

// A caller's mistake at the token endpoint is no fault of the service, and the log does not say so.
func TestACallersMistakeIsNoErrorInTheLog(t *testing.T) {
	j := &journal{}
	w := newWorld(t, answering(j, func(http.ResponseWriter, *http.Request) {}))
	for _, form := range []string{"grant_type=password", "", "%zz", "grant_type=client_credentials&client_id=x&client_secret=y"} {
		resp := w.sendRequest("POST", w.url+"/oauth2/v2.0/token", strings.NewReader(form), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
		if resp.StatusCode >= 500 {
			t.Errorf("%q: %d", form, resp.StatusCode)
		}
	}
	if log := j.String(); strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("the log has errors: %s", log)
	}
}
