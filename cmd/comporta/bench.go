package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// benchCmd generates load and measures. The figures of a shared or small machine say how things compare, not how fast they are.
type benchCmd struct {
	API      benchAPICmd      `cmd:"" name:"api" help:"Reads and writes per second of common calls."`
	Dispatch benchDispatchCmd `cmd:"" help:"Dispatch through service and member, next to the same requests straight to the backend and through a plain proxy."`
	Backend  benchBackendCmd  `cmd:"" hidden:"" help:"The backend of bench dispatch."`
	Proxy    benchProxyCmd    `cmd:"" hidden:"" help:"The plain proxy of bench dispatch."`
}

// load is how hard a measurement pushes.
type load struct {
	Workers int     `default:"32" help:"How many requests run at once, 1 to 1000."`
	Seconds float64 `default:"5" help:"For how many seconds each figure is measured, at most 600."`
}

// Validate bounds the load.
func (l *load) Validate() error {
	if l.Workers < 1 || l.Workers > 1000 || l.Seconds <= 0 || l.Seconds > 600 {
		return fmt.Errorf("--workers must be between 1 and 1000 and --seconds above 0 and at most 600")
	}
	return nil
}

func (l *load) duration() time.Duration { return time.Duration(l.Seconds * float64(time.Second)) }

// figures are what a measurement found.
type figures struct {
	latencies []time.Duration
	elapsed   time.Duration
	// cpu is what the processes that were watched used meanwhile.
	cpu    time.Duration
	failed int
	// err is one of the failures.
	err error
}

// measure calls do from many workers until the time is up; worker counts from 0.
func (l *load) measure(ctx context.Context, lasting time.Duration, do func(ctx context.Context, worker int) error) figures {
	var all figures
	var mu sync.Mutex
	var wait sync.WaitGroup
	began := time.Now()
	for worker := range l.Workers {
		wait.Go(func() {
			own := repeat(ctx, began.Add(lasting), func() error { return do(ctx, worker) })
			mu.Lock()
			defer mu.Unlock()
			all.add(own)
		})
	}
	wait.Wait()
	all.elapsed = time.Since(began)
	return all
}

// repeat calls do again and again until the time has come.
func repeat(ctx context.Context, end time.Time, do func() error) figures {
	var f figures
	for ctx.Err() == nil {
		began := time.Now()
		if !began.Before(end) {
			break
		}
		if err := do(); err != nil {
			f.failed, f.err = f.failed+1, err
			continue
		}
		f.latencies = append(f.latencies, time.Since(began))
	}
	return f
}

func (f *figures) add(more figures) {
	f.latencies = append(f.latencies, more.latencies...)
	f.elapsed += more.elapsed
	f.cpu += more.cpu
	f.failed += more.failed
	if more.err != nil {
		f.err = more.err
	}
}

func (f *figures) perSecond() float64 { return float64(len(f.latencies)) / f.elapsed.Seconds() }

// cpuEach is the CPU time per request in seconds.
func (f *figures) cpuEach() float64 { return f.cpu.Seconds() / float64(max(len(f.latencies), 1)) }

// quantile is the latency that this part of the requests did not exceed.
func (f *figures) quantile(q float64) time.Duration {
	if len(f.latencies) == 0 {
		return 0
	}
	slices.Sort(f.latencies)
	return f.latencies[min(int(q*float64(len(f.latencies))), len(f.latencies)-1)]
}

// milliseconds writes a latency.
func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Microseconds())/1000) }
