package tunnel

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"comporta/service/gateway"
)

// trickle is a line on which pieces of size pass in either direction every 10 ms, and which has room for some of them. As many bytes as quick
// says pass at once before.
type trickle struct {
	address    *url.URL
	size, room int
	quick      atomic.Int64
}

func newTrickle(t *testing.T, w *world, size, room int) *trickle {
	t.Helper()
	target := strings.TrimPrefix(w.server.URL, "http://")
	c := &trickle{size: size, room: room}
	c.address = &url.URL{Scheme: "http", Host: raw(t, func(member net.Conn) {
		service, err := net.Dial("tcp", target)
		if err != nil {
			member.Close()
			return
		}
		for _, end := range []net.Conn{member, service} {
			_ = end.(*net.TCPConn).SetReadBuffer(64 << 10)
			_ = end.(*net.TCPConn).SetWriteBuffer(64 << 10)
		}
		go c.carry(member, service)
		go c.carry(service, member)
	})}
	return c
}

func (c *trickle) carry(to, from net.Conn) {
	defer to.Close()
	pieces := make(chan []byte, c.room)
	defer func() {
		from.Close()
		for range pieces { // until its reader has ended
		}
	}()
	go func() {
		defer close(pieces)
		for {
			piece := make([]byte, c.size)
			n, err := from.Read(piece)
			if pieces <- piece[:n]; err != nil {
				return
			}
		}
	}()
	next := time.NewTicker(10 * time.Millisecond)
	defer next.Stop()
	for piece := range pieces {
		if c.quick.Add(-int64(len(piece))) < 0 {
			<-next.C
		}
		if _, err := to.Write(piece); err != nil {
			return
		}
	}
}

func (c *trickle) through(d *Dialer) *Dialer {
	d.Server = c.address
	return d
}

// impatient is how long the connections of a test may be silent.
const impatient = time.Second

// On a line on which one frame takes longer than a dead peer may stay unnoticed, in either direction, nobody is taken for dead.
func TestASlowLineIsNotADeadOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(blob), func(c *Config) { c.PingAfter, c.PingTimeout = impatient/2, impatient/2 })
	d := newTrickle(t, w, 4<<10, 0).through(w.dialer(0))
	d.PingAfter, d.PingTimeout = impatient/2, impatient/2
	tun := w.serve(d)
	began := time.Now()
	var sent sync.WaitGroup
	for range 2 {
		for _, task := range []*gateway.Task{read("x"), write(strings.Repeat("x", 500<<10))} {
			sent.Go(func() {
				answer, err := w.send(task)
				if err != nil {
					t.Error(err)
					return
				}
				defer answer.Body.Close()
				if n, err := io.Copy(io.Discard, answer.Body); err != nil || n != blobSize {
					t.Errorf("%d bytes, %v", n, err)
				}
			})
		}
	}
	sent.Wait()
	if took := time.Since(began); took < 4*impatient {
		t.Errorf("all of it was over after %v; the line is not slow", took)
	}
	select {
	case <-tun.Done():
		t.Error("the tunnel was ended")
	default:
	}
	w.idle()
}

// A line that was fast has made frames large; when it turns slow, the service sees nothing of one until it has all of it, and has nothing to
// confirm. The member must hear something all the same.
func TestOneLargeFrameOnALineThatTurnsSlow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(blob), func(c *Config) { c.PingAfter, c.PingTimeout = impatient/2, impatient/2 })
	line := newTrickle(t, w, 1<<10, 1<<10)
	line.quick.Store(300 << 10)
	d := line.through(w.dialer(0))
	d.PingAfter, d.PingTimeout, d.ReportEvery = impatient/2, impatient/2, time.Minute
	tun := w.serve(d)
	answer, err := w.send(read("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if n, err := io.Copy(io.Discard, answer.Body); err != nil || n != blobSize {
		t.Errorf("%d bytes, %v", n, err)
	}
	select {
	case <-tun.Done():
		t.Error("the tunnel was ended")
	default:
	}
}

// blob answers with much, in one piece.
func blob(_ context.Context, _ *gateway.Task, out gateway.Output) (gateway.Summary, error) {
	if err := out.Begin(gateway.AnswerHeader{}); err != nil {
		return gateway.Summary{}, err
	}
	_, err := out.Write(bytes.Repeat([]byte{'y'}, blobSize))
	return gateway.Summary{}, err
}

const blobSize = 512 << 10

// A peer that is there and takes nothing of what is sent to it is given up: its service end here, its member end there.
func TestAPeerThatTakesNothingIsGivenUp(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer far.Close()
	c := newConn(near, bytes.NewReader(nil), func() time.Duration { return 0 }, nil)
	said := make(chan string, 1)
	go c.watch(impatient, func(what string) { said <- what })
	go func() { // it has something to say all the time
		for {
			if _, err := far.Write([]byte("!")); err != nil {
				return
			}
		}
	}()
	go func() { _, _ = io.Copy(io.Discard, c) }()
	if _, err := c.Write([]byte("hello")); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	if what := <-said; what != "nothing can be sent" {
		t.Error(what)
	}
}

// Who does not read, because it has other things to do, does not find the line silent; and what moves is not stuck.
func TestOnlyWhoWaitsInVainFindsSilence(t *testing.T) {
	var w waiting
	for i, c := range []struct {
		count, moved uint64
		spells       int
	}{
		{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, // nobody waits
		{1, 0, 0}, {1, 0, 1}, {1, 0, 2}, {3, 0, 0}, // another one waits now
		{3, 0, 1}, {3, 0, 2}, {3, 1, 0}, {3, 1, 1}, {3, 9, 0}, // it moves
		{4, 9, 0}, {5, 9, 0}, {5, 9, 1}, {5, 9, 2}, {5, 9, 3}, {5, 9, 4},
	} {
		if got := w.spell(c.count, c.moved); got != c.spells {
			t.Fatalf("%d: %+v, got %d", i, c, got)
		}
	}
}

// One connection may be silent for longer while the member's other ones hear something, but not for ever.
func TestASilentTunnelIsGivenTimeWhileItsSiblingLives(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(echo), func(c *Config) { c.PingAfter, c.PingTimeout = impatient/2, impatient/2 })
	p, pulse := newProxy(t, w.server.URL), new(Pulse)
	var tunnels [2]*Tunnel
	for slot := range tunnels {
		d := w.dialer(slot)
		d.PingAfter, d.PingTimeout, d.Pulse = impatient/2, impatient/2, pulse
		if slot == 0 {
			d = p.through(d)
		}
		tunnels[slot] = w.serve(d)
	}
	began := time.Now()
	p.mute.Store(true)
	<-tunnels[0].Done()
	if took := time.Since(began); took < 3*impatient/2 {
		t.Errorf("it was ended after %v", took)
	}
	wait(t, "the service to see it", func() bool { return w.reg.Presence(memberID).Tunnels == 1 })
	select {
	case <-tunnels[1].Done():
		t.Error("the other one was ended too")
	default:
	}
}

// On a line that is full of answers, the word that a member admits a request waits behind them. Who has nobody else to go to waits for it.
func TestARequestWithNobodyElseWaitsBehindAnswers(t *testing.T) {
	t.Parallel()
	const patience = 500 * time.Millisecond
	a := newAgent(func(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
		if task.Query.Text == "small" {
			return echo(ctx, task, out)
		}
		return blob(ctx, task, out)
	})
	w := newWorld(t, a, func(c *Config) { c.AdmissionTimeout = patience })
	w.serve(newTrickle(t, w, 2<<10, 0).through(w.dialer(0)))
	var sent sync.WaitGroup
	for range 3 {
		answer, err := w.reg.Send(context.Background(), memberID, read("large"), gateway.Last, nil)
		if err != nil {
			t.Fatal(err)
		}
		sent.Go(func() {
			defer answer.Body.Close()
			if n, err := io.Copy(io.Discard, answer.Body); err != nil || n != blobSize {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
	began, slowest := time.Now(), make(chan time.Duration, 4)
	for _, chance := range []gateway.Chance{gateway.Last, gateway.Again} {
		for _, task := range []*gateway.Task{read("small"), write("small")} {
			sent.Go(func() {
				answer, err := w.reg.Send(context.Background(), memberID, task, chance, nil)
				if slowest <- time.Since(began); err != nil {
					t.Errorf("chance %d, reads only %v: %v", chance, task.ReadOnly, err)
					return
				}
				answer.Body.Close()
			})
		}
	}
	sent.Wait()
	if longest := max(<-slowest, <-slowest, <-slowest, <-slowest); longest < patience {
		t.Errorf("all were admitted after %v; the line is not full", longest)
	}
	w.idle()
}

// The others are those of the same member, and not the connection itself: who goes on to talk and takes nothing is given no more time for that.
func TestOnlySiblingsGiveAConnectionMoreTime(t *testing.T) {
	for name, c := range map[string]struct {
		hears      func(*conn)
		looks      int
		read, sent bool
		want       string
	}{
		"nobody hears anything":      {func(*conn) {}, quietSpells, true, false, "nothing arrives"},
		"a sibling hears":            {func(c *conn) { c.pulse.bytes.Add(1) }, siblingSpells, true, false, "nothing arrives"},
		"it talks and takes nothing": {func(c *conn) { c.own.Add(1); c.pulse.bytes.Add(1) }, quietSpells, false, true, "nothing can be sent"},
	} {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			defer near.Close()
			defer far.Close()
			conn := newConn(near, bytes.NewReader(nil), func() time.Duration { return 0 }, nil)
			if c.read {
				conn.reads.Store(1)
			}
			if c.sent {
				conn.writes.Store(1)
			}
			var v vigil
			for i := range c.looks {
				if what := v.look(conn); what != "" {
					t.Fatalf("%s at look %d", what, i)
				}
				c.hears(conn)
			}
			if what := v.look(conn); what != c.want {
				t.Errorf("%q after %d looks", what, c.looks)
			}
		})
	}
}

// givesUp sends requests that have nobody else to go to to a member that admits none, and sees that they do not wait long.
func (w *world) givesUp(patience time.Duration) {
	w.t.Helper()
	for _, task := range []*gateway.Task{read("x"), write("x")} {
		began := time.Now()
		_, err := w.reg.Send(context.Background(), memberID, task, gateway.Last, nil)
		phase(w.t, err, gateway.PhaseNotSent, gateway.CodeUnreachable)
		if took := time.Since(began); took > heldFor*patience/2 {
			w.t.Errorf("it was given up after %v", took)
		}
	}
}

// A member that only reports has no answers that its word could wait behind: nobody waits for it longer, also who has nobody else to go to.
func TestAMemberThatOnlyReportsIsGivenUp(t *testing.T) {
	t.Parallel()
	const patience = 500 * time.Millisecond
	a, decide := newAgent(echo), make(chan struct{})
	a.admit = func() (func(), *gateway.Error) {
		<-decide
		return func() {}, nil
	}
	w := newWorld(t, a, func(c *Config) { c.AdmissionTimeout = patience })
	d := w.dialer(0)
	d.ReportEvery = patience / 4
	w.serve(d)
	w.givesUp(patience)
	close(decide)
	w.idle()
}

// A member that does not admit, while much comes from it to others, has no line to blame: it is given up like any other.
func TestAStuckMemberOnAFastLineIsGivenUp(t *testing.T) {
	t.Parallel()
	const patience = 500 * time.Millisecond
	var stuck atomic.Bool
	decide := make(chan struct{})
	a := newAgent(func(ctx context.Context, _ *gateway.Task, out gateway.Output) (gateway.Summary, error) {
		err := out.Begin(gateway.AnswerHeader{})
		for piece := make([]byte, 1<<20); err == nil && ctx.Err() == nil; {
			_, err = out.Write(piece)
		}
		return gateway.Summary{}, err
	})
	a.admit = func() (func(), *gateway.Error) {
		if stuck.Load() {
			<-decide
		}
		return func() {}, nil
	}
	w := newWorld(t, a, func(c *Config) { c.AdmissionTimeout = patience })
	w.serve(w.dialer(0))
	answer, err := w.send(read("without end"))
	if err != nil {
		t.Fatal(err)
	}
	var reader sync.WaitGroup
	reader.Go(func() { _, _ = io.Copy(io.Discard, answer.Body) })
	stuck.Store(true)
	w.givesUp(patience)
	close(decide)
	answer.Body.Close()
	reader.Wait()
	w.idle()
}
