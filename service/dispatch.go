package service

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"time"

	"comporta/service/gateway"
	"comporta/service/routing"
)

// The time a dispatch may take. Source: contract section 7 (default), and R81 of the cases: long queries must not be cut by a hidden rule.
const (
	defaultTimeout = 300 * time.Second
	probeTimeout   = 20 * time.Second
	// memberGrace is how much longer than the member the service waits: the member cancels the query, says so and marks what it has sent.
	memberGrace = 3 * time.Second
)

// Dispatcher routes requests, hands them to members, fails over, and gives the answers back as streams.
// On its way there is no database, no global lock and no buffered answer.
type Dispatcher struct {
	*core
	access  *Access
	history *History
	queues  queues
}

// Waiting is how many requests of a cluster wait for a place now.
func (d *Dispatcher) Waiting(cluster gateway.ID) int { return d.queues.waiting(cluster) }

// Request is what a caller asks of a data source.
type Request struct {
	ClusterID, DataSourceID gateway.ID
	// Exactly one of Query and HTTP is set.
	Query    *gateway.Query
	HTTP     *gateway.HTTPCall
	ReadOnly bool
	Format   gateway.Format
	// Timeout 0 means five minutes.
	Timeout time.Duration
}

// Response is an answer on its way to the caller. Body must be closed; Read fails with an *gateway.Error where the answer breaks.
type Response struct {
	gateway.AnswerHeader
	MemberID   gateway.ID
	MemberName string
	Attempts   int
	// Length is the size of the whole body where it is known, else -1.
	Length  int64
	Body    io.ReadCloser
	Summary func() gateway.Summary
	// Context ends when the request's time is up, its caller went away or Body was closed; nil never does. Body fails from then on, and who
	// passes it on must not wait for the caller any longer.
	Context context.Context
}

// Dispatch routes the request and returns the first member's answer that began. The error is the refusal of the last resort:
// what a member answered itself (a syntax error, a time-out), or why nobody could take the request.
func (d *Dispatcher) Dispatch(ctx context.Context, caller *gateway.Caller, req Request) (*Response, error) {
	started := d.Now()
	state, err := d.directory.get(ctx, req.ClusterID)
	if err != nil {
		return nil, err
	}
	task, err := d.task(caller, state, &req)
	if err != nil {
		return nil, err
	}
	record := gateway.DispatchRecord{At: started, RequestID: caller.RequestID, CallerID: caller.ID, ClusterID: req.ClusterID, DataSourceID: req.DataSourceID}
	response, err := d.run(ctx, caller, state, task, &record)
	if err != nil {
		d.finish(&record, gateway.AsError(err).Code)
		return nil, err
	}
	return response, nil
}

// task checks the request and the caller's right to the data source.
func (d *Dispatcher) task(caller *gateway.Caller, state *gateway.ClusterState, req *Request) (*gateway.Task, error) {
	source, err := usableSource(caller, state, req.DataSourceID)
	if err != nil {
		return nil, err
	}
	if err := checkRequest(&source.DataSource, req); err != nil {
		return nil, err
	}
	timeout := req.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	if timeout < 0 || timeout > d.MaxTimeout {
		return nil, gateway.Errorf(gateway.CodeInvalid, "timeoutSeconds must be between 1 and %d.", int(d.MaxTimeout.Seconds()))
	}
	return &gateway.Task{RequestID: caller.RequestID, DataSource: taskSource(&source.DataSource), Query: req.Query, HTTP: req.HTTP,
		ReadOnly: req.ReadOnly, Format: req.Format, TimeoutMillis: timeout.Milliseconds()}, nil
}

func taskSource(d *gateway.DataSource) gateway.TaskSource {
	return gateway.TaskSource{ID: d.ID, Type: d.Type, ConnectionDetails: d.ConnectionDetails, Credential: d.Credential}
}

func usableSource(caller *gateway.Caller, state *gateway.ClusterState, id gateway.ID) (*gateway.DataSourceState, error) {
	on := Target{Cluster: state.Cluster.ID, DataSource: id}
	source := state.DataSources[id]
	if source == nil {
		return nil, hiddenError(on)
	}
	r := Rights{TenantAdmin: caller.TenantAdmin, Cluster: state.Permissions[caller.ID].Role, DataSource: source.Users[caller.ID].Role}
	switch Decide(UseDataSource, r) {
	case Allowed:
		return source, nil
	case Hidden:
		return nil, hiddenError(on)
	}
	return nil, forbiddenError(UseDataSource, on)
}

func isWeb(t gateway.DataSourceType) bool { return t == gateway.TypeWeb || t == gateway.TypeOData }

// checkRequest sees that the request fits the kind of the data source.
func checkRequest(source *gateway.DataSource, req *Request) error {
	switch {
	case (req.Query == nil) == (req.HTTP == nil):
		return gateway.Errorf(gateway.CodeInvalid, "Give either query or http.")
	case isWeb(source.Type) && req.HTTP == nil:
		return gateway.Errorf(gateway.CodeInvalid, "A %s data source takes http, not query.", source.Type)
	case !isWeb(source.Type) && req.Query == nil:
		return gateway.Errorf(gateway.CodeInvalid, "A %s data source takes query, not http.", source.Type)
	case req.Query != nil && source.Type != gateway.TypeFile && source.Type != gateway.TypeFolder && strings.TrimSpace(req.Query.Text) == "":
		return gateway.Errorf(gateway.CodeInvalid, "query.text must not be empty.")
	case req.Query != nil && req.Query.MaxRows < 0:
		return gateway.Errorf(gateway.CodeInvalid, "query.maxRows must not be negative; 0 means all rows.")
	case req.HTTP != nil:
		return checkHTTP(req)
	}
	return nil
}

func checkHTTP(req *Request) error {
	if req.HTTP.Method == "" {
		req.HTTP.Method = "GET"
	}
	req.HTTP.Method = strings.ToUpper(req.HTTP.Method)
	if _, err := url.Parse(req.HTTP.Path); err != nil {
		return gateway.Errorf(gateway.CodeInvalid, "http.path is not a path.")
	}
	if req.ReadOnly && req.HTTP.Method != "GET" && req.HTTP.Method != "HEAD" && req.HTTP.Method != "OPTIONS" {
		return gateway.Errorf(gateway.CodeReadOnly, "http.method %s may write. Send readOnly: false if that is meant.", req.HTTP.Method)
	}
	return nil
}

// run follows a plan until an answer begins. Where the cluster lets requests wait for a place, it stands in line when there is none.
func (d *Dispatcher) run(ctx context.Context, caller *gateway.Caller, state *gateway.ClusterState, task *gateway.Task, record *gateway.DispatchRecord) (*Response, error) {
	ctx, cancel := context.WithTimeout(ctx, task.Timeout()+memberGrace)
	r := &running{Dispatcher: d, caller: caller, ctx: ctx, cancel: cancel, state: state, task: task, own: task.Timeout(), record: record}
	limit := state.Cluster.QueueTimeout
	// A newcomer goes behind those who wait already.
	if limit == 0 || d.queues.waiting(state.Cluster.ID) == 0 {
		if r.try(); limit == 0 || !r.full {
			return r.result()
		}
	}
	r.queue(limit)
	return r.result()
}

// queue lets the request stand in line until its turn comes, its time there or its own is over, or its caller goes away.
func (r *running) queue(limit time.Duration) {
	served := r.queues.of(r.state.Cluster.ID).wait(r.ctx, min(limit, r.left()), func(t *ticket) bool {
		r.ticket = t
		if r.err = r.renew(); r.err != nil {
			r.full = false
			return true
		}
		r.try()
		return !r.full
	})
	if !served {
		r.err = r.refusedInLine()
	}
}

// renew asks again, after a wait, who calls, what he may do, and what the data source is: a right that was taken away meanwhile, or a password
// that was replaced, holds for who stands in line as for who comes now.
func (r *running) renew() error {
	now, err := r.directory.get(r.ctx, r.state.Cluster.ID)
	if err != nil {
		return err
	}
	caller, err := r.access.again(r.ctx, r.caller)
	if err != nil {
		return err
	}
	source, err := usableSource(caller, now, r.task.DataSource.ID)
	if err != nil {
		return err
	}
	r.state, r.task.DataSource = now, taskSource(&source.DataSource)
	return nil
}

// respond puts the answer together; its Body ends the request and writes the record.
func (r *running) respond(m *gateway.Member, a *gateway.Answer) *Response {
	body := &body{dispatcher: r.Dispatcher, ctx: r.ctx, cancel: r.cancel, inner: a.Body, answer: a, record: *r.record, readOnly: r.task.ReadOnly}
	length := a.Length
	if length < 0 && a.PromisedLength > 0 {
		length = a.PromisedLength
	}
	return &Response{AnswerHeader: a.AnswerHeader, MemberID: m.ID, MemberName: m.Name, Attempts: r.record.Attempts, Length: length, Body: body, Summary: a.Summary,
		Context: r.ctx}
}

func (d *Dispatcher) finish(record *gateway.DispatchRecord, outcome gateway.Code) {
	now := d.Now()
	record.ID, record.Duration, record.Outcome = inOrder(d.NewID(), now), now.Sub(record.At), string(outcome)
	d.history.Record(*record)
	d.queues.freed(record.ClusterID)
}

// Probe asks a member whether the data source can be reached and logs in. nil means yes.
func (d *Dispatcher) Probe(ctx context.Context, caller *gateway.Caller, cluster, dataSource gateway.ID) error {
	state, err := d.directory.get(ctx, cluster)
	if err != nil {
		return err
	}
	source, err := usableSource(caller, state, dataSource)
	if err != nil {
		return err
	}
	task := &gateway.Task{RequestID: caller.RequestID, DataSource: taskSource(&source.DataSource), Probe: true, ReadOnly: true,
		Format: gateway.FormatJSON, TimeoutMillis: probeTimeout.Milliseconds()}
	record := gateway.DispatchRecord{At: d.Now(), RequestID: caller.RequestID, CallerID: caller.ID, ClusterID: cluster, DataSourceID: dataSource}
	response, err := d.run(ctx, caller, state, task, &record)
	if err != nil {
		d.finish(&record, gateway.AsError(err).Code)
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close())
}

// Step is one member of a plan, as …/route shows it.
type Step struct {
	Member   gateway.Member
	Presence gateway.Presence
	// Position counts from 1; 0 means that the member is not in the plan.
	Position int
	Reason   routing.Reason
}

// Route answers the plan that a dispatch would follow now, with the reason for each member, and the refusal it would end in if nobody
// can take it. It sends nothing.
func (d *Dispatcher) Route(ctx context.Context, cluster gateway.ID) ([]Step, gateway.BalanceMode, *gateway.Error, error) {
	state, err := d.directory.get(ctx, cluster)
	if err != nil {
		return nil, "", nil, err
	}
	plan := d.plan(state)
	defer plan.free()
	steps := make([]Step, len(state.Members))
	for i := range state.Members {
		steps[i] = Step{Member: state.Members[i], Presence: d.Tunnels.Presence(state.Members[i].ID), Reason: plan.route.Reasons[i]}
	}
	for position, i := range plan.route.Order {
		steps[i].Position = position + 1
	}
	if len(plan.route.Order) == 0 {
		return steps, state.Cluster.Mode, plan.refusal(cluster), nil
	}
	return steps, state.Cluster.Mode, nil, nil
}
