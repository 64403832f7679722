package api

import (
	"io"
	"time"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
)

const (
	// bodyTimeout is within which time a request body must have come in whole, if it is not large.
	bodyTimeout = 30 * time.Second
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
			rest.AwaitBody(c, s.cfg.Now, s.cfg.BodyTimeout)
		}
		return next(c)
	}
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
	rest.SetBodyDeadline(c, s.cfg.Now().Add(bodyGrace))
	if _, err := io.CopyN(io.Discard, r.Body, rest.MaxBody); err != io.EOF {
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
