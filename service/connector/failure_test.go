package connector

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"comporta/service/gateway"
)

// lastBreath is a web server that takes no new connection from the moment it is asked for /orders, as one that is restarted just then.
type lastBreath struct {
	listener net.Listener
	orders   atomic.Int64
}

func newLastBreath(t *testing.T) *lastBreath {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &lastBreath{listener: listener}
	server := &http.Server{Handler: s}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return s
}

func (s *lastBreath) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/orders/moved":
		s.orders.Add(1)
		_ = s.listener.Close()
		w.Header().Set("Connection", "close")
		http.Redirect(w, r, "/orders/1", http.StatusSeeOther)
	case "/orders/cut":
		s.orders.Add(1)
		_ = s.listener.Close()
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close()
		}
	}
}

// A write that ran is not sent to another member because what came after it could not connect: neither the request after a redirect, nor
// the one that net/http makes again by itself.
func TestAWebWriteThatLeftIsNotSentElsewhere(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/orders/moved", "/orders/cut"} {
		s := newLastBreath(t)
		r := webRig(t, gateway.TypeWeb, "http://"+s.listener.Addr().String(), nil)
		if _, err := r.call(t.Context(), true, gateway.HTTPCall{Method: "GET", Path: "/warm"}); err != nil {
			t.Fatal(err) // and now there is a connection to be used again
		}
		_, err := r.call(t.Context(), false, gateway.HTTPCall{Method: "POST", Path: path, Body: "x", Headers: map[string]string{"Idempotency-Key": "1"}})
		e := gateway.AsError(err)
		if e == nil || e.Code != gateway.CodeDataSourceAccess || s.orders.Load() != 1 || !strings.Contains(e.Message, "connection refused") {
			t.Fatalf("%s: it was to be asked once and then refuse: %v, %d orders", path, err, s.orders.Load())
		}
		if e.Elsewhere || !strings.Contains(e.Message, "once or not at all") {
			t.Errorf("%s: another member is asked: %v; the message is %q", path, e.Elsewhere, e.Message)
		}
		_, err = r.call(t.Context(), false, gateway.HTTPCall{Method: "POST", Path: path, Body: "x"})
		if e := gateway.AsError(err); e == nil || !e.Elsewhere || strings.Contains(e.Message, "once or not at all") {
			t.Errorf("a write that never left is not sent elsewhere: %+v", e)
		}
	}
}

// A driver that connects anew by itself may fail to dial when the statement has run already.
func TestAStatementThatLeftIsNotSentElsewhere(t *testing.T) {
	t.Parallel()
	s := &fakeServer{fails: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	_, err := s.run(t, false, 0)
	e := gateway.AsError(err)
	if e == nil || s.begins != 1 {
		t.Fatalf("%v after %d tries", err, s.begins)
	}
	if mayRepeat(e, false); e.Elsewhere {
		t.Errorf("another member is asked: %v", e)
	}
}
