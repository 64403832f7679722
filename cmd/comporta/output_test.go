package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
)

// A service whose reader takes the first lines and leaves, as head does, goes on.
func TestServingOutlivesItsReader(t *testing.T) {
	cmd := exec.Command(binary, "serve", "--data", filepath.Join(t.TempDir(), "state"), "--listen", "127.0.0.1:0")
	cmd.Env = cleanEnv()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout // both end in the same reader
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	address, lines := "", bufio.NewScanner(out)
	for address == "" && lines.Scan() {
		address, _ = strings.CutPrefix(lines.Text(), "listening on ")
		if !strings.HasPrefix(lines.Text(), "listening on ") {
			address = ""
		}
	}
	out.Close()
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil { // it writes a line of the log
		t.Fatal(err)
	}
	for range 3 { // and so does every request
		resp, err := http.Get(address + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it did not end in order: %v", err)
	}
}

// A mistyped folder must not become a new state with an administrator of its own.
func TestRescueMakesNoState(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "typo")
	p := start(t, nil, "rescue", "--data", folder)
	if status := p.exit(); status != exitFailure || !strings.Contains(p.stderr.String(), "no service's state") {
		t.Errorf("status %d: %s", status, p.stderr)
	}
	if list, _ := filepath.Glob(folder + "*"); len(list) != 0 {
		t.Errorf("it made %v", list)
	}
}

// Rows, names and the errors of databases are other people's text: none of it clears the screen, moves the cursor or turns the writing round.
func TestOtherPeoplesTextDoesNotSteerATerminal(t *testing.T) {
	for _, steering := range []string{"\x1b[2J", "\u009b2J", "\x07", "\x7f", "\u0085", "\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069"} {
		var out strings.Builder
		p := &process{stdout: &out}
		value := "é" + steering + "z"
		p.printf("%s\nserved by %s\n", plainText(value), value)
		if err := printJSON(p, map[string]any{"value": value, "n": []int{1}}); err != nil {
			t.Fatal(err)
		}
		text := out.String() + oneLine(errors.Join(io.EOF, errors.New(value)))
		if first, _ := utf8.DecodeRuneInString(steering); strings.ContainsRune(text, first) {
			t.Errorf("%q is left in %q", first, text)
		}
		table, object, _ := strings.Cut(out.String(), "{")
		if lines := strings.Split(table, "\n"); len(lines) != 3 || !strings.HasPrefix(lines[0], "é ") || !strings.HasSuffix(lines[1], "z") {
			t.Errorf("of %q: %q", value, table)
		}
		var back struct{ Value string }
		if err := json.Unmarshal([]byte("{"+object), &back); err != nil || back.Value != value {
			t.Errorf("as JSON %q is %q, %v", value, back.Value, err)
		}
	}
}
