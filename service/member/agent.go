package member

import (
	"context"
	"crypto/rsa"
	"sync"
	"time"

	"comporta/service/connector"
	"comporta/service/credential"
	"comporta/service/gateway"
	"comporta/service/tunnel"
)

// maxOpened bounds how many data sources' credentials are kept open.
const maxOpened = 1000

// agent is what stands behind the tunnels: admission, credentials, connectors.
type agent struct {
	member     *Member
	admission  *admission
	connectors *connector.Connectors
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

// Configure implements tunnel.Agent.
func (a *agent) Configure(s gateway.MemberSettings) {
	a.admission.setCentral(s.Limits)
	a.member.urgent.signal()
}

// slotAgent is the agent as one tunnel's slot sees it: advice to reconnect is about that tunnel.
type slotAgent struct {
	*agent
	advice chan time.Duration
}

// Reconnect implements tunnel.Agent.
func (s *slotAgent) Reconnect(after time.Duration) {
	select {
	case s.advice <- after:
	default: // one piece of advice at a time is enough
	}
}

// vault opens envelopes with the cluster's private key and remembers the newest version of each data source's credentials.
type vault struct {
	key *rsa.PrivateKey
	mu  sync.Mutex
	// opened by data source.
	opened map[gateway.ID]openedCredential
}

type openedCredential struct {
	envelope    string
	credentials gateway.Credentials
}

func newVault(key *rsa.PrivateKey) *vault {
	return &vault{key: key, opened: map[gateway.ID]openedCredential{}}
}

func (v *vault) open(source *gateway.TaskSource) (gateway.Credentials, error) {
	envelope := source.Credential.Envelope
	if envelope == "" {
		return gateway.Credentials{}, nil
	}
	v.mu.Lock()
	known, ok := v.opened[source.ID]
	v.mu.Unlock()
	if ok && known.envelope == envelope {
		return known.credentials, nil
	}
	opened, err := credential.Open(v.key, envelope)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.opened) >= maxOpened {
		clear(v.opened)
	}
	v.opened[source.ID] = openedCredential{envelope, opened}
	return opened, nil
}

// bell tells all its listeners that something should be said at once.
type bell struct {
	mu        sync.Mutex
	listeners map[chan struct{}]struct{}
}

func (b *bell) listen() (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listeners == nil {
		b.listeners = map[chan struct{}]struct{}{}
	}
	b.listeners[c] = struct{}{}
	return c, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, c)
	}
}

func (b *bell) signal() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.listeners {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
