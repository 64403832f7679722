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
	load sync.Mutex
	// state is what readers see; nil while it must be read.
	state atomic.Pointer[gateway.ClusterState]
	// told is the state of which connected members know, under the lock. It outlives state: when reading a change failed, members still have
	// to hear of it.
	told *gateway.ClusterState
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

// refresh reads the cluster again after a change, and reports whether it could. A cluster that is gone leaves the directory.
func (d *directory) refresh(ctx context.Context, id gateway.ID) bool {
	_, err := d.read(ctx, id, true)
	if err == nil || gateway.IsCode(err, gateway.CodeNotFound) {
		return true
	}
	d.log.Error("reading a changed cluster failed; it is read again soon", "cluster", id, "error", err)
	return false
}

func (d *directory) read(ctx context.Context, id gateway.ID, again bool) (*gateway.ClusterState, error) {
	e := d.locked(id)
	defer e.load.Unlock()
	if before := e.state.Load(); before != nil && !again {
		return before, nil
	}
	var now gateway.ClusterState
	err := d.store.View(ctx, func(r persistence.Reader) (err error) {
		now, err = r.ClusterState(ctx, id)
		return err
	})
	if err != nil {
		d.forget(id, e, err)
		return nil, err
	}
	e.state.Store(&now)
	d.tell(e.told, &now)
	e.told = &now
	return &now, nil
}

// locked is the cluster's entry with its lock held. One that left the directory while its lock was waited for is of no use: nobody would
// find what is put there.
func (d *directory) locked(id gateway.ID) *entry {
	for {
		found, _ := d.entries.LoadOrStore(id, new(entry))
		e := found.(*entry)
		e.load.Lock()
		if current, ok := d.entries.Load(id); ok && current == found {
			return e
		}
		e.load.Unlock()
	}
}

// forget takes away what readers see of a cluster that could not be read, so that it is read again: serving what was true before would
// break "a change holds from the next request on". The entry stays while members may have to be told something.
func (d *directory) forget(id gateway.ID, e *entry, err error) {
	e.state.Store(nil)
	if gateway.IsCode(err, gateway.CodeNotFound) {
		d.tell(e.told, nil)
		e.told = nil
	}
	if e.told == nil {
		d.entries.CompareAndDelete(id, e)
	}
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
		if e, ok := d.entries.Load(id); ok && e.(*entry).behind(revision) && !d.refresh(ctx, id) {
			newest = since // look at all of them again
		}
	}
	return newest, nil
}

// behind says whether members may not know of this revision.
func (e *entry) behind(revision int64) bool {
	if s := e.state.Load(); s != nil {
		return s.Cluster.Revision != revision
	}
	e.load.Lock()
	defer e.load.Unlock()
	return e.told != nil && e.told.Cluster.Revision != revision
}
