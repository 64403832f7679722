package main

import (
	"fmt"
	"io"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"unicode"
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

// printf writes lines to standard output. Names in them are other people's.
func (p *process) printf(format string, args ...any) {
	lines := strings.Split(fmt.Sprintf(format, args...), "\n")
	for i, line := range lines {
		lines[i] = unsteering(line)
	}
	fmt.Fprint(p.stdout, strings.Join(lines, "\n"))
}

// unsteering replaces what would steer a terminal by spaces.
func unsteering(text string) string {
	return strings.Map(func(r rune) rune {
		if steers(r) {
			return ' '
		}
		return r
	}, text)
}

// steers says whether a terminal obeys a character instead of showing it: one that moves its cursor or begins a command, as ESC and U+009B do,
// or one that turns the direction of what follows.
func steers(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// serves says that the command lasts. A reader of its output that goes away, such as head, must not end it; other commands end with it.
func (p *process) serves() {
	p.lasts = true
	signal.Ignore(syscall.SIGPIPE)
}

// outputLost says whether something that was written got lost.
func (p *process) outputLost() bool { return p.out.err() != nil }
