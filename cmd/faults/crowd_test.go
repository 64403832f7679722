//go:build linux

package faults

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	mathrand "math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"comporta/persistence"
	"comporta/service/gateway"
	memberroom "comporta/service/member"
)

const (
	crowdMembers  = 500
	crowdTunnels  = 2 * crowdMembers
	crowdClusters = crowdMembers / gateway.MaxMembers
	// backWithin bounds the return of all tunnels after the service's start. Tunnels are let in at 250 a second, so 4 s are the least and
	// 5 s what it takes; the bound is for machines that have ten other things to do.
	backWithin = 60 * time.Second
)

// crowd is many members in this process: real ones but for the join, which would cost a derived key each.
type crowd struct {
	members []*memberroom.Member
	leave   context.CancelFunc
	running sync.WaitGroup
}

// enrol writes clusters and members to the service's store while the service is down.
func (w *world) enrol(states []*memberroom.State, key *rsa.PrivateKey) error {
	store, err := persistence.Open(context.Background(), persistence.Config{DataDir: w.data, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	err = store.InTx(context.Background(), func(tx persistence.Tx) error {
		for i, s := range states {
			if s.ClusterID == s.MemberID {
				c := gateway.Cluster{ID: s.ClusterID, Name: fmt.Sprint("cluster ", i), PrimaryID: s.MemberID, Mode: gateway.DistributeEvenly, CreatedAt: time.Now(),
					Key: gateway.ClusterKey{Modulus: key.N.Bytes(), Exponent: big.NewInt(int64(key.E)).Bytes(), Salt: []byte("-"), VerifierHash: []byte("-"), Sealed: []byte("-"), Time: 1, Memory: 8, Threads: 1}}
				admin := gateway.Permission{ClusterID: c.ID, PrincipalID: gateway.ID(w.adminID), Role: gateway.ClusterAdmin, CreatedAt: time.Now()}
				if err := errors.Join(tx.CreateCluster(context.Background(), c), tx.PutPermission(context.Background(), admin)); err != nil {
					return err
				}
			}
			public := s.Key.Public().(ed25519.PublicKey)
			m := gateway.Member{ID: s.MemberID, ClusterID: s.ClusterID, Name: s.MemberName, State: gateway.MemberEnabled, PublicKey: public, CreatedAt: time.Now()}
			if err := tx.CreateMember(context.Background(), m); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, store.Close())
}

// crowdStates makes up the members: as many to a cluster as it takes.
func crowdStates(server string, key *rsa.PrivateKey) ([]*memberroom.State, error) {
	var states []*memberroom.State
	for i := range crowdMembers {
		_, own, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		s := &memberroom.State{Server: server, MemberID: gateway.ID(uuid.NewString()), MemberName: fmt.Sprint("member ", i), ClusterName: "crowd", Key: own, ClusterKey: key}
		s.ClusterID = s.MemberID
		if i%(crowdMembers/crowdClusters) != 0 {
			s.ClusterID = states[i-1].ClusterID
		}
		states = append(states, s)
	}
	return states, nil
}

// unknown is a machine whose load nobody can read: five hundred real ones would do nothing but read it.
type unknown struct{}

func (unknown) Read(context.Context) (cpu, memory gateway.Reading) { return }

func newCrowd(states []*memberroom.State) (*crowd, error) {
	c := &crowd{}
	ctx, leave := context.WithCancel(context.Background())
	c.leave = leave
	for _, s := range states {
		m, err := memberroom.New(memberroom.Config{State: s, Probe: unknown{}, Version: "test", Now: time.Now, Jitter: mathrand.Float64, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, err
		}
		c.members = append(c.members, m)
		c.running.Go(func() { _ = m.Run(ctx) })
	}
	return c, nil
}

// close ends all members at once.
func (c *crowd) close() {
	c.leave()
	c.running.Wait()
}

// figures are what a service says of itself.
type figures struct{ online, goroutines, heap, cpu, descriptors float64 }

func (w *world) figures() (f figures, err error) {
	resp, err := http.Get("http://" + w.metrics + "/metrics")
	if err != nil {
		return f, err
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		value, _ := strconv.ParseFloat(text, 64)
		switch name {
		case "comporta_members_online":
			f.online = value
		case "go_goroutines":
			f.goroutines = value
		case "go_memstats_heap_alloc_bytes":
			f.heap = value
		case "process_cpu_seconds_total":
			f.cpu = value
		case "process_open_fds":
			f.descriptors = value
		}
	}
	return f, nil
}

func (f figures) String() string {
	return fmt.Sprintf("%.0f members online, %.0f goroutines, %.1f MiB of heap, %.0f descriptors, %.1f s of CPU", f.online, f.goroutines, f.heap/(1<<20), f.descriptors, f.cpu)
}

// Five hundred members with two tunnels each lose their service, which is killed and started again while callers ask: all are back within
// seconds. When they leave, the service has nothing left of them.
func TestFiveHundredMembersComeBack(t *testing.T) {
	db, _, _ := ground(t)
	w, err := newService(nil, db, false, "--metrics-listen", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	states := w.crowded(t)
	idle, err := w.figures()
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCrowd(states)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	w.back(t, "at first", patience, idle)
	if err := w.register(); err != nil {
		t.Fatal(err)
	}
	w.crash(t)
	full := w.back(t, "after a crash under load", backWithin, idle)
	c.close()
	w.emptied(t, idle, full)
}

// crowded enrols the members and starts the service again.
func (w *world) crowded(t *testing.T) []*memberroom.State {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	states, err := crowdStates(w.url, key)
	if err != nil {
		t.Fatal(err)
	}
	w.cluster = string(states[0].ClusterID)
	if err := all(w.service.stop, func() error { return w.enrol(states, key) }, w.serve); err != nil {
		t.Fatal(err)
	}
	return states
}

// crash kills the service under load, and starts it again.
func (w *world) crash(t *testing.T) {
	t.Helper()
	load := w.traffic()
	err := until("requests are answered", func() bool { return load.count(before, false, "") > 50 && load.count(before, true, "") > 50 })
	load.phase.Store(int32(struck))
	w.service.kill()
	err = errors.Join(err, w.serve())
	load.phase.Store(int32(lifted))
	err = errors.Join(err, until("requests are answered again", func() bool { return load.count(lifted, false, "") > 50 && load.count(lifted, true, "") > 50 }))
	requests := load.end()
	executed, counted := w.db.executed(load.first, numbers.Load())
	if err := errors.Join(err, counted); err != nil {
		t.Fatal(err)
	}
	f := fault{reads: goneReads, writes: goneWrites, outage: true, fresh: backWithin}
	for _, writes := range []bool{false, true} {
		t.Log(summary(requests, writes))
		for _, problem := range f.verdict(requests, executed, writes) {
			t.Error(problem)
		}
	}
}

// back waits until every tunnel stands and says how long that took since the service was there.
func (w *world) back(t *testing.T, when string, within time.Duration, idle figures) (f figures) {
	t.Helper()
	started := w.service.started
	err := until("all tunnels stand", func() bool {
		f, _ = w.figures()
		return f.online == crowdMembers && f.descriptors >= idle.descriptors+crowdTunnels
	})
	took := time.Since(started)
	t.Logf("%s: %d tunnels %v after the service's start, %.0f a second; %v", when, crowdTunnels, took.Round(time.Millisecond), crowdTunnels/took.Seconds(), f)
	if err != nil || took > within {
		t.Errorf("%s: not all tunnels are back within %v: %v, %v", when, within, f, err)
	}
	return f
}

// emptied waits until the service is as it was without members. Asking for lists makes it collect its garbage.
func (w *world) emptied(t *testing.T, idle, full figures) {
	t.Helper()
	const someMore, someHeap = 20, 16 << 20
	var f figures
	err := until("the service is as it was", func() bool {
		for range 20 {
			_ = w.call("GET", "/memberGateways", nil, nil)
		}
		w.client.CloseIdleConnections() // they are descriptors of the service too
		f, _ = w.figures()
		return f.online == 0 && f.goroutines <= idle.goroutines+someMore && f.descriptors <= idle.descriptors+someMore && f.heap <= idle.heap+someHeap
	})
	t.Logf("without members: %v; with them: %v; after they left: %v", idle, full, f)
	if err != nil {
		t.Error(err)
	}
}
