package main

import (
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Ctrl+C at a prompt ends the command at once and leaves the terminal as it was.
func TestCtrlCAtAPrompt(t *testing.T) {
	script, err := exec.LookPath("script")
	need(t, "script", err)
	join := binary + " member join --server http://127.0.0.1:1 --name n --new-cluster c --state " + filepath.Join(t.TempDir(), "state")
	cmd := exec.Command(script, "-qec", "trap : INT; "+join+"; echo status $?; stty -a", "/dev/null")
	cmd.Env = append(cleanEnv("COMPORTA_CLIENT_ID=a", "COMPORTA_CLIENT_SECRET=b"), "SHELL=/bin/sh")
	keys, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	screen := &output{}
	cmd.Stdout, cmd.Stderr = screen, screen
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	until(t, "the question", func() bool { return strings.Contains(screen.String(), "recovery key: ") })
	if _, err := io.WriteString(keys, "\x03"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatalf("it goes on: %s", screen)
	}
	if text := screen.String(); !strings.Contains(text, "status 1") || !strings.Contains(text, " echo ") {
		t.Errorf("it left: %s", text)
	}
}
