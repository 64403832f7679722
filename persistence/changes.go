package persistence

import (
	"context"
	"time"

	"comporta/service/gateway"
)

// The kinds that have change numbers.
const (
	clusterChanges   = "clusters"
	principalChanges = "principals"
)

// tombstoneLife is how long a deletion can be seen in the change numbers. Whoever looks less often must read everything anew.
const tombstoneLife = 24 * time.Hour

func (r *reader) newest(ctx context.Context, kind string) (n int64, err error) {
	err = r.first(ctx, "SELECT value FROM counters WHERE kind = ?", []any{kind}, func(from row) error { return from.Scan(&n) })
	return n, err
}

func (r *reader) deletedSince(ctx context.Context, kind string, since int64) ([]gateway.ID, error) {
	s := from("id", "tombstones").where("kind = ?", kind).where("change_number > ?", since).order("change_number, id", Page{})
	return list(ctx, r, s, func(from row, id *gateway.ID) error { return from.Scan(id) })
}

// raise returns this transaction's change number of a kind; all its changes share one.
func (t *tx) raise(ctx context.Context, kind string) (int64, error) {
	if n := t.changes[kind]; n != 0 {
		return n, nil
	}
	var n int64
	err := t.first(ctx, "UPDATE counters SET value = value + 1 WHERE kind = ? RETURNING value", []any{kind}, func(from row) error { return from.Scan(&n) })
	if err == nil {
		t.changes[kind] = n
	}
	return n, err
}

// bury notes a deletion for those who follow the change numbers; unbury takes the note back when the id lives again.
func (t *tx) bury(ctx context.Context, kind string, id gateway.ID) error {
	n, err := t.raise(ctx, kind)
	if err != nil {
		return err
	}
	return t.insert(ctx, "tombstones", "kind, id, change_number, deleted_at",
		"ON CONFLICT (kind, id) DO UPDATE SET change_number = excluded.change_number, deleted_at = excluded.deleted_at", []any{kind, id, n, t.now})
}

func (t *tx) unbury(ctx context.Context, kind string, id gateway.ID) error {
	_, err := t.exec(ctx, "DELETE FROM tombstones WHERE kind = ? AND id = ?", kind, id)
	return err
}
