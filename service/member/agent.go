package member

import (
	"context"
	"time"

	"comporta/service/gateway"
	"comporta/service/tunnel"
)

// connectors run tasks on data sources: *connector.Connectors, but in tests.
type connectors interface {
	// Run, Probe and Close are as in connector.Connectors.
	Run(ctx context.Context, task *gateway.Task, creds gateway.Credentials, out gateway.Output) (gateway.Summary, error)
	Probe(ctx context.Context, task *gateway.Task, creds gateway.Credentials) error
	Close() error
}

// agent is what stands behind the tunnels: admission, credentials, connectors.
type agent struct {
	member     *Member
	admission  *admission
	connectors connectors
	vault      *vault
}

// Admit implements tunnel.Agent.
func (a *agent) Admit() (func(), *gateway.Error) { return a.admission.admit() }

// Run implements tunnel.Agent: it opens the credentials and hands the task to its connector.
func (a *agent) Run(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
	opened, err := a.vault.open(&task.DataSource)
	if err != nil {
		return gateway.Summary{}, err
	}
	if !task.Probe {
		return a.connectors.Run(ctx, task, opened, out)
	}
	if err := a.connectors.Probe(ctx, task, opened); err != nil {
		return gateway.Summary{}, err
	}
	return gateway.Summary{}, out.Begin(gateway.AnswerHeader{ContentType: string(gateway.FormatJSON)})
}

// Report implements tunnel.Agent.
func (a *agent) Report() tunnel.Report {
	average := a.admission.load.average.Load()
	return tunnel.Report{
		Load:     gateway.Load{CPU: average.cpu, Memory: average.memory, Running: int(a.admission.running.Load())},
		Limits:   a.admission.limits(),
		Draining: a.admission.draining.Load(),
	}
}

// Urgent implements tunnel.Agent.
func (a *agent) Urgent() (<-chan struct{}, func()) { return a.member.urgent.listen() }

// Configure implements tunnel.Agent. Limits that cannot be are not taken: the member goes on with those it has.
func (a *agent) Configure(s gateway.MemberSettings) {
	if err := s.Limits.Validate(); err != nil {
		a.member.cfg.Log.Warn("the service's limits were not taken", "error", err)
		return
	}
	if a.admission.setCentral(s.Limits) {
		a.member.urgent.signal()
	}
}

// tunnelAgent is the agent as one tunnel sees it: advice to reconnect is about that tunnel and none after it.
type tunnelAgent struct {
	*agent
	advice chan time.Duration
}

// Reconnect implements tunnel.Agent.
func (t *tunnelAgent) Reconnect(after time.Duration) {
	select {
	case t.advice <- after:
	default: // one piece of advice at a time is enough
	}
}
