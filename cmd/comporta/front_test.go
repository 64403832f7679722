package main

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"comporta/service/gateway"
	"comporta/service/tunnel"
)

// ask gets an address without waiting long: a probe would not either.
func ask(t *testing.T, address string) (*http.Response, string) {
	t.Helper()
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp, all(t, resp.Body)
}

// While a service waits for another one on its state to end, it answers that it lives and is not ready; a SIGHUP is heeded once it is.
func TestAServiceThatStartsAnswers(t *testing.T) {
	first := newStory(t)
	p := start(t, nil, "serve", "--data", filepath.Join(first.dir, "state"), "--listen", "127.0.0.1:0")
	address := p.saysErr(`the service starts" address=(\S+)`)[1]
	if resp, text := ask(t, address+"/healthz"); resp.StatusCode != http.StatusOK || text != "ok\n" {
		t.Errorf("/healthz answers %d, %q", resp.StatusCode, text)
	}
	if resp, text := ask(t, address+"/readyz"); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("/readyz answers %d, %q", resp.StatusCode, text)
	}
	p.signal(syscall.SIGHUP)
	first.service.signal(syscall.SIGTERM)
	p.says(`listening on ` + address)
	p.saysErr(`SIGHUP: there is nothing to read again`)
	for _, probe := range []string{"/healthz", "/readyz"} {
		if resp, text := ask(t, address+probe); resp.StatusCode != http.StatusOK {
			t.Errorf("%s answers %d, %q", probe, resp.StatusCode, text)
		}
	}
}

// Whoever is told to stop during its start stops, and nothing is wrong with that.
func TestAServiceIsStoppedDuringItsStart(t *testing.T) {
	first := newStory(t)
	p := start(t, nil, "serve", "--data", filepath.Join(first.dir, "state"), "--listen", "127.0.0.1:0")
	p.saysErr(`waiting for it to end`)
	p.signal(syscall.SIGTERM)
	if status := p.exit(); status != exitOK {
		t.Errorf("status %d: %s", status, p.stderr)
	}
}

// Every surface's clients find the error where they look for it.
func TestErrorsWhileTheServiceStarts(t *testing.T) {
	server := httptest.NewServer(&front{})
	defer server.Close()
	for path, where := range map[string]func(map[string]any) any{
		"/v2.0/myorg/gatewayClusters": func(a map[string]any) any { return a["error"].(map[string]any)["code"] },
		"/v1.0/myorg/gateways":        func(a map[string]any) any { return a["error"].(map[string]any)["pbi.error"].(map[string]any)["code"] },
		"/v1/gateways":                func(a map[string]any) any { return a["errorCode"] },
		"/oauth2/v2.0/token":          func(a map[string]any) any { return a["error"] },
	} {
		resp, text := ask(t, server.URL+path)
		var answer map[string]any
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatalf("%s: %v in %s", path, err, text)
		}
		want := "ServiceUnavailable"
		if path == "/oauth2/v2.0/token" {
			want = "temporarily_unavailable"
		}
		if got := fmt.Sprint(where(answer)); resp.StatusCode != http.StatusServiceUnavailable || got != want || resp.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d, %s", path, resp.StatusCode, text)
		}
	}
}

// To a member, a service that starts is as none, so it comes back within seconds.
func TestAMemberTakesNoOffenceAtAServiceThatStarts(t *testing.T) {
	server := httptest.NewServer(&front{})
	defer server.Close()
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	d := &tunnel.Dialer{Server: at, Member: gateway.ID("11111111-2222-3333-4444-555555555555"), Key: key, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	if _, err := d.Dial(deadline(t)); err == nil || !tunnel.Unanswered(err) {
		t.Errorf("%v", err)
	}
}
