package service

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"comporta/persistence"
	"comporta/service/gateway"
)

// How history is written: off the hot path, in batches.
const (
	historyQueue  = 16384
	historyBatch  = 1000
	historyEvery  = time.Second
	historyTrim   = 10 * time.Minute
	historyLinger = 5 * time.Second
	// historyPatience is for how long a batch is written in vain before it is given up: something in it may be the reason.
	historyPatience = 10 * time.Minute
)

// History keeps what happened: the audit log, dispatch records and load samples.
type History struct {
	*core
	records chan gateway.DispatchRecord
	samples chan gateway.LoadSample
	// crowded is signalled when the records should not wait for the next tick.
	crowded chan struct{}
	lost    atomic.Int64
	// unwritten came out of the queues and is written, oldest first, in batches; failing is since when the first one cannot be. Only run and
	// what it calls touch them.
	unwritten batch
	failing   time.Time
}

// batch is what is written together.
type batch struct {
	records []gateway.DispatchRecord
	samples []gateway.LoadSample
}

func (b *batch) size() int { return len(b.records) + len(b.samples) }

// first is what of it is written at once.
func (b *batch) first() batch {
	return batch{b.records[:min(len(b.records), historyBatch)], b.samples[:min(len(b.samples), historyBatch)]}
}

// without leaves the first ones out.
func (b *batch) without(first *batch) batch {
	return batch{b.records[len(first.records):], b.samples[len(first.samples):]}
}

func newHistory(c *core) *History {
	return &History{core: c, records: make(chan gateway.DispatchRecord, historyQueue), samples: make(chan gateway.LoadSample, historyQueue),
		crowded: make(chan struct{}, 1)}
}

// inOrder gives a random id the time for its first 48 bits, as version 7 of RFC 9562 does: rows that come in the order of their key cost
// the database a fraction of rows that fall all over its index.
func inOrder(id gateway.ID, at time.Time) gateway.ID {
	if len(id) != 36 {
		return id
	}
	milliseconds := fmt.Sprintf("%012x", uint64(at.UnixMilli())&(1<<48-1))
	return gateway.ID(milliseconds[:8] + "-" + milliseconds[8:] + "-7" + string(id[15:]))
}

// Record takes a dispatch record in. It never blocks: when the database cannot keep up for long, records are dropped and counted.
func (h *History) Record(r gateway.DispatchRecord) {
	select {
	case h.records <- r:
		if len(h.records) >= historyBatch {
			notify(h.crowded)
		}
	default:
		h.lost.Add(1)
	}
}

// Sample takes a load sample in, likewise.
func (h *History) Sample(s gateway.LoadSample) {
	select {
	case h.samples <- s:
	default:
		h.lost.Add(1)
	}
}

// Lost is how many records and samples were dropped since the start.
func (h *History) Lost() int64 { return h.lost.Load() }

// run writes batches until ctx has ended and the queues are empty.
func (h *History) run(ctx context.Context) {
	write, trim := time.NewTicker(historyEvery), time.NewTicker(historyTrim)
	defer write.Stop()
	defer trim.Stop()
	for {
		select {
		case <-ctx.Done():
			for h.flush(ctx) {
			}
			h.giveUp(&h.unwritten, "the service ends")
			return
		case <-h.crowded:
			for h.failing.IsZero() && h.flush(ctx) { // what could not be written waits for the tick
			}
			h.collect()
		case <-write.C:
			for h.flush(ctx) {
			}
		case <-trim.C:
			h.trim(ctx)
		}
	}
}

// flush writes one batch and reports whether there may be more. It does so even when ctx has ended, but not for ever. What could not be written
// is written again at the next tick.
func (h *History) flush(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), historyLinger)
	defer cancel()
	if h.collect(); h.unwritten.size() == 0 {
		return false
	}
	first := h.unwritten.first()
	err := h.Store.InTx(ctx, func(tx persistence.Tx) error {
		if err := tx.AppendDispatchRecords(ctx, first.records); err != nil {
			return err
		}
		return tx.AppendLoadSamples(ctx, first.samples)
	})
	if err != nil {
		h.failed(&first, err)
		return false
	}
	h.failing, h.unwritten = time.Time{}, h.unwritten.without(&first)
	return h.unwritten.size() > 0
}

// collect takes in what has come since. Where there is no room for it any more it is counted all the same, and lost.
func (h *History) collect() {
	count := h.OnRecord
	if count == nil {
		count = func(gateway.DispatchRecord) {}
	}
	var noRecord, noSample int64
	h.unwritten.records, noRecord = drained(h.unwritten.records, h.records, count)
	h.unwritten.samples, noSample = drained(h.unwritten.samples, h.samples, func(gateway.LoadSample) {})
	h.lost.Add(noRecord + noSample)
}

// drained adds what stands in a queue to a list, as long as there is room; each counts. lost is how many found none.
func drained[T any](list []T, queue chan T, count func(T)) (longer []T, lost int64) {
	for {
		select {
		case v := <-queue:
			if count(v); len(list) < historyQueue {
				list = append(list, v)
			} else {
				lost++
			}
		default:
			return list, lost
		}
	}
}

func (h *History) failed(first *batch, err error) {
	now := h.Now()
	if h.failing.IsZero() {
		h.failing = now
		h.Log.Error("writing dispatch records and load samples failed; it is tried again every second", "records", len(first.records),
			"samples", len(first.samples), "error", err)
	}
	if now.Sub(h.failing) > historyPatience {
		h.giveUp(first, "it could not be written for long")
	}
}

// giveUp counts what will not be written as lost.
func (h *History) giveUp(b *batch, why string) {
	if b.size() > 0 {
		h.lost.Add(int64(b.size()))
		h.Log.Error("dispatch records and load samples are lost", "number", b.size(), "reason", why)
	}
	h.failing, h.unwritten = time.Time{}, h.unwritten.without(b)
}

func (h *History) trim(ctx context.Context) {
	err := h.Store.InTx(ctx, func(tx persistence.Tx) error {
		return tx.Trim(ctx, tx.Now().Add(-h.KeepHistory), h.KeepRows)
	})
	if err != nil && ctx.Err() == nil {
		h.Log.Error("trimming the history failed; it is tried again in ten minutes", "error", err)
	}
}

// Audit lists audit entries, oldest first.
func (h *History) Audit(ctx context.Context, f persistence.AuditFilter) ([]gateway.AuditEntry, error) {
	var list []gateway.AuditEntry
	err := h.Store.View(ctx, func(r persistence.Reader) (err error) {
		list, err = r.Audit(ctx, f)
		return err
	})
	return list, err
}

// DispatchRecords lists dispatch records, newest first.
func (h *History) DispatchRecords(ctx context.Context, f persistence.RecordFilter) ([]gateway.DispatchRecord, error) {
	var list []gateway.DispatchRecord
	err := h.Store.View(ctx, func(r persistence.Reader) (err error) {
		list, err = r.DispatchRecords(ctx, f)
		return err
	})
	return list, err
}

// maxSamples is how many load samples an answer has: a chart shows no more, and a month of them would be 170,000.
const maxSamples = 2000

// LoadSamples lists a member's samples since a time, oldest first, thinned out where there are more than 2,000.
func (h *History) LoadSamples(ctx context.Context, member gateway.ID, since time.Time) ([]gateway.LoadSample, error) {
	var list []gateway.LoadSample
	err := h.Store.View(ctx, func(r persistence.Reader) (err error) {
		list, err = r.LoadSamples(ctx, member, since, maxSamples)
		return err
	})
	return list, err
}
