package routing

import "comporta/service/gateway"

// Member is what routing knows of a member: one moment's snapshot.
type Member struct {
	ID gateway.ID
	// Enabled is what the administrator wants, Draining that it takes no new request (by his wish or its own), Online what the tunnel shows.
	Enabled, Draining, Online bool
	// Load holds the averages that the member reported last. Running is the count to hold against the concurrency limit.
	Load gateway.Load
	// Limits are the ones in force on the member; zero is off.
	Limits gateway.EffectiveLimits
}

// reason says whether the member may take a request now. A reading that is unknown, or not a number, never limits.
func (m *Member) reason() Reason {
	switch {
	case !m.Enabled:
		return Disabled
	case m.Draining:
		return Draining
	case !m.Online:
		return Offline
	case atOrOver(m.Load.CPU, m.Limits.CPU):
		return CPU
	case atOrOver(m.Load.Memory, m.Limits.Memory):
		return Memory
	case m.Limits.Concurrency > 0 && m.Load.Running >= m.Limits.Concurrency:
		return Concurrency
	}
	return Available
}

func atOrOver(r gateway.Reading, limit int) bool {
	return limit > 0 && r.Known && r.Percent >= float64(limit)
}

// Route is what Plan found. The zero value is ready for use; using one again spares allocations. It is not safe for concurrent use.
type Route struct {
	// Order holds indices into the planned members, the one to try first in front. Empty: nobody may take the request.
	Order []int
	// Reasons holds one reason per planned member.
	Reasons []Reason
}

// Plan fills dst with the members that may take a request, in the order in which to try them, and with a reason for every member.
// members stand in plan order: primary first, then the others. random returns a uniform number in [0, n); it is asked with n >= 2 only.
//
//   - Failover, and any mode that is not known, keeps the plan order.
//   - DistributeEvenly takes a uniformly random order.
//   - LeastLoaded fills each place by two random choices among the members still left, taking the one with fewer running requests, then
//     with the lower CPU average if both are known, then the first drawn. So every fail-over is as well spread as the first attempt.
func Plan(dst *Route, mode gateway.BalanceMode, members []Member, random func(n int) int) {
	dst.Order, dst.Reasons = dst.Order[:0], dst.Reasons[:0]
	for i := range members {
		reason := members[i].reason()
		dst.Reasons = append(dst.Reasons, reason)
		if reason == Available {
			dst.Order = append(dst.Order, i)
		}
	}
	switch mode {
	case gateway.DistributeEvenly:
		shuffle(dst.Order, random)
	case gateway.LeastLoaded:
		leastLoaded(dst.Order, members, random)
	}
}

// shuffle is Fisher–Yates.
func shuffle(order []int, random func(n int) int) {
	for i := len(order) - 1; i > 0; i-- {
		j := random(i + 1)
		order[i], order[j] = order[j], order[i]
	}
}

func leastLoaded(order []int, members []Member, random func(n int) int) {
	for ; len(order) > 1; order = order[1:] {
		first, second := random(len(order)), 0
		if len(order) > 2 {
			second = random(len(order) - 1)
		}
		if second >= first {
			second++ // the second choice is among the others
		}
		if lessLoaded(&members[order[second]], &members[order[first]]) {
			first = second
		}
		order[0], order[first] = order[first], order[0]
	}
}

// lessLoaded reports whether a is strictly less busy than b.
func lessLoaded(a, b *Member) bool {
	if a.Load.Running != b.Load.Running {
		return a.Load.Running < b.Load.Running
	}
	return a.Load.CPU.Known && b.Load.CPU.Known && a.Load.CPU.Percent < b.Load.CPU.Percent
}

// Refused records why the planned member with this index did not take the request after all: it refused at admission or broke before
// it. Order stays as it is, so that a dispatcher can go on along it.
func (r *Route) Refused(index int, reason Reason) { r.Reasons[index] = reason }

// Full reports whether waiting for a place makes sense: some member is over its concurrency limit only, and every other one is
// disabled, draining or offline. Plan names CPU and memory before concurrency, so a member with that reason is over nothing else.
func (r *Route) Full() bool {
	full := false
	for _, reason := range r.Reasons {
		if reason == Available || reason == CPU || reason == Memory {
			return false
		}
		full = full || reason == Concurrency
	}
	return full
}
