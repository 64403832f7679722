package service

import (
	"sync"

	"comporta/service/gateway"
	"comporta/service/routing"
)

// plan is the working memory of one dispatch, reused so that planning allocates nothing.
type plan struct {
	members []routing.Member
	route   routing.Route
}

var plans = sync.Pool{New: func() any { return new(plan) }}

// plan draws up the route for a cluster from its state and what the tunnels show at this moment.
func (d *Dispatcher) plan(state *gateway.ClusterState) *plan {
	p := plans.Get().(*plan)
	p.members = p.members[:0]
	for i := range state.Members {
		p.members = append(p.members, snapshot(d.Tunnels.Presence(state.Members[i].ID), &state.Cluster, &state.Members[i]))
	}
	routing.Plan(&p.route, state.Cluster.Mode, p.members, d.Pick)
	return p
}

// snapshot is a member as routing sees it. Requests in flight are counted here, where they are exact at this moment; what other replicas
// have sent shows at the member's own admission.
func snapshot(presence gateway.Presence, c *gateway.Cluster, m *gateway.Member) routing.Member {
	limits := presence.Limits
	if !presence.Online || limits == (gateway.EffectiveLimits{}) {
		limits = m.Limits.Over(c.Limits).Effective()
	}
	load := presence.Load
	load.Running = presence.InFlight
	return routing.Member{ID: m.ID, Enabled: m.State == gateway.MemberEnabled, Draining: m.Draining || presence.Draining, Online: presence.Online,
		Load: load, Limits: limits}
}

// failed takes in that the member with this index did not take the request after all.
func (p *plan) failed(index int, attempt *gateway.AttemptError) {
	p.route.Refused(index, routing.ReasonOf(attempt.Err))
}

// refusal is what the caller gets when the plan is at its end.
func (p *plan) refusal(cluster gateway.ID) *gateway.Error {
	return routing.Refusal(cluster, p.members, &p.route)
}

// noPlace is what the caller gets when his request's turn in line did not come.
func (p *plan) noPlace(cluster gateway.ID) *gateway.Error {
	return routing.NoPlace(cluster, p.members, &p.route)
}

func (p *plan) free() { plans.Put(p) }
