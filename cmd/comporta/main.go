// Command comporta is the whole of Comporta in one binary: the service, the member, a demonstration, upkeep over the API, and load
// generators. It holds flags, wiring and ordered shutdown only, and it is the one place where the clock, randomness and new ids come from.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// The exit statuses of every command.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends in order; from then on a second one ends at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// process is what a command knows of the process it runs in.
type process struct {
	args           []string
	env            map[string]string
	stdin          io.Reader
	stdout, stderr io.Writer
	// out is what stdout is: it knows whether something got lost.
	out *sink
	// lasts: the command serves until it is ended.
	lasts bool
}

// run runs one command and returns the exit status: 0, 1 for a failure, 2 for wrong usage. The end of ctx is the wish to stop in order.
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) (status int) {
	p := &process{args: args, env: envMap(env), stdin: stdin, out: &sink{Writer: stdout}, stderr: stderr}
	p.stdout = p.out
	defer func() {
		// kong ends --help with a call of Exit, from which it must not return.
		switch end := recover().(type) {
		case nil:
		case exitStatus:
			status = int(end)
		default:
			panic(end)
		}
	}()
	err := p.command(ctx)
	if lost := p.out.err(); lost != nil && !p.lasts {
		err = lost // it is the reason for whatever else went wrong
	}
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, "comporta: "+oneLine(err))
	var usage *usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailure
}

// exitStatus is what kong wants the process to end with.
type exitStatus int

// usageError is a command line that cannot be carried out as it stands.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// command parses the command line and runs the command that it names.
func (p *process) command(ctx context.Context) error {
	var c cli
	parser, err := kong.New(&c,
		kong.Name("comporta"),
		kong.Description("On-premises data gateway clusters, self-hosted. Every flag can come from the environment: --public-url is COMPORTA_PUBLIC_URL."),
		kong.Writers(p.stdout, p.stderr),
		kong.Exit(func(code int) { panic(exitStatus(code)) }),
		kong.Resolvers(fromEnvironment(p.env)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(usual(p.args))
	if err != nil {
		return &usageError{fmt.Errorf("%w; see comporta --help", err)}
	}
	log, err := newLog(p.stderr, c.LogFormat, c.LogLevel)
	if err != nil {
		return err
	}
	stop, err := profile(c.Profile, parsed.Command())
	if err != nil {
		return err
	}
	defer stop()
	parsed.BindTo(ctx, (*context.Context)(nil))
	return parsed.Run(p, log, &c)
}

// usual turns what people try first into what is there.
func usual(args []string) []string {
	switch {
	case len(args) == 1 && args[0] == "help":
		return []string{"--help"}
	case len(args) == 1 && args[0] == "--version":
		return []string{"version"}
	}
	return args
}

func envMap(list []string) map[string]string {
	env := make(map[string]string, len(list))
	for _, entry := range list {
		if name, value, ok := strings.Cut(entry, "="); ok {
			env[name] = value
		}
	}
	return env
}

// given reports whether a flag stands on the command line itself, and did not come from the environment.
func (p *process) given(flag string) bool {
	for _, arg := range p.args {
		if arg == "--"+flag || strings.HasPrefix(arg, "--"+flag+"=") {
			return true
		}
	}
	return false
}

// oneLine keeps an error on one line, also one that joins several. It may hold other people's text, such as a row's value.
func oneLine(err error) string {
	return unsteering(strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; "))
}
