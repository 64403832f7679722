package tunnel

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"comporta/service/gateway"
)

// fail says what the end of an attempt without an answer means.
func (a *attempt) fail(err error) *gateway.AttemptError {
	// Once this has withdrawn it, a task that may write cannot leave any more.
	untouched := a.state.CompareAndSwap(pending, withdrawn) || a.state.Load() == withdrawn
	cause := context.Cause(a.ctx)
	if untouched && (!a.readOnly || cause == nil || errors.Is(cause, errNotAdmitted)) {
		return unreachable(firstError(cause, err))
	}
	return &gateway.AttemptError{Phase: gateway.PhaseStarted, Err: a.broken(err, gateway.CodeBroken)}
}

// broken says why an admitted attempt ended.
func (a *attempt) broken(err error, code gateway.Code) *gateway.Error {
	return brokenOff(context.Cause(a.ctx), a.readOnly, err, code)
}

// brokenOff says why an admitted attempt ended: because of cause, if there is one. A task that may write has an unknown outcome then.
func brokenOff(cause error, readOnly bool, err error, code gateway.Code) *gateway.Error {
	switch {
	case !readOnly:
		return gateway.Wrap(gateway.CodeOutcomeUnknown, firstError(cause, err), "The connection to the gateway member broke while it ran the request. It ran once or not at all; look before you repeat it.")
	case errors.Is(cause, errOverdue), errors.Is(cause, context.DeadlineExceeded):
		return gateway.Wrap(gateway.CodeTimeout, cause, "The request took longer than it may and was cancelled.")
	case cause != nil && !errors.Is(cause, errFinished):
		return gateway.Wrap(gateway.CodeUnavailable, cause, "The request was cancelled.")
	}
	return gateway.Wrap(code, err, "The connection to the gateway member broke before the answer was complete.")
}

func firstError(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// failed reads an answer that reports a failure.
func (a *attempt) failed(resp *http.Response) *gateway.AttemptError {
	e, err := readError(resp.Body)
	if err != nil {
		return a.fail(err)
	}
	if resp.Header.Get(headerRefused) != "" {
		return &gateway.AttemptError{Phase: gateway.PhaseRefused, Err: e}
	}
	return &gateway.AttemptError{Phase: gateway.PhaseAnswered, Err: e}
}

// answer makes the Answer of a response that began well. From here on the end of the attempt's context ends the attempt too, even if
// nobody reads or closes the body.
func (a *attempt) answer(resp *http.Response) (*gateway.Answer, *gateway.AttemptError) {
	length := promisedLength(resp.Header)
	b := &answerBody{attempt: a, resp: resp, promised: length > 0, left: length}
	answer := &gateway.Answer{
		AnswerHeader: gateway.AnswerHeader{ContentType: clip(resp.Header.Get("Content-Type"), maxTypeBytes), UpstreamStatus: upstreamStatus(resp.Header), PromisedLength: length},
		Body:         b,
		Length:       -1,
		Summary:      func() gateway.Summary { return b.summary },
	}
	if text := resp.Header.Get(headerSummary); text != "" && resp.ContentLength >= 0 {
		summary, err := decodeSummary(text)
		if err != nil {
			defer a.finish()
			resp.Body.Close()
			return nil, &gateway.AttemptError{Phase: gateway.PhaseStarted, Err: a.broken(err, gateway.CodeBroken)}
		}
		b.whole, b.ahead, answer.Length = true, summary, resp.ContentLength
	}
	release := a.ended
	a.ended = func() {
		release()
		a.link.member.inFlight.Add(-1)
	}
	unwatch := context.AfterFunc(a.ctx, a.finish)
	a.unwatch.Store(&unwatch)
	return answer, nil
}

func upstreamStatus(h http.Header) int {
	status, _ := strconv.ParseInt(h.Get(headerUpstream), 10, 64)
	return validStatus(status)
}

// validStatus is the status, or 0 for what is none.
func validStatus(status int64) int {
	if status < 100 || status > 599 {
		return 0
	}
	return int(status)
}

// promisedLength is the length of a streamed answer that the member knew when it began; 0 when it knew none.
func promisedLength(h http.Header) int64 {
	length, err := strconv.ParseInt(h.Get(headerLength), 10, 64)
	if err != nil || length < 0 {
		return 0
	}
	return length
}

// answerBody is the body of an answer. It tells a complete answer from a broken one.
type answerBody struct {
	attempt *attempt
	resp    *http.Response
	// whole: the answer came with its length and, ahead, its summary. Otherwise both come in trailers.
	whole   bool
	ahead   gateway.Summary
	summary gateway.Summary
	// promised: the member said how much comes; left is what has not come yet.
	promised bool
	left     int64
	err      error
}

var errLength = errors.New("the answer has another length than was promised")

// Read returns io.EOF after a complete answer only, otherwise a *gateway.Error.
func (b *answerBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.resp.Body.Read(p)
	if b.promised {
		if b.left -= int64(n); b.left < 0 {
			n, err = n+int(b.left), errLength
		}
	}
	if err != nil {
		if b.err = b.end(err); b.err != io.EOF {
			_ = b.resp.Body.Close()
		}
		b.attempt.finish()
		return n, b.err
	}
	return n, nil
}

// Close ends the answer; if it was not read to its end, the request is cancelled on the member.
func (b *answerBody) Close() error {
	_ = b.resp.Body.Close()
	b.attempt.finish()
	return nil
}

// end says what the end of the body means: io.EOF when it is complete.
func (b *answerBody) end(err error) error {
	if !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return b.late(err)
	}
	if b.whole {
		b.summary = b.ahead
		return io.EOF
	}
	switch outcome := b.resp.Trailer.Get(trailerOutcome); outcome {
	case outcomeOK:
		summary, err := decodeSummary(b.resp.Trailer.Get(headerSummary))
		if err != nil {
			return b.late(err)
		}
		if b.promised && b.left != 0 {
			return b.late(errLength)
		}
		b.summary = summary
		return io.EOF
	case "":
		return b.late(errors.New("the answer ended without saying how"))
	default:
		e, err := decodeOutcome(outcome)
		if err != nil {
			return b.late(err)
		}
		return e
	}
}

func (b *answerBody) late(err error) *gateway.Error {
	cause := context.Cause(b.attempt.ctx)
	if errors.Is(cause, errOverdue) || errors.Is(cause, context.DeadlineExceeded) {
		return gateway.Wrap(gateway.CodeTimeout, cause, "The request took longer than it may and was cancelled.")
	}
	return gateway.Wrap(gateway.CodeBroken, firstError(cause, err), "The answer broke off before it was complete.")
}

func removeHyphens(id string) string { return strings.ReplaceAll(id, "-", "") }
