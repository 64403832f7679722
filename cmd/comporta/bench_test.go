package main

import (
	"strings"
	"testing"
	"time"
)

// The load generators run through, small, as processes of the real binary, and leave no process and no failure behind.
func TestBench(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"bench", "dispatch", "--seconds", "0.9", "--workers", "4"}, []string{"straight to the backend", "plain reverse proxy", "dispatch", "MB/s"}},
		{[]string{"bench", "api", "--seconds", "0.2", "--workers", "4", "--clusters", "1"}, []string{"get a cluster", "change a cluster (write)", "get a token"}},
	} {
		p := start(t, nil, c.args...)
		if status := p.exit(); status != exitOK {
			t.Fatalf("%v ended with %d: %s", c.args, status, p.stderr)
		}
		for _, word := range c.want {
			if !strings.Contains(p.stdout.String(), word) {
				t.Errorf("%v does not speak of %q:\n%s", c.args, word, p.stdout)
			}
		}
	}
}

func TestQuantiles(t *testing.T) {
	var f figures
	for i := 100; i > 0; i-- {
		f.latencies = append(f.latencies, time.Duration(i)*time.Millisecond)
	}
	f.elapsed = 2 * time.Second
	if got := f.quantile(.5); got != 51*time.Millisecond {
		t.Errorf("p50 is %s", got)
	}
	if got := f.quantile(.999); got != 100*time.Millisecond {
		t.Errorf("p99.9 is %s", got)
	}
	if got := f.perSecond(); got != 50 {
		t.Errorf("%v per second", got)
	}
}
