package rest

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/labstack/echo/v4"

	"comporta/service/gateway"
)

// HasBody says whether there is a request body that was not read to its end yet.
func HasBody(c echo.Context) bool {
	body := c.Request().Body
	return body != nil && body != http.NoBody
}

// SetBodyDeadline says until when the request's body must have come in; the zero time is for ever.
func SetBodyDeadline(c echo.Context, until time.Time) {
	// A test's recorder has no deadlines, and a connection that is gone needs none.
	_ = http.NewResponseController(c.Response()).SetReadDeadline(until)
}

// bodyStep is how much of a body gives the rest of it a second more: a client on a slow line is no attacker.
const bodyStep = 8 << 10

// bodyKey is where the time of a body stands that may need more of it.
const bodyKey = "comporta.body"

// AwaitBody bounds the time in which the request's body must have come in: timeout, and for ReadBody a second more for each 8 KiB that came, but
// never more than timeout from then on. The request keeps its body: by its type net/http knows a client who still sends.
func AwaitBody(c echo.Context, now func() time.Time, timeout time.Duration) {
	until := now().Add(timeout)
	SetBodyDeadline(c, until)
	if length := c.Request().ContentLength; length < 0 || length > bodyStep {
		c.Set(bodyKey, &creepingBody{ReadCloser: c.Request().Body, context: c, now: now, timeout: timeout, until: until})
	}
}

// creepingBody is a body that gets more time as it comes in.
type creepingBody struct {
	io.ReadCloser
	context echo.Context
	now     func() time.Time
	timeout time.Duration
	// until is what it has earned so far; came is what came in since that was last lengthened.
	until time.Time
	came  int
}

func (b *creepingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.came += n; b.came >= bodyStep {
		b.until = b.until.Add(time.Duration(b.came/bodyStep) * time.Second)
		b.came %= bodyStep
		SetBodyDeadline(b.context, earlier(b.until, b.now().Add(b.timeout)))
	}
	return n, err
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// ReadBody reads a body of at most so many bytes to its end. From then on there is no deadline: the client has done its part. A caller who
// may no longer do this when the body is here gets the answer that says so.
func ReadBody(c echo.Context, most int64) ([]byte, error) {
	r := c.Request()
	if r.ContentLength > most {
		return nil, tooLarge(most)
	}
	body := r.Body
	if creeping, ok := c.Get(bodyKey).(*creepingBody); ok {
		body = creeping
	}
	text, err := io.ReadAll(http.MaxBytesReader(c.Response(), body, most))
	if err != nil {
		return nil, bodyError(err)
	}
	if HasBody(c) {
		r.Body = http.NoBody
		SetBodyDeadline(c, time.Time{})
	}
	return text, stillPermitted(c)
}

func bodyError(err error) error {
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return tooLarge(over.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return gateway.Errorf(CodeRequestTimeout, "The request body did not come in whole in time. Send as many bytes as Content-Length says, without a pause.")
	}
	return gateway.Wrap(gateway.CodeInvalid, err, "The request body could not be read.")
}

func tooLarge(most int64) error {
	return gateway.Errorf(gateway.CodeTooLarge, "The request body is larger than %d bytes.", most)
}

// BoundAnswer sets until when an answer over HTTP/2 may take to be read. A caller who leaves its window shut
// would hold it for ever: his connection is well. Over HTTP/1.1 the kernel notices who does not read.
func BoundAnswer(c echo.Context, until time.Time) {
	if c.Request().ProtoMajor == 2 {
		_ = http.NewResponseController(c.Response()).SetWriteDeadline(until)
	}
}
