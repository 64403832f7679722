package gateway

import (
	"encoding/json"
	"io"
	"time"
)

// Format is how the rows of an answer are written.
type Format string

// The answer formats.
const (
	FormatJSON   Format = "application/json"
	FormatNDJSON Format = "application/x-ndjson"
	FormatCSV    Format = "text/csv"
)

// Query is a statement for a SQL data source.
type Query struct {
	Text string `json:"text"`
	// Parameters are positional: strings, booleans, null and numbers (json.Number; integers go to the database as 64-bit integers,
	// other numbers as exact decimal texts). The placeholder is the database's own: $1, ?, @p1.
	Parameters []any `json:"parameters,omitempty"`
	// MaxRows ends the answer after so many rows; 0 means all.
	MaxRows int64 `json:"maxRows,omitempty"`
}

// HTTPCall is a request for a web data source.
type HTTPCall struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers,omitempty"`
	// Body is sent as it stands.
	Body string `json:"body,omitempty"`
}

// Task is one request as the service hands it to a member. It carries the sealed credentials; only a member can open them.
type Task struct {
	RequestID  string     `json:"requestId"`
	DataSource TaskSource `json:"dataSource"`
	// Exactly one of Query and HTTP is set, none for a probe.
	Query *Query    `json:"query,omitempty"`
	HTTP  *HTTPCall `json:"http,omitempty"`
	// Probe asks only whether the data source can be reached and logs in.
	Probe    bool   `json:"probe,omitempty"`
	ReadOnly bool   `json:"readOnly"`
	Format   Format `json:"format"`
	// TimeoutMillis is how long the member lets it run. It is a duration, not a point in time, so that clock skew does no harm.
	TimeoutMillis int64 `json:"timeoutMillis"`
}

// Timeout returns the time the member lets the task run.
func (t *Task) Timeout() time.Duration { return time.Duration(t.TimeoutMillis) * time.Millisecond }

// TaskSource is the data source of a task.
type TaskSource struct {
	ID                ID               `json:"id"`
	Type              DataSourceType   `json:"type"`
	ConnectionDetails string           `json:"connectionDetails"`
	Credential        StoredCredential `json:"credential"`
}

// AnswerHeader is known before the first byte of an answer.
type AnswerHeader struct {
	ContentType string
	// UpstreamStatus is the HTTP status that a web data source answered with; 0 for all others.
	UpstreamStatus int
	// PromisedLength is how many bytes follow, where a web data source said so; 0 where it did not. An answer of another length is broken.
	PromisedLength int64
}

// Summary is known after the last byte of an answer.
type Summary struct {
	Rows int64 `json:"rows"`
	// Truncated: the data source had more than MaxRows rows.
	Truncated bool `json:"truncated,omitempty"`
}

// Answer is a member's answer on its way. Body must be closed; closing it early cancels the request on the member.
// Body.Read returns io.EOF only after a complete answer; a late failure comes as an *Error instead, never as a short success.
type Answer struct {
	AnswerHeader
	Body io.ReadCloser
	// Length is the size of the whole body when it is known beforehand (small answers), else -1.
	Length int64
	// Held: the whole body is in memory already, so that reading it cannot fail.
	Held bool
	// Summary is valid once Body returned io.EOF.
	Summary func() Summary
}

// Phase says how far an attempt had come when it failed.
type Phase int

// The phases of an attempt.
const (
	// PhaseNotSent: the member certainly did not start it.
	PhaseNotSent Phase = iota
	// PhaseRefused: the member decided not to admit it.
	PhaseRefused
	// PhaseStarted: the tunnel broke when the member may have started it.
	PhaseStarted
	// PhaseAnswered: the member ran it and reports a failure; trying elsewhere is pointless.
	PhaseAnswered
)

// AttemptError is why one attempt at one member failed.
type AttemptError struct {
	Phase Phase
	Err   *Error
}

// Error returns the inner error's text.
func (e *AttemptError) Error() string { return e.Err.Error() }

// Unwrap returns the inner error.
func (e *AttemptError) Unwrap() error { return e.Err }

// MemberSettings are what the service tells a connected member of itself: in force within a second of the change.
type MemberSettings struct {
	// Limits are the member's own over the cluster's; what they leave open the member takes from its file, then the defaults.
	Limits Limits `json:"limits"`
}

// Enrolled is what a machine gets when it takes over a member: all it needs to unseal the cluster's private key by itself.
type Enrolled struct {
	ClusterID   ID         `json:"clusterId"`
	ClusterName string     `json:"clusterName"`
	MemberID    ID         `json:"memberId"`
	MemberName  string     `json:"memberName"`
	Key         ClusterKey `json:"key"`
}

// DecodeStrict decodes one JSON object into v, keeping numbers exact and refusing unknown properties and trailing text.
func DecodeStrict(r io.Reader, v any) error {
	d := json.NewDecoder(r)
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return Errorf(CodeInvalid, "There is text after the JSON object.")
	}
	return nil
}

// Output takes an answer while it is made. Begin is called exactly once, before the first Write; whatever Write takes may stay in a
// buffer until Flush, until the buffer is full, or for a tenth of a second. A Write that blocks is back pressure from the reader.
type Output interface {
	io.Writer
	Begin(h AnswerHeader) error
	Flush() error
}
