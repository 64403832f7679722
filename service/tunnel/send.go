package tunnel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"
	"sync/atomic"
	"time"

	"comporta/service/gateway"
)

// Why an attempt was cancelled, told apart by the context's cause.
var (
	errNotAdmitted = errors.New("no admission in time")
	errOverdue     = errors.New("the task's time is up and the member does not say so")
	errFinished    = errors.New("the attempt is over")
)

// Send hands a task to a member and returns its answer as soon as it begins. Every error is a *gateway.AttemptError:
//
//	PhaseNotSent   no tunnel, no admission in time, or the tunnel broke before admission: harmless to try elsewhere. A task that may
//	               write certainly did not reach the member then; one that only reads may have
//	PhaseRefused   the member decided not to admit it
//	PhaseStarted   the tunnel broke or the time ran out after the member may have started (CodeOutcomeUnknown if it may write)
//	PhaseAnswered  the member reports a failure
//
// wanted, if given, is asked once the request is counted in flight, and nothing is sent when it says no (PhaseRefused, CodeDisabled): so
// from the moment at which a change of mind is visible to it, no request leaves that was not in flight before.
//
// chance says who else is left. A member all of whose tunnels are in doubt (they let requests wait in vain) is not tried, except soon after the
// doubt began when it is tried again because nobody else is left.
//
// The answer's Body must be closed. ctx governs the whole answer, not only its beginning. A task without a time-out is bounded by ctx alone.
func (r *Registry) Send(ctx context.Context, id gateway.ID, task *gateway.Task, chance gateway.Chance, wanted func() bool) (*gateway.Answer, error) {
	m := r.find(id)
	if m == nil {
		return nil, unreachable(nil)
	}
	m.inFlight.Add(1)
	if wanted != nil && !wanted() {
		m.inFlight.Add(-1)
		return nil, &gateway.AttemptError{Phase: gateway.PhaseRefused, Err: gateway.Errorf(gateway.CodeDisabled, "The gateway member takes no requests any more.")}
	}
	began := r.clock()
	l := m.pick(began, nil, task.ReadOnly)
	if l == nil && chance == gateway.Again {
		l = m.hope(began)
	}
	answer, failure := m.try(ctx, l, task, chance)
	if failure != nil && l != nil && failure.Phase == gateway.PhaseNotSent && ctx.Err() == nil {
		// The member's other tunnel, if that one showed life meanwhile or this one broke at once: one dead connection is not a dead member.
		lost := l.lost()
		if !lost {
			chance = gateway.First // it was waited for already
		}
		if other := m.pick(r.clock(), l, task.ReadOnly); other != nil && (lost || other.heardSince(began)) {
			answer, failure = m.try(ctx, other, task, chance)
		}
	}
	if failure != nil {
		m.inFlight.Add(-1)
		return nil, failure
	}
	return answer, nil
}

func unreachable(cause error) *gateway.AttemptError {
	return &gateway.AttemptError{Phase: gateway.PhaseNotSent, Err: gateway.Wrap(gateway.CodeUnreachable, cause, "The gateway member is not reachable.")}
}

// How far an attempt has come. Whoever moves it on from pending wins: either the member is let at the task or the attempt is taken back.
const (
	pending int32 = iota
	admitted
	withdrawn
)

// attempt is one task on its way over one tunnel.
type attempt struct {
	link *link
	// admission is the time for being admitted.
	admission admission
	ctx       context.Context
	cancel    context.CancelCauseFunc
	readOnly  bool
	state     atomic.Int32
	infos     int // 1xx answers so far; touched by the connection's reader only
	timers    [2]*time.Timer
	unwatch   atomic.Pointer[func() bool]
	once      sync.Once
	// ended is called once, when nothing of the attempt is left.
	ended func()
}

func unwritable(cause error) *gateway.AttemptError {
	return &gateway.AttemptError{Phase: gateway.PhaseNotSent, Err: gateway.Wrap(gateway.CodeInvalid, cause, "The request cannot be written down.")}
}

// try sends the task over one tunnel. The request that it counts on the tunnel ends with the answer.
func (m *member) try(ctx context.Context, l *link, task *gateway.Task, chance gateway.Chance) (*gateway.Answer, *gateway.AttemptError) {
	if l == nil || !l.acquire() {
		return nil, unreachable(nil)
	}
	if lane := l.lane.Load(); lane != nil && task.ReadOnly {
		if c := lane.open(task); c != nil {
			return lane.wait(ctx, c, task, chance)
		}
	}
	body, err := json.Marshal(task)
	if err != nil {
		l.release()
		return nil, unwritable(err)
	}
	a := l.attempt(ctx, task, chance)
	req := a.request(task, body)
	a.timers[0] = time.AfterFunc(time.Hour, a.withdraw)
	a.timers[0].Reset(m.cfg.AdmissionTimeout) // not before it can be seen by withdraw
	return a.carry(req)
}

// attempt begins an attempt on a stream of its own; the caller has counted it on the tunnel.
func (l *link) attempt(ctx context.Context, task *gateway.Task, chance gateway.Chance) *attempt {
	a := &attempt{link: l, admission: l.admission(chance), readOnly: task.ReadOnly, ended: l.release}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	if task.TimeoutMillis > 0 {
		a.timers[1] = time.AfterFunc(task.Timeout()+l.reg.cfg.Grace, func() { a.cancel(errOverdue) })
	}
	return a
}

// carry sends the request and takes the beginning of its answer.
func (a *attempt) carry(req *http.Request) (*gateway.Answer, *gateway.AttemptError) {
	resp, err := a.link.client.RoundTrip(req)
	if err == nil && !a.admit() {
		resp.Body.Close()
		err = errNotAdmitted
	}
	if err != nil {
		failure := a.fail(err)
		a.finish()
		return nil, failure
	}
	if resp.StatusCode != http.StatusOK {
		defer a.finish()
		defer resp.Body.Close()
		return nil, a.failed(resp)
	}
	return a.answer(resp)
}

// request writes the task as an HTTP request. A task that only reads goes at once; one that may write waits for the member's 100.
func (a *attempt) request(task *gateway.Task, body []byte) *http.Request {
	trace := &httptrace.ClientTrace{
		Got1xxResponse: a.informed,
	}
	h := http.Header{"Content-Type": {"application/json"}, "User-Agent": {""}}
	if id := task.RequestID; id != "" && len(id) <= 100 && validCode(removeHyphens(id)) {
		h[headerRequest] = []string{id}
	}
	var reader io.ReadCloser
	if a.readOnly {
		h[headerReadOnly] = []string{"1"}
		a.admission.body = newUpload(body)
		reader = a.admission.body
	} else {
		h["Expect"] = []string{"100-continue"}
		reader = &gate{attempt: a, body: bytes.NewReader(body)}
	}
	req := newRequest(httptrace.WithClientTrace(a.ctx, trace), taskURL, reader)
	req.Header, req.ContentLength = h, int64(len(body))
	return req
}

// newRequest makes a request to one of the member's paths.
func newRequest(ctx context.Context, address string, body io.Reader) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, body)
	if err != nil {
		panic(err) // the addresses are constants
	}
	req.Header["User-Agent"] = []string{""}
	return req
}

// informed takes a 1xx answer. For a task that only reads, a 102 is the admission.
func (a *attempt) informed(code int, _ textproto.MIMEHeader) error {
	if a.infos++; a.infos > maxInformation {
		return errors.New("too many informational answers")
	}
	if code == http.StatusProcessing && a.readOnly {
		a.admit()
	}
	return nil
}

// admit moves the attempt on from pending and reports whether it is admitted.
func (a *attempt) admit() bool {
	if a.timers[0] != nil {
		a.timers[0].Stop()
	}
	return a.state.CompareAndSwap(pending, admitted) || a.state.Load() == admitted
}

// withdraw takes the attempt back, if the member was not let at the task yet and has had its time.
func (a *attempt) withdraw() {
	if a.ctx.Err() != nil {
		return // it has ended, and nobody was waited for in vain
	}
	if more := a.admission.more(); more > 0 {
		a.timers[0].Reset(more)
		return
	}
	if a.state.CompareAndSwap(pending, withdrawn) {
		a.link.waitedInVain(a.admission.began)
		a.cancel(errNotAdmitted)
	}
}

// finish ends the attempt: exactly once, whatever comes first of the body's end, its close, and the end of its context.
func (a *attempt) finish() {
	a.once.Do(func() {
		for _, t := range a.timers {
			if t != nil {
				t.Stop()
			}
		}
		if unwatch := a.unwatch.Load(); unwatch != nil {
			(*unwatch)()
		}
		a.cancel(errFinished)
		a.ended()
	})
}

// gate is the body of a task that may write. Its first Read is the moment at which the task leaves: not before, and not if the attempt
// was taken back.
type gate struct {
	attempt *attempt
	body    *bytes.Reader
}

func (g *gate) Read(p []byte) (int, error) {
	if !g.attempt.admit() {
		return 0, errNotAdmitted
	}
	return g.body.Read(p[:min(len(p), uploadPiece)])
}

func (g *gate) Close() error { return nil }
