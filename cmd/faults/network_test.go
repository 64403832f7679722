//go:build linux

package faults

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
)

// network is the addresses of this run: a block of 256 out of those set aside for tests of network devices (RFC 2544).
type network struct {
	block int
	// service is the address that members dial; anchor keeps it alive while no line is there.
	service net.IP
	anchor  *os.File
	next    atomic.Int64
}

// theNetwork is made when first asked for.
var theNetwork = sync.OnceValues(makeNetwork)

// makeNetwork tries everything that lines need, so that what does not work here is known before any test depends on it.
func makeNetwork() (*network, error) {
	if os.Getuid() != 0 {
		return nil, errors.New("namespaces need root")
	}
	reap()
	probe, err := newNamespace()
	if err != nil {
		return nil, err
	}
	defer probe.remove()
	if err := probe.nft("table inet probe { chain c { type filter hook input priority 0; tcp sport 1 reject with tcp reset; }\n}"); err != nil {
		return nil, err
	}
	n := &network{block: freeBlock()}
	made.network = n
	n.service = n.address(1)
	name := fmt.Sprintf("cw%d.0", os.Getpid())
	if n.anchor, err = tun(name); err != nil {
		return nil, err
	}
	return n, all(
		func() error { return command("", "ip", "addr", "add", n.service.String()+"/32", "dev", name) },
		func() error { return command("", "ip", "link", "set", name, "up") },
	)
}

// freeBlock begins its search at a place of our own, because another run may search at the same time.
func freeBlock() int {
	taken := map[string]bool{}
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok {
			taken[ip.IP.String()] = true
		}
	}
	for i := range 512 {
		n := &network{block: (os.Getpid() + i) % 512}
		if !taken[n.address(1).String()] {
			return n.block
		}
	}
	return 0
}

func (n *network) address(host int) net.IP {
	return net.IPv4(198, byte(18+n.block/256), byte(n.block%256), byte(host))
}

// member is an address for one more member. Those of members long gone come again.
func (n *network) member() net.IP { return n.address(2 + int(n.next.Add(1)%250)) }
