package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"comporta/service/gateway"
	"comporta/service/routing"
)

// running is one request while its member is being found.
type running struct {
	*Dispatcher
	caller   *gateway.Caller
	ctx      context.Context
	cancel   context.CancelFunc
	state    *gateway.ClusterState
	task     *gateway.Task
	record   *gateway.DispatchRecord
	response *Response
	err      error
	// own is the time that the request may take in all.
	own time.Duration
	// ticket is the request's turn in line; nil while it does not wait for a place.
	ticket *ticket
	// full: nobody took it, and only for want of a place.
	full bool
	// tried are the attempts that failed, unreached is what a member said that cannot reach the data source; others may.
	tried     []failedTry
	unreached *gateway.Error
}

// failedTry is an attempt that failed, and when.
type failedTry struct {
	member gateway.ID
	at     time.Time
	reason routing.Reason
	// lost: the member gave no sign in time, or its tunnel broke; it may be reached over its other one. Only what may run twice is.
	lost bool
}

func (r *running) note(member gateway.ID, err error) {
	f := failedTry{member: member, at: r.Now(), reason: routing.Offline}
	var attempt *gateway.AttemptError
	if errors.As(err, &attempt) {
		f.reason = routing.ReasonOf(attempt.Err)
		f.lost = attempt.Phase == gateway.PhaseNotSent || attempt.Phase == gateway.PhaseStarted && r.task.ReadOnly
	}
	r.tried = append(r.tried, f)
}

// mayTry lets a member have one attempt. When nobody else is left it gets one more if it went and came back meanwhile, or if the attempt
// was only lost: a machine that stands still for two seconds, or one of whose two tunnels broke, has not gone. Otherwise the reason is
// that of the last attempt.
func (r *running) mayTry(member gateway.ID) (bool, routing.Reason) {
	times, last := 0, failedTry{}
	for _, f := range r.tried {
		if f.member == member {
			times, last = times+1, f
		}
	}
	return times == 0 || times == 1 && (last.lost || r.Tunnels.Presence(member).Since.After(last.at)), last.reason
}

func (r *running) result() (*Response, error) {
	if r.err != nil {
		r.cancel()
		return nil, r.err
	}
	return r.response, nil
}

// try follows plans until an answer begins or nobody is left. A member that came while others were tried in vain gets its turn too.
func (r *running) try() {
	r.tried = r.tried[:0]
	for r.follow() {
	}
}

// follow plans once and follows the plan. It reports whether to plan again: something was tried in vain, which takes time.
func (r *running) follow() (again bool) {
	plan := r.plan(r.state)
	defer plan.free()
	before := len(r.tried)
	for at, i := range plan.route.Order {
		m := &r.state.Members[i]
		if may, reason := r.mayTry(m.ID); !may {
			plan.route.Refused(i, reason)
			continue
		}
		if !r.stillWanted(m.ID) {
			plan.route.Refused(i, routing.Disabled)
			continue
		}
		if r.left() <= 0 {
			r.outOfTime()
			return false
		}
		r.record.Attempts++
		r.record.MemberID = m.ID
		answer, err := r.attempt(m.ID, !r.othersLeft(plan.route.Order[at+1:]))
		if err == nil {
			r.response, r.err, r.full = r.respond(m, answer), nil, false
			return false
		}
		if r.err = r.afterFailure(plan, i, err); r.err != nil {
			r.full = false
			return false
		}
		r.note(m.ID, err)
	}
	if before > 0 && len(r.tried) == before {
		return false // nobody new: what was found out before stands
	}
	r.err, r.full = plan.refusal(r.state.Cluster.ID), plan.route.Full()
	if r.unreached != nil {
		r.err, r.full = r.unreached, false
	}
	return len(r.tried) > before
}

// othersLeft reports whether one of these members, by their places in the cluster, may still be tried.
func (r *running) othersLeft(behind []int) bool {
	return slices.ContainsFunc(behind, func(i int) bool {
		id := r.state.Members[i].ID
		may, _ := r.mayTry(id)
		return may && r.stillWanted(id)
	})
}

// outOfTime says why nobody took the request in its time: what was found out of those who were asked, if anybody was.
func (r *running) outOfTime() {
	switch {
	case r.unreached != nil:
		r.err = r.unreached
	case r.err == nil || len(r.tried) == 0: // what a try before this one found out is no reason
		r.err = errOutOfTime()
	}
	r.full = false
}

// stillWanted looks whether the member was disabled, drained or removed since the plan was drawn: attempts before this one take time, and
// it is asked again when the request is counted in flight, so that none leaves after the call that disables a member has returned.
func (r *running) stillWanted(member gateway.ID) bool {
	now, err := r.directory.get(r.ctx, r.state.Cluster.ID)
	if err != nil || now == r.state {
		return err == nil
	}
	for i := range now.Members {
		if m := &now.Members[i]; m.ID == member {
			return m.State == gateway.MemberEnabled && !m.Draining
		}
	}
	return false
}

// handOver is asked when the request is counted in flight, and says whether it may leave. From here on it holds a place that those behind
// it can see, so it leaves the line: they do not wait for its answer.
func (r *running) handOver(member gateway.ID) bool {
	if !r.stillWanted(member) {
		return false
	}
	if r.ticket != nil {
		r.ticket.leave()
	}
	return true
}

// refusedInLine is why a request got no place in time.
func (r *running) refusedInLine() error {
	if e := ended(r.ctx.Err(), false); e != nil {
		return e
	}
	if r.left() <= 0 {
		return errOutOfTime()
	}
	plan := r.plan(r.state)
	defer plan.free()
	return plan.noPlace(r.state.Cluster.ID)
}

// attempt sends the task to one member, the last one that is left or not, and waits until its answer is certain to have begun: a small answer
// is taken in whole, of a large one the first bytes. Until then a reading request can still go to another member.
func (r *running) attempt(member gateway.ID, last bool) (*gateway.Answer, error) {
	r.task.TimeoutMillis = max(1, r.left().Milliseconds())
	chance := gateway.First
	switch {
	case slices.ContainsFunc(r.tried, func(f failedTry) bool { return f.member == member }):
		chance = gateway.Again
	case last:
		chance = gateway.Last
	}
	answer, err := r.Tunnels.Send(r.ctx, member, r.task, chance, func() bool { return r.handOver(member) })
	if err != nil {
		return nil, err
	}
	if err := secure(answer); err != nil {
		answer.Body.Close()
		return nil, r.unsecured(gateway.AsError(err))
	}
	return answer, nil
}

// left is what the request still has of its time, 0 or less when that is over: line and lost attempts have had the rest. A member that let it
// run for longer would be cancelled before it could say that the time is up.
func (r *running) left() time.Duration {
	gone := r.Now().Sub(r.record.At).Truncate(time.Millisecond)
	return min(r.own, r.own-gone)
}

// unsecured is an attempt whose answer ended in an error before any of it reached the caller. What the member said of it itself counts as
// if it had come instead of the answer.
func (r *running) unsecured(e *gateway.Error) *gateway.AttemptError {
	if told(e) {
		return &gateway.AttemptError{Phase: gateway.PhaseAnswered, Err: e}
	}
	if !r.task.ReadOnly {
		e = lostOutcome(e)
	}
	return &gateway.AttemptError{Phase: gateway.PhaseStarted, Err: e}
}

// lostOutcome is what a caller hears of a write whose answer did not come through: not that an answer broke, or that its time was up, but
// that he has to look. What the member said itself stays.
func lostOutcome(e *gateway.Error) *gateway.Error {
	if told(e) {
		return e
	}
	return gateway.Wrap(gateway.CodeOutcomeUnknown, e, "The answer of the gateway member did not come through whole. The request ran once or not at all; look before you repeat it.")
}

// told holds for what the member said of its request: it has crossed the tunnel as words. What arose on this side has a cause.
func told(e *gateway.Error) bool { return e.Cause == nil && e.Code != gateway.CodeBroken }

// afterFailure decides what a failed attempt means: nil to move on along the plan, else what the caller gets.
func (r *running) afterFailure(plan *plan, i int, err error) error {
	var attempt *gateway.AttemptError
	if !errors.As(err, &attempt) {
		return err
	}
	if r.final(attempt) {
		return attempt.Err
	}
	if e := ended(r.ctx.Err(), attempt.Phase == gateway.PhaseStarted); e != nil {
		return e
	}
	if attempt.Phase == gateway.PhaseAnswered {
		r.unreached = attempt.Err
	}
	plan.failed(i, attempt)
	return nil
}

// final holds for what no other member can change: what a member found out, and a write that may have been done. It holds also when the
// request's time is over: who hears only that asks again, and would write twice.
func (r *running) final(attempt *gateway.AttemptError) bool {
	switch attempt.Phase {
	case gateway.PhaseAnswered:
		return !attempt.Err.Elsewhere
	case gateway.PhaseStarted:
		return !r.task.ReadOnly
	}
	return false
}

// ended says why the request's own time is over, if it is: err is what its context says. taken: a member may have begun it, and the end of
// its context has cancelled it there.
func ended(err error, taken bool) *gateway.Error {
	switch {
	case errors.Is(err, context.DeadlineExceeded) && taken:
		return gateway.Errorf(gateway.CodeTimeout, "The request ran out of its time and was cancelled on the member. Ask for a longer timeoutSeconds if it needs one.")
	case errors.Is(err, context.DeadlineExceeded):
		return errOutOfTime()
	case err != nil:
		return gateway.Wrap(gateway.CodeClientGone, err, "The caller went away.")
	}
	return nil
}

func errOutOfTime() *gateway.Error {
	return gateway.Errorf(gateway.CodeTimeout, "The request ran out of its time before a gateway member took it. Ask for a longer timeoutSeconds if it needs one.")
}
