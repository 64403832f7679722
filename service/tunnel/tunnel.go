package tunnel

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// reportEvery is how often a member reports.
const reportEvery = 2 * time.Second

// ErrLost is why Serve ended when the connection ended by itself: the service went away, or the network did.
var ErrLost = errors.New("the connection to the service ended")

// Tunnel is a member's end of one tunnel.
type Tunnel struct {
	conn   *conn
	dialer *Dialer
	log    *slog.Logger
	server *http.Server

	mu       sync.Mutex
	draining chan struct{} // closed when Shutdown begins
	drained  bool
	released chan struct{} // closed when the control stream has ended
	gone     bool

	handler *handler // set by Serve
}

func newTunnel(d *Dialer, c *conn) *Tunnel {
	return &Tunnel{conn: c, dialer: d, log: d.Log, draining: make(chan struct{}), released: make(chan struct{}), server: newServer(d)}
}

// newServer makes the HTTP/2 server of one connection.
func newServer(d *Dialer) *http.Server {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Protocols:      &protocols,
		MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:       slog.NewLogLogger(d.Log.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 10_000,
			MaxReadFrameSize:     frameSize,
			SendPingTimeout:      orElse(d.PingAfter, pingEvery),
			PingTimeout:          pingPatience,
		},
	}
}

func orElse(d, fallback time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return fallback
}

// Serve answers requests until the connection ends. It returns nil after Shutdown or Close, ctx's error when ctx ended (running requests
// are cut then), and ErrLost otherwise. It is called once.
//
// What still runs then is cancelled but not waited for: a data source may take its time to notice, or never do (a hung network drive, one
// long function of SQLite), and the next tunnel must not stay away for that long. Wait waits for it.
func (t *Tunnel) Serve(ctx context.Context, agent Agent) error {
	h := newHandler(t, agent)
	t.server.Handler = h
	t.mu.Lock()
	t.handler = h
	t.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { t.conn.Close() })
	defer stop()
	go t.conn.watch(orElse(t.dialer.PingAfter, pingEvery)+orElse(t.dialer.PingTimeout, pingEvery), t.silent)
	_ = t.server.Serve(&listener{conn: t.conn, stop: make(chan struct{})})
	<-t.conn.done
	_ = t.server.Close()
	h.close()
	if t.isDrained() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrLost
}

// silent notes why the tunnel ends.
func (t *Tunnel) silent(what string) {
	t.log.Warn("tunnel: the line is dead: "+what, "slot", t.dialer.Slot)
}

// Wait returns when nothing that ran over the tunnel runs any more. It is called after Serve has returned.
func (t *Tunnel) Wait() { t.handler.running.Wait() }

// Shutdown ends the tunnel in order: the service is told to send nothing more over it, running requests finish, then the connection is
// closed. When ctx ends first, they are cut and its error is returned.
func (t *Tunnel) Shutdown(ctx context.Context) error {
	t.drain()
	defer t.conn.Close()
	select {
	case <-t.released:
	case <-t.conn.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := t.settle(ctx); err != nil {
		return err
	}
	return t.server.Shutdown(ctx)
}

// settle waits until no request on the fast lane can still ask for a stream: after GOAWAY there are no new ones.
func (t *Tunnel) settle(ctx context.Context) error {
	t.mu.Lock()
	h := t.handler
	t.mu.Unlock()
	if h == nil || h.lane.Load() == nil {
		return nil
	}
	select {
	case <-h.lane.Load().settled():
	case <-t.conn.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Close ends the tunnel at once.
func (t *Tunnel) Close() {
	t.drain()
	t.conn.Close()
}

// Released is closed when the service sends nothing more over this tunnel: after Shutdown began, and also when a successor made by Redial
// has taken over. Until then the service may have no other way to the member.
func (t *Tunnel) Released() <-chan struct{} { return t.released }

// Done is closed when the connection has ended.
func (t *Tunnel) Done() <-chan struct{} { return t.conn.done }

func (t *Tunnel) drain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.drained {
		t.drained = true
		close(t.draining)
	}
}

// release notes that the service sends nothing more.
func (t *Tunnel) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.gone {
		t.gone = true
		close(t.released)
	}
}

func (t *Tunnel) isDrained() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.drained
}

// listener hands the one connection to the HTTP server and ends with it.
type listener struct {
	conn *conn
	mu   sync.Mutex
	gone bool
	once sync.Once
	stop chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	l.mu.Lock()
	first := !l.gone
	l.gone = true
	l.mu.Unlock()
	if first {
		return l.conn, nil
	}
	select {
	case <-l.conn.done:
	case <-l.stop:
	}
	return nil, io.EOF
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.stop) })
	return nil
}

func (l *listener) Addr() net.Addr { return l.conn.LocalAddr() }
