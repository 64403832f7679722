package tunnel

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"comporta/service/gateway"
)

// connectProxyServer is an HTTP proxy that knows CONNECT and asks for the user "user" with the password "pass".
func connectProxyServer(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Proxy-Authorization") != "Basic dXNlcjpwYXNz" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		if req.Method != http.MethodConnect {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		far, err := net.Dial("tcp", req.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		near, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n")
		go func() { _, _ = io.Copy(far, near); far.Close() }()
		go func() { _, _ = io.Copy(near, far); near.Close() }()
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// A proxy that lost the answer may send the member's request once more: the token is not taken twice, and the member comes in all the same.
func TestAProxyThatRepeatsTheRequestDoesNoHarm(t *testing.T) {
	t.Parallel()
	for name, every := range map[string]bool{"once": false, "each time": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, newAgent(echo), nil)
			var asked atomic.Int64
			relay := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
				if asked.Add(1) == 1 || every {
					lost(t, w.server.URL, req.Header)
				}
				w.reg.ServeHTTP(rw, req)
			}))
			t.Cleanup(relay.Close)
			d := w.dialer(0)
			d.Server, _ = url.Parse(relay.URL)
			if !every {
				w.serve(d)
				return
			}
			var refused *RefusedError
			if _, err := d.Dial(context.Background()); !errors.As(err, &refused) || Fatal(err) || refused.Err.Code != gateway.CodeTokenExpired {
				t.Error(err)
			}
		})
	}
}

// lost asks for a tunnel with these headers and drops the answer.
func lost(t *testing.T, server string, h http.Header) {
	req, _ := http.NewRequest(http.MethodGet, server+Path, nil)
	req.Header = h.Clone()
	resp, err := new(http.Transport).RoundTrip(req)
	if err != nil {
		t.Error(err)
		return
	}
	resp.Body.Close()
}
