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
	"testing"
	"time"

	"comporta/service/gateway"
)

// trickle is a line on which pieces of size pass in the given direction every 10 ms, and whose buffers are small.
type trickle struct {
	address *url.URL
	size    int
}

func newTrickle(t *testing.T, w *world, size int) *trickle {
	t.Helper()
	target := strings.TrimPrefix(w.server.URL, "http://")
	c := &trickle{size: size}
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
	defer from.Close()
	next := time.NewTicker(10 * time.Millisecond)
	defer next.Stop()
	piece := make([]byte, c.size)
	for {
		n, err := from.Read(piece)
		<-next.C
		if _, failed := to.Write(piece[:n]); failed != nil || err != nil {
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
	d := newTrickle(t, w, 4<<10).through(w.dialer(0))
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
	c := newConn(near, bytes.NewReader(nil), func() time.Duration { return 0 })
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
		over         bool
	}{
		{0, 0, false}, {0, 0, false}, {0, 0, false}, {0, 0, false}, {0, 0, false}, {0, 0, false}, // nobody waits
		{1, 0, false}, {1, 0, false}, {1, 0, false}, {1, 0, false}, {3, 0, false}, // another one waits now
		{3, 0, false}, {3, 0, false}, {3, 1, false}, {3, 1, false}, {3, 1, false}, {3, 1, false}, {3, 9, false}, // it moves
		{4, 9, false}, {5, 9, false}, {5, 9, false}, {5, 9, false}, {5, 9, false}, {5, 9, true},
	} {
		if w.tooLong(c.count, c.moved) != c.over {
			t.Fatalf("%d: %+v", i, c)
		}
	}
}
