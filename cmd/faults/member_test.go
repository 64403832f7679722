//go:build linux

package faults

import (
	"fmt"
	"os"
	"path/filepath"
)

const (
	adminSecret = "faults-Adm1n-secret-0123456789"
	recoveryKey = "faults-Rec0very-key-987654"
)

// member is one member of a world's cluster: the process, and with a network its namespace, line and way to the database.
type member struct {
	name, id, state string
	trust           []string // flags
	process         *process
	clock           *clock // nil for the machine's own
	ns              *namespace
	wire            *wire
	relay           *relay
}

// newMember joins a member and makes its machine; start starts it.
func (w *world) newMember(name string) (*member, error) {
	c, err := w.newClock(name)
	if err != nil {
		return nil, err
	}
	m := &member{name: name, state: filepath.Join(w.dir, name), trust: w.trust(), clock: c}
	w.members = append(w.members, m)
	if err := w.join(m); err != nil || w.net == nil {
		return m, err
	}
	return m, m.connect(w.net, w.db.server.address)
}

// join makes the member known to the service; the first one makes the cluster.
func (w *world) join(m *member) error {
	args := []string{"member", "join", "--server", w.url, "--state", m.state, "--name", m.name}
	if w.cluster == "" {
		args = append(args, "--new-cluster", "faults "+filepath.Base(w.dir))
	} else {
		args = append(args, "--cluster", w.cluster)
	}
	args = append(args, w.trust()...)
	p, err := launch(nil, m.clock, []string{"COMPORTA_CLIENT_ID=" + w.adminID, "COMPORTA_CLIENT_SECRET=" + adminSecret, "COMPORTA_RECOVERY_KEY=" + recoveryKey}, args...)
	if err != nil {
		return err
	}
	if w.cluster, err = p.expect(`cluster id +(\S+)`); err != nil {
		return err
	}
	m.id, err = p.expect(`member id +(\S+)`)
	<-p.ended
	return err
}

// connect gives the member a machine of its own.
func (m *member) connect(net *network, database string) (err error) {
	return all(
		func() error { m.ns, err = newNamespace(); return err },
		func() error { m.wire, err = newWire(m.ns, net.service, net.member()); return err },
		func() error { m.relay, err = newRelay(m.ns, database); return err },
	)
}

// start starts the member's process.
func (m *member) start() (err error) {
	m.process, err = launch(m.ns, m.clock, nil, append([]string{"member", "run", "--state", m.state, "--drain-timeout", "20s"}, m.trust...)...)
	return err
}

func (m *member) close() {
	if m.process != nil {
		m.process.kill()
	}
	if m.relay != nil {
		m.relay.close()
	}
	if m.ns != nil {
		m.ns.remove()
	}
	if m.wire != nil {
		m.wire.close()
	}
}

// resetRules make the member's machine answer every packet of a tunnel with RST, to both ends; more narrows them down.
const resetRules = `table inet fault {
  chain from { type filter hook input priority 0; tcp sport %[1]s %[2]s tcp flags & rst == 0 reject with tcp reset; }
  chain to { type filter hook output priority 0; tcp dport %[1]s %[3]s tcp flags & rst == 0 reject with tcp reset; }
}
`

// reset cuts the tunnels that have this local port, or all when it is "", until mend.
func (m *member) reset(servicePort, localPort string) error {
	from, to := "", ""
	if localPort != "" {
		from, to = "tcp dport "+localPort, "tcp sport "+localPort
	}
	return m.ns.nft(fmt.Sprintf(resetRules, servicePort, from, to))
}

func (m *member) mend() error { return m.ns.nft("delete table inet fault\n") }

// descriptors is how many files the process has open.
func (p *process) descriptors() (int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.pid()))
	return len(entries), err
}
