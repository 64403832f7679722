//go:build linux

package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"comporta/service/gateway"
)

// slack is what a request may take longer than its bound because the machine has other things to do.
const slack = 4 * time.Second

// enoughTime is how long a fault must last for something to be served meanwhile in any case: those who wait for a lost member move on after 2 s.
const enoughTime = 4 * time.Second

// neverRan are the failures after which a write has certainly not run, so that a caller may send it again without looking.
var neverRan = []string{
	string(gateway.CodeUnreachable), string(gateway.CodeDisabled), string(gateway.CodeDraining), string(gateway.CodeConcurrencyLimit),
	string(gateway.CodeCPULimit), string(gateway.CodeMemoryLimit), string(gateway.CodeUnauthorized), string(gateway.CodeUnavailable),
}

// verdict holds what came of a run's reads or writes against what the fault permits and the database says.
func (f *fault) verdict(requests []request, executed map[int64]int, writes bool) []string {
	var problems []string
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	sent, served := 0, 0
	for _, r := range requests {
		if (r.kind == write) != writes {
			continue
		}
		if r.phase == struck {
			sent++
			if r.failure == "" {
				served++
			}
		}
		if problem := f.failed(&r); problem != "" {
			complain("%s", problem)
		}
		if problem := ran(&r, executed[r.n]); problem != "" {
			complain("%s", problem)
		}
		if bound := f.bound(&r); r.took > bound+slack {
			complain("%s took %v, more than %v and %v: %s", &r, r.took.Round(time.Millisecond), bound, slack, r.failure)
		}
	}
	// Callers who all wait, within bounds, for what they sent before the fault send nothing during it.
	if sent > 0 && served == 0 && !f.outage && f.hold >= enoughTime {
		complain("nothing was served while the fault lasted")
	}
	return problems
}

// failed says what is wrong with a failure; "" when there is none, or the fault permits it.
func (f *fault) failed(r *request) string {
	permitted := f.reads
	if r.kind == write {
		permitted = f.writes
	}
	switch {
	case r.failure == "":
		return ""
	case r.failure != wrong && r.phase != healed && slices.Contains(permitted, r.failure):
		return ""
	}
	return fmt.Sprintf("%s failed: %s %s", r, r.failure, r.detail)
}

// ran compares with the database's own log.
func ran(r *request, times int) string {
	switch {
	case r.kind != write:
		return ""
	case times > 1:
		return fmt.Sprintf("%s ran %d times: %s %s", r, times, r.failure, r.detail)
	case r.failure == "" && times != 1:
		return fmt.Sprintf("%s was reported done and did not run", r)
	case slices.Contains(neverRan, r.failure) && times != 0:
		return fmt.Sprintf("%s was reported as not run and ran: %s %s", r, r.failure, r.detail)
	}
	return ""
}

// bound is how long the request may take: one that was on its way when the fault struck may have to wait until the fault is noticed.
func (f *fault) bound(r *request) time.Duration {
	d := f.fresh
	if r.phase == before {
		d = f.held
	}
	if d == 0 {
		d = 5 * time.Second
	}
	return d
}

func (r *request) String() string {
	return fmt.Sprintf("%s %d, sent %s,", [...]string{"read", "stream", "write"}[r.kind], r.n, [...]string{"before the fault", "during the fault", "after the fault", "when all was well again"}[r.phase])
}

// summary counts outcomes and shows the slowest.
func summary(requests []request, writes bool) string {
	counts := map[string]int{}
	var slowest [healed + 1]time.Duration
	for _, r := range requests {
		if (r.kind == write) == writes {
			counts[r.failure]++
			slowest[r.phase] = max(slowest[r.phase], r.took.Round(time.Millisecond))
		}
	}
	var words []string
	for what, n := range counts {
		if what == "" {
			what = "answered"
		}
		words = append(words, fmt.Sprintf("%d %s", n, what))
	}
	slices.Sort(words)
	return fmt.Sprintf("%s; slowest sent before, during, after the fault, and when healed: %v", strings.Join(words, ", "), slowest)
}
