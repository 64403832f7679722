package tunnel

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"comporta/service/gateway"
)

// progressAfter is how long an admitted task that only reads may run before the member says 102, so that the service knows that it lives.
const progressAfter = 300 * time.Millisecond

// handler answers what the service sends over one tunnel.
type handler struct {
	tunnel  *Tunnel
	agent   Agent
	buffers sync.Pool // *[]byte, 0 of bufferSize
	lane    atomic.Pointer[laneServer]
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

func newHandler(t *Tunnel, agent Agent) *handler {
	h := &handler{tunnel: t, agent: agent}
	h.buffers.New = func() any {
		b := make([]byte, 0, bufferSize)
		return &b
	}
	return h
}

// ServeHTTP knows the tasks, the control stream, the fast lane and what leaves it.
func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !h.enter() {
		return
	}
	defer h.running.Done()
	w.Header()["Date"] = nil
	switch req.URL.Path {
	case taskPath:
		h.task(w, req)
	case controlPath:
		h.control(w, req)
	case lanePath:
		h.serveLane(w, req)
	case takePath:
		h.take(w, req)
	default:
		writeError(w, http.StatusNotFound, gateway.Errorf(gateway.CodeNotSupported, "This member does not know %s.", clip(req.URL.Path, 100)))
	}
}

// enter counts one more running request, unless the tunnel has ended.
func (h *handler) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.running.Add(1)
	}
	return !h.closed
}

// close lets no request in any more.
func (h *handler) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
}

// task asks for admission before the body is read: for a task that may write, reading it is what lets it come.
func (h *handler) task(w http.ResponseWriter, req *http.Request) {
	release, refusal := h.agent.Admit()
	if refusal != nil {
		w.Header()[headerRefused] = []string{"1"}
		writeError(w, http.StatusTooManyRequests, refusal)
		return
	}
	out := &output{w: w, clock: h.tunnel.conn.clock, release: release}
	defer out.stop()
	var task gateway.Task
	if err := gateway.DecodeStrict(http.MaxBytesReader(w, req.Body, maxTaskBytes), &task); err != nil {
		writeError(w, http.StatusBadRequest, gateway.Wrap(gateway.CodeInvalid, err, "The member cannot read the task; is it of an older release than the service?"))
		return
	}
	ctx, cancel := bounded(req.Context(), &task)
	defer cancel()
	h.run(ctx, &task, out, req.Header.Get(headerReadOnly) != "")
}

// bounded is a context that ends with the task's time.
func bounded(ctx context.Context, task *gateway.Task) (context.Context, context.CancelFunc) {
	if task.TimeoutMillis > 0 {
		return context.WithTimeout(ctx, task.Timeout())
	}
	return context.WithCancel(ctx)
}

// run runs an admitted task. out is new; ctx is bounded.
func (h *handler) run(ctx context.Context, task *gateway.Task, out *output, progress bool) {
	buffer := h.buffers.Get().(*[]byte)
	out.buffer = (*buffer)[:0]
	out.start(progress)
	defer func() {
		out.stop()
		h.buffers.Put(buffer)
	}()
	summary, err := h.agent.Run(ctx, task, out)
	if err != nil {
		out.fail(failure(ctx, task.ReadOnly, err))
		return
	}
	out.finish(summary)
}

// failure is what the service hears of a task that failed. What the agent says in words of its own stays, also when the time is up: it knows
// whether a write was taken back. Where it says nothing, nobody knows.
func failure(ctx context.Context, readOnly bool, err error) *gateway.Error {
	var known *gateway.Error
	switch {
	case errors.As(err, &known), !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return gateway.AsError(err)
	case readOnly:
		return gateway.Wrap(gateway.CodeTimeout, err, "The request took longer than it may and was cancelled.")
	}
	return gateway.Wrap(gateway.CodeOutcomeUnknown, err, "The request took longer than it may. It ran once or not at all; look before you repeat it.")
}

func writeError(w http.ResponseWriter, status int, e *gateway.Error) {
	w.Header()["Content-Type"] = []string{"application/json"}
	w.WriteHeader(status)
	_, _ = w.Write(encodeError(e))
}

// control is the control stream: reports out, commands in. It ends when the service ended its half, or when the tunnel breaks.
func (h *handler) control(w http.ResponseWriter, req *http.Request) {
	defer h.tunnel.release()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.obey(req.Body)
	}()
	defer func() { <-ended }()
	defer req.Body.Close()

	urgent, stop := h.agent.Urgent()
	defer stop()
	tick := time.NewTicker(orElse(h.tunnel.dialer.ReportEvery, reportEvery))
	defer tick.Stop()
	lines, flush := json.NewEncoder(w), http.NewResponseController(w).Flush
	draining, closing := h.tunnel.draining, false
	for {
		if lines.Encode(reportLine{Report: h.agent.Report(), Closing: closing}) != nil || flush() != nil {
			return
		}
		select {
		case <-tick.C:
		case <-urgent:
		case <-draining:
			draining, closing = nil, true
		case <-ended:
			return
		case <-req.Context().Done():
			return
		}
	}
}

// obey reads commands until the stream ends. Lines that it does not understand are passed over: a newer service may say more.
func (h *handler) obey(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 1024), maxCommandBytes)
	for lines.Scan() {
		var c command
		if json.Unmarshal(lines.Bytes(), &c) != nil {
			continue
		}
		if c.Settings != nil {
			h.agent.Configure(*c.Settings)
		}
		if c.ReconnectAfterMillis != nil {
			wait := min(max(*c.ReconnectAfterMillis, 0), int64(time.Hour/time.Millisecond))
			h.agent.Reconnect(time.Duration(wait) * time.Millisecond)
		}
	}
}
