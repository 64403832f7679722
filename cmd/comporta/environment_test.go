package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"
)

// parse reads a command line with an environment.
func parse(t *testing.T, env map[string]string, args ...string) *cli {
	t.Helper()
	var c cli
	parser, err := kong.New(&c, kong.Resolvers(fromEnvironment(env)), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(args, err)
	}
	return &c
}

func TestWhatMayBeGivenAgain(t *testing.T) {
	folders := string(filepath.ListSeparator)
	for _, test := range []struct {
		name string
		got  []string
		want []string
	}{
		{"a folder with a comma in its name", parse(t, nil, "member", "run", "--state", "s", "--allow-folder", "/srv/a,b").Member.Run.AllowFolder, []string{"/srv/a,b"}},
		{"two of them", parse(t, nil, "member", "run", "--state", "s", "--allow-folder", "/a", "--allow-folder", "/b").Member.Run.AllowFolder, []string{"/a", "/b"}},
		{"from the environment", parse(t, map[string]string{"COMPORTA_ALLOW_FOLDER": "/a,b" + folders + "/c"}, "member", "run", "--state", "s").Member.Run.AllowFolder, []string{"/a,b", "/c"}},
		{"issuers", parse(t, map[string]string{"COMPORTA_TRUST_ISSUER": "https://a, https://b"}, "serve", "--data", "d").Serve.TrustIssuer, []string{"https://a", "https://b"}},
		{"the command line wins", parse(t, map[string]string{"COMPORTA_REGION": "a=A"}, "serve", "--data", "d", "--region", "b=B, too").Serve.Region, []string{"b=B, too"}},
	} {
		if !slices.Equal(test.got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, test.got, test.want)
		}
	}
}

// A variable that is set for something else must not make a whole command line wrong.
func TestTheCommandLineWinsOverWhatItExcludes(t *testing.T) {
	if s := parse(t, map[string]string{"COMPORTA_DATABASE": "postgres://h/d"}, "serve", "--data", "d").Serve; s.Data != "d" || s.Database != "" {
		t.Errorf("serve: %+v", s)
	}
	j := parse(t, map[string]string{"COMPORTA_CLUSTER": "x"}, "member", "join", "--server", "http://h", "--state", "s", "--name", "n", "--new-cluster", "c").Member.Join
	if j.NewCluster != "c" || j.Cluster != "" {
		t.Errorf("join: %+v", j)
	}
}

// failing is an output that takes nothing.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// What a command shows this once must not be lost as if all were well.
func TestOutputThatCannotBeWrittenIsAFailure(t *testing.T) {
	var stderr bytes.Buffer
	if status := run(context.Background(), []string{"version"}, nil, strings.NewReader(""), failing{}, &stderr); status != exitFailure {
		t.Errorf("status %d", status)
	}
	if !strings.Contains(stderr.String(), "standard output cannot be written") {
		t.Error(stderr.String())
	}
}
