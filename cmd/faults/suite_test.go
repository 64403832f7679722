//go:build linux

package faults

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"comporta/service/gateway"
)

// workbench lends worlds to tests and keeps the good ones for the next.
type workbench struct {
	mu   sync.Mutex
	idle []*world
}

var bench workbench

// take returns a world in which all is well.
func (b *workbench) take(network *network, db *database, clocks bool) (*world, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.IndexFunc(b.idle, func(w *world) bool { return w.clocks == clocks }); i >= 0 {
		w := b.idle[i]
		b.idle = slices.Delete(b.idle, i, i+1)
		return w, nil
	}
	b.mu.Unlock()
	defer b.mu.Lock()
	return newWorld(network, db, clocks)
}

// give takes a world back. One in which something went wrong is not used again.
func (b *workbench) give(w *world, well bool) {
	if !well {
		w.close()
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle = append(b.idle, w)
}

// close removes everything that this process made.
func (b *workbench) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	var closing sync.WaitGroup
	for _, w := range b.idle {
		closing.Go(w.close)
	}
	closing.Wait()
	b.idle = nil
	if made.server != nil {
		made.server.close()
	}
	if made.network != nil && made.network.anchor != nil {
		made.network.anchor.Close()
	}
	if made.clocked != "" {
		os.RemoveAll(made.clocked)
	}
}

// made is what has to be removed at the end.
var made struct {
	server  *server
	network *network
	clocked string // the folder of the program with a clock of its own
}

// ground is what every test here stands on: the database, and lines where they can be had. reason says why they cannot.
func ground(t testing.TB) (db *database, network *network, reason error) {
	t.Helper()
	db, err := theDatabase()
	if err != nil {
		absent(t, "postgres", err)
	}
	network, reason = theNetwork()
	if reason != nil {
		network = nil
	}
	return db, network, reason
}

var modes = []gateway.BalanceMode{gateway.Failover, gateway.DistributeEvenly}

// TestFaults strikes a cluster of two members with each fault, in each mode, while callers read and write. None of their requests may be
// lost, doubled or wrong: what the fault permits is in its row, everything else is a fault of ours.
func TestFaults(t *testing.T) {
	if os.Getenv("COMPORTA_FAULTS") == "" {
		t.Skip("the fault suite wants the machine for itself for some minutes: make faults")
	}
	db, network, reason := ground(t)
	noAlarms(t)
	ran := false
	for i := range faults {
		f := &faults[i]
		t.Run(f.name, func(t *testing.T) {
			ran = true // rows run at once, but begin one after the other
			t.Parallel()
			if f.network && network == nil {
				absent(t, "netns", reason)
			}
			if f.clocks && !clocksCanBeSet {
				t.Skip("no clock can be set on this processor")
			}
			for _, mode := range modes {
				t.Run(string(mode), func(t *testing.T) {
					t.Parallel()
					w, err := bench.take(network, db, f.clocks)
					if err != nil {
						t.Fatal(err)
					}
					well := false
					defer func() { bench.give(w, well) }()
					well = f.test(t, w, mode)
				})
			}
		})
	}
	if !ran {
		t.Error("no fault has this name")
	}
}

// test runs one fault in one mode and reports reads and writes apart.
func (f *fault) test(t *testing.T, w *world, mode gateway.BalanceMode) bool {
	o, err := f.run(w, mode)
	if err != nil {
		t.Errorf("%v\n%s", err, w.words())
	}
	well := err == nil
	for name, writes := range map[string]bool{"read": false, "write": true} {
		well = t.Run(name, func(t *testing.T) {
			t.Log(summary(o.requests, writes), "; well again after", o.recovery.Round(time.Millisecond))
			problems := f.verdict(o.requests, o.executed, writes)
			for i, problem := range problems {
				if i == 20 {
					t.Errorf("and %d more", len(problems)-i)
					break
				}
				t.Error(problem)
			}
		}) && well
	}
	if !well {
		t.Log(w.words())
	}
	return well
}

// outcome is what came of a run.
type outcome struct {
	requests []request
	executed map[int64]int
	recovery time.Duration
}

// run strikes the world once. The error is about what could not be done or did not heal; the requests are there in any case.
func (f *fault) run(w *world, mode gateway.BalanceMode) (o outcome, err error) {
	if err := w.mode(string(mode)); err != nil {
		return o, err
	}
	t := w.traffic()
	err = f.course(t, mode, &o)
	o.requests = t.end()
	if len(o.requests) == 0 {
		return o, errors.Join(err, errors.New("no request was sent"))
	}
	// A write whose member is gone may still run in the database.
	last := numbers.Load()
	settled := until("the database has come to rest", func() bool { busy, err := w.db.busy(t.first, last); return err == nil && !busy })
	var counted error
	o.executed, counted = w.db.executed(t.first, last)
	return o, errors.Join(err, settled, counted)
}

// course takes the traffic through the phases of a fault.
func (f *fault) course(t *traffic, mode gateway.BalanceMode, o *outcome) error {
	if err := t.flows(before, mode); err != nil {
		return fmt.Errorf("before the fault: %w", err)
	}
	struckErr := f.strike(t.w, t)
	t.phase.Store(int32(struck))
	time.Sleep(f.hold) // the fault itself
	t.phase.Store(int32(lifted))
	started := time.Now()
	if err := errors.Join(struckErr, f.lift(t.w, t)); err != nil {
		return err
	}
	if err := t.w.live(); err != nil {
		return err
	}
	t.phase.Store(int32(healed))
	err := t.flows(healed, mode)
	o.recovery = time.Since(started)
	return err
}

// flows waits until requests are served as they should be when all is well: by the first member, or by both.
func (t *traffic) flows(p phase, mode gateway.BalanceMode) error {
	serving := t.w.members[:1]
	if mode == gateway.DistributeEvenly {
		serving = t.w.members
	}
	for _, m := range serving {
		err := until(fmt.Sprintf("%s serves reads and writes", m.name), func() bool { return t.count(p, false, m.name) >= 4 && t.count(p, true, m.name) >= 4 })
		if err != nil {
			return err
		}
	}
	return nil
}

// withoutRequests leaves out what says nothing about a fault.
var withoutRequests = regexp.MustCompile("(?m)^.* msg=request .*\n")

// words is what the processes of the world said last.
func (w *world) words() string {
	var b strings.Builder
	say := func(name string, p *process) {
		if p != nil {
			text := withoutRequests.ReplaceAllString(p.said(), "")
			fmt.Fprintf(&b, "--- %s\n%s\n", name, text[max(0, len(text)-5000):])
		}
	}
	say("service", w.service)
	for _, m := range w.members {
		say(m.name, m.process)
	}
	return b.String()
}
