//go:build linux

package faults

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	namespaceFolder = "/run/netns"
	namespacePrefix = "comporta-"
)

// namespace is a network of its own: one member's machine, as far as the network can tell.
type namespace struct{ name string }

var namespaces atomic.Int64

// newNamespace makes one. Its name carries our process id, so that runs side by side do not meet and leftovers can be told.
func newNamespace() (*namespace, error) {
	n := &namespace{fmt.Sprintf("%s%d-%d", namespacePrefix, os.Getpid(), namespaces.Add(1))}
	if err := command("", "ip", "netns", "add", n.name); err != nil {
		return nil, err
	}
	return n, n.ip("link", "set", "lo", "up")
}

func (n *namespace) remove() { _ = command("", "ip", "netns", "del", n.name) }

// ip runs ip inside.
func (n *namespace) ip(args ...string) error {
	return command("", "ip", append([]string{"-n", n.name}, args...)...)
}

// nft applies a rule set inside.
func (n *namespace) nft(rules string) error {
	return command(rules, "ip", "netns", "exec", n.name, "nft", "-f", "-")
}

// inside runs f on a thread that is in the namespace. A socket that f makes stays there for good.
func (n *namespace) inside(f func() error) error {
	runtime.LockOSThread()
	here, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer here.Close()
	there, err := os.Open(filepath.Join(namespaceFolder, n.name))
	if err != nil {
		return err
	}
	defer there.Close()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	failed := f()
	if err := unix.Setns(int(here.Fd()), unix.CLONE_NEWNET); err != nil {
		return err // the thread stays locked, and ends with its goroutine
	}
	runtime.UnlockOSThread()
	return failed
}

// listen listens on an address of the namespace.
func (n *namespace) listen(address string) (l net.Listener, err error) {
	err = n.inside(func() error {
		l, err = net.Listen("tcp", address)
		return err
	})
	return l, err
}

// reap removes what runs left behind that did not come to their end.
func reap() {
	entries, _ := os.ReadDir(namespaceFolder)
	for _, entry := range entries {
		rest, ours := strings.CutPrefix(entry.Name(), namespacePrefix)
		pid, err := strconv.Atoi(strings.Split(rest, "-")[0])
		if ours && err == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
			(&namespace{entry.Name()}).remove()
		}
	}
}
