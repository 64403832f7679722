package tunnel

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"comporta/service/gateway"
)

// narrow is a line on which a piece of 8 KiB goes from the service to the member every 25 ms, until it is shut. The other way is free.
type narrow struct {
	address *url.URL
	passed  atomic.Int64
	shut    atomic.Bool
}

func newNarrow(t *testing.T, w *world) *narrow {
	t.Helper()
	n := &narrow{}
	target := strings.TrimPrefix(w.server.URL, "http://")
	n.address = &url.URL{Scheme: "http", Host: raw(t, func(member net.Conn) {
		service, err := net.Dial("tcp", target)
		if err != nil {
			member.Close()
			return
		}
		go func() {
			_, _ = io.Copy(service, member)
			service.Close()
		}()
		go n.carry(member, service)
	})}
	return n
}

func (n *narrow) carry(to, from net.Conn) {
	defer to.Close()
	next := time.NewTicker(25 * time.Millisecond)
	defer next.Stop()
	piece := make([]byte, 8<<10)
	for {
		read, err := from.Read(piece)
		for wait := true; wait; wait = n.shut.Load() && err == nil {
			<-next.C
		}
		if _, failed := to.Write(piece[:read]); failed != nil || err != nil {
			return
		}
		n.passed.Add(int64(read))
	}
}

func (n *narrow) through(d *Dialer) *Dialer {
	d.Server = n.address
	return d
}

// What is on its way for longer than the time for the admission is not given up, and neither is what waits behind it.
func TestALargeTaskOnASlowLineIsWaitedFor(t *testing.T) {
	t.Parallel()
	const patience = time.Second
	w := newWorld(t, newAgent(echo), func(c *Config) { c.AdmissionTimeout = patience })
	w.serve(newNarrow(t, w).through(w.dialer(0)))
	large := strings.Repeat("x", 400<<10)
	began := time.Now()
	var sent sync.WaitGroup
	for name, task := range map[string]*gateway.Task{"large": read(large), "small": read("x"), "write": write(large), "another large": read(large)} {
		sent.Go(func() {
			answer, err := w.send(task)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			defer answer.Body.Close()
			if body, err := io.ReadAll(answer.Body); err != nil || string(body) != task.Query.Text {
				t.Errorf("%s: %d bytes, %v", name, len(body), err)
			}
		})
	}
	sent.Wait()
	if took := time.Since(began); took < 2*patience {
		t.Errorf("all of it was over after %v; the line is not slow", took)
	}
	w.idle()
}

// A member that takes nothing more is given up, although it goes on to report.
func TestAMemberThatTakesNothingMoreIsGivenUp(t *testing.T) {
	t.Parallel()
	const patience = time.Second
	w := newWorld(t, newAgent(echo), func(c *Config) { c.AdmissionTimeout = patience })
	n := newNarrow(t, w)
	w.serve(n.through(w.dialer(0)))
	failed := make(chan error, 1)
	go func() {
		_, err := w.send(read(strings.Repeat("x", 900<<10)))
		failed <- err
	}()
	wait(t, "the task to be on its way", func() bool { return n.passed.Load() > 200<<10 })
	n.shut.Store(true)
	began := time.Now()
	phase(t, <-failed, gateway.PhaseNotSent, gateway.CodeUnreachable)
	if took := time.Since(began); took < patience/2 || took > 3*patience {
		t.Errorf("it was given up after %v", took)
	}
}

// A member that takes everything and admits nothing is given up, also while others' requests go on to reach it.
func TestAMemberThatAdmitsNothingIsGivenUp(t *testing.T) {
	t.Parallel()
	const patience = time.Second
	a, decide := newAgent(echo), make(chan struct{})
	a.admit = func() (func(), *gateway.Error) {
		<-decide
		return func() {}, nil
	}
	w := newWorld(t, a, func(c *Config) { c.AdmissionTimeout = patience })
	w.serve(w.dialer(0))
	ctx, cancel := context.WithCancel(context.Background())
	var others sync.WaitGroup
	others.Go(func() {
		again := time.NewTicker(10 * time.Millisecond)
		defer again.Stop()
		for ctx.Err() == nil {
			<-again.C
			others.Go(func() { _, _ = w.reg.Send(ctx, memberID, read(strings.Repeat("x", 20<<10)), gateway.First, nil) })
		}
	})
	for name, task := range map[string]*gateway.Task{"small": read("x"), "large": read(strings.Repeat("x", 200<<10)), "write": write("x")} {
		began := time.Now()
		_, err := w.send(task)
		phase(t, err, gateway.PhaseNotSent, gateway.CodeUnreachable)
		if took := time.Since(began); took > 4*patience {
			t.Errorf("%s: it was given up after %v", name, took)
		}
	}
	cancel()
	others.Wait()
	close(decide)
	w.idle()
}

func TestFramesAreFoundHoweverTheyAreCut(t *testing.T) {
	stream := []byte("\x00\x00\x05\x00\x01\x00\x00\x00\x01hello" + // data
		"\x00\x00\x04\x08\x00\x80\x00\x00\x00\x80\x00\x00\x07" + // a window update of the connection, with the reserved bits set
		"\x00\x00\x03\x01\x04\x00\x00\x00\x03abc" + // headers
		"\x00\x00\x00\x00\x01\x00\x00\x00\x03" + // data without any
		"\x00\x00\x04\x08\x00\x00\x00\x00\x03\x00\x01\x00\x00" + // a window update of a stream
		"\x00\x00\x05\x08\x00\x00\x00\x00\x0012345" + // no window update
		"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x7f\xff\xff\xff")
	const want = "0:5:1 8:4:0:7 1:3:3 0:0:3 8:4:3:65536 8:5:0 8:4:0:2147483647 "
	for size := 1; size <= len(stream); size++ {
		var f frames
		got := ""
		for rest := stream; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			f.scan(rest[:min(size, len(rest))], func(f *frames) {
				got += fmt.Sprintf("%d:%d:%d", f.kind(), f.length(), f.stream())
				if f.kind() == frameWindowUpdate && f.length() == 4 {
					got += fmt.Sprintf(":%d", f.increment())
				}
				got += " "
			})
		}
		if got != want {
			t.Fatalf("in pieces of %d: %q", size, got)
		}
	}
}

// shortConn takes at most so much of a write, as a line that stalls does.
type shortConn struct {
	net.Conn
	most int
}

func (c shortConn) Write(p []byte) (int, error) {
	if len(p) > c.most {
		return c.most, os.ErrDeadlineExceeded
	}
	return len(p), nil
}

// What is written again after a write that stalled is counted once.
func TestAStalledWriteIsCountedOnce(t *testing.T) {
	stream := strings.Repeat("P", prefaceLength)
	for range 3 {
		stream += "\x00\x00\x05\x00\x01\x00\x00\x00\x01hello"
	}
	for most := 1; most <= len(stream); most++ {
		u := newUploads(&conn{Conn: shortConn{most: most}})
		for rest := []byte(stream); len(rest) > 0; {
			n, _ := u.Write(rest)
			rest = rest[n:]
		}
		if got := u.sent.Load(); got != 15 || u.ahead != 0 {
			t.Fatalf("pieces of %d: %d bytes counted, %d ahead", most, got, u.ahead)
		}
	}
}
