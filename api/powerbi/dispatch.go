package powerbi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// Headers and trailers of an answer.
const (
	headerMemberID   = "X-Gateway-Member-Id"
	headerMemberName = "X-Gateway-Member-Name"
	headerAttempts   = "X-Gateway-Attempts"
	headerUpstream   = "X-Gateway-Upstream-Status"
	trailerRows      = "X-Gateway-Rows"
	trailerTruncated = "X-Gateway-Truncated"
	trailerError     = "X-Gateway-Error"
)

// passesThrough is from what size on a write does not wait in the HTTP server's buffers (4 KiB each).
const passesThrough = 8 << 10

// DispatchRequest is a request to a data source: query for databases and files, http for web kinds.
type DispatchRequest struct {
	DatasourceID   *ID           `json:"datasourceId" required:"true" validate:"required" swaggertype:"string" format:"uuid"`
	Query          *QueryRequest `json:"query"`
	HTTP           *HTTPRequest  `json:"http"`
	TimeoutSeconds *int          `json:"timeoutSeconds" default:"300"`
	// ReadOnly runs in a read-only transaction and lets the service try another member; true when left out.
	ReadOnly *bool `json:"readOnly" default:"true"`
}

// QueryRequest is a statement. Parameters are positional, with the database's own placeholders.
type QueryRequest struct {
	Text       string `json:"text" example:"select 1"`
	Parameters []any  `json:"parameters" swaggertype:"array,string"`
	// MaxRows ends the answer after so many rows; 0 is all.
	MaxRows int64 `json:"maxRows"`
}

// HTTPRequest is a request to a web data source; path is below the registered address.
type HTTPRequest struct {
	Method  string            `json:"method" example:"GET"`
	Path    string            `json:"path" example:"/items"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

func (r *DispatchRequest) request(cluster gateway.ID, format gateway.Format) (service.Request, error) {
	q := service.Request{ClusterID: cluster, DataSourceID: r.DatasourceID.Value, ReadOnly: r.ReadOnly == nil || *r.ReadOnly, Format: format}
	if r.TimeoutSeconds != nil {
		if *r.TimeoutSeconds < 1 || *r.TimeoutSeconds > 1<<30 {
			return q, gateway.Errorf(gateway.CodeInvalid, "timeoutSeconds must be at least 1.")
		}
		q.Timeout = time.Duration(*r.TimeoutSeconds) * time.Second
	}
	if r.Query != nil {
		q.Query = &gateway.Query{Text: r.Query.Text, Parameters: r.Query.Parameters, MaxRows: r.Query.MaxRows}
	}
	if r.HTTP != nil {
		q.HTTP = &gateway.HTTPCall{Method: r.HTTP.Method, Path: r.HTTP.Path, Headers: r.HTTP.Headers, Body: r.HTTP.Body}
	}
	return q, nil
}

// Dispatch routes a request to a member and streams the answer back.
//
//	@Summary		Send a request to a data source
//	@Description	Accept chooses application/json (columns with types, then rows), application/x-ndjson (an object per row) or text/csv. X-Gateway-Member-Id, -Member-Name and -Attempts say who served it. An answer that breaks after its first byte is left unfinished and carries the trailer X-Gateway-Error, or is cut short of its Content-Length. Web kinds answer with the status and body of the web server.
//	@Tags			dispatch
//	@Accept			json
//	@Produce		json,application/x-ndjson,text/csv
//	@Security		oauth2
//	@Param			cluster	path		string			true	"cluster id"	Format(uuid)
//	@Param			body	body		DispatchRequest	true	"the request"
//	@Success		200		{object}	object
//	@Failure		400,401,403,404,406,408,413,429,502,503,504	{object}	ErrorResponse
//	@Router			/v2.0/myorg/gatewayClusters/{cluster}/dispatch [post]
func (h *Handlers) Dispatch(c echo.Context) error {
	format, err := formatOf(strings.Join(c.Request().Header.Values("Accept"), ","))
	if err != nil {
		return err
	}
	var r DispatchRequest
	if err := rest.Decode(c, &r); err != nil {
		return err
	}
	id, err := rest.ID(c, rest.ParamCluster)
	if err != nil {
		return err
	}
	q, err := r.request(id, format)
	if err != nil {
		return err
	}
	response, err := h.Service.Dispatcher.Dispatch(c.Request().Context(), rest.Caller(c), q)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return stream(c, response, h.Now)
}

// lastBytes is how long the end of an answer over HTTP/2 may take to be read: what is still in buffers goes out when the handler has returned.
const lastBytes = time.Minute

// stream passes the answer on as it comes.
func stream(c echo.Context, r *service.Response, now func() time.Time) error {
	w := c.Response()
	header(w.Header(), r)
	status := http.StatusOK
	if r.UpstreamStatus != 0 {
		status = r.UpstreamStatus
		w.Header().Set(headerUpstream, strconv.Itoa(status))
	}
	if r.Length < 0 {
		w.Header().Set("Trailer", trailerRows+", "+trailerTruncated+", "+trailerError)
	}
	w.WriteHeader(status)
	var err error
	if isShort(r) {
		boundEnd(c, r, now)
		err = copyBody(w, r)
	} else {
		err = copyInTime(w, r, now)
		boundEnd(c, r, now)
	}
	if err == nil {
		if r.Length < 0 {
			s := r.Summary()
			w.Header().Set(trailerRows, strconv.FormatInt(s.Rows, 10))
			w.Header().Set(trailerTruncated, strconv.FormatBool(s.Truncated))
		}
		return nil
	}
	return breakOff(w, r, err)
}

// Header values that every answer has. Nobody changes a slice that stands in a header.
var noStore, noSniff, once = []string{"no-store"}, []string{"nosniff"}, []string{"1"}

func header(h http.Header, r *service.Response) {
	h["Content-Type"] = []string{r.ContentType}
	h[headerMemberID] = []string{r.MemberID.String()}
	h[headerMemberName] = []string{url.PathEscape(r.MemberName)}
	h[headerAttempts] = once
	if r.Attempts != 1 {
		h[headerAttempts] = []string{strconv.Itoa(r.Attempts)}
	}
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
	if r.Length >= 0 {
		h["Content-Length"] = []string{strconv.FormatInt(r.Length, 10)}
	}
}

// lastWords is how long a caller may take what is on its way to him when the request's time is up.
const lastWords = time.Second

// isShort holds for an answer that waits for its caller in buffers only.
func isShort(r *service.Response) bool { return r.Length >= 0 && r.Length <= passesThrough }

// boundEnd bounds what of an answer over HTTP/2 goes out when its handler has returned; of a short one that is all.
func boundEnd(c echo.Context, r *service.Response, now func() time.Time) {
	if c.Request().ProtoMajor != 2 {
		return
	}
	until := now().Add(lastBytes)
	if r.Context != nil && isShort(r) {
		if end, ok := r.Context.Deadline(); ok && end.Before(until) {
			until = end
		}
	}
	rest.BoundAnswer(c, until)
}

// copyInTime is copyBody for a caller that may stand still: soon after the request's time is up, a write that waits for him fails. Not at once,
// because a caller who reads is not to blame when the rest of his answer does not come: after a write that failed, the farewell of TLS would be
// garbage to him, and he would hear of a bad record and not of an answer that broke off.
func copyInTime(w *echo.Response, r *service.Response, now func() time.Time) (err error) {
	if r.Context == nil {
		return copyBody(w, r)
	}
	over := make(chan struct{})
	stop := context.AfterFunc(r.Context, func() {
		defer close(over)
		_ = http.NewResponseController(w).SetWriteDeadline(now().Add(lastWords))
	})
	defer func() {
		if !stop() {
			<-over // w must not be touched when the handler has returned
			err = gateway.Wrap(gateway.CodeClientGone, r.Context.Err(), "The caller did not take the answer in time.")
		}
	}()
	if err = copyBody(w, r); err == nil {
		w.Flush() // what is left waits for the caller here, not where nothing ends it
	}
	return err
}

// copyBody copies with one buffer and hands everything on at once: what is large goes by itself, what is small is pushed, unless it
// completes the answer, whose end follows at once.
func copyBody(w *echo.Response, r *service.Response) error {
	buffer := gateway.TakeBuffer()
	defer buffer.Release()
	for {
		part, err := buffer.Read(r.Body)
		if len(part) > 0 {
			if _, e := w.Write(part); e != nil {
				return gateway.Wrap(gateway.CodeClientGone, e, "The caller went away.")
			}
			if len(part) < passesThrough && err == nil && w.Size != r.Length {
				w.Flush()
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// breakOff ends an answer visibly broken (docs/adr/0003). Where the member told the error it has marked the document too, and a trailer
// carries the reason. Where it did not, or the length was promised, the connection is cut. An error that the member told has crossed the
// tunnel as words, so it has no cause here; one with a cause arose on this side: the tunnel broke, or the time ran out on a member or
// caller that stands still.
func breakOff(w *echo.Response, r *service.Response, err error) error {
	var e *gateway.Error
	if !errors.As(err, &e) || e.Cause != nil || e.Code == gateway.CodeClientGone || e.Code == gateway.CodeBroken || r.Length >= 0 {
		panic(http.ErrAbortHandler)
	}
	message := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, e.Message)
	w.Header().Set(trailerError, string(e.Code)+": "+message)
	return nil
}

// formatOf picks the answer's format from an Accept header: the one with the highest q; JSON when any will do.
func formatOf(accept string) (gateway.Format, error) {
	best, bestQ := gateway.FormatJSON, -1.0
	if strings.TrimSpace(accept) == "" {
		return best, nil
	}
	for _, part := range strings.Split(accept, ",") {
		name, parameters, _ := strings.Cut(part, ";")
		q := quality(parameters)
		format, ok := formats[strings.ToLower(strings.TrimSpace(name))]
		if ok && q > bestQ && q > 0 {
			best, bestQ = format, q
		}
	}
	if bestQ < 0 {
		return "", gateway.Errorf(rest.CodeNotAcceptable, "The answer comes as application/json, application/x-ndjson or text/csv.")
	}
	return best, nil
}

var formats = map[string]gateway.Format{
	"*/*": gateway.FormatJSON, "application/*": gateway.FormatJSON, "application/json": gateway.FormatJSON,
	"application/x-ndjson": gateway.FormatNDJSON, "application/ndjson": gateway.FormatNDJSON, "application/jsonl": gateway.FormatNDJSON,
	"text/csv": gateway.FormatCSV, "text/*": gateway.FormatCSV,
}

func quality(parameters string) float64 {
	for _, p := range strings.Split(parameters, ";") {
		if name, value, ok := strings.Cut(strings.TrimSpace(p), "="); ok && strings.EqualFold(name, "q") {
			if q, err := strconv.ParseFloat(value, 64); err == nil {
				return q
			}
		}
	}
	return 1
}

// RouteRequest names the data source that a dispatch would go to; it may be left out.
type RouteRequest struct {
	DatasourceID *ID `json:"datasourceId" swaggertype:"string" format:"uuid"`
}

// RoutePlan is the plan that a dispatch would follow now.
type RoutePlan struct {
	ClusterID     gateway.ID `json:"clusterId"`
	LoadBalancing string     `json:"loadBalancingSelectorType"`
	// Available says whether any member would take the request.
	Available bool        `json:"available"`
	ErrorCode string      `json:"errorCode,omitempty"`
	Message   string      `json:"message,omitempty"`
	Waiting   int         `json:"waitingRequests"`
	Members   []RouteStep `json:"members"`
}

// RouteStep is one member of the plan.
type RouteStep struct {
	MemberGatewayID gateway.ID `json:"memberGatewayId"`
	GatewayName     string     `json:"gatewayName"`
	// Position counts from 1; 0 means that the member is not in the plan.
	Position        int    `json:"position"`
	Reason          string `json:"reason" enums:"available,disabled,draining,offline,cpu,memory,concurrency"`
	Message         string `json:"message"`
	RunningRequests int    `json:"runningRequests"`
	Load            Load   `json:"load"`
}

// Route answers the plan and sends nothing.
//
//	@Summary		Show the plan that a dispatch would follow now
//	@Description	Every member with the reason why it is in the plan or not. Sends nothing. The body may be empty.
//	@Tags			dispatch
//	@Accept			json
//	@Produce		json
//	@Security		oauth2
//	@Param			cluster	path		string			true	"cluster id"	Format(uuid)
//	@Param			body	body		RouteRequest	false	"the data source"
//	@Success		200		{object}	RoutePlan
//	@Failure		400,401,404,408,413	{object}	ErrorResponse
//	@Router			/v2.0/myorg/gatewayClusters/{cluster}/route [post]
func (h *Handlers) Route(c echo.Context) error {
	var r RouteRequest
	// Only reading tells whether a body in chunks is empty.
	body, err := rest.ReadBody(c, rest.MaxBody)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(body)) > 0 {
		if err := rest.Unmarshal(body, &r, "query", "http", "timeoutSeconds", "readOnly"); err != nil {
			return err
		}
	}
	id, err := rest.ID(c, rest.ParamCluster)
	if err != nil {
		return err
	}
	if r.DatasourceID != nil {
		on := service.Target{Cluster: id, DataSource: r.DatasourceID.Value}
		if err := h.Service.Access.Check(c.Request().Context(), rest.Caller(c), service.UseDataSource, on); err != nil {
			return err
		}
	}
	steps, mode, refusal, err := h.Service.Dispatcher.Route(c.Request().Context(), id)
	if err != nil {
		return err
	}
	plan := RoutePlan{ClusterID: id, LoadBalancing: modeWord(mode), Available: refusal == nil, Waiting: h.Service.Dispatcher.Waiting(id), Members: make([]RouteStep, len(steps))}
	if refusal != nil {
		plan.ErrorCode, plan.Message = string(refusal.Code), refusal.Message
	}
	for i, s := range steps {
		plan.Members[i] = RouteStep{MemberGatewayID: s.Member.ID, GatewayName: s.Member.Name, Position: s.Position, Reason: s.Reason.String(), Message: s.Reason.Text(),
			RunningRequests: s.Presence.InFlight, Load: Load{percent(s.Presence.Load.CPU), percent(s.Presence.Load.Memory)}}
	}
	return c.JSON(http.StatusOK, plan)
}
