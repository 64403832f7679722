package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// childPatience is how long a child may take to say that it is ready, and to leave.
const childPatience = 30 * time.Second

// children are processes of this same binary; ending them is part of every way out.
type children struct {
	stderr io.Writer
	list   []*exec.Cmd
}

// start runs the binary with these arguments and returns the first line of its output that begins with ready.
func (c *children) start(ctx context.Context, env []string, ready string, args ...string) (string, error) {
	binary, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(binary, args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), c.stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	c.list = append(c.list, cmd)
	lines := make(chan string, 1)
	go find(out, ready, lines)
	select {
	case line, ok := <-lines:
		if !ok {
			return "", fmt.Errorf("comporta %s ended before it was ready", args[0])
		}
		return strings.TrimSpace(strings.TrimPrefix(line, ready)), nil
	case <-time.After(childPatience):
		return "", fmt.Errorf("comporta %s was not ready within %s", args[0], childPatience)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// find sends the first line that begins with ready, and reads on so that the child never waits for a reader.
func find(out io.Reader, ready string, lines chan<- string) {
	defer close(lines)
	scanner, found := bufio.NewScanner(out), false
	for scanner.Scan() {
		if !found && strings.HasPrefix(scanner.Text(), ready) {
			found = true
			lines <- scanner.Text()
		}
	}
}

// cpuTime is the CPU time that processes have used so far, where the system tells (Linux); a process that has ended used none.
func cpuTime(list []*exec.Cmd) (sum time.Duration) {
	const tick = 10 * time.Millisecond // USER_HZ is 100 on everything that Go runs on
	for _, cmd := range list {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		if err != nil {
			continue
		}
		// Behind the name in brackets: the state, then numbers; the 12th and 13th of these fields are user and system time.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		for _, field := range fields[11:13] {
			ticks, _ := strconv.ParseInt(field, 10, 64)
			sum += time.Duration(ticks) * tick
		}
	}
	return sum
}

// stop ends the children, the last one first, and waits for them.
func (c *children) stop() error {
	var errs []error
	for i := len(c.list) - 1; i >= 0; i-- {
		cmd := c.list[i]
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
		timer := time.AfterFunc(childPatience, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		var status *exec.ExitError
		if err != nil && !errors.As(err, &status) {
			errs = append(errs, err)
		}
	}
	c.list = nil
	return errors.Join(errs...)
}

// rig is a service in a process of its own, for measuring.
type rig struct {
	children
	dir    string
	client *apiClient
}

// newRig starts a service on a temporary SQLite database.
func newRig(ctx context.Context, p *process) (*rig, error) {
	dir, err := os.MkdirTemp("", "comporta-bench-")
	if err != nil {
		return nil, err
	}
	r := &rig{children: children{stderr: p.stderr}, dir: dir}
	id, secret := newID().String(), randomSecret()
	address, err := r.start(ctx, []string{"COMPORTA_ADMIN_ID=" + id, "COMPORTA_ADMIN_SECRET=" + secret}, "listening on ",
		"serve", "--data", dir+"/service", "--listen", "127.0.0.1:0", "--log-level", "warn", "--shutdown-timeout", "1s")
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	h, err := httpClient("")
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	r.client = newAPIClient(h, address, id, secret)
	return r, nil
}

func (r *rig) close() error { return errors.Join(r.stop(), os.RemoveAll(r.dir)) }
