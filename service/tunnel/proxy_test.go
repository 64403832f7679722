package tunnel

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
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
