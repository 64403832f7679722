package tunnel

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"comporta/service/gateway"
)

func hang(ctx context.Context, _ *gateway.Task, out gateway.Output) (gateway.Summary, error) {
	<-ctx.Done()
	return gateway.Summary{}, ctx.Err()
}

func beginAndHang(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
	_ = out.Begin(gateway.AnswerHeader{})
	_ = out.Flush()
	return hang(ctx, task, out)
}

func TestKilledConnectionIsSeenAtOnceAndFailsOnlyItsOwnStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(beginAndHang), nil)
	p := newProxy(t, w.server.URL)
	w.serve(p.through(w.dialer(0)))
	doomed, err := w.send(read("x"))
	if err != nil {
		t.Fatal(err)
	}
	w.serve(w.dialer(1))
	safe, err := w.send(read("x")) // the idle tunnel is preferred
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	p.cut()
	if _, err := io.ReadAll(doomed.Body); !gateway.IsCode(err, gateway.CodeBroken) {
		t.Fatal(err)
	}
	wait(t, "one tunnel to be left", func() bool { return w.reg.Presence(memberID).Tunnels == 1 })
	if took := time.Since(began); took > 5*time.Second {
		t.Fatalf("took %v", took)
	}
	if now := w.reg.Presence(memberID); !now.Online || now.InFlight != 1 {
		t.Fatalf("%+v", now)
	}
	w.agent.run = nil
	safe.Body.Close()
	w.idle()
}

func TestLastTunnelGoneIsOffline(t *testing.T) {
	t.Parallel()
	var told atomic.Pointer[gateway.Presence]
	w := newWorld(t, newAgent(echo), func(c *Config) {
		c.OnPresence = func(_ gateway.ID, p gateway.Presence) { told.Store(&p) }
	})
	tun := w.serve(w.dialer(0))
	wait(t, "being told of online", func() bool { p := told.Load(); return p != nil && p.Online })
	since := w.reg.Presence(memberID).Since
	tun.Close()
	wait(t, "offline", func() bool { return !w.reg.Presence(memberID).Online })
	wait(t, "being told of offline", func() bool { return !told.Load().Online })
	if p := w.reg.Presence(memberID); !p.Since.After(since) || p.Version == "" {
		t.Fatalf("%+v", p)
	}
	_, err := w.send(read("x"))
	phase(t, err, gateway.PhaseNotSent, gateway.CodeUnreachable)
	_, err = w.reg.Send(context.Background(), "unknown", read("x"), gateway.First, nil)
	phase(t, err, gateway.PhaseNotSent, gateway.CodeUnreachable)
	w.idle()
}

func TestSilentNetworkIsNoticedOnBothSides(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(beginAndHang), func(c *Config) {
		c.PingAfter, c.PingTimeout, c.AdmissionTimeout = 1500*time.Millisecond, 1500*time.Millisecond, time.Second
	})
	p := newProxy(t, w.server.URL)
	d := p.through(w.dialer(0))
	d.PingAfter, d.PingTimeout = 1500*time.Millisecond, 1500*time.Millisecond
	tun := w.serve(d)
	running, err := w.send(read("x"))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	p.mute.Store(true)
	_, err = w.send(read("x")) // a read that got no admission is taken back
	phase(t, err, gateway.PhaseNotSent, gateway.CodeUnreachable)
	if took := time.Since(began); took > 8*time.Second {
		t.Fatalf("took %v", took)
	}
	again := time.Now()
	_, err = w.send(read("x")) // and the tunnel is not tried again until it was heard from
	phase(t, err, gateway.PhaseNotSent, gateway.CodeUnreachable)
	if took := time.Since(again); took > 900*time.Millisecond {
		t.Fatalf("took %v", took)
	}
	if _, err := io.ReadAll(running.Body); !gateway.IsCode(err, gateway.CodeBroken) {
		t.Fatal(err)
	}
	wait(t, "offline", func() bool { return !w.reg.Presence(memberID).Online })
	<-tun.Done()
	if took := time.Since(began); took > 20*time.Second {
		t.Fatalf("took %v", took)
	}
	w.idle()
}

func TestHalfDeadTunnelIsPassedOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(echo), func(c *Config) {
		c.AdmissionTimeout, c.PingAfter, c.PingTimeout = time.Second, time.Minute, time.Minute
	})
	p := newProxy(t, w.server.URL)
	w.serve(p.through(w.dialer(0)))
	w.serve(w.dialer(1))
	p.mute.Store(true)
	for range 50 {
		answer, err := w.send(read("x"))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	if n := w.reg.Presence(memberID).Tunnels; n != 2 {
		t.Fatal(n)
	}
	w.idle()
}

// again sends as the dispatcher does when nobody else is left.
func (w *world) again(task *gateway.Task) (*gateway.Answer, error) {
	return w.reg.Send(context.Background(), memberID, task, gateway.Again, nil)
}

// silent waits until nothing has come over the member's tunnels for so long that they are late with their reports when a request gives up.
func (w *world) silent() {
	w.t.Helper()
	wait(w.t, "silence", func() bool {
		return !slices.ContainsFunc(w.reg.find(memberID).all(), func(l *link) bool { return l.heardSince(w.reg.clock() - reportSlack - 50*time.Millisecond) })
	})
}

// The first request to a dead machine finds out; the next ones do not wait for its other tunnels. Who has nobody else to go to waits once more,
// but not after others did.
func TestADeadMachineIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	for name, task := range map[string]func(string) *gateway.Task{"read": read, "write": write} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, p := patientWorld(t, 3)
			p.mute.Store(true)
			w.silent()
			began := time.Now()
			for range 3 {
				_, err := w.send(task("x"))
				phase(t, err, gateway.PhaseNotSent, gateway.CodeUnreachable)
			}
			if took := time.Since(began); took > 3900*time.Millisecond {
				t.Errorf("took %v", took)
			}
			for range 5 {
				_, err := w.again(task("x"))
				phase(t, err, gateway.PhaseNotSent, gateway.CodeUnreachable)
			}
			if took := time.Since(began); took > 5900*time.Millisecond {
				t.Errorf("with second attempts it took %v", took)
			}
		})
	}
}

// A machine that stands still for longer than a request waits, as in a snapshot, serves what is asked of it once more.
func TestAMachineThatStandsStillServesTheSecondAttempt(t *testing.T) {
	t.Parallel()
	for name, task := range map[string]func(string) *gateway.Task{"read": read, "write": write} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, p := patientWorld(t, 2)
			p.still.Lock()
			thaw := sync.OnceFunc(p.still.Unlock)
			defer thaw()
			w.silent()
			_, err := w.send(task("x"))
			phase(t, err, gateway.PhaseNotSent, gateway.CodeUnreachable)
			began := time.Now()
			if _, err = w.send(task("x")); time.Since(began) > time.Second {
				t.Error("a request waits for a member in doubt although there may be others")
			}
			phase(t, err, gateway.PhaseNotSent, gateway.CodeUnreachable)
			served := make(chan error, 1)
			go func() {
				answer, err := w.again(task("x"))
				finished(answer, err)
				served <- err
			}()
			wait(t, "the second attempt", func() bool {
				return len(served) > 0 || slices.ContainsFunc(w.reg.find(memberID).all(), func(l *link) bool {
					l.mu.Lock()
					defer l.mu.Unlock()
					return l.streams > 0
				})
			})
			thaw()
			if err := <-served; err != nil {
				t.Error(err)
			}
			w.idle()
		})
	}
}

// Reports come as seldom as a request waits: a tunnel between two of them is no worse for a dead sibling.
func TestATunnelBetweenTwoReportsIsNotDoubted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(echo), nil)
	d := w.dialer(0)
	d.ReportEvery = time.Minute
	w.serve(w.dialer(1))
	w.serve(d)
	links := *w.reg.find(memberID).usable.Load()
	dead, sound := links[0], links[1]
	dead.waitedInVain(w.reg.clock())
	if sound.doubtful() {
		t.Error("it is doubted")
	}
	wait(t, "a late report to put it in doubt", func() bool {
		sound.conn.heard.Store(int64(w.reg.clock() - reportEvery - 2*reportSlack))
		dead.waitedInVain(w.reg.clock())
		return sound.doubtful()
	})
}

func TestSlowReadIsAdmittedByInterimAnswer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w := newWorld(t, newAgent(func(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
		<-release
		return echo(ctx, task, out)
	}), func(c *Config) { c.AdmissionTimeout = 4 * progressAfter })
	w.serve(w.dialer(0))
	for _, task := range []*gateway.Task{read("slow"), write("slow")} {
		timer := time.AfterFunc(6*progressAfter, func() { release <- struct{}{} })
		answer, err := w.send(task)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "slow" {
			t.Fatal(string(body), err)
		}
		timer.Stop()
	}
	w.idle()
}

func TestWriteIsNotSentBeforeAdmission(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	asked, decide := make(chan struct{}, 1), make(chan struct{})
	a := newAgent(func(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
		ran.Add(1)
		return echo(ctx, task, out)
	})
	a.admit = func() (func(), *gateway.Error) {
		asked <- struct{}{}
		<-decide
		return func() {}, nil
	}
	w := newWorld(t, a, func(c *Config) { c.AdmissionTimeout = 300 * time.Millisecond })
	p := newProxy(t, w.server.URL)
	w.serve(p.through(w.dialer(0)))

	_, err := w.send(write("taken back")) // nobody decides in time
	phase(t, err, gateway.PhaseNotSent, gateway.CodeUnreachable)
	<-asked
	decide <- struct{}{} // too late: the member admits, but the body never comes

	wait(t, "the tunnel to be trusted again", func() bool { return w.reg.find(memberID).pick(w.reg.clock(), nil, false) != nil })
	go func() {
		<-asked
		p.cut()
	}()
	_, err = w.send(write("cut"))
	phase(t, err, gateway.PhaseNotSent, gateway.CodeUnreachable)
	close(decide)
	w.idle()
	if n := ran.Load(); n != 0 {
		t.Fatalf("the member ran %d tasks", n)
	}
}

func TestWriteBrokenAfterAdmissionHasUnknownOutcome(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	w := newWorld(t, newAgent(func(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
		started <- struct{}{}
		return hang(ctx, task, out)
	}), nil)
	p := newProxy(t, w.server.URL)
	w.serve(p.through(w.dialer(0)))
	go func() {
		<-started
		p.cut()
	}()
	_, err := w.send(write("x"))
	phase(t, err, gateway.PhaseStarted, gateway.CodeOutcomeUnknown)
	w.idle()
}

func TestRefusedWriteNeverLeaves(t *testing.T) {
	t.Parallel()
	a := newAgent(nil)
	a.admit = func() (func(), *gateway.Error) { return nil, gateway.Errorf(gateway.CodeDraining, "going down") }
	w := newWorld(t, a, nil)
	w.serve(w.dialer(0))
	for range 20 {
		_, err := w.send(write("x"))
		phase(t, err, gateway.PhaseRefused, gateway.CodeDraining)
	}
	w.idle()
	l := (*w.reg.find(memberID).usable.Load())[0]
	wait(t, "the streams to be gone", func() bool { return l.client.InFlight() == 2 }) // the control stream and the fast lane
}

func TestOverdueMemberIsCutOff(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	stubborn := func(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
		if task.Query.Text == "begin" {
			_ = out.Begin(gateway.AnswerHeader{})
			_ = out.Flush()
		}
		<-free // does not care for ctx
		return gateway.Summary{}, ctx.Err()
	}
	w := newWorld(t, newAgent(stubborn), func(c *Config) { c.Grace = 300 * time.Millisecond })
	w.serve(w.dialer(0))
	end := sync.OnceFunc(func() { close(free) })
	t.Cleanup(end)
	task := read("wait")
	task.TimeoutMillis = 700
	_, err := w.send(task)
	phase(t, err, gateway.PhaseStarted, gateway.CodeTimeout)
	task = write("wait")
	task.TimeoutMillis = 700
	_, err = w.send(task)
	phase(t, err, gateway.PhaseStarted, gateway.CodeOutcomeUnknown)
	task = read("begin")
	task.TimeoutMillis = 700
	answer, err := w.send(task)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(answer.Body); !gateway.IsCode(err, gateway.CodeTimeout) {
		t.Fatal(err)
	}
	end()
	w.idle()
}

func TestServiceEndsTunnelsAndMembersNotice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(beginAndHang), nil)
	tun, err := w.dialer(0).Dial(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- tun.Serve(context.Background(), w.agent) }()
	wait(t, "online", func() bool { return w.reg.Presence(memberID).Online })
	answer, err := w.send(read("x"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for range 2 {
		if err := w.reg.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-served; !errors.Is(err, ErrLost) {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(answer.Body); !gateway.IsCode(err, gateway.CodeBroken) {
		t.Fatal(err)
	}
	_, err = w.dialer(0).Dial(context.Background())
	var refused *RefusedError
	if !errors.As(err, &refused) || Fatal(err) || refused.Err.Code != gateway.CodeUnavailable {
		t.Fatal(err)
	}
	w.idle()
}

// patientWorld has a member whose tunnels all go through a proxy, and pings that never end one of them.
func patientWorld(t *testing.T, tunnels int) (*world, *proxy) {
	w := newWorld(t, newAgent(echo), func(c *Config) {
		c.AdmissionTimeout, c.PingAfter, c.PingTimeout = 2*time.Second, time.Minute, time.Minute
	})
	p := newProxy(t, w.server.URL)
	for slot := range tunnels {
		w.serve(p.through(w.dialer(slot)))
	}
	return w, p
}
