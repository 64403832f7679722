package tunnel

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"comporta/service/gateway"
)

// ServeHTTP lets a member in: GET /tunnel with an Upgrade and a tunnel token. It returns once the tunnel stands; the registry owns it
// from then on. Before the 101 every failure is a JSON object {"error":{"code","message"}} with a Date header, from which a member
// with a wrong clock learns the time: 400 malformed, 401 token, 404 unknown member, 409 replaced, 426 protocol, 503 try again later.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	c, err := r.admit(req)
	if err == nil {
		err = r.upgrade(w, c)
	}
	if err != nil {
		r.refuse(w, c, err)
	}
}

// visitor is who asks for a tunnel: what it says of itself, and the key that its token was verified with.
type visitor struct {
	claims
	key ed25519.PublicKey
}

// admit decides whether the member may have a tunnel.
func (r *Registry) admit(req *http.Request) (visitor, *gateway.Error) {
	if req.Method != http.MethodGet || req.ProtoMajor != 1 || !strings.EqualFold(req.Header.Get("Upgrade"), upgradeWord) {
		return visitor{}, gateway.Errorf(gateway.CodeInvalid, "A tunnel is opened with GET over HTTP/1.1 and Upgrade: %s.", upgradeWord)
	}
	if offered := req.Header.Get(headerProtocol); offered != Protocol {
		return visitor{}, gateway.Errorf(gateway.CodeNotSupported, "This service speaks tunnel protocol %s and the member speaks %q. Install the same release on both.", Protocol, clip(offered, 20))
	}
	bearer, found := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	t, ok := parseToken(bearer)
	if !found || !ok {
		return visitor{}, gateway.Errorf(gateway.CodeUnauthorized, "There is no tunnel token that could be read.")
	}
	auth, err := r.cfg.Keys.TunnelKey(req.Context(), t.Member)
	if err != nil {
		return visitor{claims: t.claims}, gateway.AsError(err)
	}
	if err := t.verify(auth.PublicKey, r.cfg.Now()); err != nil {
		return visitor{claims: t.claims}, err
	}
	return visitor{t.claims, auth.PublicKey}, r.allow(t.claims)
}

// allow applies what does not depend on who asks: replays, the rate of new tunnels, and rank.
func (r *Registry) allow(c claims) *gateway.Error {
	now := r.cfg.Now()
	fresh, room := r.nonces.use(c.Member, c.Nonce, now)
	if !room {
		return r.later(time.Minute)
	}
	if !fresh {
		// A proxy may ask a second time when it lost the answer. The member is the right one all the same, and comes with a new token on this code.
		return gateway.Errorf(gateway.CodeTokenExpired, "The tunnel token was used before.")
	}
	if wait, ok := r.bucket.take(now); !ok {
		return r.later(wait)
	}
	if m := r.find(c.Member); m != nil && m.outranked(c) {
		return gateway.Errorf(gateway.CodeConflict, "A newer process of this member holds the tunnel.")
	}
	return nil
}

func (r *Registry) later(wait time.Duration) *gateway.Error {
	e := gateway.Errorf(gateway.CodeUnavailable, "Many members are connecting. Try again in a moment.")
	e.RetryAfter = wait
	return e
}

// upgrade answers 101 and starts the tunnel. It returns an error only while an answer can still be written.
func (r *Registry) upgrade(w http.ResponseWriter, c visitor) *gateway.Error {
	if !r.start() {
		return gateway.Errorf(gateway.CodeUnavailable, "The service is stopping.")
	}
	raw, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		r.running.Done()
		return gateway.Wrap(gateway.CodeInternal, err, "The service cannot open tunnels on this address.")
	}
	rest, _ := io.ReadAll(io.LimitReader(buffered.Reader, int64(buffered.Reader.Buffered())))
	_ = raw.SetDeadline(time.Time{}) // the server's own are not for tunnels
	m := r.member(c.Member)
	connection := newConn(raw, bytes.NewReader(rest), r.clock, &m.pulse)
	go func() {
		defer r.running.Done()
		defer connection.Close()
		// A timer and not a deadline: deadlines are points in time, and the registry's clock need not be the machine's.
		watch := time.AfterFunc(r.cfg.HandshakeTimeout, func() {
			r.cfg.Log.Warn("tunnel: the member sends no report", "member", c.Member, "slot", c.Slot)
			connection.Close()
		})
		defer watch.Stop()
		_, err := fmt.Fprintf(raw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\nDate: %s\r\n%s: %s\r\n\r\n",
			upgradeWord, r.date(), headerProtocol, Protocol)
		if err != nil {
			r.cfg.Log.Debug("tunnel: the member left during the upgrade", "member", c.Member, "error", err)
			return
		}
		r.serve(m, connection, c, watch)
	}()
	return nil
}

func (r *Registry) refuse(w http.ResponseWriter, c visitor, e *gateway.Error) {
	status := map[gateway.Code]int{
		gateway.CodeInvalid:      http.StatusBadRequest,
		gateway.CodeUnauthorized: http.StatusUnauthorized,
		gateway.CodeTokenExpired: http.StatusUnauthorized,
		gateway.CodeNotFound:     http.StatusNotFound,
		gateway.CodeConflict:     http.StatusConflict,
		gateway.CodeNotSupported: http.StatusUpgradeRequired,
		gateway.CodeInternal:     http.StatusInternalServerError,
	}[e.Code]
	if status == 0 {
		status = http.StatusServiceUnavailable
	}
	level := slog.LevelInfo
	if c.Member == "" {
		level = slog.LevelDebug // a stranger, who could fill the log
	}
	r.cfg.Log.Log(context.Background(), level, "tunnel: refused", "member", c.Member, "code", e.Code, "error", e)
	h := w.Header()
	h.Set("Date", r.date())
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if status == http.StatusUpgradeRequired {
		h.Set(headerProtocol, Protocol)
	}
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": e.Code, "message": e.Message}})
}

func (r *Registry) date() string { return r.cfg.Now().UTC().Format(http.TimeFormat) }
