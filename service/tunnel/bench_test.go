package tunnel

import (
	"context"
	"io"
	"strings"
	"testing"

	"comporta/service/gateway"
)

func bench(b *testing.B, run func(context.Context, *gateway.Task, gateway.Output) (gateway.Summary, error)) *world {
	w := newWorld(b, newAgent(run), nil)
	for slot := range 2 {
		d := w.dialer(slot)
		d.ReportEvery = 0
		w.serve(d)
	}
	return w
}

func fetch(b testing.TB, w *world, task *gateway.Task, buffer []byte) int64 {
	answer, err := w.send(task)
	if err != nil {
		b.Error(err)
		return 0
	}
	defer answer.Body.Close()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, answer.Body, buffer)
	if err != nil {
		b.Error(err)
	}
	return n
}

func BenchmarkAnswer1KiB(b *testing.B) {
	text := strings.Repeat("x", 1024)
	for name, task := range map[string]*gateway.Task{"read": read(text), "write": write(text)} {
		b.Run(name, func(b *testing.B) {
			w := bench(b, echo)
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				buffer := make([]byte, 32<<10)
				for pb.Next() {
					fetch(b, w, task, buffer)
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}

func BenchmarkStream64MiB(b *testing.B) {
	w := bench(b, stream(64<<20, func(int) {}))
	buffer := make([]byte, 128<<10)
	b.SetBytes(64 << 20)
	b.ReportAllocs()
	for b.Loop() {
		if n := fetch(b, w, read("x"), buffer); n != 64<<20 {
			b.Fatal(n)
		}
	}
}

func BenchmarkPresence(b *testing.B) {
	w := bench(b, echo)
	b.ReportAllocs()
	for b.Loop() {
		if !w.reg.Presence(memberID).Online {
			b.Fatal("offline")
		}
	}
}
