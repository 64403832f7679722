package main

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"
)

// endless answers until its caller is gone.
func endless(gone chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		defer close(gone)
		for part := make([]byte, 64<<10); ; {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	}
}

// A client who never reads holds no handler for ever, whatever the route and the protocol.
func TestAClientWhoNeverReadsIsCut(t *testing.T) {
	for _, protocol := range []string{"http/1.1", "h2"} {
		t.Run(protocol, func(t *testing.T) {
			listener, err := listenTCP(t.Context(), "127.0.0.1:0", time.Second)
			if err != nil {
				t.Fatal(err)
			}
			gone := make(chan struct{})
			s := &server{cfg: serverConfig{log: slog.New(slog.DiscardHandler)}, failed: make(chan error, 1)}
			cert, err := loadCertificate(selfSigned(t, t.TempDir(), 1))
			if err != nil {
				t.Fatal(err)
			}
			s.serve(listener, endless(gone), cert)
			defer func() { s.http[0].Close(); s.upkept.Wait() }()
			neverRead(t, listener.Addr().String(), protocol)
			select {
			case <-gone:
			case <-time.After(30 * time.Second):
				t.Fatal("the handler still writes to a client who does not read")
			}
		})
	}
}

// deafConn takes nothing in any more after some bytes.
type deafConn struct {
	net.Conn
	left int
	deaf <-chan struct{}
}

func (c *deafConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		<-c.deaf
	}
	n, err := c.Conn.Read(p[:min(len(p), max(c.left, 1))])
	c.left -= n
	return n, err
}

// neverRead asks for an answer and stops reading its connection after the first part, until the test ends.
func neverRead(t *testing.T, address, protocol string) {
	t.Helper()
	deaf := make(chan struct{})
	t.Cleanup(func() { close(deaf) })
	transport := &http.Transport{ForceAttemptHTTP2: true, DialTLSContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		secured := tls.Client(&deafConn{Conn: conn, left: 100_000, deaf: deaf}, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}) // it is about reading
		return secured, secured.HandshakeContext(ctx)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	resp, err := (&http.Client{Transport: transport}).Get("https://" + address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if got := map[int]string{1: "http/1.1", 2: "h2"}[resp.ProtoMajor]; got != protocol {
		t.Fatalf("answered over %s", got)
	}
}
