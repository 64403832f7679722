package member

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"comporta/service/gateway"
)

// fixed is a LoadProbe that reads what the test says.
type fixed struct{ cpu, memory gateway.Reading }

func (f *fixed) Read(context.Context) (gateway.Reading, gateway.Reading) { return f.cpu, f.memory }

func known(percent float64) gateway.Reading { return gateway.Reading{Percent: percent, Known: true} }

func number(n int) *int { return &n }

// testAdmission is an admission whose load was read once.
func testAdmission(probe LoadProbe, file gateway.Limits) *admission {
	a := newAdmission(file)
	a.load = newSampler(probe, time.Now, func() time.Duration { return a.limits().Window })
	a.load.take(context.Background())
	return a
}

func TestLimitsGateAdmission(t *testing.T) {
	limits := gateway.Limits{CPU: number(80), Memory: number(70), Concurrency: number(0)}
	for _, c := range []struct {
		name        string
		cpu, memory gateway.Reading
		want        gateway.Code
	}{
		{"under", known(79.9), known(69.9), ""},
		{"cpu at", known(80), known(1), gateway.CodeCPULimit},
		{"cpu over", known(80.1), known(1), gateway.CodeCPULimit},
		{"memory at", known(1), known(70), gateway.CodeMemoryLimit},
		{"both: cpu is named", known(90), known(90), gateway.CodeCPULimit},
		{"unknown never limits", gateway.Reading{Percent: 100}, gateway.Reading{Percent: 100}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			release, refusal := testAdmission(&fixed{c.cpu, c.memory}, limits).admit()
			if c.want == "" {
				if refusal != nil {
					t.Fatal(refusal)
				}
				release()
				return
			}
			if refusal == nil || refusal.Code != c.want {
				t.Fatalf("got %v, want %s", refusal, c.want)
			}
		})
	}
}

func TestTheRefusalsHaveTheExactWords(t *testing.T) {
	for what, a := range map[string]*admission{
		"CPU":         testAdmission(&fixed{cpu: known(50)}, gateway.Limits{CPU: number(50)}),
		"memory":      testAdmission(&fixed{memory: known(50)}, gateway.Limits{Memory: number(50)}),
		"concurrency": testAdmission(&fixed{}, gateway.Limits{Concurrency: number(1)}),
	} {
		a.admit0()
		_, _ = a.admit() // takes the one place
		want := "The gateway you selected can't establish data source connections because it's exceeded the " + what +
			" limit set by your gateway admin. Try again later, or ask your gateway admin to increase the limit."
		if _, refusal := a.admit(); refusal == nil || refusal.Message != want {
			t.Errorf("got %v", refusal)
		}
	}
}

func TestWhoseLimitHolds(t *testing.T) {
	a := testAdmission(&fixed{}, gateway.Limits{Concurrency: number(7), CPU: number(50)})
	if got := a.limits(); got.Concurrency != 7 || got.CPU != 50 || got.Window != gateway.DefaultWindow {
		t.Errorf("file over default: %+v", got)
	}
	a.setCentral(gateway.Limits{Concurrency: number(3)})
	if got := a.limits(); got.Concurrency != 3 || got.CPU != 50 {
		t.Errorf("central over file: %+v", got)
	}
	a.setCentral(gateway.Limits{})
	a.setFile(gateway.Limits{})
	if got := a.limits(); got.Concurrency != gateway.DefaultConcurrency {
		t.Errorf("default: %+v", got)
	}
}

// Ten thousand requests at once with random ends: never more than the limit run, and the count comes back to zero.
func TestTheRunningCountIsExact(t *testing.T) {
	const places = 25
	a := testAdmission(&fixed{}, gateway.Limits{Concurrency: number(places)})
	var running, most, admitted atomic.Int64
	var all sync.WaitGroup
	for range 10_000 {
		all.Go(func() {
			release, refusal := a.admit()
			if refusal != nil {
				return
			}
			admitted.Add(1)
			n := running.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			for range rand.IntN(50) {
				a.admit0()
			}
			running.Add(-1)
			release()
			release() // harmless when repeated
		})
	}
	all.Wait()
	if a.running.Load() != 0 || most.Load() > places || admitted.Load() == 0 {
		t.Errorf("running %d, most at once %d of %d, admitted %d", a.running.Load(), most.Load(), places, admitted.Load())
	}
}

// admit0 takes a place and gives it back, if there is one.
func (a *admission) admit0() {
	if release, refusal := a.admit(); refusal == nil {
		release()
	}
}

// Any order of arrivals and ends against a plain oracle: a place is refused only when all are taken, and never given twice.
func TestPlacesAreGivenLikeAnOracleWould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		places := rapid.IntRange(0, 5).Draw(t, "places")
		a := testAdmission(&fixed{}, gateway.Limits{Concurrency: &places})
		var held []func()
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if len(held) > 0 && rapid.Bool().Draw(t, "end") {
				i := rapid.IntRange(0, len(held)-1).Draw(t, "which")
				held[i]()
				held = slices.Delete(held, i, i+1)
			} else if release, refusal := a.admit(); (refusal == nil) != (places == 0 || len(held) < places) {
				t.Fatalf("%d of %d places taken, and the answer is %v", len(held), places, refusal)
			} else if refusal == nil {
				held = append(held, release)
			} else if refusal.Code != gateway.CodeConcurrencyLimit {
				t.Fatal(refusal)
			}
			if n := a.running.Load(); n != int64(len(held)) {
				t.Fatalf("counted %d, running %d", n, len(held))
			}
		}
	})
}

func TestDrainingTakesNothingAndWaitsForTheLast(t *testing.T) {
	a := testAdmission(&fixed{}, gateway.Limits{})
	first, _ := a.admit()
	second, _ := a.admit()
	announced := make(chan struct{}, 2)
	ended := make(chan error, 2)
	for range 2 { // whoever drains twice waits twice
		go func() { ended <- a.drain(context.Background(), func() { announced <- struct{}{} }) }()
		<-announced
	}
	if _, refusal := a.admit(); refusal == nil || refusal.Code != gateway.CodeDraining {
		t.Errorf("got %v", refusal)
	}
	first()
	select {
	case <-ended:
		t.Error("one still runs")
	default:
	}
	second()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestADrainEndsWithItsTime(t *testing.T) {
	a := testAdmission(&fixed{}, gateway.Limits{})
	if _, refusal := a.admit(); refusal != nil {
		t.Fatal(refusal)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := a.drain(ctx, func() {}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Of many that arrive while a drain begins, none is both let in and missed by the drain.
func TestADrainMissesNobody(t *testing.T) {
	for range 200 {
		a := testAdmission(&fixed{}, gateway.Limits{})
		var inside atomic.Int64
		var all sync.WaitGroup
		start := make(chan struct{})
		for range 8 {
			all.Go(func() {
				<-start
				if release, refusal := a.admit(); refusal == nil {
					inside.Add(1)
					runtime.Gosched()
					inside.Add(-1)
					release()
				}
			})
		}
		close(start)
		if err := a.drain(context.Background(), func() {}); err != nil {
			t.Fatal(err)
		}
		if n := inside.Load(); n != 0 {
			t.Fatalf("%d run after the drain", n)
		}
		all.Wait()
	}
}

func BenchmarkAdmit(b *testing.B) {
	a := testAdmission(&fixed{known(1), known(1)}, gateway.Limits{CPU: number(80), Memory: number(80)})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if release, refusal := a.admit(); refusal == nil {
				release()
			}
		}
	})
}

func TestTheLoadIsAveragedOverTheWindow(t *testing.T) {
	now := time.Unix(0, 0)
	window := time.Minute
	probe := &fixed{}
	s := newSampler(probe, func() time.Time { return now }, func() time.Duration { return window })
	take := func(cpu gateway.Reading) gateway.Reading {
		probe.cpu = cpu
		now = now.Add(10 * time.Second)
		s.take(context.Background())
		return s.average.Load().cpu
	}
	if got := take(gateway.Reading{}); got.Known {
		t.Errorf("nothing known yet: %+v", got)
	}
	if got := take(known(20)); got != known(20) {
		t.Errorf("what there is after a start: %+v", got)
	}
	if got := take(known(100)); got != known(60) {
		t.Errorf("one spike counts as one of two: %+v", got)
	}
	for range 6 {
		take(known(10))
	}
	if got := s.average.Load().cpu; got != known(10) {
		t.Errorf("what lies before the window still counts: %+v", got)
	}
	take(known(70))
	window = 15 * time.Second
	s.changed()
	if got := s.average.Load().cpu; got != known(40) {
		t.Errorf("a shorter window: %+v", got)
	}
	for range 4000 {
		take(known(1))
	}
	if n := len(s.samples); n > int(maxWindow/sampleEvery) {
		t.Errorf("%d samples are kept", n)
	}
}

func TestTheRealMachineCanBeRead(t *testing.T) {
	m := &Machine{}
	if cpu, memory := m.Read(context.Background()); cpu.Known || !memory.Known || memory.Percent <= 0 || memory.Percent > 100 {
		t.Errorf("first reading: cpu %+v, memory %+v", cpu, memory)
	}
	for range 1000 {
		if cpu, _ := m.Read(context.Background()); cpu.Known {
			if cpu.Percent < 0 || cpu.Percent > 100 {
				t.Errorf("cpu %+v", cpu)
			}
			return
		}
	}
	t.Error("the use of the CPU never became known")
}
