package tunnel

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"comporta/service/gateway"
)

// minReportGap is the least time between two reports that are applied, so that a member that floods costs little.
const minReportGap = 100 * time.Millisecond

// link is the service's end of one tunnel.
type link struct {
	claims claims
	// key is what the tunnel's token was verified with.
	key    ed25519.PublicKey
	member *member
	reg    *Registry
	conn   *conn
	// uploads knows how much of what was sent the member has taken.
	uploads *uploads
	client  *http.ClientConn
	// lane is the fast lane, nil when there is none (yet); laneKnown is closed when it is known whether there will be one.
	lane      atomic.Pointer[lane]
	laneKnown chan struct{}
	// suspect is the clock's reading when the tunnel last let a request wait for its admission in vain, or was silent while a sibling did; 0 if
	// it never did.
	suspect atomic.Int64
	// doubted is the clock's reading when the tunnel last came into doubt.
	doubted atomic.Int64

	// ready (the first report came), report and reportAt belong to member.mu.
	ready    bool
	report   Report
	reportAt time.Time
	// early is the newest report that came too soon after the one before, nil when there is none; catchUp applies it when timer, which is set
	// then, fires. They belong to member.mu too.
	early *Report
	timer *time.Timer
	// late counts the timer and what it runs.
	late sync.WaitGroup

	mu      sync.Mutex
	streams int  // requests running over it
	retired bool // takes no more requests and closes after the last one
	// settings and advice are what the member is still to be told; told is signalled when there is something.
	settings *gateway.MemberSettings
	advice   *int64
	told     chan struct{}
}

// serve runs one tunnel from the 101 to its end. watch closes the connection unless it is moved on by reports.
func (r *Registry) serve(m *member, c *conn, who visitor, watch *time.Timer) {
	u := newUploads(c)
	client, err := newClient(u, r.cfg)
	if err != nil {
		r.cfg.Log.Debug("tunnel: no HTTP/2", "member", who.Member, "error", err)
		return
	}
	l := &link{claims: who.claims, key: who.key, member: m, reg: r, conn: c, uploads: u, client: client, told: make(chan struct{}, 1), laneKnown: make(chan struct{})}
	m.add(l)
	var lanes sync.WaitGroup
	lanes.Go(func() { c.watch(r.cfg.PingAfter+r.cfg.PingTimeout, l.silent) })
	if l.recheck() {
		lanes.Go(l.runLane)
		l.control(watch)
	}
	<-c.done
	_ = client.Close()
	lanes.Wait()
	m.update(func() {
		m.links = slices.DeleteFunc(m.links, func(x *link) bool { return x == l })
		if l.timer != nil && l.timer.Stop() {
			l.late.Done()
		}
	})
	l.late.Wait()
	r.cfg.Log.Info("tunnel: closed", "member", who.Member, "slot", who.Slot)
}

// silent notes why the tunnel ends.
func (l *link) silent(what string) {
	l.reg.cfg.Log.Warn("tunnel: the line is dead: "+what, "member", l.claims.Member, "slot", l.claims.Slot)
}

// newClient makes the HTTP/2 client of one connection. The body of a request that expects 100-continue is never sent by a timer: the
// time-out for it is a year. Connection window: the standard library's.
func newClient(c net.Conn, cfg Config) (*http.ClientConn, error) {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	t := &http.Transport{
		Protocols:              &protocols,
		DialContext:            func(context.Context, string, string) (net.Conn, error) { return c, nil },
		DisableCompression:     true,
		ExpectContinueTimeout:  365 * 24 * time.Hour,
		MaxResponseHeaderBytes: maxHeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxReadFrameSize:          frameSize,
			MaxReceiveBufferPerStream: streamWindow,
			SendPingTimeout:           cfg.PingAfter,
			PingTimeout:               pingPatience,
		},
	}
	return t.NewClientConn(context.Background(), "http", "member:80")
}

// recheck asks for the member once more, now that the tunnel can be found by Configure and Disconnect: what changed between the first
// look and this moment would be missed otherwise.
func (l *link) recheck() bool {
	ctx, cancel := context.WithTimeout(context.Background(), l.reg.cfg.HandshakeTimeout)
	defer cancel()
	auth, err := l.reg.cfg.Keys.TunnelKey(ctx, l.claims.Member)
	if err != nil || !l.key.Equal(auth.PublicKey) || l.reg.find(l.claims.Member) != l.member || l.reg.isClosed() {
		l.close("the member was removed or taken over, or the service stops")
		return false
	}
	l.mu.Lock()
	if l.settings == nil {
		l.settings = &auth.Settings
	}
	l.mu.Unlock()
	l.wake()
	return true
}

// control runs the control stream: commands one way, reports the other. When the member ends it in order, the tunnel finishes its
// requests and takes no more; when it breaks, the tunnel is closed.
func (l *link) control(watch *time.Timer) {
	out, in := io.Pipe()
	defer out.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	quiet := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() { l.command(quiet, in) })
	resp, err := l.client.RoundTrip(newRequest(ctx, controlURL, out))
	if err == nil {
		defer resp.Body.Close()
		err = l.listen(resp, watch)
	}
	if err != nil || !l.isReady() {
		l.reg.cfg.Log.Debug("tunnel: control stream ended", "member", l.claims.Member, "slot", l.claims.Slot, "error", err)
		l.close("the control stream broke")
	} else {
		watch.Stop() // from here on the requests' own time-outs bound the tunnel
		l.retire()
		l.member.update(func() {})
	}
	close(quiet) // ends our half of the stream
	<-l.conn.done
	out.Close()
	writer.Wait()
}

// listen reads reports until the member ends them (nil) or something breaks.
func (l *link) listen(resp *http.Response, watch *time.Timer) error {
	if resp.StatusCode != http.StatusOK {
		return errors.New("the member refuses the control stream")
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 0, 1024), maxReportBytes)
	for lines.Scan() {
		var report reportLine
		if err := json.Unmarshal(lines.Bytes(), &report); err != nil { // unknown properties pass: a newer member may say more
			return err
		}
		watch.Reset(l.reg.cfg.ReportTimeout)
		l.take(tidy(report.Report))
		if report.Closing {
			return nil
		}
	}
	return lines.Err()
}

// take applies a report. The first one makes the tunnel usable.
func (l *link) take(report Report) {
	now := l.reg.cfg.Now()
	l.member.mu.Lock()
	first := !l.ready
	put := !first && l.putOff(report, now)
	l.member.mu.Unlock()
	if put {
		return
	}
	set := func() { l.report, l.reportAt = report, now }
	if !first {
		l.member.update(set)
		return
	}
	select {
	case <-l.laneKnown: // so that the first request finds the lane
	case <-l.conn.done:
	}
	l.member.mu.Lock()
	set()
	l.member.mu.Unlock()
	if !l.member.succeed(l) {
		return
	}
	l.reg.cfg.Log.Info("tunnel: open", "member", l.claims.Member, "slot", l.claims.Slot, "version", l.claims.Version)
}

// putOff keeps a report that comes too soon after the one before, for catchUp. That the member drains cannot wait: requests would still be sent
// to it. The member's lock is held.
func (l *link) putOff(report Report, now time.Time) bool {
	gap := now.Sub(l.reportAt)
	if gap < 0 || gap >= minReportGap || report.Draining && !l.report.Draining {
		l.early = nil
		return false
	}
	l.early = &report
	if l.timer == nil {
		l.late.Add(1)
		l.timer = time.AfterFunc(minReportGap-gap, l.catchUp)
	}
	return true
}

// catchUp applies the report that was put off, unless a newer one was applied meanwhile.
func (l *link) catchUp() {
	defer l.late.Done()
	m := l.member
	m.mu.Lock()
	report := l.early
	l.early, l.timer = nil, nil
	if report != nil {
		l.report, l.reportAt = *report, l.reg.cfg.Now()
		m.refresh()
	}
	m.mu.Unlock()
	if report != nil {
		m.tell()
	}
}

// tidy keeps figures that make no sense from limiting anything.
func tidy(report Report) Report {
	for _, reading := range []*gateway.Reading{&report.Load.CPU, &report.Load.Memory} {
		if reading.Percent < 0 || reading.Percent > 100 {
			*reading = gateway.Reading{}
		}
	}
	report.Load.Running = max(report.Load.Running, 0)
	report.Limits.CPU, report.Limits.Memory = max(report.Limits.CPU, 0), max(report.Limits.Memory, 0)
	report.Limits.Concurrency, report.Limits.Window = max(report.Limits.Concurrency, 0), max(report.Limits.Window, 0)
	return report
}

// command writes to the control stream whatever the member is to be told, the newest of each kind, until quiet is closed. When there is
// nothing it says that, every PingAfter: HTTP/2 shows the service nothing of a large frame that creeps in, so that it would be silent towards a
// living member.
func (l *link) command(quiet <-chan struct{}, in *io.PipeWriter) {
	defer in.Close()
	lines, sign := json.NewEncoder(in), time.NewTicker(l.reg.cfg.PingAfter)
	defer sign.Stop()
	for {
		select {
		case <-quiet:
			return
		case <-l.told:
		case <-sign.C:
		}
		l.mu.Lock()
		c := command{Settings: l.settings, ReconnectAfterMillis: l.advice}
		l.settings, l.advice = nil, nil
		l.mu.Unlock()
		if lines.Encode(c) != nil {
			return
		}
	}
}

func (l *link) configure(s gateway.MemberSettings) {
	l.mu.Lock()
	l.settings = &s
	l.mu.Unlock()
	l.wake()
}

func (l *link) advise(after time.Duration) {
	millis := after.Milliseconds()
	l.mu.Lock()
	l.advice = &millis
	l.mu.Unlock()
	l.wake()
}

func (l *link) wake() {
	select {
	case l.told <- struct{}{}:
	default:
	}
}

func (l *link) isReady() bool {
	l.member.mu.Lock()
	defer l.member.mu.Unlock()
	return l.ready
}
