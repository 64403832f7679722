package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// maxSecretFile bounds a file that holds one secret, in bytes.
const maxSecretFile = 64 << 10

// secret is one secret that a command needs. Secrets come from a file, the environment or a prompt, never from an argument.
type secret struct {
	// what names it in messages and in the prompt.
	what string
	// env is the variable that may hold it, file the flag's value that may name a file with it; "" for neither.
	env, file string
	fileFlag  string
	// noPrompt: it is not asked for.
	noPrompt bool
	// twice: it is asked for twice, because a slip would be noticed too late.
	twice bool
}

// read finds the secret: the file first, then the environment, then the person at the terminal.
func (p *process) read(ctx context.Context, s secret) (string, error) {
	if s.file != "" {
		return readSecretFile(s.what, s.file)
	}
	if value := p.env[s.env]; s.env != "" && value != "" {
		return value, nil
	}
	if terminal, ok := p.stdin.(*os.File); ok && !s.noPrompt && term.IsTerminal(int(terminal.Fd())) {
		return p.ask(ctx, terminal, &s)
	}
	return "", usagef("there is no %s; %s", s.what, s.advice())
}

func (s *secret) advice() string {
	var ways []string
	if s.env != "" {
		ways = append(ways, "set "+s.env)
	}
	if s.fileFlag != "" {
		ways = append(ways, "name a file with --"+s.fileFlag)
	}
	if !s.noPrompt {
		ways = append(ways, "run the command in a terminal")
	}
	return strings.Join(ways, ", or ")
}

// ask asks once, or twice and compares.
func (p *process) ask(ctx context.Context, terminal *os.File, s *secret) (string, error) {
	text, err := p.prompt(ctx, terminal, s.what)
	if err != nil || !s.twice {
		return text, err
	}
	again, err := p.prompt(ctx, terminal, s.what+" again")
	if err == nil && again != text {
		return "", usagef("the two are not the same; nothing was done")
	}
	return text, err
}

// prompt asks without echo.
func (p *process) prompt(ctx context.Context, terminal *os.File, what string) (string, error) {
	fmt.Fprintf(p.stderr, "%s: ", what)
	text, err := readPassword(ctx, int(terminal.Fd()))
	fmt.Fprintln(p.stderr)
	if err != nil {
		return "", fmt.Errorf("read the %s: %w", what, err)
	}
	if len(text) == 0 {
		return "", usagef("the %s is empty", what)
	}
	return string(text), nil
}

// readPassword reads a line without echo. When ctx ends, as by Ctrl+C, the terminal is put back as it was; the reading itself cannot be
// ended and stays behind, in a process that ends now.
func readPassword(ctx context.Context, terminal int) ([]byte, error) {
	before, err := term.GetState(terminal)
	if err != nil {
		return nil, err
	}
	type line struct {
		text []byte
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := term.ReadPassword(terminal)
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		return l.text, l.err
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), term.Restore(terminal, before))
	}
}

// readSecretFile takes a file's text without its last line break.
func readSecretFile(what, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", usagef("the file with the %s cannot be read: %w", what, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	if err != nil {
		return "", fmt.Errorf("the file with the %s cannot be read: %w", what, err)
	}
	if len(text) > maxSecretFile {
		return "", usagef("the file with the %s is longer than %d bytes; is it the right one?", what, maxSecretFile)
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if value == "" {
		return "", &usageError{errors.New("the file with the " + what + " is empty")}
	}
	return value, nil
}
