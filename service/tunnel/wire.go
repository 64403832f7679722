package tunnel

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"comporta/service/gateway"
)

// Protocol is the version of the tunnel protocol that this build speaks. Members offer theirs when they dial; a service that does not
// speak it refuses the member with words.
const Protocol = "1"

// Path is where members dial: GET with an Upgrade to comporta-tunnel.
const Path = "/tunnel"

const (
	upgradeWord    = "comporta-tunnel"
	headerProtocol = "Comporta-Tunnel-Protocol"

	taskPath    = "/task"
	controlPath = "/control"
	taskURL     = "http://member" + taskPath
	controlURL  = "http://member" + controlPath

	headerRequest  = "Comporta-Request"
	headerReadOnly = "Comporta-Read-Only"
	headerRefused  = "Comporta-Refused"
	headerUpstream = "Comporta-Upstream-Status"
	headerSummary  = "Comporta-Summary"
	// headerLength is the length of a streamed answer where it is known. It is not Content-Length, with which net/http would keep the
	// outcome of a shorter answer from us.
	headerLength   = "Comporta-Length"
	trailerOutcome = "Comporta-Outcome"
	outcomeOK      = "ok"
)

// Bounds on what one side takes from the other. A peer that exceeds one is cut off, never trusted to stop by itself.
const (
	maxTaskBytes    = 8 << 20
	maxHeaderBytes  = 64 << 10
	maxErrorBytes   = 64 << 10
	maxReportBytes  = 16 << 10
	maxCommandBytes = 64 << 10
	maxInformation  = 16 // 1xx answers to one request
	maxMessageBytes = 4 << 10
	maxDetailBytes  = 1 << 10
	maxDetails      = 16
	maxOutcomeBytes = 32 << 10 // an error as base64 in a trailer
	maxTypeBytes    = 256      // a content type
)

// streamWindow is how much of one answer may wait in the service for its reader; frameSize is the largest frame that either side reads.
const (
	streamWindow = 1 << 20
	frameSize    = 256 << 10
)

// wireError is a gateway.Error on its way from a member. Its cause stays behind.
type wireError struct {
	Code             gateway.Code     `json:"code"`
	Message          string           `json:"message"`
	Details          []gateway.Detail `json:"details,omitempty"`
	Resource         gateway.ID       `json:"resource,omitempty"`
	RetryAfterMillis int64            `json:"retryAfterMillis,omitempty"`
	Elsewhere        bool             `json:"elsewhere,omitempty"`
}

// command is one line from the service to a member. One without a field is a sign of life; a member ignores lines that it does not know.
type command struct {
	Settings             *gateway.MemberSettings `json:"settings,omitempty"`
	ReconnectAfterMillis *int64                  `json:"reconnectAfterMillis,omitempty"`
}

// reportLine is one line from a member to the service.
type reportLine struct {
	Report
	// Closing: the member wants this tunnel to end. The service sends nothing more over it and says so by ending its half of the
	// control stream; only then does the member close, so that no request falls between the two.
	Closing bool `json:"closing,omitempty"`
}

// ownCodes speak of the caller's session with the service. A member that used one could make a caller log in again, so it may not.
var ownCodes = map[gateway.Code]bool{
	gateway.CodeUnauthorized: true, gateway.CodeTokenExpired: true, gateway.CodeInvalidClient: true,
}

// encodeError writes err as JSON of at most maxErrorBytes. Details go first when it is too long.
func encodeError(err *gateway.Error) []byte {
	w := wireError{Code: err.Code, Message: clip(err.Message, maxMessageBytes), Resource: err.Resource, RetryAfterMillis: err.RetryAfter.Milliseconds(), Elsewhere: err.Elsewhere}
	for _, d := range err.Details[:min(len(err.Details), maxDetails)] {
		w.Details = append(w.Details, gateway.Detail{Code: clip(d.Code, 128), Message: clip(d.Message, maxDetailBytes), ResourceID: d.ResourceID})
	}
	text, _ := json.Marshal(w) // cannot fail: strings and numbers only
	if base64.StdEncoding.EncodedLen(len(text)) > maxOutcomeBytes {
		w.Details, w.Message = nil, clip(w.Message, maxDetailBytes)
		text, _ = json.Marshal(w)
	}
	return text
}

// decodeError reads what encodeError wrote. Anything else, and a code that a member may not use, is an error.
func decodeError(text []byte) (*gateway.Error, error) {
	var w wireError
	if err := json.Unmarshal(text, &w); err != nil {
		return nil, err
	}
	if !validCode(string(w.Code)) || ownCodes[w.Code] {
		return nil, errors.New("the error code is not one that members use")
	}
	retry := min(max(w.RetryAfterMillis, 0), int64(time.Hour/time.Millisecond))
	e := &gateway.Error{Code: w.Code, Message: clip(w.Message, maxMessageBytes), RetryAfter: time.Duration(retry) * time.Millisecond, Elsewhere: w.Elsewhere}
	if id, ok := gateway.ParseID(string(w.Resource)); ok {
		e.Resource = id
	}
	for _, d := range w.Details[:min(len(w.Details), maxDetails)] {
		id, _ := gateway.ParseID(string(d.ResourceID))
		e.Details = append(e.Details, gateway.Detail{Code: clip(d.Code, 128), Message: clip(d.Message, maxDetailBytes), ResourceID: id})
	}
	return e, nil
}

// readError reads an error answer of at most maxErrorBytes.
func readError(r io.Reader) (*gateway.Error, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxErrorBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxErrorBytes {
		return nil, errors.New("the error is too long")
	}
	return decodeError(text)
}

func encodeOutcome(err *gateway.Error) string {
	return base64.StdEncoding.EncodeToString(encodeError(err))
}

func decodeOutcome(text string) (*gateway.Error, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	return decodeError(raw)
}

// encodeSummary writes "rows", with a "+" behind it when there were more.
func encodeSummary(s gateway.Summary) string {
	text := strconv.FormatInt(s.Rows, 10)
	if s.Truncated {
		text += "+"
	}
	return text
}

func decodeSummary(text string) (gateway.Summary, error) {
	var s gateway.Summary
	if n := len(text); n > 0 && text[n-1] == '+' {
		s.Truncated, text = true, text[:n-1]
	}
	rows, err := strconv.ParseUint(text, 10, 63)
	s.Rows = int64(rows)
	return s, err
}

// validCode keeps a code fit for headers, logs and metrics.
func validCode(code string) bool {
	if code == "" || len(code) > 100 {
		return false
	}
	for _, c := range []byte(code) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// clip cuts text to at most n bytes, at the border of a character.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
