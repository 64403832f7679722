package service

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"comporta/persistence"
	"comporta/service/gateway"
)

func TestIdsOfRecordsAreInTheOrderOfTime(t *testing.T) {
	const random = gateway.ID("0f8fad5b-d9cb-469f-a165-70867728950e")
	at := time.UnixMilli(0x0190_1234_5678)
	if got := inOrder(random, at); got != "01901234-5678-769f-a165-70867728950e" {
		t.Error(got)
	}
	if earlier, later := inOrder(random, at), inOrder(random, at.Add(time.Millisecond)); earlier >= later {
		t.Error(earlier, later)
	}
	if _, ok := gateway.ParseID(inOrder(random, at).String()); !ok {
		t.Error("no id")
	}
}

// awayStore refuses transactions while it is away.
type awayStore struct {
	persistence.Store
	away    atomic.Bool
	refused atomic.Int64
}

func (s *awayStore) InTx(ctx context.Context, fn func(persistence.Tx) error) error {
	if s.away.Load() {
		s.refused.Add(1)
		return errors.New("connection refused")
	}
	return s.Store.InTx(ctx, fn)
}

// dispatched does a dispatch to its end.
func (w *world) dispatched(t *testing.T, cluster, source gateway.ID) {
	t.Helper()
	r, err := w.Dispatcher.Dispatch(context.Background(), w.admin, query(cluster, source, true))
	must(t, err)
	must(t, r.Body.Close())
}

func (w *world) recorded(t *testing.T, cluster gateway.ID) int {
	t.Helper()
	list, err := w.History.DispatchRecords(context.Background(), persistence.RecordFilter{ClusterID: cluster})
	must(t, err)
	return len(list)
}

// Records of dispatches while the database is away are written when it is back, once each.
func TestRecordsOutliveADatabaseThatIsAway(t *testing.T) {
	var store *awayStore
	var counted atomic.Int64
	w := newWorld(t, func(c *Config) {
		store = &awayStore{Store: c.Store}
		c.Store, c.OnRecord = store, func(gateway.DispatchRecord) { counted.Add(1) }
	})
	cluster, _, source := w.cluster(t, 1)
	store.away.Store(true)
	for range 3 {
		w.dispatched(t, cluster, source)
	}
	eventually(t, "a batch could not be written", func() bool { return store.refused.Load() > 0 })
	for range 4 {
		w.dispatched(t, cluster, source)
	}
	store.away.Store(false)
	eventually(t, "all are written", func() bool { return w.recorded(t, cluster) == 7 })
	if lost := w.History.Lost(); lost != 0 || counted.Load() != 7 {
		t.Errorf("%d lost, %d counted", lost, counted.Load())
	}
}

// What cannot be written to the last is counted as lost.
func TestRecordsThatAreLostAreCounted(t *testing.T) {
	store := &awayStore{}
	store.away.Store(true)
	h := newHistory(&core{Config: Config{Store: store, Log: slog.New(slog.DiscardHandler), Now: time.Now}})
	for range 2500 {
		h.Record(gateway.DispatchRecord{})
	}
	ended, end := context.WithCancel(context.Background())
	end()
	h.run(ended)
	if h.Lost() != 2500 {
		t.Errorf("%d lost", h.Lost())
	}
	var ahead time.Duration
	h = newHistory(&core{Config: Config{Store: store, Log: h.Log, Now: func() time.Time { return time.Unix(0, 0).Add(ahead) }}})
	for range historyBatch + 1 {
		h.Record(gateway.DispatchRecord{})
	}
	h.flush(context.Background())
	ahead = historyPatience
	if h.flush(context.Background()); h.Lost() != 0 {
		t.Errorf("%d lost too early", h.Lost())
	}
	ahead++
	if h.flush(context.Background()); h.Lost() != historyBatch || h.unwritten.size() != 1 {
		t.Errorf("%d lost and %d left after it was tried for long", h.Lost(), h.unwritten.size())
	}
}

// While the database is away every dispatch is counted, also those whose record finds no room.
func TestEveryDispatchIsCountedWhileTheDatabaseIsAway(t *testing.T) {
	store, counted := &awayStore{}, 0
	store.away.Store(true)
	h := newHistory(&core{Config: Config{Store: store, Log: slog.New(slog.DiscardHandler), Now: time.Now, OnRecord: func(gateway.DispatchRecord) { counted++ }}})
	for range 3 {
		for range historyQueue / 2 {
			h.Record(gateway.DispatchRecord{})
		}
		h.flush(context.Background())
	}
	if want := 3 * historyQueue / 2; counted != want || h.Lost() != historyQueue/2 {
		t.Errorf("%d counted, %d lost; want %d and %d", counted, h.Lost(), want, historyQueue/2)
	}
}
