//go:build linux

package faults

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is one running comporta.
type process struct {
	cmd     *exec.Cmd
	started time.Time
	ended   chan struct{}

	mu   sync.Mutex
	text []byte
}

// alarms finds what no process of the product may ever say: the words of the race detector and of a crash.
var alarms = regexp.MustCompile("(?m)WARNING: DATA RACE|^panic: .*|^fatal error: .*")

// raised are the alarms of all processes so far.
var raised struct {
	sync.Mutex
	list []string
}

// noAlarms fails the test, when it and all parts of it have ended, if a process of the product raised an alarm.
func noAlarms(t *testing.T) {
	t.Cleanup(func() {
		raised.Lock()
		defer raised.Unlock()
		for _, alarm := range raised.list {
			t.Errorf("a process of the product says: %s", alarm)
		}
	})
}

// maxOutput is how much of what a process prints is kept: its last words.
const maxOutput = 128 << 10

// launch starts comporta, in a namespace when one is given, and with a clock of its own. It dies with the test process.
func launch(ns *namespace, c *clock, env []string, args ...string) (*process, error) {
	program, files, err := c.program()
	if err != nil {
		return nil, err
	}
	defer closeAll(files)
	p := &process{cmd: exec.Command(program, args...), ended: make(chan struct{})}
	if ns != nil {
		p.cmd = exec.Command("ip", append([]string{"netns", "exec", ns.name, program}, args...)...)
	}
	p.cmd.Env, p.cmd.ExtraFiles = append(cleanEnv(), env...), files
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.started = time.Now()
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// cleanEnv is an environment without settings of ours.
func cleanEnv() (env []string) {
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "COMPORTA_") {
			env = append(env, entry)
		}
	}
	return env
}

// Write takes what the process prints.
func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listen(text)
	if p.text = append(p.text, text...); len(p.text) > maxOutput {
		p.text = append(p.text[:0], p.text[len(p.text)-maxOutput/2:]...)
	}
	return len(text), nil
}

// listen raises an alarm for what has arrived, together with the line that it may continue.
func (p *process) listen(text []byte) {
	line := p.text[bytes.LastIndexByte(p.text, '\n')+1:]
	if len(line) > 1000 {
		line = nil
	}
	found := alarms.Find(append(bytes.Clone(line), text...))
	if found == nil || alarms.Match(line) {
		return
	}
	raised.Lock()
	defer raised.Unlock()
	raised.list = append(raised.list, fmt.Sprintf("%s\n%s", found, text))
}

// said is what the process has printed so far.
func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.text)
}

// expect waits until the process has printed the pattern, and returns its first group.
func (p *process) expect(pattern string) (string, error) {
	expr := regexp.MustCompile(pattern)
	var found []string
	err := until("comporta says "+pattern, func() bool {
		over := p.over()
		found = expr.FindStringSubmatch(p.said())
		return found != nil || over
	})
	if found == nil {
		return "", fmt.Errorf("comporta did not say %s (%v):\n%s", pattern, err, p.said())
	}
	return found[1], nil
}

func (p *process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func (p *process) signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !p.over() {
		return err
	}
	return nil
}

// kill is kill -9.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// stop is SIGTERM, and waits for the end.
func (p *process) stop() error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("comporta does not end on SIGTERM:\n%s", p.said())
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }
