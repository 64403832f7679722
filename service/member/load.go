package member

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shirou/gopsutil/v3/cpu"
	"github.com/shirou/gopsutil/v3/mem"

	"comporta/service/gateway"
)

// sampleEvery is how often the machine's load is read; maxWindow the longest time over which it can be averaged.
const (
	sampleEvery = 2 * time.Second
	maxWindow   = time.Hour
)

// LoadProbe reads the load of the whole machine, not of this process. It is called by one goroutine.
type LoadProbe interface {
	// Read returns the use of CPU since the call before and of memory now, each unknown if it cannot be read.
	Read(ctx context.Context) (cpu, memory gateway.Reading)
}

// Machine is the LoadProbe of the machine that this process runs on.
type Machine struct{ last *cpu.TimesStat }

// Read implements LoadProbe. The first call knows no CPU figure: there is nothing to compare with.
func (m *Machine) Read(ctx context.Context) (gateway.Reading, gateway.Reading) {
	return m.cpu(ctx), memory(ctx)
}

func (m *Machine) cpu(ctx context.Context) gateway.Reading {
	times, err := cpu.TimesWithContext(ctx, false)
	if err != nil || len(times) == 0 {
		m.last = nil
		return gateway.Reading{}
	}
	before, now := m.last, times[0]
	m.last = &now
	if before == nil {
		return gateway.Reading{}
	}
	// Guest time is part of user time already.
	total := func(t *cpu.TimesStat) float64 {
		return t.User + t.System + t.Nice + t.Idle + t.Iowait + t.Irq + t.Softirq + t.Steal
	}
	elapsed := total(&now) - total(before)
	idle := now.Idle + now.Iowait - before.Idle - before.Iowait
	if elapsed <= 0 {
		return gateway.Reading{}
	}
	return gateway.Reading{Percent: min(max(100*(1-idle/elapsed), 0), 100), Known: true}
}

func memory(ctx context.Context) gateway.Reading {
	v, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil || v.Total == 0 {
		return gateway.Reading{}
	}
	return gateway.Reading{Percent: v.UsedPercent, Known: true}
}

// sample is one reading at one time.
type sample struct {
	at          time.Time
	cpu, memory gateway.Reading
}

// sampler reads the load every few seconds and averages it over a window that may change.
type sampler struct {
	probe  LoadProbe
	now    func() time.Time
	window func() time.Duration

	mu      sync.Mutex
	samples []sample // oldest first, at most maxWindow of them
	average atomic.Pointer[average]
}

type average struct{ cpu, memory gateway.Reading }

func newSampler(probe LoadProbe, now func() time.Time, window func() time.Duration) *sampler {
	s := &sampler{probe: probe, now: now, window: window}
	s.average.Store(&average{})
	return s
}

// run samples until ctx ends.
func (s *sampler) run(ctx context.Context) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		s.take(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (s *sampler) take(ctx context.Context) {
	cpu, memory := s.probe.Read(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samples = append(s.samples, sample{s.now(), cpu, memory})
	if most := int(maxWindow / sampleEvery); len(s.samples) > most {
		s.samples = append(s.samples[:0], s.samples[len(s.samples)-most:]...)
	}
	s.recompute()
}

// recompute averages what lies in the window; after a start that is what there is. Unknown readings count neither as 0 nor as 100.
func (s *sampler) recompute() {
	oldest := s.now().Add(-s.window())
	var cpu, memory mean
	for i := len(s.samples) - 1; i >= 0 && s.samples[i].at.After(oldest); i-- {
		cpu.add(s.samples[i].cpu)
		memory.add(s.samples[i].memory)
	}
	s.average.Store(&average{cpu.reading(), memory.reading()})
}

// changed takes a new window into account at once.
func (s *sampler) changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recompute()
}

// mean is an average of the known readings.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(r gateway.Reading) {
	if r.Known {
		m.sum += r.Percent
		m.n++
	}
}

func (m *mean) reading() gateway.Reading {
	if m.n == 0 {
		return gateway.Reading{}
	}
	return gateway.Reading{Percent: m.sum / float64(m.n), Known: true}
}
