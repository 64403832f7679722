package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait of these tests. It is long because the machine may be busy; nothing waits that long when all is well.
const patience = 90 * time.Second

// binary is the real program, built once.
var binary string

func TestMain(m *testing.M) {
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "comporta-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "comporta")
	args := []string{"build", "-buildvcs=false", "-o", binary}
	if raceEnabled {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, ".")...)
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "the program does not build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// need skips the test when something outside is absent, or fails it when COMPORTA_TEST_REQUIRE names it.
func need(t testing.TB, what string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, required := range strings.Split(os.Getenv("COMPORTA_TEST_REQUIRE"), ",") {
		if strings.TrimSpace(required) == what {
			t.Fatalf("%s is required and absent: %v", what, err)
		}
	}
	t.Skipf("%s is absent: %v", what, err)
}

// deadline is a context that ends with the test's patience.
func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// until waits for a condition; what names it.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ctx, again := deadline(t), time.NewTicker(5*time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("waited %s in vain for: %s", patience, what)
		}
	}
}

// program is the real binary at work in a process of its own.
type program struct {
	t              testing.TB
	name           string
	cmd            *exec.Cmd
	stdout, stderr *output
	done           chan struct{}
	state          *os.ProcessState
}

// output collects what a process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// cleanEnv is an environment without settings of ours, plus what is given.
func cleanEnv(extra ...string) []string {
	var env []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "COMPORTA_") {
			env = append(env, entry)
		}
	}
	return append(env, extra...)
}

// start starts the program; it is killed at the end of the test, and its output shown if the test failed.
func start(t testing.TB, env []string, args ...string) *program {
	t.Helper()
	p := &program{t: t, name: strings.Join(args, " "), cmd: exec.Command(binary, args...), stdout: &output{}, stderr: &output{}, done: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = cleanEnv(env...), p.stdout, p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		p.state = p.cmd.ProcessState
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if t.Failed() {
			t.Logf("comporta %s\n--- stdout\n%s--- stderr\n%s", p.name, p.stdout, tail(p.stderr.String(), 6000))
		}
		if strings.Contains(p.stderr.String(), "WARNING: DATA RACE") {
			t.Errorf("data race in comporta %s", p.name)
		}
	})
	return p
}

func tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return "…" + text[len(text)-n:]
}

// says waits until standard output matches and returns the match's groups.
func (p *program) says(pattern string) []string {
	p.t.Helper()
	return p.writes(p.stdout, pattern)
}

// saysErr is says for standard error, where log lines go.
func (p *program) saysErr(pattern string) []string {
	p.t.Helper()
	return p.writes(p.stderr, pattern)
}

func (p *program) writes(to *output, pattern string) []string {
	p.t.Helper()
	expr := regexp.MustCompile(pattern)
	var found []string
	until(p.t, fmt.Sprintf("comporta %s says %s", p.name, pattern), func() bool {
		found = expr.FindStringSubmatch(to.String())
		if found == nil && p.ended() {
			// What it wrote last may have come between the two looks.
			if found = expr.FindStringSubmatch(to.String()); found == nil {
				p.t.Fatalf("comporta %s ended (%v) without saying %s\n%s", p.name, p.state, pattern, p.stderr)
			}
		}
		return found != nil
	})
	return found
}

func (p *program) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *program) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// exit waits for the end and returns the exit status.
func (p *program) exit() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.signal(syscall.SIGQUIT)
		p.t.Fatalf("comporta %s did not end", p.name)
	}
	return p.state.ExitCode()
}

// kill ends the process without a chance to do anything.
func (p *program) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	p.exit()
}

// comporta runs one command in this process and returns what it did.
func comporta(t testing.TB, env []string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	status = run(deadline(t), args, env, strings.NewReader(""), &out, &err)
	return status, out.String(), err.String()
}

// get reads a whole body.
func all(t testing.TB, r io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
