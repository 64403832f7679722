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
	// historyTries is how often a batch is written in vain, about once a second, before it is given up: something in it may be the reason.
	historyTries = 600
)

// History keeps what happened: the audit log, dispatch records and load samples.
type History struct {
	*core
	records chan gateway.DispatchRecord
	samples chan gateway.LoadSample
	// crowded is signalled when the records should not wait for the next tick.
	crowded chan struct{}
	lost    atomic.Int64
	// hand is the batch that is being written; it stays in hand until it is, or was tried in vain for long. Only run and what it calls touch it.
	hand batch
}

// batch is what is written at once.
type batch struct {
	records []gateway.DispatchRecord
	samples []gateway.LoadSample
	tries   int
}

func (b *batch) size() int { return len(b.records) + len(b.samples) }

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
			h.giveUp(len(h.records)+len(h.samples), "the service ends")
			return
		case <-h.crowded:
			for h.hand.tries == 0 && h.flush(ctx) { // what could not be written waits for the tick
			}
		case <-write.C:
			for h.flush(ctx) {
			}
		case <-trim.C:
			h.trim(ctx)
		}
	}
}

// flush writes one batch and reports whether there may be more. A batch in hand is written even when ctx has ended, but not for ever. One that
// could not be written is written again at the next tick; those that come meanwhile wait in the queues.
func (h *History) flush(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), historyLinger)
	defer cancel()
	if h.hand.size() == 0 && !h.take() {
		return false
	}
	err := h.Store.InTx(ctx, func(tx persistence.Tx) error {
		if err := tx.AppendDispatchRecords(ctx, h.hand.records); err != nil {
			return err
		}
		return tx.AppendLoadSamples(ctx, h.hand.samples)
	})
	if err != nil {
		h.failed(err)
		return false
	}
	full := len(h.hand.records) == historyBatch || len(h.hand.samples) == historyBatch
	h.hand = batch{}
	return full
}

// take takes the next batch in hand, if there is one.
func (h *History) take() bool {
	h.hand = batch{records: drain(h.records), samples: drain(h.samples)}
	if h.OnRecord != nil {
		for i := range h.hand.records {
			h.OnRecord(h.hand.records[i])
		}
	}
	return h.hand.size() > 0
}

func (h *History) failed(err error) {
	if h.hand.tries++; h.hand.tries == 1 {
		h.Log.Error("writing dispatch records and load samples failed; it is tried again every second", "records", len(h.hand.records),
			"samples", len(h.hand.samples), "error", err)
	}
	if h.hand.tries >= historyTries {
		h.giveUp(0, "it could not be written for long")
	}
}

// giveUp lets go of the batch in hand and counts it, and more, as lost.
func (h *History) giveUp(more int, why string) {
	if lost := h.hand.size() + more; lost > 0 {
		h.lost.Add(int64(lost))
		h.Log.Error("dispatch records and load samples are lost", "number", lost, "reason", why)
	}
	h.hand = batch{}
}

func drain[T any](queue chan T) []T {
	var batch []T
	for len(batch) < historyBatch {
		select {
		case v := <-queue:
			batch = append(batch, v)
		default:
			return batch
		}
	}
	return batch
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
