//go:build linux

package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// mtu is the largest packet of a healthy line.
const mtu = 1500

// conditions are what a line does to the packets of one direction. The zero value is a good line.
type conditions struct {
	// drop loses every packet; loss, duplicate and corrupt are chances.
	drop                     bool
	loss, duplicate, corrupt float64
	// Each packet is late by delay and up to jitter more, so that with jitter one overtakes another.
	delay, jitter time.Duration
	// rate is in bytes per second, largest the size beyond which packets vanish without a word; 0 is no limit.
	rate, largest int
}

// longestQueue is how long a packet may wait for its turn on a line with a rate; beyond it the line drops.
const longestQueue = time.Second

// wire is a line between a member's namespace and the service's: two TUN devices, and between them this process, which carries every packet
// across by hand. Kernels without the netem discipline can be tested so too, and the devices vanish with the process.
type wire struct {
	outer, inner *os.File
	name         string
	// toMember and toService are the conditions now.
	toMember, toService atomic.Pointer[conditions]
	carriers            sync.WaitGroup
}

var wires atomic.Int64

// newWire joins the namespace, as address, with the service's address.
func newWire(n *namespace, service, address net.IP) (*wire, error) {
	w := &wire{name: fmt.Sprintf("cw%d.%d", os.Getpid(), wires.Add(1))}
	w.set(conditions{}, conditions{})
	var err error
	inside := w.name + "i"
	err = all(
		func() error { w.outer, err = tun(w.name); return err },
		func() error { w.inner, err = tun(inside); return err },
		func() error { return command("", "ip", "link", "set", inside, "netns", n.name) },
		func() error { return n.ip("addr", "add", address.String(), "peer", service.String(), "dev", inside) },
		func() error { return n.ip("link", "set", inside, "up", "mtu", fmt.Sprint(mtu)) },
		func() error {
			return command("", "ip", "addr", "add", service.String(), "peer", address.String(), "dev", w.name)
		},
		func() error { return command("", "ip", "link", "set", w.name, "up", "mtu", fmt.Sprint(mtu)) },
	)
	if err != nil {
		w.close()
		return nil, err
	}
	w.carriers.Go(func() { carry(w.outer, w.inner, &w.toMember) })
	w.carriers.Go(func() { carry(w.inner, w.outer, &w.toService) })
	return w, nil
}

// tun makes a device whose packets are read and written through the file; it is gone when the file is closed.
func tun(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("make the device %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (w *wire) set(toMember, toService conditions) {
	w.toMember.Store(&toMember)
	w.toService.Store(&toService)
}

func (w *wire) close() {
	for _, f := range []*os.File{w.outer, w.inner} {
		if f != nil {
			f.Close()
		}
	}
	w.carriers.Wait()
}

// inside is the device's name in the namespace.
func (w *wire) inside() string { return w.name + "i" }

// carry takes packets across in one direction until the line is closed.
func carry(from, to *os.File, now *atomic.Pointer[conditions]) {
	buffer := make([]byte, 1<<16)
	var free time.Time // when a line with a rate has sent what it holds
	for {
		n, err := from.Read(buffer)
		if errors.Is(err, unix.EIO) {
			continue // the device is down for now
		}
		if err != nil {
			return
		}
		c := now.Load()
		if c.drop || rand.Float64() < c.loss || c.largest > 0 && n > c.largest {
			continue
		}
		wait, ok := c.late(n, &free)
		if ok {
			c.send(to, buffer[:n], wait)
		}
	}
}

// late says how long a packet of this size is on its way; false when the line's queue is full.
func (c *conditions) late(size int, free *time.Time) (time.Duration, bool) {
	wait := c.delay
	if c.jitter > 0 {
		wait += rand.N(c.jitter)
	}
	if c.rate == 0 {
		return wait, true
	}
	now := time.Now()
	if free.Before(now) {
		*free = now
	}
	queue := free.Sub(now)
	if queue > longestQueue {
		return 0, false
	}
	*free = free.Add(time.Duration(size) * time.Second / time.Duration(c.rate))
	return wait + queue, true
}

// send delivers a packet, after a wait if it is late. Errors are the device's, which may be down: then the packet is lost, as on any line.
func (c *conditions) send(to *os.File, packet []byte, wait time.Duration) {
	copies := 1
	if rand.Float64() < c.duplicate {
		copies = 2
	}
	if rand.Float64() < c.corrupt {
		packet[rand.IntN(len(packet))] ^= 1 << rand.IntN(8)
	}
	if wait > 0 {
		late := append([]byte(nil), packet...)
		for range copies {
			time.AfterFunc(wait, func() { _, _ = to.Write(late) })
		}
		return
	}
	for range copies {
		_, _ = to.Write(packet)
	}
}
