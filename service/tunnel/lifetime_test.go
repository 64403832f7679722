package tunnel

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io"
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

func TestSettingsAndAdviceReachTheMember(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(echo), nil)
	ten, twenty := 10, 20
	w.keys.keys[memberID] = TunnelAuth{PublicKey: w.keys.keys[memberID].PublicKey, Settings: gateway.MemberSettings{Limits: gateway.Limits{CPU: &ten}}}
	w.serve(w.dialer(0))
	if s := <-w.agent.settings; s.Limits.CPU == nil || *s.Limits.CPU != 10 {
		t.Fatal(s)
	}
	w.reg.Configure(memberID, gateway.MemberSettings{Limits: gateway.Limits{CPU: &twenty}})
	if s := <-w.agent.settings; *s.Limits.CPU != 20 {
		t.Fatal(s)
	}
	w.reg.Advise(time.Minute)
	if after := <-w.agent.reconnects; after != time.Minute {
		t.Fatal(after)
	}
	w.reg.Configure("nobody", gateway.MemberSettings{})
}

// What is urgent is seen however little time has passed since the report before: on this clock, none.
func TestUrgentReportIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	started := time.Now()
	w := newWorld(t, newAgent(echo), func(c *Config) { c.Now = func() time.Time { return started } })
	d := w.dialer(0)
	d.ReportEvery = time.Hour
	w.serve(d)
	w.agent.limit.Store(7)
	w.agent.urgent <- struct{}{}
	wait(t, "the new limit to show", func() bool { return w.reg.Presence(memberID).Limits.Concurrency == 7 })
	w.agent.draining.Store(true)
	w.agent.urgent <- struct{}{}
	wait(t, "draining to show", func() bool { return w.reg.Presence(memberID).Draining })
}

func TestNewTunnelReplacesItsPredecessor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		epoch    int64
		slot     int
		drain    bool
		redial   bool
		survives bool // the predecessor, with its running request
		tunnels  int
	}{
		"same slot":                   {epoch: 1, slot: 0, tunnels: 1},
		"same slot, on purpose":       {epoch: 1, slot: 0, redial: true, survives: true, tunnels: 1},
		"other slot":                  {epoch: 1, slot: 1, survives: true, tunnels: 2},
		"newer process":               {epoch: 2, slot: 1, tunnels: 1},
		"newer process, old draining": {epoch: 2, slot: 0, drain: true, survives: true, tunnels: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, newAgent(beginAndHang), nil)
			old := w.serve(w.dialer(0))
			answer, err := w.send(read("x"))
			if err != nil {
				t.Fatal(err)
			}
			if c.drain {
				w.agent.draining.Store(true)
				wait(t, "draining", func() bool { return w.reg.Presence(memberID).Draining })
				w.agent = newAgent(beginAndHang)
			}
			d := w.dialer(c.slot)
			d.Epoch = c.epoch
			dial := d.Dial
			if c.redial {
				dial = d.Redial
			}
			tun, err := dial(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			w.background(tun)
			settled := func() bool {
				p := w.reg.Presence(memberID)
				usable := *w.reg.find(memberID).usable.Load()
				return p.Tunnels == c.tunnels && usable[len(usable)-1].claims.Slot == c.slot && usable[len(usable)-1].conn.RemoteAddr().String() == tun.conn.LocalAddr().String()
			}
			wait(t, "the new tunnel to take over", settled)
			if !c.survives {
				if _, err := io.ReadAll(answer.Body); !gateway.IsCode(err, gateway.CodeBroken) {
					t.Fatal(err)
				}
				<-old.Done()
				return
			}
			if w.reg.Presence(memberID).InFlight != 1 || w.reg.Presence(memberID).Draining {
				t.Fatalf("%+v", w.reg.Presence(memberID))
			}
			answer.Body.Close()
			if c.redial || c.drain {
				<-old.Done() // its last request ended
			}
		})
	}
}

func TestOlderProcessIsRefusedWhileANewerLives(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(echo), nil)
	d := w.dialer(0)
	d.Epoch = 5
	w.serve(d)
	_, err := w.dialer(0).Dial(context.Background())
	var refused *RefusedError
	if !errors.As(err, &refused) || Fatal(err) || refused.Status != http.StatusConflict {
		t.Fatal(err)
	}
}

func TestShutdownFinishesRunningRequests(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w := newWorld(t, newAgent(func(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
		_ = out.Begin(gateway.AnswerHeader{})
		_ = out.Flush()
		<-release
		_, err := io.WriteString(out, "done")
		return gateway.Summary{}, err
	}), nil)
	tun, err := w.dialer(0).Dial(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	served, shut := make(chan error, 1), make(chan error, 1)
	go func() { served <- tun.Serve(context.Background(), w.agent) }()
	wait(t, "online", func() bool { return w.reg.Presence(memberID).Online })
	answer, err := w.send(read("x"))
	if err != nil {
		t.Fatal(err)
	}
	go func() { shut <- tun.Shutdown(context.Background()) }()
	wait(t, "offline", func() bool { return !w.reg.Presence(memberID).Online })
	_, err = w.send(read("x"))
	phase(t, err, gateway.PhaseNotSent, gateway.CodeUnreachable)
	close(release)
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "done" {
		t.Fatal(string(body), err)
	}
	if err := errors.Join(<-shut, <-served); err != nil {
		t.Fatal(err)
	}
	w.idle()
}

func TestMovingTunnelsUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(echo), nil)
	d := w.dialer(0)
	old := w.serve(d)
	var failed, done atomic.Int64
	stop := make(chan struct{})
	var load sync.WaitGroup
	for i := range 8 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				task := read("x")
				task.ReadOnly = i%2 == 0
				answer, err := w.send(task)
				if err == nil {
					_, err = io.Copy(io.Discard, answer.Body)
					answer.Body.Close()
				}
				if done.Add(1); err != nil {
					failed.Add(1)
					t.Log(err)
				}
			}
		})
	}
	for range 20 {
		next, err := d.Redial(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		w.background(next)
		wait(t, "the successor", func() bool {
			usable := *w.reg.find(memberID).usable.Load()
			return len(usable) == 1 && usable[0].conn.RemoteAddr().String() == next.conn.LocalAddr().String()
		})
		if err := old.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		old = next
	}
	close(stop)
	load.Wait()
	if failed.Load() != 0 || done.Load() == 0 {
		t.Fatalf("%d of %d failed", failed.Load(), done.Load())
	}
	w.idle()
}

func TestRemovedMemberIsDisconnectedAndRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(echo), nil)
	tun := w.serve(w.dialer(0))
	w.keys.mu.Lock()
	delete(w.keys.keys, memberID)
	w.keys.mu.Unlock()
	w.reg.Disconnect(memberID, "removed")
	<-tun.Done()
	wait(t, "it to be forgotten", func() bool { return w.reg.Presence(memberID) == gateway.Presence{} })
	if _, err := w.dialer(0).Dial(context.Background()); !errors.Is(err, ErrRemoved) || !Fatal(err) {
		t.Fatal(err)
	}
	w.reg.Disconnect(memberID, "removed")
}

// takenOver is a roll on which another machine takes the member over right after the first look.
type takenOver struct {
	*roll
	looks atomic.Int64
}

func (k *takenOver) TunnelKey(ctx context.Context, id gateway.ID) (TunnelAuth, error) {
	auth, err := k.roll.TunnelKey(ctx, id)
	if k.looks.Add(1) > 1 {
		auth.PublicKey, _, _ = ed25519.GenerateKey(nil)
	}
	return auth, err
}

// The tunnel of the old machine ends although there was none yet when the take-over ended them all.
func TestATakeOverDuringTheUpgradeIsNoticed(t *testing.T) {
	t.Parallel()
	k := &takenOver{}
	w := newWorld(t, newAgent(echo), func(c *Config) {
		k.roll = c.Keys.(*roll)
		c.Keys = k
	})
	tun, err := w.dialer(0).Dial(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	w.background(tun)
	wait(t, "it to end or to be used", func() bool {
		select {
		case <-tun.Done():
			return true
		default:
			return w.reg.Presence(memberID).Online
		}
	})
	if w.reg.Presence(memberID).Online || k.looks.Load() != 2 {
		t.Errorf("the old machine is online; %d looks", k.looks.Load())
	}
}

func TestWrongKeyAndProtocolAreFatal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(echo), nil)
	d := w.dialer(0)
	_, d.Key, _ = ed25519.GenerateKey(nil)
	if _, err := d.Dial(context.Background()); !errors.Is(err, ErrKeyRefused) {
		t.Fatal(err)
	}
	req, _ := http.NewRequest(http.MethodGet, w.server.URL+Path, nil)
	req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {upgradeWord}, headerProtocol: {"99"}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusUpgradeRequired || resp.Header.Get("Date") == "" {
		t.Fatal(resp.Status)
	}
	if err := refusal(resp); !errors.Is(err, ErrIncompatible) {
		t.Fatal(err)
	}
}

func TestSkewedClocksDoNoHarm(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{5 * time.Minute, -5 * time.Minute, 26 * time.Hour} {
		w := newWorld(t, newAgent(echo), nil)
		d := w.dialer(0)
		d.Now = func() time.Time { return time.Now().Add(skew) }
		w.serve(d)
		v := newWorld(t, newAgent(echo), func(c *Config) { c.Now = func() time.Time { return time.Now().Add(skew) } })
		v.serve(v.dialer(0))
		answer, err := v.send(read("x"))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
}

func TestManyMembersAtOnceAreLetInBySteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(echo), func(c *Config) { c.AcceptBurst, c.AcceptRate = 1, 1 })
	w.serve(w.dialer(0))
	_, err := w.dialer(1).Dial(context.Background())
	var refused *RefusedError
	if !errors.As(err, &refused) || Fatal(err) || refused.Err.RetryAfter <= 0 || refused.Status != http.StatusServiceUnavailable {
		t.Fatal(err)
	}
}

func TestOverTLS(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(echo), nil)
	secure := httptest.NewUnstartedServer(w.reg)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	t.Cleanup(secure.Close)
	d := w.dialer(0)
	d.Server, _ = url.Parse(secure.URL + "/")
	d.TLS = secure.Client().Transport.(*http.Transport).TLSClientConfig
	tun := w.serve(d)
	answer, err := w.send(write("x"))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	tun.Close()
	wait(t, "offline", func() bool { return !w.reg.Presence(memberID).Online })
	d.TLS = nil
	if _, err := d.Dial(context.Background()); err == nil || !strings.Contains(err.Error(), "no TLS connection") {
		t.Fatal(err)
	}
}

func TestProxies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(echo), nil)
	for name, c := range map[string]struct{ user, words string }{
		"let through":     {user: "user:pass@"},
		"asks for a name": {words: "407"},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := connectProxyServer(t)
			d := w.dialer(0)
			d.Proxy = func(*http.Request) (*url.URL, error) {
				return url.Parse("http://" + c.user + strings.TrimPrefix(proxy, "http://"))
			}
			if c.words == "" {
				w.serve(d)
				return
			}
			if _, err := d.Dial(context.Background()); err == nil || !strings.Contains(err.Error(), c.words) {
				t.Fatal(err)
			}
		})
	}
	d := w.dialer(0)
	d.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse("socks5://x:1") }
	if _, err := d.Dial(context.Background()); err == nil || !strings.Contains(err.Error(), "http or https proxy") {
		t.Fatal(err)
	}
}

// TestNothingIsLeftBehind runs alone: it counts goroutines.
func TestNothingIsLeftBehind(t *testing.T) {
	http.DefaultClient.CloseIdleConnections()
	before := runtime.NumGoroutine()
	t.Run("a life", func(t *testing.T) {
		w := newWorld(t, newAgent(echo), nil)
		for slot := range 4 {
			w.serve(w.dialer(slot))
		}
		for i := range 200 {
			task := read("x")
			task.ReadOnly = i%2 == 0
			answer, err := w.send(task)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
		}
		w.idle()
	})
	wait(t, "all goroutines to end", func() bool { return runtime.NumGoroutine() <= before })
}

// Serve does not wait for a request that does not heed its cancellation; Wait does.
func TestServeDoesNotWaitForWhatDoesNotHeed(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	var begun atomic.Int64
	w := newWorld(t, newAgent(func(context.Context, *gateway.Task, gateway.Output) (gateway.Summary, error) {
		begun.Add(1)
		<-free
		return gateway.Summary{}, nil
	}), nil)
	tun, err := w.dialer(0).Dial(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	served, waited := make(chan error, 1), make(chan struct{})
	go func() { served <- tun.Serve(context.Background(), w.agent) }()
	wait(t, "online", func() bool { return w.reg.Presence(memberID).Online })
	var sent sync.WaitGroup
	for _, task := range []*gateway.Task{read("on the lane"), write("on a stream")} {
		sent.Go(func() { _, _ = w.send(task) })
	}
	wait(t, "both to run", func() bool { return begun.Load() == 2 })
	w.reg.Disconnect(memberID, "shaken off by the test")
	if err := <-served; !errors.Is(err, ErrLost) {
		t.Fatal(err)
	}
	go func() {
		tun.Wait()
		close(waited)
	}()
	select {
	case <-waited:
		t.Error("nothing was waited for")
	case <-time.After(20 * time.Millisecond):
	}
	close(free)
	<-waited
	sent.Wait()
	w.idle()
}

// A successor that ends before it carries anything replaces nothing: the old tunnel goes on to take requests.
func TestASuccessorThatEndsEarlyReplacesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(beginAndHang), nil)
	d := w.dialer(0)
	w.serve(d)
	running, err := w.send(read("x"))
	if err != nil {
		t.Fatal(err)
	}
	next, err := d.Redial(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(next.Close) // it never serves, so it is not known whether it has a lane
	m := w.reg.find(memberID)
	wait(t, "the service to know of it", func() bool { return len(m.all()) == 2 })
	l := m.all()[1]
	next.Close()
	l.take(Report{}) // its first report, which came just before
	another, err := w.send(read("x"))
	if err != nil {
		t.Fatal(err)
	}
	for _, answer := range []*gateway.Answer{running, another} {
		answer.Body.Close()
	}
	w.idle()
	if n := w.reg.Presence(memberID).Tunnels; n != 1 {
		t.Errorf("%d tunnels", n)
	}
}
