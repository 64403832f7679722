package main

import (
	"fmt"
	"io"
	"os/signal"
	"sync"
	"syscall"
)

// sink is a stream that remembers whether anything that was written to it is lost.
type sink struct {
	io.Writer
	mu   sync.Mutex
	lost error
}

// Write writes, and keeps the first error.
func (o *sink) Write(text []byte) (int, error) {
	n, err := o.Writer.Write(text)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.lost == nil {
			o.lost = err
		}
	}
	return n, err
}

// err is the error of a command whose result did not get out, perhaps a secret that is shown this once.
func (o *sink) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost == nil {
		return nil
	}
	return fmt.Errorf("standard output cannot be written, and what the command did is not shown: %w", o.lost)
}

// printf writes to standard output.
func (p *process) printf(format string, args ...any) { fmt.Fprintf(p.stdout, format, args...) }

// serves says that the command lasts. A reader of its output that goes away, such as head, must not end it; other commands end with it.
func (p *process) serves() {
	p.lasts = true
	signal.Ignore(syscall.SIGPIPE)
}

// outputLost says whether something that was written got lost.
func (p *process) outputLost() bool { return p.out.err() != nil }
