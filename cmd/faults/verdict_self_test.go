//go:build linux

package faults

import (
	"strings"
	"testing"
	"time"

	"comporta/service/gateway"
)

// The verdict finds what it is there for: requests that are lost, doubled, wrong, late, or not what they were reported to be.
func TestTheVerdictFinds(t *testing.T) {
	f := fault{reads: cutReads, writes: append([]string{string(gateway.CodeUnreachable)}, cutWrites...), hold: time.Second}
	for _, c := range []struct {
		name    string
		request request
		times   int
		want    string
	}{
		{"a good read", request{kind: read}, 0, ""},
		{"a good write", request{kind: write}, 1, ""},
		{"an unknown outcome, not run", request{kind: write, phase: struck, failure: string(gateway.CodeOutcomeUnknown)}, 0, ""},
		{"an unknown outcome, run", request{kind: write, phase: struck, failure: string(gateway.CodeOutcomeUnknown)}, 1, ""},
		{"an unknown outcome, run twice", request{kind: write, phase: struck, failure: string(gateway.CodeOutcomeUnknown)}, 2, "ran 2 times"},
		{"a good write, run twice", request{kind: write}, 2, "ran 2 times"},
		{"a write that is lost", request{kind: write}, 0, "did not run"},
		{"a refusal that ran", request{kind: write, phase: struck, failure: string(gateway.CodeUnreachable)}, 1, "reported as not run"},
		{"a failure when all was well", request{kind: write, phase: healed, failure: string(gateway.CodeOutcomeUnknown)}, 0, "failed"},
		{"a failure that the fault does not permit", request{kind: read, phase: struck, failure: string(gateway.CodeUnreachable)}, 0, "failed"},
		{"a large answer that broke", request{kind: stream, phase: struck, failure: broken}, 0, ""},
		{"a large answer that broke when all was well", request{kind: stream, phase: healed, failure: broken}, 0, "failed"},
		{"a wrong answer", request{kind: read, phase: struck, failure: wrong}, 0, "failed"},
		{"a late answer", request{kind: read, phase: struck, took: time.Minute}, 0, "took"},
	} {
		c.request.n = 7
		found := strings.Join(f.verdict([]request{c.request}, map[int64]int{7: c.times}, c.request.kind == write), "; ")
		if (found == "") != (c.want == "") || !strings.Contains(found, c.want) {
			t.Errorf("%s: %q, want %q", c.name, found, c.want)
		}
	}
}

// A wrong answer does not pass for the one that was asked for.
func TestAWrongAnswerIsSeen(t *testing.T) {
	pad := strings.Repeat("x", padding)
	for body, want := range map[string]string{
		`{"rows":[[7,"` + pad + `"]]}`:                   "",
		`{"rows":[[8,"` + pad + `"]]}`:                   wrong,
		`{"rows":[[7,"x"]]}`:                             wrong,
		`{"rows":[]}`:                                    wrong,
		`{"rows":[[7,"` + pad + `"],[7,"` + pad + `"]]}`: wrong,
		`{"rows":[[7,"` + pad + `"]]`:                    wrong,
	} {
		if got := judge([]byte(body), 7, 1, read); got != want {
			t.Errorf("%.40s: %q, want %q", body, got, want)
		}
	}
}

// An alarm is heard also when it arrives in parts, once, and not in the middle of a line.
func TestAlarmsAreHeard(t *testing.T) {
	for text, want := range map[string]int{
		"all is well\n|panic: no\n":          1,
		"WARNING: DA|TA RACE\n|Read at\n":    1,
		"fatal |error: all goroutines|\nx\n": 1,
		"level=ERROR msg=|panic: handled\n":  0,
		"":                                   0,
	} {
		before := len(raised.list)
		p := &process{}
		for _, part := range strings.Split(text, "|") {
			_, _ = p.Write([]byte(part))
		}
		if got := len(raised.list) - before; got != want {
			t.Errorf("%q raises %d alarms, want %d", text, got, want)
		}
		raised.list = raised.list[:before]
	}
}
