package api

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

const styleKey = "comporta.style"

// answerTimeout bounds an answer to a caller over HTTP/2 who leaves its window shut: his connection is well, so nothing else would notice.
const answerTimeout = 5 * time.Minute

// streamTimeout is longer than any dispatch may take. It is a time, not none: one that is set when there was none may come after the end of its
// stream, and would hold it.
const streamTimeout = 24 * time.Hour

// requestID gives the request an id of ours, which the answer, the log and the audit log carry.
func (s *Server) requestID(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set("RequestId", s.cfg.NewID().String())
		return next(c)
	}
}

// boundAnswer bounds what follows, whatever that is: a stranger needs no route to hold an answer.
func (s *Server) boundAnswer(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		rest.BoundAnswer(c, s.cfg.Now().Add(s.cfg.AnswerTimeout))
		return next(c)
	}
}

// accessLog writes one line per request: no query string, no header, no body. aborted says that the connection was cut on purpose.
func (s *Server) accessLog(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !s.cfg.Log.Enabled(c.Request().Context(), slog.LevelInfo) {
			if err := next(c); err != nil {
				c.Error(err)
			}
			return nil
		}
		started, path, aborted := s.cfg.Now(), c.Request().URL.Path, true
		defer func() {
			s.cfg.Log.LogAttrs(c.Request().Context(), slog.LevelInfo, "request", slog.String("method", c.Request().Method), slog.String("path", path),
				slog.Int("status", c.Response().Status), slog.Int64("bytes", c.Response().Size), slog.Bool("aborted", aborted),
				slog.Duration("duration", s.cfg.Now().Sub(started)), slog.String("request", rest.RequestID(c)),
				slog.String("caller", rest.Caller(c).ID.String()), slog.String("from", c.RealIP()))
		}()
		if err := next(c); err != nil {
			c.Error(err)
		}
		aborted = false
		return nil
	}
}

// recoverPanic makes a panic a 500 that says nothing of the inside. http.ErrAbortHandler cuts the connection on purpose and goes on.
func (s *Server) recoverPanic(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			s.cfg.Log.Error("panic", "request", rest.RequestID(c), "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			err = gateway.AsError(fmt.Errorf("panic: %v", v))
		}()
		return next(c)
	}
}

// guarded puts what the table says of a route before its handler.
func (s *Server) guarded(r rest.Route) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Set(styleKey, r.Style)
		if r.Public {
			if err := checkQuery(c); err != nil {
				return err
			}
			return r.Handler(c)
		}
		caller, err := s.caller(c)
		if err != nil {
			return err
		}
		began := s.cfg.Now()
		rest.SetCaller(c, caller, func() error { return s.permitAgain(c, r.Action, caller, began) })
		if err := s.rates.take(caller.ID, began); err != nil {
			return err
		}
		if err := s.permit(c, r.Action, caller); err != nil {
			return err
		}
		if err := checkQuery(c); err != nil {
			return err
		}
		if r.Streams {
			rest.BoundAnswer(c, s.cfg.Now().Add(streamTimeout)) // it has a limit of its own
		}
		return r.Handler(c)
	}
}

// checkQuery refuses a query that cannot be read. Its readers pass over the parts that they cannot read, and would answer another question.
func checkQuery(c echo.Context) error {
	text := c.Request().URL.RawQuery
	if text == "" {
		return nil
	}
	if _, err := url.ParseQuery(text); err != nil {
		return gateway.Errorf(gateway.CodeInvalid, "The query (what follows ? in the address) cannot be read: %v. Separate parameters with & and escape what is special as %%XX.", err)
	}
	return nil
}

// caller reads the bearer token.
func (s *Server) caller(c echo.Context) (*gateway.Caller, error) {
	header := c.Request().Header.Get("Authorization")
	scheme, token, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return nil, gateway.Errorf(gateway.CodeUnauthorized, "This takes an access token: get one at /oauth2/v2.0/token and send it as Authorization: Bearer.")
	}
	caller, err := s.cfg.Service.Access.Authenticate(c.Request().Context(), strings.TrimSpace(token))
	if err != nil {
		return nil, err
	}
	caller.RequestID, caller.From = rest.RequestID(c), c.RealIP()
	return &caller, nil
}

// lateBody is from when on what was permitted before a body came in is asked again. What was taken away a moment ago is taken from the
// requests that come after it; one whose body is sent a byte at a time must not outlive it.
const lateBody = 100 * time.Millisecond

// permitAgain asks once more who calls and whether he may, when the body came in late.
func (s *Server) permitAgain(c echo.Context, action service.Action, caller *gateway.Caller, began time.Time) error {
	if s.cfg.Now().Sub(began) < lateBody {
		return nil
	}
	now, err := s.caller(c)
	if err != nil {
		return err
	}
	*caller = *now
	return s.permit(c, action, caller)
}

// permit asks the one predicate about the entities that the path names.
func (s *Server) permit(c echo.Context, action service.Action, caller *gateway.Caller) error {
	if c.Param(rest.ParamConnection) != "" {
		return s.permitConnection(c, action, caller)
	}
	var on service.Target
	var err error
	if c.Param(rest.ParamCluster) != "" {
		if on.Cluster, err = rest.ID(c, rest.ParamCluster); err != nil {
			return err
		}
	}
	if c.Param(rest.ParamDataSource) != "" {
		if on.DataSource, err = rest.ID(c, rest.ParamDataSource); err != nil {
			return err
		}
	}
	return s.cfg.Service.Access.Check(c.Request().Context(), caller, action, on)
}

// permitConnection asks about a connection. Its path does not name its cluster, which is found on the way and kept for the handler.
func (s *Server) permitConnection(c echo.Context, action service.Action, caller *gateway.Caller) error {
	id, err := rest.ID(c, rest.ParamConnection)
	if err != nil {
		return err
	}
	cluster, err := s.cfg.Service.Access.CheckDataSource(c.Request().Context(), caller, action, id)
	rest.SetConnectionCluster(c, cluster)
	return err
}
