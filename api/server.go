package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// Config is what the HTTP server is made of.
type Config struct {
	Service *service.Service
	// Tunnel answers GET /tunnel, where members dial in.
	Tunnel http.Handler
	// PublicURL is the address that clients use, without a slash at the end. PublicURLGiven says that the operator named it: links lead there
	// then, and else to the address that the client used, which a proxy in between may know better than the service.
	PublicURL      string
	PublicURLGiven bool
	// Ready answers /readyz; nil means always ready.
	Ready func(context.Context) error
	Log   *slog.Logger
	NewID func() gateway.ID
	Now   func() time.Time
	// RatePerSecond bounds each caller's requests; 0 does not. Bursts of twice as many pass.
	RatePerSecond float64
	// BodyTimeout is within which time a request body must have come in whole, and a second more for each 8 KiB of it; 0 means 30 seconds.
	BodyTimeout time.Duration
	// AnswerTimeout is how long a request over HTTP/2 may take until its answer was read; 0 means 5 minutes. A dispatch has its own.
	AnswerTimeout time.Duration
	// Version is shown in the description.
	Version string
}

// Server answers HTTP.
type Server struct {
	cfg    Config
	echo   *echo.Echo
	routes []rest.Route
	rates  *rates
}

// New puts the server together.
func New(cfg Config) *Server {
	if cfg.BodyTimeout == 0 {
		cfg.BodyTimeout = bodyTimeout
	}
	if cfg.AnswerTimeout == 0 {
		cfg.AnswerTimeout = answerTimeout
	}
	s := &Server{cfg: cfg, echo: echo.New(), rates: newRates(cfg.RatePerSecond)}
	e := s.echo
	e.HideBanner, e.HidePort = true, true
	e.IPExtractor = echo.ExtractIPDirect()
	e.HTTPErrorHandler = s.fail
	// The order: every answer has a request id; paths have one form before they are routed; a panic is an answer like any other; what is
	// logged is what was answered. Authentication and permission come per route, from the table.
	e.Pre(s.requestID, s.boundAnswer, s.awaitBody, s.accessLog, s.recoverPanic, normalise)
	s.routes = s.table()
	for _, r := range s.routes {
		e.Add(r.Method, echoPath(r.Path), s.guarded(r))
	}
	return s
}

// Handler is the whole server.
func (s *Server) Handler() http.Handler { return s.echo }

// Routes is the route table, for tests and for the description.
func (s *Server) Routes() []rest.Route { return s.routes }

// Registered lists method and path of what the router really has, for the test that nothing stands outside the table.
func (s *Server) Registered() []string {
	var list []string
	for _, r := range s.echo.Routes() {
		segments := strings.Split(r.Path, "/")
		for i, segment := range segments {
			if name, ok := strings.CutPrefix(segment, ":"); ok {
				segments[i] = "{" + name + "}"
			}
		}
		list = append(list, r.Method+" "+strings.Join(segments, "/"))
	}
	return list
}

// fail turns every error into the answer of the surface that was asked. An answer that has begun cannot become an error; it is cut, so
// that it is never taken for a whole one.
func (s *Server) fail(err error, c echo.Context) {
	if c.Response().Committed {
		s.cfg.Log.Warn("an answer broke after it had begun", "request", rest.RequestID(c), "error", err)
		panic(http.ErrAbortHandler)
	}
	e := s.asError(c, err)
	style, _ := c.Get(styleKey).(rest.Style)
	if style == nil {
		style = styleOf(c.Request().URL.Path)
	}
	rest.CommonHeaders(c, e)
	// What the caller is not told, the operator must be: a full disk, a database that is gone.
	if rest.Status(e.Code) == http.StatusInternalServerError || e.Code == gateway.CodeUnavailable {
		level := slog.LevelError
		if c.Request().Context().Err() != nil { // whoever asked hung up, and that is why it failed
			level = slog.LevelDebug
		}
		s.cfg.Log.Log(c.Request().Context(), level, "request failed inside", "request", rest.RequestID(c), "error", e)
	}
	rest.BoundAnswer(c, s.cfg.Now().Add(s.cfg.AnswerTimeout))
	s.closeIfSending(c)
	if err := style.Error(c, e); err != nil {
		s.cfg.Log.Debug("the error answer could not be sent", "request", rest.RequestID(c), "error", err)
	}
}

// asError knows echo's own errors: no such path, no such method.
func (s *Server) asError(c echo.Context, err error) *gateway.Error {
	var h *echo.HTTPError
	if !errors.As(err, &h) {
		return gateway.AsError(err)
	}
	switch h.Code {
	case http.StatusNotFound:
		return gateway.Errorf(rest.CodeEndpointNotFound, "There is nothing at this path. The description at /openapi.json lists what there is.")
	case http.StatusMethodNotAllowed:
		return gateway.Errorf(rest.CodeMethodNotAllowed, "%s is not a method of this path.", c.Request().Method)
	}
	return gateway.AsError(err)
}
