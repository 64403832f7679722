package tunnel

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"

	"comporta/service/gateway"
)

// maxIdleWorkers is how many goroutines a lane keeps for the next requests: their stacks have grown already.
const maxIdleWorkers = 32

// laneServer is the member's end of a fast lane.
type laneServer struct {
	handler *handler
	ctx     context.Context
	out     *outbox
	// next hands a task to an idle worker.
	next chan *laneTask

	mu    sync.Mutex
	tasks map[uint32]*laneTask // running; those with a stream of their own too
	idle  int
	// undecided are the tasks that may still ask for a stream; quiet are to be closed when there is none.
	undecided int
	quiet     []chan struct{}
}

// laneTask is one request on the lane.
type laneTask struct {
	lane *laneServer
	id   uint32
	code []byte
	ctx  context.Context // set before it runs
	// writers brings the response to write to, once the answer is to be streamed; done is closed when the task has ended.
	writers chan http.ResponseWriter
	done    chan struct{}
	// cancel ends ctx; nil while there is none. cancelled: nobody waits for it any more.
	cancel    context.CancelFunc
	cancelled bool
	// decided: it will ask for no stream any more. claimed: the service came for the answer. aborted: it ended by a panic.
	// All of these, and the channels, belong to lane.mu.
	decided, claimed, aborted bool
}

// serveLane runs the lane until the tunnel or the service ends it.
func (h *handler) serveLane(w http.ResponseWriter, req *http.Request) {
	ctx, cancel := context.WithCancel(req.Context())
	s := &laneServer{handler: h, ctx: ctx, out: newOutbox(), next: make(chan *laneTask), tasks: map[uint32]*laneTask{}}
	if !h.lane.CompareAndSwap(nil, s) {
		cancel()
		writeError(w, http.StatusConflict, gateway.Errorf(gateway.CodeConflict, "This tunnel has a fast lane already."))
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer s.out.Close()
		s.listen(bufio.NewReaderSize(req.Body, 64<<10))
	}()
	defer func() { <-ended }()
	defer req.Body.Close()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { s.out.Close() })
	defer stop()
	w.WriteHeader(http.StatusOK)
	s.write(w)
}

// write sends what comes into the outbox until the lane ends.
func (s *laneServer) write(w http.ResponseWriter) {
	flush, clock := http.NewResponseController(w).Flush, s.handler.tunnel.conn.clock
	if flush() != nil {
		return
	}
	var p pace
	for batch := s.out.take(nil, lanePiece); batch != nil; batch = s.out.take(batch, lanePiece) {
		began := clock()
		if _, err := p.write(w, batch, 1, clock); err != nil || flush() != nil {
			return
		}
		s.out.wrote(len(batch), clock()-began)
	}
}

// listen takes tasks and cancellations in until the lane ends.
func (s *laneServer) listen(r *bufio.Reader) {
	for {
		f, err := readFrame(r, maxLaneTask)
		if err != nil {
			return
		}
		switch f.kind {
		case frameTask:
			if !s.begin(f) {
				return
			}
		case frameCancel:
			if t := s.find(f.call); t != nil {
				t.abandon()
			}
		default:
			return
		}
	}
}

// begin hands a task to a worker. It counts as running on the handler, so that the tunnel waits for it.
func (s *laneServer) begin(f frame) bool {
	if s.find(f.call) != nil || !s.handler.enter() {
		return false
	}
	t := &laneTask{lane: s, id: f.call, code: f.payload}
	s.mu.Lock()
	s.tasks[t.id] = t
	s.undecided++
	worker := s.idle > 0
	if worker {
		s.idle--
	}
	s.mu.Unlock()
	switch {
	case worker:
		select {
		case s.next <- t: // one is waiting, or about to
		case <-s.ctx.Done():
			go s.work(t)
		}
	default:
		go s.work(t)
	}
	return true
}

// work runs one task after the other.
func (s *laneServer) work(t *laneTask) {
	for {
		s.run(t)
		s.mu.Lock()
		stay := s.idle < maxIdleWorkers && s.ctx.Err() == nil
		if stay {
			s.idle++
		}
		s.mu.Unlock()
		if !stay {
			return
		}
		select {
		case t = <-s.next:
		case <-s.ctx.Done():
			return
		}
	}
}

func (s *laneServer) find(id uint32) *laneTask {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tasks[id]
}

// run runs a task to its end, whatever that is.
func (s *laneServer) run(t *laneTask) {
	defer s.handler.running.Done()
	defer t.end()
	release, refusal := s.handler.agent.Admit()
	if refusal != nil {
		t.fail(refusal, true, nil)
		return
	}
	out := &output{lane: t, clock: s.handler.tunnel.conn.clock, release: release}
	defer out.stop()
	task, err := decodeTask(t.code)
	if err != nil {
		t.fail(gateway.Wrap(gateway.CodeInvalid, err, "The member cannot read the task."), false, out.takeRelease())
		return
	}
	if t.bound(task) {
		s.handler.run(t.ctx, task, out, true)
	}
}

// bound gives the task its context. It reports false when nobody waits for it any more.
func (t *laneTask) bound(task *gateway.Task) bool {
	ctx, cancel := bounded(t.lane.ctx, task)
	t.lane.mu.Lock()
	defer t.lane.mu.Unlock()
	t.ctx, t.cancel = ctx, cancel
	return !t.cancelled
}

// abandon ends the task: nobody waits for it any more.
func (t *laneTask) abandon() {
	t.lane.mu.Lock()
	defer t.lane.mu.Unlock()
	t.cancelled = true
	if t.cancel != nil {
		t.cancel()
	}
}

// end takes a task that has ended out of the lane. A panic of the agent ends its own request only, as it does on a stream.
func (t *laneTask) end() {
	v := recover()
	if v != nil && v != http.ErrAbortHandler {
		t.lane.handler.tunnel.log.Error("panic", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	}
	s := t.lane
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.cancel != nil {
		t.cancel()
	}
	delete(s.tasks, t.id)
	t.decide()
	t.aborted = v != nil
	if t.done != nil {
		close(t.done)
	} else if t.aborted {
		s.out.put(frameBroken, t.id, nil, nil)
	}
}

// decide notes that the task asks for no new stream. The lane's lock is held.
func (t *laneTask) decide() {
	s := t.lane
	if t.decided {
		return
	}
	t.decided = true
	if s.undecided--; s.undecided == 0 {
		for _, quiet := range s.quiet {
			close(quiet)
		}
		s.quiet = nil
	}
}

// settled is closed at a moment at which no task may ask for a stream.
func (s *laneServer) settled() <-chan struct{} {
	quiet := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.undecided == 0 {
		close(quiet)
	} else {
		s.quiet = append(s.quiet, quiet)
	}
	return quiet
}

// alive says that the task is admitted and runs.
func (t *laneTask) alive() { t.lane.out.put(frameAlive, t.id, nil, nil) }

// whole sends the whole answer; before is called just before it leaves.
func (t *laneTask) whole(h gateway.AnswerHeader, s gateway.Summary, body []byte, before func()) {
	h.ContentType = clip(h.ContentType, maxTypeBytes)
	t.lane.out.putWhenRoom(frameWhole, t.id, encodeWhole(make([]byte, 0, maxTypeBytes+32), h, s), body, before)
}

// fail sends an error as the whole answer; before, if there is one, is called just before it leaves.
func (t *laneTask) fail(e *gateway.Error, refused bool, before func()) {
	t.lane.out.putWhenRoom(frameError, t.id, []byte{flags(refused)}, encodeError(e), before)
}

// stream asks the service to fetch the answer and waits until it comes; nil when it does not want it any more.
func (t *laneTask) stream() http.ResponseWriter {
	s := t.lane
	s.mu.Lock()
	t.writers, t.done = make(chan http.ResponseWriter, 1), make(chan struct{})
	s.mu.Unlock()
	if !s.out.putWhenRoom(frameStream, t.id, nil, nil, nil) {
		return nil
	}
	select {
	case w := <-t.writers:
		s.mu.Lock()
		t.decide()
		s.mu.Unlock()
		return w
	case <-t.ctx.Done():
		return nil
	}
}

// take lends its response to a task of the lane until that has ended. One that is gone, or was taken already, breaks the stream.
func (h *handler) take(w http.ResponseWriter, req *http.Request) {
	t := h.claim(req.Header.Get(headerCall))
	if t == nil {
		panic(http.ErrAbortHandler)
	}
	stop := context.AfterFunc(req.Context(), t.abandon)
	defer stop()
	t.writers <- w
	<-t.done
	if t.aborted {
		panic(http.ErrAbortHandler)
	}
}

func (h *handler) claim(call string) *laneTask {
	id, err := strconv.ParseUint(call, 10, 32)
	s := h.lane.Load()
	if err != nil || s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tasks[uint32(id)]
	if t == nil || t.claimed || t.writers == nil {
		return nil
	}
	t.claimed = true
	return t
}
