//go:build linux

package faults

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestSoak strikes with the faults of the suite in a random order for as long as COMPORTA_SOAK says, in several worlds at once, each of
// which goes through one fault after the other without a fresh start, every process with a clock of its own. COMPORTA_SOAK_SEED repeats the choices of an earlier run,
// COMPORTA_SOAK_ONLY, a regular expression, keeps it to the faults whose names match.
func TestSoak(t *testing.T) {
	text := os.Getenv("COMPORTA_SOAK")
	if text == "" {
		t.Skip("COMPORTA_SOAK is not set: it says how long to go on, such as 1h")
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	noAlarms(t)
	seed := rand.Uint64()
	if given := os.Getenv("COMPORTA_SOAK_SEED"); given != "" {
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Printf("soak of %v, COMPORTA_SOAK_SEED=%d\n", length, seed)
	s := &soak{t: t, faults: chosen(t), until: time.Now().Add(length), runs: map[string]int{}}
	s.db, s.network, _ = ground(t)
	var all sync.WaitGroup
	for i := range soakWorlds {
		all.Go(func() { s.live(i, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	all.Wait()
	s.report()
}

const soakWorlds = 4

// chosen are the faults that COMPORTA_SOAK_ONLY matches.
func chosen(t *testing.T) (list []*fault) {
	only, err := regexp.Compile(os.Getenv("COMPORTA_SOAK_ONLY"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range faults {
		if only.MatchString(faults[i].name) {
			list = append(list, &faults[i])
		}
	}
	if len(list) == 0 {
		t.Fatalf("COMPORTA_SOAK_ONLY=%s matches no fault", only)
	}
	return list
}

// soak is one run of TestSoak.
type soak struct {
	t       *testing.T
	faults  []*fault
	until   time.Time
	db      *database
	network *network

	mu       sync.Mutex
	runs     map[string]int // by fault and mode
	requests int
	failed   int
	slowest  time.Duration // to be well again
	slowName string
}

// live takes one world through faults until the time is over. A world that was found faulty is replaced.
func (s *soak) live(number int, random *rand.Rand) {
	var w *world
	for time.Now().Before(s.until) {
		f := s.faults[random.IntN(len(s.faults))]
		mode := modes[random.IntN(len(modes))]
		if f.network && s.network == nil || f.clocks && !clocksCanBeSet {
			continue
		}
		if w == nil {
			var err error
			if w, err = newWorld(s.network, s.db, clocksCanBeSet); err != nil {
				s.t.Errorf("world %d: %v", number, err)
				return
			}
		}
		o, err := f.run(w, mode)
		if !s.note(fmt.Sprintf("world %d, %s/%s", number, f.name, mode), f, &o, err, w) {
			w.close()
			w = nil
		}
	}
	if w != nil {
		w.close()
	}
}

// note takes in what came of a run and reports whether all was well.
func (s *soak) note(name string, f *fault, o *outcome, err error, w *world) bool {
	problems := append(f.verdict(o.requests, o.executed, false), f.verdict(o.requests, o.executed, true)...)
	if err != nil {
		problems = append(problems, err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[f.name]++
	s.requests += len(o.requests)
	if o.recovery > s.slowest {
		s.slowest, s.slowName = o.recovery, name
	}
	if len(problems) == 0 {
		return true
	}
	s.failed++
	fmt.Printf("%s %s FAILED: %d problems\n", time.Now().Format(time.TimeOnly), name, len(problems))
	s.t.Errorf("%s:\n%s\n%s\n%s\n%s", name, join(problems), summary(o.requests, false), summary(o.requests, true), w.words())
	return false
}

func join(problems []string) (text string) {
	for i, problem := range problems {
		if i == 12 {
			return text + fmt.Sprintf("  and %d more\n", len(problems)-i)
		}
		text += "  " + problem + "\n"
	}
	return text
}

func (s *soak) report() {
	total := 0
	for _, name := range slices.Sorted(maps.Keys(s.runs)) {
		total += s.runs[name]
	}
	fmt.Printf("%d faults, %d requests, %d runs with something wrong; slowest to be well again: %v (%s)\n", total, s.requests, s.failed, s.slowest.Round(time.Millisecond), s.slowName)
	s.t.Log(s.runs)
}
