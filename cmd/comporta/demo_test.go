package main

import (
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// The demo as a user runs it: two dispatches served by different members, credentials, and commands that work as they are printed.
func TestDemo(t *testing.T) {
	p := start(t, nil, "demo", "--listen", "127.0.0.1:0")
	p.says(`/swagger/\n`)
	out := p.stdout.String()
	served := regexp.MustCompile(`served by (\S+)`).FindAllStringSubmatch(out, -1)
	if len(served) != 2 || served[0][1] == served[1][1] {
		t.Fatalf("want two dispatches served by different members, got %v", served)
	}
	for _, want := range []string{"the same rows", "killed       " + served[0][1], "client id ", "client secret ", "100,000 orders", "NULL", "Ōta"} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo does not say %q", want)
		}
	}
	tryHints(t, out, served[1][1])
	p.signal(syscall.SIGINT)
	if status := p.exit(); status != exitOK {
		t.Errorf("Ctrl-C ends it with %d", status)
	}
	if text := p.stderr.String(); text != "" {
		t.Errorf("standard error: %s", text)
	}
}

// tryHints pastes the printed bash commands into bash, and the PowerShell ones into PowerShell if there is one.
func tryHints(t *testing.T, out, survivor string) {
	t.Helper()
	hints := regexp.MustCompile(`(?m)^\d\. .*\n((?:.+\n)+)`).FindAllStringSubmatch(out, -1)
	if len(hints) != 5 {
		t.Fatalf("want five hints, got %d", len(hints))
	}
	_, err := exec.LookPath("curl")
	need(t, "curl", err)
	script := hints[0][1] + hints[1][1] + hints[2][1] + "curl -s -f -o /dev/null " + hints[4][1]
	got, err := exec.CommandContext(deadline(t), "bash", "-ec", script).CombinedOutput()
	if err != nil {
		t.Fatalf("the printed commands fail: %v\n%s", err, got)
	}
	for _, want := range []string{"200 OK", "X-Gateway-Member-Name: " + url.PathEscape(survivor), "city,orders,largest", "Zürich,", `"available":true`, `"reason":"offline"`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the printed commands do not give %q:\n%s", want, got)
		}
	}
	t.Run("PowerShell", func(t *testing.T) {
		pwsh, err := exec.LookPath("pwsh")
		need(t, "pwsh", err)
		got, err := exec.CommandContext(deadline(t), pwsh, "-NoProfile", "-Command", hints[3][1]).CombinedOutput()
		if err != nil || !strings.Contains(string(got), "Unreachable") {
			t.Errorf("the PowerShell commands: %v\n%s", err, got)
		}
	})
}

// A demo that keeps its folder finds everything again.
func TestDemoKeepsItsData(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []string{`100,000 orders written`, `sample data  known from the last run`} {
		p := start(t, nil, "demo", "--listen", "127.0.0.1:0", "--data", dir)
		p.says(want)
		p.says(`the same rows`)
		p.signal(syscall.SIGTERM)
		if status := p.exit(); status != exitOK {
			t.Fatalf("exit status %d", status)
		}
	}
}
