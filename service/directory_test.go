package service

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"comporta/persistence"
	"comporta/service/gateway"
)

// halfStore is a store that takes changes, and while it is broken cannot read a cluster.
type halfStore struct {
	persistence.Store
	broken atomic.Bool
	failed atomic.Int64
}

func (s *halfStore) View(ctx context.Context, read func(persistence.Reader) error) error {
	return s.Store.View(ctx, func(r persistence.Reader) error { return read(&halfReader{r, s}) })
}

type halfReader struct {
	persistence.Reader
	store *halfStore
}

func (r *halfReader) ClusterState(ctx context.Context, id gateway.ID) (gateway.ClusterState, error) {
	if r.store.broken.Load() {
		r.store.failed.Add(1)
		return gateway.ClusterState{}, gateway.Errorf(gateway.CodeInternal, "scripted")
	}
	return r.Reader.ClusterState(ctx, id)
}

// Connected members hear of a change that could not be read at once, as soon as it can be: when somebody asks for the cluster, and also
// when nobody does.
func TestMembersAreToldOfAChangeThatWasReadLate(t *testing.T) {
	for _, somebodyAsks := range []bool{true, false} {
		var store *halfStore
		w := newWorld(t, func(c *Config) {
			store = &halfStore{Store: c.Store}
			c.Store = store
		})
		ctx := context.Background()
		cluster, members, _ := w.cluster(t, 2)
		seven := 7
		store.broken.Store(true)
		must(t, w.Clusters.Update(ctx, w.admin, cluster, ClusterPatch{Limits: gateway.Limits{Concurrency: &seven}}))
		must(t, w.Members.Remove(ctx, w.admin, cluster, members[1]))
		eventually(t, "reading fails again and again", func() bool { return store.failed.Load() > 3 })
		store.broken.Store(false)
		if somebodyAsks {
			_, err := w.Dispatcher.directory.get(ctx, cluster)
			must(t, err)
		}
		eventually(t, "the member that stays is told", func() bool {
			w.tunnels.mu.Lock()
			defer w.tunnels.mu.Unlock()
			return slices.ContainsFunc(w.tunnels.told, func(s gateway.MemberSettings) bool {
				return s.Limits.Concurrency != nil && *s.Limits.Concurrency == seven
			})
		})
		eventually(t, "the other one is cut off", func() bool {
			w.tunnels.mu.Lock()
			defer w.tunnels.mu.Unlock()
			return slices.Contains(w.tunnels.cut, members[1])
		})
	}
}
