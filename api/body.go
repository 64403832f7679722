package api

import (
	"io"
	"time"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
)

const (
	// bodyTimeout is within which time a request body must have come in whole, and bodyStep how much of it makes that a second more: a client on a
	// slow line is no attacker.
	bodyTimeout = 30 * time.Second
	bodyStep    = 8 << 10
	// bodyGrace is how long a refusal waits for the rest of a body: enough for what is there already, so that the connection can be kept.
	bodyGrace = 10 * time.Millisecond
	// bodyLinger is how long a client that still sends is listened to after its refusal, which net/http does. Closed at once, the connection
	// would be reset and the client might never read the answer.
	bodyLinger = time.Second
)

// awaitBody bounds the time in which the request's body must have come in; rest.ReadBody takes the bound away again.
func (s *Server) awaitBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if rest.HasBody(c) {
			until := s.cfg.Now().Add(s.cfg.BodyTimeout)
			rest.SetBodyDeadline(c, until)
			if r := c.Request(); r.ContentLength < 0 || r.ContentLength > bodyStep {
				r.Body = &creepingBody{ReadCloser: r.Body, context: c, until: until}
			}
		}
		return next(c)
	}
}

// creepingBody is a body that gets more time as it comes in.
type creepingBody struct {
	io.ReadCloser
	context echo.Context
	until   time.Time
	// came is what came in since the time was last lengthened.
	came int
}

func (b *creepingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.came += n; b.came >= bodyStep {
		b.until = b.until.Add(time.Duration(b.came/bodyStep) * time.Second)
		b.came %= bodyStep
		rest.SetBodyDeadline(b.context, b.until)
	}
	return n, err
}

// stillSending says whether the client has not sent its whole body yet. HTTP/2 needs no such care: there a request ends by itself.
func (s *Server) stillSending(c echo.Context) bool {
	r := c.Request()
	if r.ProtoMajor != 1 || !rest.HasBody(c) {
		return false
	}
	if r.Header.Get("Expect") != "" {
		return true // to read on would ask for the body
	}
	body := r.Body
	if creeping, ok := body.(*creepingBody); ok {
		body = creeping.ReadCloser // it gets no more time
	}
	rest.SetBodyDeadline(c, s.cfg.Now().Add(bodyGrace))
	if _, err := io.CopyN(io.Discard, body, rest.MaxBody); err != io.EOF {
		return true
	}
	rest.SetBodyDeadline(c, time.Time{})
	return false
}

// closeIfSending readies an error answer to go out at once, also while the client has not sent its body, and the connection to be closed then.
func (s *Server) closeIfSending(c echo.Context) {
	if !s.stillSending(c) {
		return
	}
	c.Response().Header().Set(echo.HeaderConnection, "close")
	rest.SetBodyDeadline(c, s.cfg.Now().Add(bodyLinger))
}
