package connector

import (
	"crypto/sha256"
	"maps"
	"slices"
	"sync"
	"time"

	"comporta/service/gateway"
)

// poolKey says what a pool was opened with. Requests with equal keys may share connections.
type poolKey struct {
	dataSource gateway.ID
	kind       gateway.DataSourceType
	details    string
	encryption string
	version    int64
	// secrets is a hash over the opened credentials, so that nobody gets a connection that other credentials opened.
	secrets [sha256.Size]byte
	// readOnly tells apart pools that are opened differently for reading: SQLite's.
	readOnly bool
}

func keyOf(task *gateway.Task, creds gateway.Credentials) poolKey {
	d := &task.DataSource
	return poolKey{
		dataSource: d.ID, kind: d.Type, details: d.ConnectionDetails, encryption: d.Credential.Encryption,
		version: d.Credential.Version, secrets: hashOf(creds), readOnly: task.ReadOnly && d.Type == gateway.TypeExtension,
	}
}

func hashOf(creds gateway.Credentials) (sum [sha256.Size]byte) {
	if len(creds) == 0 {
		return sum
	}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(creds)) {
		for _, part := range []string{name, creds[name]} {
			h.Write([]byte{byte(len(part) >> 24), byte(len(part) >> 16), byte(len(part) >> 8), byte(len(part))})
			h.Write([]byte(part))
		}
	}
	h.Sum(sum[:0])
	return sum
}

// replaces reports whether a pool with key k makes one with key old useless: same data source, newer credentials or other details.
func (k poolKey) replaces(old poolKey) bool {
	if k.dataSource != old.dataSource || k.version < old.version {
		return false
	}
	old.readOnly = k.readOnly
	return k != old
}

// pool is one opened source and how many requests use it.
type pool struct {
	open sync.Once
	src  source
	err  error
	// users, idleSince and retired are guarded by pools.mu.
	users     int
	idleSince time.Time
	retired   bool
}

// pools keeps sources open between requests. The lock covers the bookkeeping only, never an open, a connect or a close.
type pools struct {
	now      func() time.Time
	maxIdle  int
	idleTime time.Duration

	mu     sync.Mutex
	open   map[poolKey]*pool
	closed bool
}

func newPools(cfg Config) *pools {
	p := &pools{now: cfg.Now, maxIdle: cfg.MaxPools, idleTime: cfg.PoolIdle, open: map[poolKey]*pool{}}
	if p.maxIdle <= 0 {
		p.maxIdle = 64
	}
	if p.idleTime <= 0 {
		p.idleTime = 10 * time.Minute
	}
	return p
}

// acquire returns the source for key, opened by open if there is none yet. release must be called once.
func (p *pools) acquire(key poolKey, open func() (source, error)) (src source, release func(), err error) {
	entry, stale, err := p.enter(key)
	closeAll(stale)
	if err != nil {
		return nil, nil, err
	}
	entry.open.Do(func() { entry.src, entry.err = open() })
	if entry.err != nil {
		p.drop(key, entry)
		return nil, nil, entry.err
	}
	return entry.src, func() { closeAll(p.leave(entry)) }, nil
}

func (p *pools) enter(key poolKey) (*pool, []*pool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, gateway.Errorf(gateway.CodeUnavailable, "The member is going down.")
	}
	entry := p.open[key]
	if entry == nil {
		entry = &pool{}
		p.open[key] = entry
	}
	entry.users++
	return entry, p.sweep(key), nil
}

// leave counts a user out and returns what is to be closed now.
func (p *pools) leave(entry *pool) []*pool {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry.users--
	entry.idleSince = p.now()
	if entry.retired && entry.users == 0 {
		return []*pool{entry}
	}
	return nil
}

// drop forgets a pool that could not be opened, so that the next request tries again.
func (p *pools) drop(key poolKey, entry *pool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry.users--
	if p.open[key] == entry {
		delete(p.open, key)
	}
}

// sweep takes out of the table what current replaces, what has been idle too long, and the longest idle beyond the bound. It returns
// those that nobody uses; a retired pool in use is closed by its last user.
func (p *pools) sweep(current poolKey) []*pool {
	var unused []*pool
	var idle []poolKey
	deadline := p.now().Add(-p.idleTime)
	retire := func(key poolKey, entry *pool) {
		delete(p.open, key)
		entry.retired = true
		if entry.users == 0 {
			unused = append(unused, entry)
		}
	}
	for key, entry := range p.open {
		switch {
		case current.replaces(key), entry.users == 0 && entry.idleSince.Before(deadline):
			retire(key, entry)
		case entry.users == 0:
			idle = append(idle, key)
		}
	}
	if excess := len(idle) - p.maxIdle; excess > 0 {
		slices.SortFunc(idle, func(a, b poolKey) int { return p.open[a].idleSince.Compare(p.open[b].idleSince) })
		for _, key := range idle[:excess] {
			retire(key, p.open[key])
		}
	}
	return unused
}

func (p *pools) close() {
	p.mu.Lock()
	var unused []*pool
	for key, entry := range p.open {
		delete(p.open, key)
		entry.retired = true
		if entry.users == 0 {
			unused = append(unused, entry)
		}
	}
	p.closed = true
	p.mu.Unlock()
	closeAll(unused)
}

func closeAll(unused []*pool) {
	for _, entry := range unused {
		if entry.src != nil {
			entry.src.close()
		}
	}
}
