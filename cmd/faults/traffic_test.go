//go:build linux

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// kind is what a request does.
type kind int

const (
	// read is answered whole, stream is a read whose answer is too large for that, write notes its number in the table of executions.
	read kind = iota
	stream
	write
)

// phase is how far a fault has come when a request is sent.
type phase int32

const (
	before phase = iota
	struck
	lifted
	healed
)

// Failures that are not codes of the service.
const (
	connection = "connection" // the caller's own connection to the service was refused or broke before a status
	broken     = "broken"     // an answer that began well ended visibly broken
	wrong      = "wrong"      // an answer that looks well and is not the one asked for
)

// request is one numbered request and what came of it.
type request struct {
	n       int64
	kind    kind
	phase   phase
	took    time.Duration
	failure string // "" when it was answered right
	detail  string
	member  string
}

// numbers gives each request of this process a number of its own.
var numbers atomic.Int64

const (
	// Each world is asked to read and to write this often, and so many requests of either kind may be on their way at once: callers keep
	// coming while others wait.
	pace   = 25 * time.Millisecond
	atOnce = 6
	// Every so often a request is slow, so that a fault finds some of them at work, or large.
	slowEvery, largeEvery = 6, 11
	streamRows            = 200
	padding               = 2000
)

// traffic is the callers of one world, from start to stop.
type traffic struct {
	w     *world
	phase atomic.Int32
	// gate is held by every request; whoever takes it alone stops the traffic.
	gate    sync.RWMutex
	stop    chan struct{}
	callers sync.WaitGroup
	first   int64

	mu   sync.Mutex
	done []request
}

func (w *world) traffic() *traffic {
	t := &traffic{w: w, stop: make(chan struct{}), first: numbers.Load() + 1}
	t.callers.Go(func() { t.call(read) })
	t.callers.Go(func() { t.call(write) })
	return t
}

// call sends requests of one kind until the end.
func (t *traffic) call(k kind) {
	places := make(chan struct{}, atOnce)
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-t.stop:
			return
		case <-tick.C:
		}
		select {
		case places <- struct{}{}:
			t.callers.Go(func() {
				defer func() { <-places }()
				t.once(k)
			})
		default: // as many as may be are waiting
		}
	}
}

func (t *traffic) once(k kind) {
	t.gate.RLock()
	r := t.ask(k)
	t.gate.RUnlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done = append(t.done, r)
}

// end stops the callers and returns everything that they asked.
func (t *traffic) end() []request {
	close(t.stop)
	t.callers.Wait()
	return t.done
}

// count is how many requests went well in a phase, served by the member, or by anyone when it is "".
func (t *traffic) count(p phase, writes bool, member string) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.done {
		if r.phase == p && r.failure == "" && (r.kind == write) == writes && (member == "" || r.member == member) {
			n++
		}
	}
	return n
}

// ask sends one request and judges its answer.
func (t *traffic) ask(k kind) request {
	n := numbers.Add(1)
	text, rows := "", 1
	pause := 0.0
	if n%slowEvery == 0 {
		pause = 0.3
	}
	switch {
	case k == write:
		text = fmt.Sprintf("select execute(%d, %g, %g) as n, '' as pad", n, pause/3, pause)
	case n%largeEvery == 0:
		k, rows = stream, streamRows
		text = fmt.Sprintf("select %d + 0 * i as n, repeat('x', %d) as pad, pg_sleep(%g) is null as slept from generate_series(1, %d) i", n, padding, pause/100, rows)
	default:
		text = fmt.Sprintf("select %d as n, repeat('x', %d) as pad, pg_sleep(%g) is null as slept", n, padding, pause)
	}
	r := request{n: n, kind: k, phase: phase(t.phase.Load())}
	sent := time.Now()
	r.failure, r.detail, r.member = t.w.dispatch(n, text, rows, k)
	r.took = time.Since(sent)
	return r
}

// dispatch sends a query and returns what was wrong with the answer, and who gave it.
func (w *world) dispatch(n int64, text string, rows int, k kind) (failure, detail, member string) {
	resp, err := w.send(context.Background(), "POST", "/dispatch", map[string]any{"datasourceId": w.source, "query": map[string]any{"text": text}, "readOnly": k != write, "timeoutSeconds": 45})
	if err != nil {
		return connection, err.Error(), ""
	}
	defer resp.Body.Close()
	member = resp.Header.Get("X-Gateway-Member-Name")
	body, err := io.ReadAll(resp.Body)
	switch {
	case resp.StatusCode != http.StatusOK && err == nil:
		var answer struct{ Error struct{ Code string } }
		if json.Unmarshal(body, &answer) != nil || answer.Error.Code == "" {
			return wrong, fmt.Sprintf("%d %.300s", resp.StatusCode, body), member
		}
		return answer.Error.Code, fmt.Sprintf("%d %.300s", resp.StatusCode, body), member
	case err != nil:
		return broken, fmt.Sprintf("%d and %d bytes, then %v", resp.StatusCode, len(body), err), member
	}
	if e := resp.Trailer.Get("X-Gateway-Error"); e != "" {
		return broken, e, member
	}
	return judge(body, n, rows, k), fmt.Sprintf("%.300s", body), member
}

// judge looks whether a complete answer is the one that was asked for.
func judge(body []byte, n int64, rows int, k kind) string {
	var answer struct{ Rows [][]any }
	if json.Unmarshal(body, &answer) != nil || len(answer.Rows) != rows {
		return wrong
	}
	for _, row := range answer.Rows {
		if len(row) < 2 || fmt.Sprintf("%.0f", row[0]) != fmt.Sprint(n) && fmt.Sprint(row[0]) != fmt.Sprint(n) {
			return wrong
		}
		if pad, _ := row[1].(string); k != write && len(pad) != padding {
			return wrong
		}
	}
	return ""
}
