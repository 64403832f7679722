package tunnel

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"comporta/service/gateway"
)

const memberID = gateway.ID("11111111-2222-3333-4444-555555555555")

// roll is the service's list of members.
type roll struct {
	mu   sync.Mutex
	keys map[gateway.ID]TunnelAuth
}

func (r *roll) TunnelKey(_ context.Context, id gateway.ID) (TunnelAuth, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	auth, ok := r.keys[id]
	if !ok {
		return TunnelAuth{}, gateway.Errorf(gateway.CodeNotFound, "There is no such member.")
	}
	return auth, nil
}

// agent is a member whose behaviour a test chooses.
type agent struct {
	admit func() (func(), *gateway.Error)
	run   func(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error)

	running    atomic.Int64
	limit      atomic.Int64
	draining   atomic.Bool
	urgent     chan struct{}
	settings   chan gateway.MemberSettings
	reconnects chan time.Duration
}

func newAgent(run func(context.Context, *gateway.Task, gateway.Output) (gateway.Summary, error)) *agent {
	a := &agent{run: run, urgent: make(chan struct{}, 1), settings: make(chan gateway.MemberSettings, 64), reconnects: make(chan time.Duration, 64)}
	a.limit.Store(40)
	return a
}

func (a *agent) Admit() (func(), *gateway.Error) {
	if a.admit != nil {
		return a.admit()
	}
	a.running.Add(1)
	return func() { a.running.Add(-1) }, nil
}

func (a *agent) Run(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
	return a.run(ctx, task, out)
}

func (a *agent) Report() Report {
	return Report{Load: gateway.Load{Running: int(a.running.Load()), CPU: gateway.Reading{Percent: 12, Known: true}},
		Limits: gateway.EffectiveLimits{Concurrency: int(a.limit.Load())}, Draining: a.draining.Load()}
}
func (a *agent) Urgent() (<-chan struct{}, func())  { return a.urgent, func() {} }
func (a *agent) Configure(s gateway.MemberSettings) { a.settings <- s }
func (a *agent) Reconnect(after time.Duration)      { a.reconnects <- after }

// world is a service with one member, over real connections.
type world struct {
	t      testing.TB
	reg    *Registry
	keys   *roll
	key    ed25519.PrivateKey
	server *httptest.Server
	agent  *agent
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newWorld(t testing.TB, a *agent, adjust func(*Config)) *world {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, key: private, agent: a, keys: &roll{keys: map[gateway.ID]TunnelAuth{memberID: {PublicKey: public}}}}
	cfg := Config{Keys: w.keys, Now: time.Now, Log: quiet(),
		AdmissionTimeout: 15 * time.Second} // a machine that is busy with other tests is slow, not dead
	if adjust != nil {
		adjust(&cfg)
	}
	w.reg = NewRegistry(cfg)
	w.server = httptest.NewServer(w.reg)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := w.reg.Close(ctx); err != nil {
			t.Errorf("registry did not end: %v", err)
		}
		w.server.Close()
	})
	return w
}

func (w *world) dialer(slot int) *Dialer {
	u, err := url.Parse(w.server.URL)
	if err != nil {
		w.t.Fatal(err)
	}
	return &Dialer{Server: u, Member: memberID, Key: w.key, Version: "1.2.3", Machine: "máquina", Epoch: 1, Slot: slot,
		Now: time.Now, Log: quiet(), ReportEvery: 20 * time.Millisecond, Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }}
}

// serve dials and serves until the test ends; it returns once the service shows one tunnel more.
func (w *world) serve(d *Dialer) *Tunnel {
	w.t.Helper()
	before := w.reg.Presence(d.Member).Tunnels
	tun, err := d.Dial(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	w.background(tun)
	wait(w.t, "the tunnel to open", func() bool { return w.reg.Presence(d.Member).Tunnels > before })
	return tun
}

func (w *world) background(tun *Tunnel) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tun.Serve(context.Background(), w.agent)
		tun.Wait()
	}()
	w.t.Cleanup(func() {
		tun.Close()
		<-done
	})
}

// wait waits for a condition, for at most 20 seconds.
func wait(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("waited in vain for %s\n%s", what, buf[:runtime.Stack(buf, true)])
		}
		runtime.Gosched()
		<-time.After(time.Millisecond)
	}
}

func read(text string) *gateway.Task {
	return &gateway.Task{RequestID: "r-1", ReadOnly: true, Query: &gateway.Query{Text: text}, TimeoutMillis: 300_000, Format: gateway.FormatJSON}
}

func write(text string) *gateway.Task {
	t := read(text)
	t.ReadOnly = false
	return t
}

func (w *world) send(task *gateway.Task) (*gateway.Answer, error) {
	return w.reg.Send(context.Background(), memberID, task, gateway.First, nil)
}

func (w *world) idle() {
	w.t.Helper()
	wait(w.t, "no request in flight", func() bool {
		return w.reg.Presence(memberID).InFlight == 0 && w.agent.running.Load() == 0
	})
}

func phase(t testing.TB, err error, want gateway.Phase, code gateway.Code) *gateway.Error {
	t.Helper()
	attempt, ok := err.(*gateway.AttemptError)
	if !ok || attempt.Phase != want || attempt.Err.Code != code {
		t.Fatalf("error is %#v (%v); want phase %d, code %s", err, err, want, code)
	}
	return attempt.Err
}

// echo answers with the text of the query.
func echo(_ context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
	if err := out.Begin(gateway.AnswerHeader{ContentType: string(task.Format)}); err != nil {
		return gateway.Summary{}, err
	}
	_, err := io.WriteString(out, task.Query.Text)
	return gateway.Summary{Rows: 1}, err
}

// proxy stands between member and service; it can swallow everything or cut the line.
type proxy struct {
	net.Listener
	target string
	mute   atomic.Bool
	// still is held for writing while everything stands still: nothing is lost, and all comes late.
	still sync.RWMutex
	mu    sync.Mutex
	conns []net.Conn
}

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, target: strings.TrimPrefix(target, "http://")}
	go p.accept()
	t.Cleanup(func() {
		l.Close()
		p.cut()
	})
	return p
}

func (p *proxy) accept() {
	for {
		a, err := p.Accept()
		if err != nil {
			return
		}
		b, err := net.Dial("tcp", p.target)
		if err != nil {
			a.Close()
			return
		}
		p.mu.Lock()
		p.conns = append(p.conns, a, b)
		p.mu.Unlock()
		go p.copy(a, b)
		go p.copy(b, a)
	}
}

func (p *proxy) copy(dst, src net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		p.still.RLock()
		p.still.RUnlock() //nolint:staticcheck // it waits, and guards nothing
		if !p.mute.Load() {
			if err != nil {
				dst.Close()
			} else if _, err := dst.Write(buf[:n]); err != nil {
				src.Close()
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
}

func (p *proxy) through(d *Dialer) *Dialer {
	d.Server = &url.URL{Scheme: "http", Host: p.Addr().String()}
	return d
}
