package tunnel

import "time"

// freshFor is how long after its last sign of life a tunnel is preferred to one that was silent for longer: two missed reports.
const freshFor = 2*reportEvery + 500*time.Millisecond

// acquire counts one more request on the tunnel, unless it takes none.
func (l *link) acquire() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.retired || l.isClosed() {
		return false
	}
	l.streams++
	return true
}

// release counts one request less; the last one closes a retired tunnel.
func (l *link) release() {
	l.mu.Lock()
	l.streams--
	last := l.retired && l.streams == 0
	l.mu.Unlock()
	if last {
		l.close("its last request ended")
	}
}

// retire lets the tunnel finish its requests and take no more.
func (l *link) retire() {
	l.mu.Lock()
	l.retired = true
	idle := l.streams == 0
	l.mu.Unlock()
	if idle {
		l.close("it is not needed any more")
	}
}

// close ends the tunnel and breaks its requests, and only them.
func (l *link) close(reason string) {
	if l.isClosed() {
		return
	}
	l.reg.cfg.Log.Debug("tunnel: closing", "member", l.claims.Member, "slot", l.claims.Slot, "reason", reason)
	_ = l.conn.Close()
}

func (l *link) isClosed() bool {
	select {
	case <-l.conn.done:
		return true
	default:
		return false
	}
}

// lost reports whether the tunnel can carry nothing more. It looks at the HTTP/2 connection as well, which knows a moment earlier.
func (l *link) lost() bool { return !l.open() || l.client.Err() != nil }

// open reports whether it takes new requests.
func (l *link) open() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.retired && !l.isClosed()
}

// laneShare is how many requests on the fast lane weigh as much as one with a stream of its own.
const laneShare = 32

// load is how much runs over it.
func (l *link) load() int {
	small := 0
	if n := l.lane.Load(); n != nil {
		small = int(n.waiting.Load())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.streams-small, 0) + small/laneShare
}

// reportSlack is how much later than every reportEvery a report may come in without being late.
const reportSlack = 250 * time.Millisecond

// waitedInVain notes that a request got no admission over this tunnel since began. The member's other tunnels that were silent all that time
// are doubted as well: most likely the machine is dead, and the next request need not find that out once more over each of them. Not so one
// whose next report is not late yet: silence between two reports says nothing.
func (l *link) waitedInVain(began time.Duration) {
	now := l.reg.clock()
	l.doubt(now, now)
	silence := min(began, now-reportEvery-reportSlack)
	for _, other := range *l.member.usable.Load() {
		if other != l && !other.heardSince(silence) && !other.doubtful() {
			other.doubt(now, began)
		}
	}
}

// doubt puts the tunnel in doubt until it is heard from after since.
func (l *link) doubt(now, since time.Duration) {
	if !l.doubtful() {
		l.doubted.Store(int64(now))
	}
	l.suspect.Store(int64(since))
}

// heardSince reports whether anything came over the tunnel after that moment.
func (l *link) heardSince(at time.Duration) bool { return l.conn.heard.Load() > int64(at) }

// doubtful reports whether the tunnel let a request wait in vain, or was silent while another one did, and was not heard from since.
func (l *link) doubtful() bool {
	since := l.suspect.Load()
	return since != 0 && l.conn.heard.Load() <= since
}

// pick chooses the tunnel for a request: not one that is in doubt, rather one that was heard from lately, then the one with less to
// carry. Among equals small ones keep together, because those that share a lane share its writes, and others go in turn. It returns nil
// when there is none. not is left out.
func (m *member) pick(now time.Duration, not *link, small bool) *link {
	links := *m.usable.Load()
	turn := 0
	if !small {
		turn = int(m.turn.Add(1))
	}
	var best *link
	var bestFresh bool
	var bestLoad int
	for i := range links {
		l := links[(i+turn)%len(links)]
		if l == not || l.doubtful() || l.isClosed() {
			continue
		}
		fresh, load := now-time.Duration(l.conn.heard.Load()) <= freshFor, l.load()
		if best == nil || fresh && !bestFresh || fresh == bestFresh && load < bestLoad {
			best, bestFresh, bestLoad = l, fresh, load
		}
	}
	return best
}

// hope chooses a tunnel for a request that has nobody else to go to, when all are in doubt: the one last heard from. A machine that stands still
// for two seconds has not gone. But there is hope only for as long after the doubt began as an admission may take: who comes later does not
// wait for a machine that is dead.
func (m *member) hope(now time.Duration) *link {
	var best *link
	for _, l := range *m.usable.Load() {
		if !l.isClosed() && (best == nil || l.conn.heard.Load() > best.conn.heard.Load()) {
			best = l
		}
	}
	if best != nil && best.doubtful() && now-time.Duration(best.doubted.Load()) >= m.cfg.AdmissionTimeout {
		return nil
	}
	return best
}
