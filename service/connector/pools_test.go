package connector

import (
	"context"
	"errors"
	"testing"
	"time"

	"comporta/service/gateway"
)

// fakeSource only notes that it was closed: pools know nothing else of a source.
type fakeSource struct{ closed bool }

func (f *fakeSource) run(context.Context, *gateway.Task, gateway.Output) (gateway.Summary, error) {
	return gateway.Summary{}, nil
}
func (f *fakeSource) probe(context.Context) error { return nil }
func (f *fakeSource) close()                      { f.closed = true }

func TestPools(t *testing.T) {
	now := time.Unix(0, 0)
	p := newPools(Config{Now: func() time.Time { return now }, MaxPools: 2, PoolIdle: time.Minute})
	take := func(key poolKey) (*fakeSource, func()) {
		src, release, err := p.acquire(key, func() (source, error) { return &fakeSource{}, nil })
		if err != nil {
			t.Fatal(err)
		}
		return src.(*fakeSource), release
	}
	old, releaseOld := take(poolKey{dataSource: "a", version: 1})
	if same, release := take(poolKey{dataSource: "a", version: 1}); same != old {
		t.Error("equal keys got two pools")
	} else {
		release()
	}
	_, releaseNew := take(poolKey{dataSource: "a", version: 2})
	if old.closed {
		t.Error("closed while in use")
	}
	releaseOld()
	if !old.closed {
		t.Error("an older pool stays open after its last request")
	}
	releaseNew()

	var seen []*fakeSource
	for _, id := range []gateway.ID{"b", "c", "d"} {
		now = now.Add(time.Second)
		src, release := take(poolKey{dataSource: id})
		seen = append(seen, src)
		release()
	}
	now = now.Add(time.Second)
	_, release := take(poolKey{dataSource: "e"})
	if !seen[0].closed || seen[2].closed {
		t.Error("not the longest idle was closed")
	}
	now = now.Add(2 * time.Minute)
	take(poolKey{dataSource: "f"})
	if !seen[2].closed {
		t.Error("an idle pool stays open")
	}
	broken := errors.New("broken")
	if _, _, err := p.acquire(poolKey{dataSource: "g"}, func() (source, error) { return nil, broken }); err != broken {
		t.Error(err)
	}
	take(poolKey{dataSource: "g"})
	p.close()
	release()
	if _, _, err := p.acquire(poolKey{}, nil); !gateway.IsCode(err, gateway.CodeUnavailable) {
		t.Error(err)
	}
}

func TestCredentialsMakePools(t *testing.T) {
	task := &gateway.Task{}
	a, b := keyOf(task, gateway.Credentials{"username": "ab", "password": "c"}), keyOf(task, gateway.Credentials{"username": "a", "password": "bc"})
	if a == b {
		t.Error("different credentials share a pool")
	}
}
