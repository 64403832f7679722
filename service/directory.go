package service

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"comporta/persistence"
	"comporta/service/gateway"
)

// followEvery is how often a process looks for changes that others made to the same database.
const followEvery = 500 * time.Millisecond

// directory is the in-memory view of clusters that dispatch and permission checks read: no database, no lock once a cluster is in it.
type directory struct {
	store   persistence.Store
	tunnels Tunnels
	log     *slog.Logger
	entries sync.Map // gateway.ID -> *entry
}

// entry is one cluster's place. Loads of one cluster are serialised by its lock, so that an older reading never replaces a newer one.
type entry struct {
	load  sync.Mutex
	state atomic.Pointer[gateway.ClusterState]
}

func newDirectory(store persistence.Store, tunnels Tunnels, log *slog.Logger) *directory {
	return &directory{store: store, tunnels: tunnels, log: log}
}

// get returns the cluster's state, which must not be changed. An unknown id is CodeNotFound.
func (d *directory) get(ctx context.Context, id gateway.ID) (*gateway.ClusterState, error) {
	if e, ok := d.entries.Load(id); ok {
		if s := e.(*entry).state.Load(); s != nil {
			return s, nil
		}
	}
	return d.read(ctx, id, false)
}

// refresh reads the cluster again after a change. A cluster that is gone leaves the directory.
func (d *directory) refresh(ctx context.Context, id gateway.ID) {
	if _, err := d.read(ctx, id, true); err != nil && !gateway.IsCode(err, gateway.CodeNotFound) {
		// Serving what was true before would break "a change holds from the next request on": forget it, so that it is read again.
		d.entries.Delete(id)
		d.log.Error("reading a changed cluster failed; it is read again when it is asked for", "cluster", id, "error", err)
	}
}

func (d *directory) read(ctx context.Context, id gateway.ID, again bool) (*gateway.ClusterState, error) {
	found, _ := d.entries.LoadOrStore(id, new(entry))
	e := found.(*entry)
	e.load.Lock()
	defer e.load.Unlock()
	before := e.state.Load()
	if before != nil && !again {
		return before, nil
	}
	var now gateway.ClusterState
	err := d.store.View(ctx, func(r persistence.Reader) (err error) {
		now, err = r.ClusterState(ctx, id)
		return err
	})
	if err != nil {
		d.entries.CompareAndDelete(id, found)
		if gateway.IsCode(err, gateway.CodeNotFound) {
			e.state.Store(nil)
			d.tell(before, nil)
		}
		return nil, err
	}
	e.state.Store(&now)
	d.tell(before, &now)
	return &now, nil
}

// tell lets connected members know what changed for them.
func (d *directory) tell(before, now *gateway.ClusterState) {
	settings := map[gateway.ID]gateway.MemberSettings{}
	if now != nil {
		for i := range now.Members {
			settings[now.Members[i].ID] = settingsOf(&now.Cluster, &now.Members[i])
		}
	}
	if before == nil {
		return
	}
	for i := range before.Members {
		m := &before.Members[i]
		s, stays := settings[m.ID]
		switch {
		case !stays:
			d.tunnels.Disconnect(m.ID, errRemoved().Message)
		case !reflect.DeepEqual(s, settingsOf(&before.Cluster, m)):
			d.tunnels.Configure(m.ID, s)
		}
	}
}

// settingsOf is what a member is told: its own limits over the cluster's.
func settingsOf(c *gateway.Cluster, m *gateway.Member) gateway.MemberSettings {
	return gateway.MemberSettings{Limits: m.Limits.Over(c.Limits)}
}

func errRemoved() *gateway.Error {
	return gateway.Errorf(gateway.CodeNotFound, "This member was removed from its cluster. Join again to make it a member of one.")
}

// follow keeps the directory and the known principals in step with what other processes write, until ctx ends.
func (d *directory) follow(ctx context.Context, access *Access) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	var clusters, principals int64
	for {
		var err error
		if clusters, err = d.catchUp(ctx, clusters); err == nil {
			principals, err = access.catchUp(ctx, principals)
		}
		if err != nil && ctx.Err() == nil {
			d.log.Error("looking for changes failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (d *directory) catchUp(ctx context.Context, since int64) (int64, error) {
	var changed map[gateway.ID]int64
	newest := since
	err := d.store.View(ctx, func(r persistence.Reader) (err error) {
		changed, newest, err = r.ClusterRevisions(ctx, since)
		return err
	})
	if err != nil {
		return since, err
	}
	for id, revision := range changed {
		if e, ok := d.entries.Load(id); ok {
			if s := e.(*entry).state.Load(); s != nil && s.Cluster.Revision != revision {
				d.refresh(ctx, id)
			}
		}
	}
	return newest, nil
}
