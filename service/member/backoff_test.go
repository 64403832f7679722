package member

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"comporta/service/gateway"
	"comporta/service/tunnel"
)

// What becomes of tries, in short.
var (
	nobody      = session{err: io.ErrUnexpectedEOF}
	maintenance = session{err: &tunnel.AwayError{RetryAfter: time.Hour}}
	no          = session{err: &tunnel.RefusedError{Err: gateway.Errorf(gateway.CodeConflict, "no")}}
)

func up(lasted time.Duration) session {
	return session{accepted: true, lasted: lasted, err: tunnel.ErrLost}
}

func TestHowLongASlotWaits(t *testing.T) {
	many := func(s session, n int) []session { return slices.Repeat([]session{s}, n) }
	for name, c := range map[string]struct {
		tries []session
		want  time.Duration // after the last one
	}{
		"the first drop":                        {many(up(time.Hour), 1), firstWait},
		"nobody answers for two minutes":        {many(nobody, 60), silentWait},
		"nobody answers for long":               {many(nobody, 1000), lostWait},
		"a proxy names a time, for long":        {many(maintenance, 1000), lostWait},
		"nobody answers, after a long outage":   {slices.Concat(many(nobody, 1000), many(up(time.Hour), 1), many(nobody, 60)), silentWait},
		"the service says no, again and again":  {many(no, 1000), longestWait},
		"a foreign answer, again and again":     {many(session{err: errors.New("a web page")}, 1000), longestWait},
		"many restarts":                         {slices.Concat(many(up(5*time.Second), 1), many(nobody, 5), many(up(5*time.Second), 1), many(nobody, 5), many(up(5*time.Second), 1), many(nobody, 5), many(up(5*time.Second), 1)), 625 * time.Millisecond},
		"a drop after a long outage":            {append(many(nobody, 1000), up(time.Second)), firstWait},
		"a drop after many a no":                {append(many(no, 1000), up(time.Second)), firstWait},
		"nobody answers after many a no":        {append(many(no, 1000), nobody), firstWait},
		"a no after a long outage":              {append(many(nobody, 1000), no), firstWait},
		"no tunnel lasts":                       {many(up(time.Second), 1000), longestWait},
		"no tunnel lasts, and one that did":     {append(many(up(time.Second), 1000), up(stable)), firstWait},
		"every tunnel is cut after 50 s":        {many(up(50*time.Second), 1000), 50 * time.Second / awayPart},
		"every tunnel is cut after a minute":    {many(up(time.Minute), 1000), firstWait},
		"the outage between tunnels that ended": {slices.Concat(many(up(time.Second), 1000), many(nobody, 2)), 2 * firstWait},
	} {
		b := newBackoff()
		var got time.Duration
		for _, s := range c.tries {
			got = b.after(s)
		}
		if got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Whatever happens, no wait is shorter than the first or longer than the longest, and while nobody answers none is longer than that.
func TestWaitsAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBackoff()
		for range rapid.IntRange(1, 50).Draw(t, "tries") {
			s := rapid.SampledFrom([]session{nobody, no, maintenance, up(0), up(3 * time.Second), up(40 * time.Second), up(time.Hour)}).Draw(t, "try")
			if wait := b.after(s); wait < firstWait || wait > longestWait || s == nobody && wait > silentWait {
				t.Fatalf("%+v: %v", s, wait)
			}
		}
	})
}

func TestPauses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rapid.Float64Range(0, 0.999).Draw(t, "random")
		wait := time.Duration(rapid.Int64Range(int64(firstWait), int64(longestWait)).Draw(t, "wait"))
		asked := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "retry after"))
		if p := pause(wait, errors.New("weather"), random); p < wait/2 || p > wait {
			t.Errorf("wait %v: pause %v", wait, p)
		}
		for _, err := range []error{&tunnel.RefusedError{Err: &gateway.Error{RetryAfter: asked}}, &tunnel.AwayError{RetryAfter: asked}} {
			if p := pause(wait, err, random); p < min(asked, longestNamed) || p < wait/2 || p > max(wait, min(asked, longestNamed)*5/4+wait/2) {
				t.Errorf("wait %v, asked for %v: pause %v", wait, asked, p)
			}
		}
	})
}

func TestWhoMayBeWoken(t *testing.T) {
	later := session{err: &tunnel.RefusedError{Err: &gateway.Error{Code: gateway.CodeUnavailable, RetryAfter: time.Second}}}
	for _, c := range []struct {
		after session
		want  bool
	}{{nobody, true}, {no, true}, {later, false}, {maintenance, false}, {up(0), false}, {up(time.Hour), false}} {
		if got := c.after.wakeable(); got != c.want {
			t.Errorf("%+v: %v", c.after, got)
		}
	}
}

// When one tunnel of a member is let in, the service is back, and the others need not wait any more.
func TestATunnelThatIsLetInWakesTheOthers(t *testing.T) {
	o := newOffice(t)
	var first atomic.Bool
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if first.CompareAndSwap(false, true) {
			panic(http.ErrAbortHandler)
		}
		o.registry.ServeHTTP(w, req)
	}))
	defer cut.Close()
	m, _ := o.start(t, func(c *Config) {
		c.Server = cut.URL
		c.Jitter = func() float64 { return 1e6 } // who waits, waits for a day
	})
	o.up(t, m)
}

// Members that were told the same time do not come back as one.
func TestATimeThatIsNamedIsSpread(t *testing.T) {
	first, last := pause(firstWait, maintenance.err, 0), pause(firstWait, maintenance.err, 0.999)
	if first != longestNamed || last-first < time.Minute {
		t.Errorf("between %v and %v", first, last)
	}
}

func TestTheSameFailureIsLoggedNowAndThen(t *testing.T) {
	var told repeats
	now := time.Now()
	for i, c := range []struct {
		try   session
		after time.Duration
		want  bool
	}{
		{nobody, 0, true}, {nobody, time.Second, false}, {session{err: io.EOF}, time.Second, false}, {maintenance, time.Second, true},
		{nobody, time.Second, true}, {nobody, repeatEvery - 1, false}, {nobody, 1, true}, {no, time.Second, true}, {no, time.Second, false},
		{up(time.Second), 0, true}, {up(time.Second), 0, true}, {nobody, 0, true},
	} {
		now = now.Add(c.after)
		if got := told.worth(c.try, now); got != c.want {
			t.Errorf("try %d: %v", i, got)
		}
	}
}
