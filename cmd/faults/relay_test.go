//go:build linux

package faults

import (
	"io"
	"net"
	"sync"
	"time"
)

// relay stands at PostgreSQL's address in a member's namespace and carries connections to the real one. It is where faults between a member
// and its database happen, which the other member does not feel.
type relay struct {
	ns      *namespace
	address string

	mu       sync.Mutex
	changed  *sync.Cond
	listener net.Listener
	open     map[net.Conn]bool
	silent   bool
	delay    time.Duration
	running  sync.WaitGroup
}

func newRelay(ns *namespace, address string) (*relay, error) {
	r := &relay{ns: ns, address: address, open: map[net.Conn]bool{}}
	r.changed = sync.NewCond(&r.mu)
	return r, r.listen()
}

// listen makes the database reachable.
func (r *relay) listen() error {
	l, err := r.ns.listen(r.address)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.listener = l
	r.mu.Unlock()
	r.running.Go(func() { r.accept(l) })
	return nil
}

// refuse makes the database refuse connections, and cuts those that are.
func (r *relay) refuse() {
	r.mu.Lock()
	l := r.listener
	r.listener = nil
	r.mu.Unlock()
	if l != nil {
		l.Close()
	}
	r.cut()
}

// cut resets every connection.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.open {
		_ = c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
}

// silence holds everything back, or lets it go on.
func (r *relay) silence(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.silent = on
	r.changed.Broadcast()
}

// slow makes every answer late.
func (r *relay) slow(delay time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delay = delay
}

func (r *relay) close() {
	r.silence(false)
	r.refuse()
	r.running.Wait()
}

func (r *relay) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		r.running.Go(func() { r.serve(c) })
	}
}

func (r *relay) serve(c net.Conn) {
	defer c.Close()
	database, err := net.Dial("tcp", r.address)
	if err != nil {
		return
	}
	defer database.Close()
	r.keep(c, true)
	defer r.keep(c, false)
	back := make(chan struct{})
	go func() {
		defer close(back)
		r.copy(c, database)
		c.Close()
	}()
	r.copy(database, c)
	database.Close()
	<-back
}

func (r *relay) keep(c net.Conn, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if open {
		r.open[c] = true
	} else {
		delete(r.open, c)
	}
}

// copy carries one direction. What is held back by a silence stays held back until it ends.
func (r *relay) copy(to io.Writer, from io.Reader) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			r.hold()
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (r *relay) hold() {
	r.mu.Lock()
	delay := r.delay
	for r.silent {
		r.changed.Wait()
	}
	r.mu.Unlock()
	if delay > 0 {
		time.Sleep(delay) // the fault itself
	}
}
