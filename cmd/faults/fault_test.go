//go:build linux

package faults

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"comporta/service/gateway"
)

// fault is something that goes wrong, for how long, and what a caller may see of it.
type fault struct {
	name string
	// network: it needs lines and namespaces. clocks: every process needs a clock of its own.
	network, clocks bool
	// strike begins it and lift ends it; hold is how long it lasts.
	strike, lift func(w *world, t *traffic) error
	hold         time.Duration
	// reads and writes are the failures that callers may see while it lasts and until all is well again. outage: nobody can serve meanwhile.
	reads, writes []string
	outage        bool
	// fresh bounds what is sent once the fault is there, held what was on its way when it came; 5 s when 0.
	fresh, held time.Duration
}

// What callers may see. A write that was running when its member was lost has an unknown outcome, which is said; an answer of which the
// caller has a part already, because it is large or slow, breaks off visibly.
var (
	cutReads  = []string{broken}
	cutWrites = []string{broken, string(gateway.CodeOutcomeUnknown)}
	// While no member is there, requests are refused.
	lostReads  = append([]string{string(gateway.CodeUnreachable), string(gateway.CodeBroken)}, cutReads...)
	lostWrites = append([]string{string(gateway.CodeUnreachable)}, cutWrites...)
	// While the service is away its address refuses connections; after its start tokens of before are not known, nor the members there yet.
	goneReads  = append([]string{connection, string(gateway.CodeUnauthorized), string(gateway.CodeUnavailable)}, lostReads...)
	goneWrites = append([]string{connection, string(gateway.CodeUnauthorized), string(gateway.CodeUnavailable)}, lostWrites...)
	// A database that cannot be reached any more in the middle of a write.
	accessFailed = []string{string(gateway.CodeDataSourceAccess), broken}
	overLimit    = []string{string(gateway.CodeConcurrencyLimit)}
)

// noticed is within what time a silent connection is found out: a ping after 5 s, 5 s for something to come, and a quarter more.
const noticed = 12500 * time.Millisecond

// faults is everything that the suite does to a cluster. Unless a name says otherwise, it happens to the first member alone.
var faults = []fault{
	{name: "killed while idle", strike: quietly(kill), lift: startAgain, hold: time.Second},
	{name: "killed while busy", strike: kill, lift: startAgain, hold: time.Second, reads: cutReads, writes: cutWrites},
	{name: "terminated", strike: terminate, lift: startAgain, hold: time.Second},
	{name: "restarted in order", strike: do(terminate, startAgain), lift: nothing, hold: time.Second},
	{name: "restarted the hard way", strike: do(kill, startAgain), lift: nothing, hold: time.Second, reads: cutReads, writes: cutWrites},
	{name: "frozen 5 s", strike: signal(syscall.SIGSTOP), lift: signal(syscall.SIGCONT), hold: 5 * time.Second, held: 6 * time.Second},
	{name: "frozen 14 s", strike: signal(syscall.SIGSTOP), lift: signal(syscall.SIGCONT), hold: 14 * time.Second, reads: cutReads, writes: cutWrites, held: noticed},
	{name: "both members killed, one back", strike: killBoth, lift: startOther, hold: 2 * time.Second, reads: lostReads, writes: lostWrites, outage: true},
	{name: "one killed, then the other", strike: inTurn, lift: startSecond, hold: time.Second, reads: cutReads, writes: cutWrites},

	{name: "tunnels reset", network: true, strike: resetAll, lift: mend, hold: 3 * time.Second, reads: cutReads, writes: cutWrites},
	{name: "one tunnel reset", network: true, strike: resetOne, lift: mend, hold: 3 * time.Second, reads: cutReads, writes: cutWrites},
	{name: "tunnels of both members reset", network: true, strike: resetBoth, lift: mendBoth, hold: 2500 * time.Millisecond, reads: lostReads, writes: lostWrites, outage: true},
	{name: "packets dropped 3 s", network: true, strike: line(lost, lost), lift: line(good, good), hold: 3 * time.Second},
	{name: "packets dropped 20 s", network: true, strike: line(lost, lost), lift: line(good, good), hold: 20 * time.Second, reads: cutReads, writes: cutWrites, held: noticed},
	{name: "packets towards the member dropped 14 s", network: true, strike: line(lost, good), lift: line(good, good), hold: 14 * time.Second, reads: cutReads, writes: cutWrites, held: noticed},
	{name: "packets from the member dropped 14 s", network: true, strike: line(good, lost), lift: line(good, good), hold: 14 * time.Second, reads: cutReads, writes: cutWrites, held: noticed},
	{name: "late by 300 ms", network: true, strike: line(late, late), lift: line(good, good), hold: 4 * time.Second},
	{name: "late by 1.2 s", network: true, strike: line(far, far), lift: line(good, good), hold: 8 * time.Second, fresh: 8 * time.Second, held: 8 * time.Second},
	{name: "jitter and reordering", network: true, strike: line(jittery, jittery), lift: line(good, good), hold: 4 * time.Second},
	{name: "loss of 10 %", network: true, strike: line(lossy, lossy), lift: line(good, good), hold: 6 * time.Second},
	{name: "duplicates", network: true, strike: line(doubled, doubled), lift: line(good, good), hold: 4 * time.Second},
	{name: "corruption of 1 %", network: true, strike: line(corrupted, corrupted), lift: line(good, good), hold: 6 * time.Second},
	{name: "256 kbit per s", network: true, strike: line(narrow, narrow), lift: line(good, good), hold: 25 * time.Second, fresh: 45 * time.Second, held: 45 * time.Second},
	// TCP tries again after twice as long each time, so that what was on its way comes at most as much later as it was away.
	{name: "interface down and up", network: true, strike: interfaceTo("down"), lift: interfaceTo("up"), hold: 4 * time.Second, held: 6 * time.Second},
	{name: "large packets vanish", network: true, strike: line(blackHole, blackHole), lift: line(good, good), hold: 12 * time.Second, reads: cutReads, writes: cutWrites, fresh: noticed, held: noticed},

	{name: "database refuses", network: true, strike: databaseRefuses, lift: databaseAccepts, hold: 3 * time.Second, reads: cutReads, writes: accessFailed},
	{name: "database resets its connections", network: true, strike: databaseResets, lift: nothing, hold: time.Second, reads: cutReads, writes: accessFailed},
	{name: "database silent 5 s", network: true, strike: databaseSilent(true), lift: databaseSilent(false), hold: 5 * time.Second, outage: true, fresh: 7 * time.Second, held: 7 * time.Second},
	{name: "database slow", network: true, strike: databaseSlow(200 * time.Millisecond), lift: databaseSlow(0), hold: 4 * time.Second},

	{name: "disabled", strike: change(map[string]any{"enabled": false}), lift: change(map[string]any{"enabled": true}), hold: 2 * time.Second},
	{name: "over its limit", strike: change(map[string]any{"concurrentOperationLimit": 1}), lift: change(map[string]any{"resetLimits": true}), hold: 3 * time.Second},
	{name: "all over their limits", strike: changeAll(map[string]any{"concurrentOperationLimit": 1}), lift: changeAll(map[string]any{"resetLimits": true}), hold: 3 * time.Second, reads: overLimit, writes: overLimit},
	{name: "no descriptors left", strike: descriptors(false), lift: descriptors(true), hold: 3 * time.Second, writes: accessFailed},

	{name: "clock 5 min ahead", clocks: true, strike: do(terminate, startsWrong(fiveMinutes)), lift: do(terminate, clockOfMember(0), startAgain), hold: 3 * time.Second},
	// By its own clock it started before its predecessor did.
	{name: "clock 5 min behind", clocks: true, strike: do(kill, startsWrong(-fiveMinutes)), lift: do(terminate, clockOfMember(0), startAgain), hold: 3 * time.Second, reads: cutReads, writes: cutWrites},
	{name: "clock steps back 5 min, tunnels reset", clocks: true, network: true, strike: do(clockOfMember(-fiveMinutes), resetAll), lift: do(mend, allThere, clockOfMember(0)), hold: 3 * time.Second, reads: cutReads, writes: cutWrites},
	{name: "service's clock steps back 5 min", clocks: true, strike: serviceStepsBack, lift: do(anotherToken, clockOfService(0)), hold: 3 * time.Second, reads: cutReads, writes: cutWrites},
	{name: "service's clock steps ahead 5 min", clocks: true, strike: do(clockOfService(fiveMinutes), change(map[string]any{"enabled": false})), lift: do(anotherToken, change(map[string]any{"enabled": true}), clockOfService(0)), hold: 3 * time.Second},

	{name: "service killed", strike: serviceKilled, lift: serviceStarted, hold: time.Second, reads: goneReads, writes: goneWrites, outage: true},
	{name: "service terminated", strike: serviceTerminated, lift: serviceStarted, hold: time.Second, reads: goneReads, writes: goneWrites, outage: true},
	// When it goes on, the time for an admission is over for whatever was on its way, whether or not the answer lies there already.
	{name: "service frozen 5 s", strike: serviceSignal(syscall.SIGSTOP), lift: serviceSignal(syscall.SIGCONT), hold: 5 * time.Second, reads: lostReads, writes: lostWrites, outage: true, fresh: 6 * time.Second, held: 6 * time.Second},
	{name: "service's disk full", network: true, strike: diskFull, lift: diskFree, hold: 3 * time.Second},
}

// The states of a line.
var (
	good      = conditions{}
	lost      = conditions{drop: true}
	late      = conditions{delay: 300 * time.Millisecond}
	far       = conditions{delay: 1200 * time.Millisecond}
	jittery   = conditions{delay: 20 * time.Millisecond, jitter: 80 * time.Millisecond}
	lossy     = conditions{loss: 0.1}
	doubled   = conditions{duplicate: 0.3}
	corrupted = conditions{corrupt: 0.01}
	narrow    = conditions{rate: 256_000 / 8}
	blackHole = conditions{largest: 600}
)

// step is a part of a fault.
type step = func(w *world, t *traffic) error

func do(steps ...step) step {
	return func(w *world, t *traffic) error {
		for _, s := range steps {
			if err := s(w, t); err != nil {
				return err
			}
		}
		return nil
	}
}

func nothing(*world, *traffic) error { return nil }

// quietly does it while no request runs.
func quietly(s step) step {
	return func(w *world, t *traffic) error {
		t.gate.Lock()
		defer t.gate.Unlock()
		return s(w, t)
	}
}

func kill(w *world, _ *traffic) error {
	w.members[0].process.kill()
	return nil
}

func killBoth(w *world, _ *traffic) error {
	for _, m := range w.members {
		m.process.kill()
	}
	return nil
}

func terminate(w *world, _ *traffic) error { return w.members[0].process.stop() }

func startAgain(w *world, _ *traffic) error { return w.members[0].start() }

func startSecond(w *world, _ *traffic) error { return w.members[1].start() }

// startOther starts the second member; once it serves alone, the first comes too.
func startOther(w *world, t *traffic) error {
	if err := w.members[1].start(); err != nil {
		return err
	}
	if err := until("the second member serves", func() bool { return t.count(lifted, true, w.members[1].name) > 0 }); err != nil {
		return err
	}
	return w.members[0].start()
}

// noticedLost waits until the service knows that the first member is gone: until then it seems to be there.
func noticedLost(w *world, _ *traffic) error {
	return until("the service sees the loss", func() bool {
		now, err := w.standings()
		return err == nil && !now[w.members[0].name].well()
	})
}

// allThere waits until the service knows that all are there.
func allThere(w *world, _ *traffic) error { return w.live() }

// inTurn kills the first member and, once that is back, the second.
func inTurn(w *world, t *traffic) error {
	if err := do(kill, noticedLost, startAgain)(w, t); err != nil {
		return err
	}
	if err := w.live(); err != nil {
		return err
	}
	w.members[1].process.kill()
	return nil
}

func signal(s os.Signal) step {
	return func(w *world, _ *traffic) error { return w.members[0].process.signal(s) }
}

func line(toMember, toService conditions) step {
	return func(w *world, _ *traffic) error {
		w.members[0].wire.set(toMember, toService)
		return nil
	}
}

func interfaceTo(state string) step {
	return func(w *world, _ *traffic) error {
		m := w.members[0]
		return m.ns.ip("link", "set", m.wire.inside(), state)
	}
}

func (w *world) port() string {
	_, port, _ := net.SplitHostPort(w.address)
	return port
}

func resetAll(w *world, _ *traffic) error { return w.members[0].reset(w.port(), "") }
func mend(w *world, _ *traffic) error     { return w.members[0].mend() }

func resetBoth(w *world, _ *traffic) error {
	return all(func() error { return w.members[0].reset(w.port(), "") }, func() error { return w.members[1].reset(w.port(), "") })
}

func mendBoth(w *world, _ *traffic) error { return all(w.members[0].mend, w.members[1].mend) }

// resetOne cuts one of the member's tunnels.
func resetOne(w *world, _ *traffic) error {
	ports, err := w.members[0].tunnelPorts(w.port())
	if err != nil {
		return err
	}
	return w.members[0].reset(w.port(), ports[0])
}

// tunnelPorts are the local ports of the member's connections to the service.
func (m *member) tunnelPorts(service string) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", m.process.pid()))
	if err != nil {
		return nil, err
	}
	var ports []string
	for _, entry := range strings.Split(string(text), "\n") {
		f := strings.Fields(entry)
		if len(f) > 3 && f[3] == "01" && hexPort(f[2]) == service {
			ports = append(ports, hexPort(f[1]))
		}
	}
	if len(ports) == 0 {
		return nil, fmt.Errorf("%s has no tunnel", m.name)
	}
	return ports, nil
}

func hexPort(address string) string {
	_, port, _ := strings.Cut(address, ":")
	raw, err := hex.DecodeString(port)
	if err != nil || len(raw) != 2 {
		return ""
	}
	return strconv.Itoa(int(raw[0])<<8 | int(raw[1]))
}

func databaseRefuses(w *world, _ *traffic) error {
	w.members[0].relay.refuse()
	return nil
}

func databaseAccepts(w *world, _ *traffic) error { return w.members[0].relay.listen() }

func databaseResets(w *world, _ *traffic) error {
	w.members[0].relay.cut()
	return nil
}

func databaseSilent(on bool) step {
	return func(w *world, _ *traffic) error {
		w.members[0].relay.silence(on)
		return nil
	}
}

func databaseSlow(delay time.Duration) step {
	return func(w *world, _ *traffic) error {
		w.members[0].relay.slow(delay)
		return nil
	}
}

func change(settings map[string]any) step {
	return func(w *world, _ *traffic) error { return w.set(w.members[0], settings) }
}

func changeAll(settings map[string]any) step {
	return func(w *world, _ *traffic) error {
		return all(func() error { return w.set(w.members[0], settings) }, func() error { return w.set(w.members[1], settings) })
	}
}

// descriptors leaves the member no more than it has open now, or as many as it likes.
func descriptors(plenty bool) step {
	return func(w *world, _ *traffic) error {
		p := w.members[0].process
		n, err := p.descriptors()
		if err != nil {
			return err
		}
		if plenty {
			n = 1 << 14
		}
		return unix.Prlimit(p.pid(), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(n), Max: 1 << 14}, nil)
	}
}

func serviceKilled(w *world, _ *traffic) error {
	w.service.kill()
	return nil
}

func serviceTerminated(w *world, _ *traffic) error { return w.service.stop() }
func serviceStarted(w *world, _ *traffic) error    { return w.serve() }

func serviceSignal(s os.Signal) step {
	return func(w *world, _ *traffic) error { return w.service.signal(s) }
}

func (w *world) filler() string { return filepath.Join(w.data, "filler") }

// diskFull fills the service's file system to the last byte.
func diskFull(w *world, _ *traffic) error {
	f, err := os.Create(w.filler())
	if err != nil {
		return err
	}
	defer f.Close()
	for chunk := make([]byte, 1<<20); len(chunk) > 0; {
		if _, err := f.Write(chunk); err != nil {
			chunk = chunk[:len(chunk)/2]
		}
	}
	return nil
}

func diskFree(w *world, _ *traffic) error { return os.Remove(w.filler()) }
