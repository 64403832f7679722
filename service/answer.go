package service

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"

	"comporta/service/gateway"
)

// smallAnswer is up to how many bytes an answer of known length is taken in whole before the caller sees any of it.
const smallAnswer = 64 << 10

// secure reads so much of an answer that a member that dies at this moment can still be replaced: the whole of a small one, the first
// bytes of a large one.
func secure(a *gateway.Answer) error {
	if a.Held {
		return nil
	}
	if a.Length >= 0 && a.Length <= smallAnswer {
		whole := make([]byte, a.Length)
		if _, err := io.ReadFull(a.Body, whole); err != nil {
			return broken(err)
		}
		// One more Read: only io.EOF says that the member meant it to end here.
		if n, err := a.Body.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			return broken(err)
		}
		a.Body = &taken{Reader: bytes.NewReader(whole), rest: a.Body}
		return nil
	}
	first := make([]byte, 4<<10)
	n, err := a.Body.Read(first)
	if err != nil && err != io.EOF {
		return broken(err)
	}
	a.Body = &taken{Reader: io.MultiReader(bytes.NewReader(first[:n]), after(err, a.Body)), rest: a.Body}
	return nil
}

// after continues with the body, or with its end where that was seen already.
func after(err error, body io.Reader) io.Reader {
	if err == io.EOF {
		return bytes.NewReader(nil)
	}
	return body
}

func broken(err error) error {
	var known *gateway.Error
	if errors.As(err, &known) {
		return known
	}
	return gateway.Wrap(gateway.CodeBroken, err, "The tunnel broke before the answer was complete.")
}

// taken is a body whose beginning was read already.
type taken struct {
	io.Reader
	rest io.Closer
}

func (t *taken) Close() error { return t.rest.Close() }

// body is the answer as the caller reads it. Its end, whichever it is, ends the request and writes the record, once.
type body struct {
	dispatcher *Dispatcher
	ctx        context.Context
	cancel     context.CancelFunc
	inner      io.ReadCloser
	answer     *gateway.Answer
	record     gateway.DispatchRecord
	outcome    gateway.Code
	readOnly   bool
	closed     atomic.Bool
}

// Read passes bytes on and turns every failure into the error that the caller is told.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.inner.Read(p)
	b.record.Bytes += int64(n)
	switch {
	case err == nil:
		return n, nil
	case err == io.EOF:
		b.outcome = "ok"
		return n, err
	}
	return n, b.fail(err)
}

// fail makes of a broken answer what the caller is told, and what the record says.
func (b *body) fail(err error) *gateway.Error {
	e := gateway.AsError(broken(err))
	over := ended(b.ctx.Err(), true)
	gone := over != nil && over.Code == gateway.CodeClientGone
	if !b.readOnly && !gone {
		e = lostOutcome(e)
	}
	b.outcome = e.Code
	if over != nil && e.Code == gateway.CodeBroken {
		// The time ran out on this side, so nobody marked the document: to the caller it is broken, in the record it is a time-out.
		b.outcome, e.Message = over.Code, over.Message
	}
	return e
}

// Close cancels what still runs on the member.
func (b *body) Close() error {
	if !b.closed.CompareAndSwap(false, true) {
		return nil
	}
	err := b.inner.Close()
	if b.outcome == "" {
		b.outcome = b.unread()
	}
	if b.outcome == "ok" && b.answer.Summary != nil {
		b.record.Rows = b.answer.Summary().Rows
	}
	b.cancel()
	b.dispatcher.finish(&b.record, b.outcome)
	return err
}

// unread is the outcome of an answer that was not read to its end: the caller went away, or stood still until the time was up.
func (b *body) unread() gateway.Code {
	switch {
	case !errors.Is(b.ctx.Err(), context.DeadlineExceeded):
		return gateway.CodeClientGone
	case b.readOnly:
		return gateway.CodeTimeout
	}
	return gateway.CodeOutcomeUnknown
}
