package tunnel

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"comporta/service/gateway"
)

// Why trying again is pointless. Any other error of Dial is weather: it passes.
var (
	// ErrRemoved: the service knows no such member; it was removed.
	ErrRemoved = errors.New("the member was removed from its cluster")
	// ErrKeyRefused: the member's key is not the one the service has; another machine took the member over.
	ErrKeyRefused = errors.New("the service does not accept this machine's key")
	// ErrIncompatible: service and member speak different versions of the tunnel protocol.
	ErrIncompatible = errors.New("the service and this member are of incompatible releases")
)

// RefusedError is the service's answer to a member that it does not let in. errors.Is finds ErrRemoved, ErrKeyRefused or ErrIncompatible in it.
type RefusedError struct {
	Status int
	// Err is what the service said; its RetryAfter is when trying again makes sense, 0 when the service did not say.
	Err *gateway.Error
	// Kind is one of the fatal errors above, nil when trying again may help.
	Kind error
}

// Error returns the service's words.
func (e *RefusedError) Error() string {
	if e.Kind != nil {
		return fmt.Sprintf("%v: %s", e.Kind, e.Err.Message)
	}
	return fmt.Sprintf("the service refuses the tunnel (%d %s): %s", e.Status, e.Err.Code, e.Err.Message)
}

// Unwrap returns what the service said and why it is fatal, if it is.
func (e *RefusedError) Unwrap() []error {
	if e.Kind != nil {
		return []error{e.Kind, e.Err}
	}
	return []error{e.Err}
}

// Fatal reports whether err, returned by Dial, makes trying again pointless.
func Fatal(err error) bool {
	return errors.Is(err, ErrRemoved) || errors.Is(err, ErrKeyRefused) || errors.Is(err, ErrIncompatible)
}

// Unanswered reports whether err, returned by Dial, says that nobody was there who could say no: no connection, no answer in time, one that
// broke off, or a proxy that does not reach the service either and names no time. It is over as soon as the service or the network is back.
func Unanswered(err error) bool {
	var (
		number syscall.Errno // refused, reset, no route
		name   *net.DNSError
		late   interface{ Timeout() bool }
	)
	return errors.As(err, &number) || errors.As(err, &name) || errors.As(err, &late) && late.Timeout() ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errBehindProxy)
}

// AwayError is the answer of a proxy that says for how long the service is not to be had: a no with a time, as on a maintenance page.
type AwayError struct {
	Status     string
	RetryAfter time.Duration
}

// Error says what the proxy answered.
func (e *AwayError) Error() string {
	return fmt.Sprintf("a proxy answers %s, and to try again in %v", e.Status, e.RetryAfter)
}

var errBehindProxy = errors.New("a proxy does not reach the service")

// behindProxy is an *AwayError or errBehindProxy if that is what the answer of a proxy means, nil otherwise.
func behindProxy(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusServiceUnavailable:
		if after := retryAfter(resp.Header); after > 0 {
			return &AwayError{Status: clip(resp.Status, 100), RetryAfter: after}
		}
		fallthrough
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return fmt.Errorf("%w; it answers %s", errBehindProxy, clip(resp.Status, 100))
	}
	return nil
}

// Dialer opens the tunnels of one slot of a member. It may be used again and again, by one goroutine at a time; it remembers how far the
// service's clock is from its own.
type Dialer struct {
	// Server is the service's address, http or https; a path in it stands before /tunnel.
	Server *url.URL
	// TLS may add authorities or a client certificate; nil is the system's default.
	TLS *tls.Config
	// Member and Key say who dials.
	Member gateway.ID
	Key    ed25519.PrivateKey
	// Version is the member's release, Machine its host name; both are shown to administrators.
	Version, Machine string
	// Epoch grows with every start of the process (a time in nanoseconds does); Slot, 0 to MaxSlots-1, numbers the tunnels in it.
	Epoch int64
	Slot  int
	Now   func() time.Time
	Log   *slog.Logger
	// Proxy chooses the HTTP proxy for an address; nil is http.ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)
	// Pulse is shared by the dialers of one member; a tunnel that shares none knows of no other.
	Pulse *Pulse
	// PingAfter and PingTimeout are as in Config (5 s each when 0), ReportEvery is how often a report is sent (2 s when 0).
	PingAfter, PingTimeout, ReportEvery time.Duration

	offset atomic.Int64 // nanoseconds to add to Now to get the service's time
	serial atomic.Int64
}

// Dial opens one tunnel. It returns a *RefusedError when the service said no, and other errors for everything that the network did.
// ctx bounds the dialling only.
func (d *Dialer) Dial(ctx context.Context) (*Tunnel, error) { return d.dial(ctx, false) }

// Redial opens the successor of a tunnel of this slot that is alive: the service sends new requests over the successor and lets the old
// tunnel finish its own. Otherwise it is like Dial.
func (d *Dialer) Redial(ctx context.Context) (*Tunnel, error) { return d.dial(ctx, true) }

func (d *Dialer) dial(ctx context.Context, moving bool) (*Tunnel, error) {
	t, err := d.once(ctx, moving)
	var refused *RefusedError
	if errors.As(err, &refused) && refused.Err.Code == gateway.CodeTokenExpired {
		// The Date of that answer corrected the clock, and a token that was used before is another one now; one more try shows whether that
		// was all.
		t, err = d.once(ctx, moving)
	}
	return t, err
}

// once dials and upgrades one time.
func (d *Dialer) once(ctx context.Context, moving bool) (*Tunnel, error) {
	raw, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	defer stop()
	reader := bufio.NewReader(io.LimitReader(raw, maxHeaderBytes+maxErrorBytes))
	resp, err := d.ask(raw, reader, moving)
	if err != nil {
		raw.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("no answer from %s: %w", d.Server.Host, err)
	}
	d.learn(resp.Header.Get("Date"))
	if resp.StatusCode != http.StatusSwitchingProtocols {
		defer raw.Close()
		return nil, refusal(resp)
	}
	if !stop() {
		raw.Close()
		return nil, ctx.Err()
	}
	rest, _ := io.ReadAll(io.LimitReader(reader, int64(reader.Buffered())))
	started := d.Now()
	return newTunnel(d, newConn(raw, bytes.NewReader(rest), func() time.Duration { return d.Now().Sub(started) }, d.Pulse)), nil
}

// ask sends the Upgrade and reads the answer.
func (d *Dialer) ask(raw net.Conn, reader *bufio.Reader, moving bool) (*http.Response, error) {
	u := *d.Server
	u.User, u.RawPath, u.RawQuery, u.Path = nil, "", "", strings.TrimSuffix(u.Path, "/")+Path
	req := &http.Request{Method: http.MethodGet, URL: &u, Host: u.Host, Header: http.Header{
		"Connection":    {"Upgrade"},
		"Upgrade":       {upgradeWord},
		headerProtocol:  {Protocol},
		"Authorization": {"Bearer " + d.token(moving)},
		"User-Agent":    {"comporta/" + strconv.Quote(d.Version)},
	}}
	if err := req.Write(raw); err != nil {
		return nil, err
	}
	return http.ReadResponse(reader, req)
}

// token makes a token for one use. The nonce needs to be unique, not secret: the signature is what cannot be forged.
func (d *Dialer) token(moving bool) string {
	now := d.Now().Add(time.Duration(d.offset.Load()))
	return signToken(d.Key, claims{
		Member: d.Member, Audience: tokenAudience,
		IssuedAt: now.Unix(), ExpiresAt: now.Add(tokenLifetime).Unix(),
		Nonce: fmt.Sprintf("%x.%x.%x.%x", d.Epoch, d.Slot, now.UnixNano(), d.serial.Add(1)),
		Epoch: d.Epoch, Slot: d.Slot, Moving: moving,
		Version: clip(d.Version, 100), Machine: clip(d.Machine, 300),
	})
}

// learn keeps how far the service's clock is from ours.
func (d *Dialer) learn(date string) {
	if at, err := http.ParseTime(date); err == nil {
		d.offset.Store(int64(at.Sub(d.Now())))
	}
}

// refusal reads the service's no.
func refusal(resp *http.Response) error {
	defer resp.Body.Close()
	var answer struct {
		Error struct {
			Code    gateway.Code `json:"code"`
			Message string       `json:"message"`
		} `json:"error"`
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
	if json.Unmarshal(text, &answer) != nil || answer.Error.Code == "" {
		if err := behindProxy(resp); err != nil {
			return err
		}
		return fmt.Errorf("the answer to the tunnel request is %s and not from a Comporta service; check the server address", clip(resp.Status, 100))
	}
	e := &gateway.Error{Code: answer.Error.Code, Message: clip(answer.Error.Message, maxMessageBytes), RetryAfter: retryAfter(resp.Header)}
	return &RefusedError{Status: resp.StatusCode, Err: e, Kind: map[gateway.Code]error{
		gateway.CodeNotFound:     ErrRemoved,
		gateway.CodeUnauthorized: ErrKeyRefused,
		gateway.CodeNotSupported: ErrIncompatible,
	}[e.Code]}
}

// retryAfter is the time that an answer names, an hour at most: seconds, or a date by the clock of whoever answers. 0 when it names none.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(seconds, 0), 3600)) * time.Second
	}
	at, err := http.ParseTime(text)
	now, unknown := http.ParseTime(h.Get("Date"))
	if err != nil || unknown != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), time.Hour)
}
