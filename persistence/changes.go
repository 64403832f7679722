package persistence

import (
	"context"
	"time"

	"comporta/service/gateway"
)

// The kinds of change numbers. They let another process of the same database learn what to read again.
const (
	clusterChanges   = "clusters"
	principalChanges = "principals"
)

// keepTombstones is for how long a deletion can be learned of; a process that looks less often starts anew.
const keepTombstones = 24 * time.Hour

func (c *conn) nextChange(ctx context.Context, kind string) (int64, error) {
	if _, err := c.exec(ctx, "UPDATE counters SET value = value + 1 WHERE name = ?", kind); err != nil {
		return 0, err
	}
	return c.newestChange(ctx, kind)
}

func (c *conn) newestChange(ctx context.Context, kind string) (int64, error) {
	return one(ctx, c, "counter", "", readInt, "SELECT value FROM counters WHERE name = ?", kind)
}

func readInt(row scanner) (n int64, err error) {
	err = row.Scan(&n)
	return n, err
}

// bury remembers that something was deleted.
func (c *conn) bury(ctx context.Context, kind string, id gateway.ID) error {
	change, err := c.nextChange(ctx, kind)
	if err != nil {
		return err
	}
	if _, err := c.exec(ctx, "DELETE FROM tombstones WHERE kind = ? AND id = ?", kind, id); err != nil {
		return err
	}
	_, err = c.exec(ctx, "INSERT INTO tombstones (kind, id, change, at) VALUES (?, ?, ?, ?)", kind, id, change, micros(c.now))
	return err
}

type changed struct {
	id       gateway.ID
	revision int64
}

func readChanged(row scanner) (v changed, err error) {
	err = row.Scan(&v.id, &v.revision)
	return v, err
}

// ClusterRevisions lists what changed since a change number.
func (c *conn) ClusterRevisions(ctx context.Context, since int64) (map[gateway.ID]int64, int64, error) {
	newest, err := c.newestChange(ctx, clusterChanges)
	if err != nil || newest == since {
		return map[gateway.ID]int64{}, newest, err
	}
	live, err := many(ctx, c, readChanged, "SELECT id, revision FROM clusters WHERE change > ?", since)
	if err != nil {
		return nil, 0, err
	}
	gone, err := many(ctx, c, readChanged, "SELECT id, -1 FROM tombstones WHERE kind = ? AND change > ?", clusterChanges, since)
	if err != nil {
		return nil, 0, err
	}
	revisions := make(map[gateway.ID]int64, len(live)+len(gone))
	for _, v := range append(gone, live...) {
		revisions[v.id] = v.revision
	}
	return revisions, newest, nil
}

// PrincipalChanges lists principals changed since a change number.
func (c *conn) PrincipalChanges(ctx context.Context, since int64) ([]gateway.Principal, int64, error) {
	newest, err := c.newestChange(ctx, principalChanges)
	if err != nil || newest == since {
		return []gateway.Principal{}, newest, err
	}
	list, err := many(ctx, c, readPrincipal, "SELECT "+principalColumns+" FROM principals WHERE change > ? ORDER BY created_at, id", since)
	if err != nil {
		return nil, 0, err
	}
	gone, err := many(ctx, c, readChanged, `SELECT t.id, -1 FROM tombstones t WHERE t.kind = ? AND t.change > ?
		AND NOT EXISTS (SELECT 1 FROM principals p WHERE p.id = t.id)`, principalChanges, since)
	for _, v := range gone {
		list = append(list, gateway.Principal{ID: v.id, Disabled: true})
	}
	return list, newest, err
}

// Trim removes what is too old or too much.
func (c *conn) Trim(ctx context.Context, before time.Time, keep int) error {
	for _, table := range []string{"dispatch_records", "load_samples"} {
		if _, err := c.exec(ctx, "DELETE FROM "+table+" WHERE at < ?", micros(before)); err != nil {
			return err
		}
		// The oldest time that still fits; what is older than it goes.
		_, err := c.exec(ctx, "DELETE FROM "+table+" WHERE at < (SELECT at FROM "+table+" ORDER BY at DESC LIMIT 1 OFFSET ?)", max(keep-1, 0))
		if err != nil {
			return err
		}
	}
	_, err := c.exec(ctx, "DELETE FROM tombstones WHERE at < ?", micros(c.now.Add(-keepTombstones)))
	return err
}
