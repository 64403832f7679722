package tunnel

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"comporta/service/gateway"
)

// lane is the service's end of a fast lane.
type lane struct {
	link *link
	out  *outbox

	// waiting is how many calls there are.
	waiting atomic.Int32

	mu    sync.Mutex
	calls map[uint32]*call // those that wait for something; nil when the lane has ended
	last  uint32
}

// call is one request on the lane, while it waits. It is used again for another one, so nothing may come to it once it is closed.
type call struct {
	id uint32
	// events has room for the sign of life and the end.
	events chan frame
	timer  *time.Timer
	code   []byte
}

var calls = sync.Pool{New: func() any {
	c := &call{events: make(chan frame, 2), timer: time.NewTimer(time.Hour)}
	c.timer.Stop()
	return c
}}

// runLane opens the lane and reads what comes over it until it ends. A member that has no lane says so, and everything goes over streams.
func (l *link) runLane() {
	known := sync.OnceFunc(func() { close(l.laneKnown) })
	defer known()
	n := &lane{link: l, out: newOutbox(), calls: map[uint32]*call{}}
	defer n.out.Close()
	resp, err := l.client.RoundTrip(newRequest(context.Background(), laneURL, n.out))
	if err != nil {
		return // the connection ends
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return
	}
	l.lane.Store(n)
	known()
	err = n.listen(bufio.NewReaderSize(resp.Body, 64<<10))
	l.lane.Store(nil)
	l.reg.cfg.Log.Debug("tunnel: fast lane ended", "member", l.claims.Member, "slot", l.claims.Slot, "error", err)
	l.close("the fast lane broke")
	n.end()
}

func (n *lane) listen(r *bufio.Reader) error {
	for {
		f, err := readFrame(r, maxLaneAnswer)
		if err != nil {
			return err
		}
		n.deliver(f)
	}
}

// deliver hands a frame to its call. Nobody may be waiting any more; then it is dropped. It never blocks.
func (n *lane) deliver(f frame) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.calls[f.call]
	if c == nil {
		return
	}
	if f.kind == frameAlive {
		if len(c.events) == 0 { // once is enough, and the end must find room
			c.events <- f
		}
		return
	}
	delete(n.calls, f.call)
	c.events <- f
}

// end tells every call that nothing more comes.
func (n *lane) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.calls {
		c.events <- frame{kind: frameBroken}
	}
	n.calls = nil
}

// open sends a task. It returns nil when the task is not for the lane: it is large, or the lane is full or has ended.
func (n *lane) open(task *gateway.Task) *call {
	c := calls.Get().(*call)
	var err error
	c.code, err = encodeTask(c.code[:0], task)
	if err != nil || len(c.code) > maxLaneTask || n.out.full() || !n.enter(c) {
		calls.Put(c)
		return nil
	}
	if !n.out.put(frameTask, c.id, nil, c.code) {
		n.leave(c)
		return nil
	}
	return c
}

func (n *lane) enter(c *call) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.calls == nil {
		return false
	}
	n.last++
	c.id = n.last
	n.calls[c.id] = c
	n.waiting.Add(1)
	return true
}

// leave forgets a call: nothing comes to it any more, and it can be used again.
func (n *lane) leave(c *call) {
	n.mu.Lock()
	delete(n.calls, c.id)
	n.mu.Unlock()
	n.waiting.Add(-1)
	c.timer.Stop()
	for len(c.events) > 0 {
		<-c.events
	}
	calls.Put(c)
}

// wait waits for what becomes of a call. Its request on the tunnel ends here, unless the answer is fetched.
func (n *lane) wait(ctx context.Context, c *call, task *gateway.Task, chance gateway.Chance) (*gateway.Answer, *gateway.AttemptError) {
	id := c.id
	f, failure := n.next(ctx, c, task, chance)
	n.leave(c)
	if failure != nil {
		n.out.put(frameCancel, id, nil, nil)
	} else if f.kind == frameStream {
		return n.fetch(ctx, id, task)
	}
	n.link.release()
	if failure != nil {
		return nil, failure
	}
	answer, failure := n.whole(f)
	if failure == nil {
		n.link.member.inFlight.Add(-1) // the member has done with it
	}
	return answer, failure
}

// next waits for the frame that ends the call on the lane, or for the reason to give it up.
func (n *lane) next(ctx context.Context, c *call, task *gateway.Task, chance gateway.Chance) (frame, *gateway.AttemptError) {
	cfg, patience := &n.link.reg.cfg, n.link.admission(chance)
	c.timer.Reset(cfg.AdmissionTimeout)
	admitted := false
	for {
		select {
		case f := <-c.events:
			switch {
			case f.kind == frameBroken && !admitted:
				return f, unreachable(io.ErrUnexpectedEOF)
			case f.kind == frameBroken:
				return f, started(nil, io.ErrUnexpectedEOF)
			case f.kind != frameAlive:
				return f, nil
			case admitted:
				continue
			}
			admitted = true
			c.timer.Stop()
			if task.TimeoutMillis > 0 {
				c.timer.Reset(task.Timeout() + cfg.Grace)
			}
		case <-c.timer.C:
			if admitted {
				return frame{}, started(errOverdue, nil)
			}
			if more := patience.more(); more > 0 {
				c.timer.Reset(more)
				continue
			}
			n.link.waitedInVain(patience.began)
			return frame{}, unreachable(errNotAdmitted)
		case <-ctx.Done():
			return frame{}, started(context.Cause(ctx), ctx.Err())
		}
	}
}

// started is the failure of a task that only reads and that the member may have begun.
func started(cause, err error) *gateway.AttemptError {
	return &gateway.AttemptError{Phase: gateway.PhaseStarted, Err: brokenOff(cause, true, err, gateway.CodeBroken)}
}

// whole reads the frame that is the whole answer.
func (n *lane) whole(f frame) (*gateway.Answer, *gateway.AttemptError) {
	switch f.kind {
	case frameWhole:
		header, summary, body, err := decodeWhole(f.payload)
		if err != nil {
			return nil, started(nil, err)
		}
		return &gateway.Answer{AnswerHeader: header, Body: held{bytes.NewReader(body)}, Length: int64(len(body)), Held: true,
			Summary: func() gateway.Summary { return summary }}, nil
	case frameError:
		if len(f.payload) == 0 {
			return nil, started(nil, errLane)
		}
		e, err := decodeError(f.payload[1:])
		if err != nil {
			return nil, started(nil, err)
		}
		if f.payload[0] != 0 {
			return nil, &gateway.AttemptError{Phase: gateway.PhaseRefused, Err: e}
		}
		return nil, &gateway.AttemptError{Phase: gateway.PhaseAnswered, Err: e}
	}
	n.link.close("the fast lane carries a frame that nobody knows")
	return nil, started(nil, errLane)
}

// held is a body that is in memory already.
type held struct{ *bytes.Reader }

func (held) Close() error { return nil }

// fetch asks for an answer that left the lane. From here on it is an attempt like any other, admitted already.
func (n *lane) fetch(ctx context.Context, id uint32, task *gateway.Task) (*gateway.Answer, *gateway.AttemptError) {
	a := n.link.attempt(ctx, task, gateway.First)
	a.state.Store(admitted)
	req := newRequest(a.ctx, takeURL, nil)
	req.Header[headerCall] = []string{strconv.FormatUint(uint64(id), 10)}
	answer, failure := a.carry(req)
	if failure != nil {
		n.out.put(frameCancel, id, nil, nil)
	}
	return answer, failure
}
