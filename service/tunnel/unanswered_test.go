package tunnel

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"comporta/service/gateway"
)

// raw is an address behind which each connection meets what is given.
func raw(t *testing.T, meet func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			meet(c)
		}
	}()
	return l.Addr().String()
}

// says is an address that answers everything with the text.
func says(t *testing.T, text string) string {
	return raw(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 4<<10))
		_, _ = io.WriteString(c, text)
		c.Close()
	})
}

func TestNobodyAnswersOrSomebodySaysNo(t *testing.T) {
	t.Parallel()
	closed := raw(t, func(net.Conn) {})
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	strangers := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(strangers.Close)
	refused := `{"error":{"code":"` + string(gateway.CodeUnavailable) + `","message":"later"}}`
	for name, c := range map[string]struct {
		server, proxy string
		want          bool
	}{
		"nobody listens":            {"http://" + gone.Addr().String(), "", true},
		"silence":                   {"http://" + closed, "", true},
		"silence under TLS":         {"https://" + closed, "", true},
		"a closed connection":       {"http://" + raw(t, func(c net.Conn) { c.Close() }), "", true},
		"closed under TLS":          {"https://" + raw(t, func(c net.Conn) { c.Close() }), "", true},
		"no such name":              {"http://nobody.invalid", "", true},
		"a proxy in front":          {"http://" + says(t, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 5\r\n\r\nhello"), "", true},
		"no proxy":                  {"http://service.invalid", gone.Addr().String(), true},
		"a silent proxy":            {"http://service.invalid", closed, true},
		"a proxy without the way":   {"http://service.invalid", says(t, "HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n"), true},
		"a maintenance page":        {"http://" + says(t, "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 3600\r\nContent-Length: 5\r\n\r\nhello"), "", false},
		"a proxy's rate limit":      {"http://" + says(t, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 5\r\n\r\nhello"), "", true},
		"a proxy that asks to wait": {"http://service.invalid", says(t, "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n"), false},
		"a proxy that forbids":      {"http://service.invalid", says(t, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"), false},
		"a web page":                {"http://" + says(t, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), "", false},
		"the service's own words":   {"http://" + says(t, "HTTP/1.1 503 Service Unavailable\r\n\r\n"+refused), "", false},
		"a foreign certificate":     {strangers.URL, "", false},
		"a server of another kind":  {"http://" + says(t, "SSH-2.0-OpenSSH_9.2\r\n"), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, newAgent(nil), nil)
			d := w.dialer(0)
			d.Server, _ = url.Parse(c.server)
			if c.proxy != "" {
				d.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse("http://" + c.proxy) }
			}
			ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
			defer cancel()
			if _, err := d.Dial(ctx); err == nil || Unanswered(err) != c.want {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestTheTimeThatAnAnswerNames(t *testing.T) {
	t.Parallel()
	const noon, later = "Mon, 30 Nov 2026 12:00:00 GMT", "Mon, 30 Nov 2026 12:00:20 GMT"
	for _, c := range []struct {
		after, date string
		want        time.Duration
	}{
		{"5", "", 5 * time.Second}, {"7200", "", time.Hour}, {"-1", "", 0}, {"soon", noon, 0}, {"", noon, 0},
		{later, noon, 20 * time.Second}, {noon, later, 0}, {later, "", 0}, {"Tue, 01 Dec 2026 12:00:00 GMT", noon, time.Hour},
	} {
		w := newWorld(t, newAgent(nil), nil)
		d := w.dialer(0)
		d.Server, _ = url.Parse("http://" + says(t, "HTTP/1.1 503 Service Unavailable\r\nRetry-After: "+c.after+"\r\nDate: "+c.date+"\r\nContent-Length: 0\r\n\r\n"))
		_, err := d.Dial(context.Background())
		var away *AwayError
		if errors.As(err, &away) != (c.want > 0) || away != nil && away.RetryAfter != c.want {
			t.Errorf("%q at %q: %v", c.after, c.date, err)
		}
	}
}
