package connector

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"comporta/service/gateway"
)

func webRig(t *testing.T, kind gateway.DataSourceType, address string, creds gateway.Credentials) *rig {
	r := newRig(t, kind, `{"url":"`+address+`"}`, creds)
	if creds == nil {
		r.task.DataSource.Credential.Type = "Anonymous"
	}
	return r
}

func (r *rig) call(ctx context.Context, readOnly bool, call gateway.HTTPCall) (*memory, error) {
	task := r.task
	task.ReadOnly, task.HTTP = readOnly, &call
	out := &memory{}
	_, err := r.c.Run(ctx, &task, r.creds, out)
	return out, err
}

func TestWeb(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another host was asked") }))
	defer other.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/api/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/x-echo")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s auth=%q accept=%q conn=%q mine=%q hop=%q", r.Method, r.URL.RequestURI(), body, r.Header.Get("Authorization"), r.Header.Get("Accept"), r.Header.Get("Connection"), r.Header.Get("X-Mine"), r.Header.Get("X-Hop"))
	})
	mux.HandleFunc("/api/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/api/echo", http.StatusFound)
	})
	mux.HandleFunc("/api/up", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/secret", http.StatusFound) })
	mux.HandleFunc("/api/near", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/api/echo?b=2", http.StatusFound) })
	mux.HandleFunc("/api/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/api/loop", http.StatusFound) })
	mux.HandleFunc("/api/short", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half"))
	})
	mux.HandleFunc("/secret", func(http.ResponseWriter, *http.Request) { t.Error("the place above was asked") })
	here := httptest.NewServer(mux)
	defer here.Close()
	r := webRig(t, gateway.TypeOData, here.URL+"/api/", gateway.Credentials{"username": "u", "password": password})

	out, err := r.call(t.Context(), false, gateway.HTTPCall{Method: "POST", Path: "/echo?a=1", Body: "hi", Headers: map[string]string{
		"Host": "evil", "Authorization": "mine", "X-Mine": "yes", "Connection": "X-Hop", "X-Hop": "gone", "Transfer-Encoding": "chunked"}})
	if err != nil {
		t.Fatal(err)
	}
	want := `POST /api/echo?a=1 hi auth="Basic dTpTM2NyZXQtUGE1NXdvcmQ=" accept="application/json" conn="" mine="yes" hop=""`
	if out.text() != want || out.header.UpstreamStatus != http.StatusTeapot || out.header.ContentType != "text/x-echo" {
		t.Errorf("got %s %+v", out.text(), out.header)
	}
	for _, c := range []struct {
		method, path string
		want         gateway.Code
	}{
		{"GET", "/near", ""}, {"GET", "/away", gateway.CodeNotAllowedHere}, {"GET", "/up", gateway.CodeNotAllowedHere}, {"GET", "/loop", gateway.CodeQuery},
		{"POST", "/echo", gateway.CodeReadOnly}, {"CONNECT", "/echo", gateway.CodeInvalid}, {"GET", "../secret", gateway.CodeNotAllowedHere},
		{"GET", "/short", gateway.CodeDataSourceAccess},
	} {
		_, err := r.call(t.Context(), true, gateway.HTTPCall{Method: c.method, Path: c.path})
		if e := gateway.AsError(err); c.want == "" && e != nil || c.want != "" && (e == nil || e.Code != c.want) {
			t.Errorf("%s %s: got %v, want %q", c.method, c.path, err, c.want)
		} else if e != nil && strings.Contains(e.Error(), password) {
			t.Error("the password shows")
		}
	}
	if _, err := r.call(t.Context(), true, gateway.HTTPCall{Method: "GET", Path: "echo", Headers: map[string]string{"X": "a\r\nY: b"}}); !gateway.IsCode(err, gateway.CodeInvalid) {
		t.Error(err)
	}
	if err := r.c.Probe(t.Context(), &r.task, r.creds); err != nil {
		t.Error(err)
	}
}

// What the server promises about the length is promised on, and nothing else: not what it leaves open, nor the length of an answer that does
// not come, as HEAD and 304 name it.
func TestWebPromisesTheLengthThatItWasPromised(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/open" {
			w.(http.Flusher).Flush()
		} else {
			w.Header().Set("Content-Length", "5")
		}
		if r.URL.Path == "/same" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte("12345"))
	})
	one, two := httptest.NewServer(handler), httptest.NewUnstartedServer(handler)
	defer one.Close()
	two.EnableHTTP2 = true
	two.StartTLS()
	defer two.Close()
	for _, c := range []struct {
		method, path string
		want         int64
		text         string
	}{{"GET", "/known", 5, "12345"}, {"GET", "/open", 0, "12345"}, {"HEAD", "/known", 0, ""}, {"GET", "/same", 0, ""}} {
		for _, here := range []*httptest.Server{one, two} {
			out, err := webRig(t, gateway.TypeWeb, here.URL, nil).call(t.Context(), true, gateway.HTTPCall{Method: c.method, Path: c.path})
			if err != nil || out.header.PromisedLength != c.want || out.text() != c.text {
				t.Errorf("%s %s%s promises %d bytes and gives %q, want %d and %q; %v", c.method, here.URL, c.path, out.header.PromisedLength, out.text(), c.want, c.text, err)
			}
		}
	}
}

func TestWebStreamsAndEnds(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("first"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	defer here.Close()
	r := webRig(t, gateway.TypeWeb, here.URL, nil)
	ctx, cancel := context.WithCancel(t.Context())
	task := r.task
	task.ReadOnly, task.HTTP = true, &gateway.HTTPCall{Method: "GET"}
	out, result := &memory{}, make(chan error, 1)
	go func() {
		_, err := r.c.Run(ctx, &task, nil, out)
		result <- err
	}()
	until(t, "the first bytes", 30*time.Second, func() bool { return out.text() == "first" })
	cancel()
	if err := <-result; !gateway.IsCode(err, gateway.CodeBroken) {
		t.Error(err)
	}
	<-gone
}

func TestJoin(t *testing.T) {
	base := baseURL(t, "https://api.local/v1/data?key=1")
	for path, want := range map[string]string{
		"": "https://api.local/v1/data?key=1", "/": "https://api.local/v1/data/?key=1", "a/b?c=../d": "https://api.local/v1/data/a/b?key=1&c=../d",
		"/a%20b": "https://api.local/v1/data/a%20b?key=1", "a%2Fb": "https://api.local/v1/data/a%2Fb?key=1", "Customers('x')": "https://api.local/v1/data/Customers('x')?key=1",
		"...": "https://api.local/v1/data/...?key=1", "東京": "https://api.local/v1/data/%E6%9D%B1%E4%BA%AC?key=1",
	} {
		if got, err := join(base, path); err != nil || got.String() != want {
			t.Errorf("%q: %v %v", path, got, err)
		}
	}
	for _, path := range []string{
		"..", "../x", "/../x", "a/../../x", "//evil", "///evil", "%2e%2e/x", ".%2e/x", "%252e%252e/x", "..%2fx", "..%5cx", `..\x`, `\\evil`,
		"https://evil/x", "evil:80/x", "..;/x", "a/%2e%2e%2f%2e%2e", "/%2fevil", "a b", "a\tb", "a\x00b", "a%", "a#b", "%25252525252e", "/a/./b",
	} {
		if got, err := join(base, path); err == nil {
			t.Errorf("%q gave %v", path, got)
		}
	}
}

func baseURL(t testing.TB, text string) *url.URL {
	t.Helper()
	place, err := gateway.ParsePlace(gateway.TypeWeb, `{"url":"`+text+`"}`)
	if err != nil {
		t.Fatal(err)
	}
	return place.URL
}

func FuzzWebPath(f *testing.F) {
	for _, seed := range []string{"a/b?c=d", "../x", "%2e%2e/", "//evil", "a;b/../c", "%zz", "a%2fb"} {
		f.Add(seed)
	}
	base := baseURL(f, "https://api.local:8443/root/data")
	f.Fuzz(func(t *testing.T, path string) {
		got, err := join(base, path)
		if err != nil {
			return
		}
		again, err := url.Parse(got.String())
		if err != nil {
			t.Fatal(err)
		}
		resolved := base.ResolveReference(again)
		if resolved.Host != base.Host || resolved.Scheme != base.Scheme || !strings.HasPrefix(resolved.EscapedPath()+"/", "/root/data/") || !strings.HasPrefix(resolved.Path+"/", "/root/data/") {
			t.Fatalf("%q leads to %v", path, resolved)
		}
	})
}
