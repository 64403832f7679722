//go:build linux

package faults

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience bounds every wait for a condition. It is long because the machine may be busy; nothing waits that long when all is well.
const patience = 2 * time.Minute

// worlds is how many faults are at work at once, each in a world of its own. They wait most of the time, so there are more than processors.
const worlds = 6

// binary is the real program, built once.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", fmt.Sprint(worlds))
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "comporta-faults-")
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
	if out, err := exec.Command("go", append(args, "comporta/cmd/comporta")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "the program does not build: %v\n%s", err, out)
		return 1
	}
	defer bench.close()
	return m.Run()
}

// absent skips the test because something is not there, or fails it when COMPORTA_TEST_REQUIRE names it.
func absent(t testing.TB, what string, err error) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("COMPORTA_TEST_REQUIRE"), ","), what) {
		t.Fatalf("%s is required and absent: %v", what, err)
	}
	t.Skipf("%s is absent: %v", what, err)
}

// until waits for a condition.
func until(what string, holds func() bool) error {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(patience); !holds(); <-again.C {
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %v in vain: %s", patience, what)
		}
	}
	return nil
}

// command runs a program of the system; its words are in the error.
func command(stdin, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// all runs steps until one fails.
func all(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
