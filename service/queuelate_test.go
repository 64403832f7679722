package service

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"comporta/service/gateway"
)

// waitingReader lets somebody stand in line of a cluster that is full; free makes room, and result is what he got.
func waitingReader(t *testing.T, change func(w *world, cluster, source gateway.ID, reader *gateway.Caller)) (sent *gateway.Task, result error) {
	t.Helper()
	ctx := context.Background()
	w := newWorld(t)
	cluster, members, source := w.cluster(t, 1)
	wait := time.Minute
	must(t, w.Clusters.Update(ctx, w.admin, cluster, ClusterPatch{QueueTimeout: &wait}))
	reader := w.principal(t, "reader")
	must(t, w.DataSources.PutUser(ctx, w.admin, cluster, source, NewDataSourceUser{PrincipalID: reader.ID, Role: gateway.DataSourceReader, Right: gateway.RightRead}))
	var got atomic.Pointer[gateway.Task]
	w.tunnels.answer(members[0], func(task *gateway.Task) (*gateway.Answer, error) {
		copied := *task
		got.Store(&copied)
		return small("rows"), nil
	})
	w.tunnels.show(members[0], func(p *gateway.Presence) { p.InFlight = 40 })
	done := make(chan error, 1)
	go func() {
		r, err := w.Dispatcher.Dispatch(ctx, reader, query(cluster, source, true))
		if err == nil {
			err = r.Body.Close()
		}
		done <- err
	}()
	eventually(t, "he waits", func() bool { return w.Dispatcher.Waiting(cluster) == 1 })
	change(w, cluster, source, reader)
	w.tunnels.show(members[0], func(p *gateway.Presence) { p.InFlight = 0 })
	result = <-done
	return got.Load(), result
}

// Who stands in line is asked again when his turn comes: what was taken away meanwhile is gone, and what was replaced is used.
func TestWhatChangesWhileARequestWaitsHoldsForIt(t *testing.T) {
	ctx, yes := context.Background(), true
	for name, c := range map[string]struct {
		change func(w *world, cluster, source gateway.ID, reader *gateway.Caller)
		want   gateway.Code
	}{
		"role taken": {func(w *world, cluster, source gateway.ID, reader *gateway.Caller) {
			must(t, w.DataSources.DeleteUser(ctx, w.admin, cluster, source, reader.ID.String()))
		}, gateway.CodeNotFound},
		"data source deleted": {func(w *world, cluster, source gateway.ID, _ *gateway.Caller) {
			must(t, w.DataSources.Delete(ctx, w.admin, cluster, source))
		}, gateway.CodeNotFound},
		"cluster deleted": {func(w *world, cluster, _ gateway.ID, _ *gateway.Caller) {
			must(t, w.Clusters.Delete(ctx, w.admin, cluster))
		}, gateway.CodeNotFound},
		"disabled": {func(w *world, _, _ gateway.ID, reader *gateway.Caller) {
			_, err := w.Tenant.UpdatePrincipal(ctx, w.admin, reader.ID, PrincipalPatch{Disabled: &yes})
			must(t, err)
		}, gateway.CodeUnauthorized},
	} {
		if sent, err := waitingReader(t, c.change); sent != nil || !gateway.IsCode(err, c.want) {
			t.Errorf("%s: %v, sent %v; want %s", name, err, sent, c.want)
		}
	}
	sent, err := waitingReader(t, func(w *world, cluster, source gateway.ID, _ *gateway.Caller) {
		must(t, w.DataSources.Update(ctx, w.admin, cluster, source, DataSourcePatch{Credentials: map[gateway.ID]CredentialInput{"": {Type: "Basic", Envelope: "new one"}}}))
	})
	if err != nil || sent.DataSource.Credential.Envelope != "new one" {
		t.Errorf("credentials replaced: %v, sent %+v", err, sent)
	}
}

// A request whose own time is over waits no longer, and no member begins it.
func TestARequestDoesNotOutliveItsTimeInLine(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	cluster, members, source := w.cluster(t, 1)
	wait := time.Minute
	must(t, w.Clusters.Update(ctx, w.admin, cluster, ClusterPatch{QueueTimeout: &wait}))
	w.tunnels.show(members[0], func(p *gateway.Presence) { p.InFlight = 40 })
	q := query(cluster, source, false)
	q.Timeout = 200 * time.Millisecond
	began := time.Now()
	if _, err := w.Dispatcher.Dispatch(ctx, w.admin, q); !gateway.IsCode(err, gateway.CodeTimeout) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took >= memberGrace {
		t.Errorf("it took %v", took)
	}
	if sent := w.tunnels.sentTo(); len(sent) != 0 {
		t.Errorf("sent %v", sent)
	}
}

// A member that refuses though it seems to have places is asked by one of the line at a time, not by as many as there seem to be places for.
func TestALineSendsNotAllToAMemberThatRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queues
		var all sync.WaitGroup
		var sends, served atomic.Int64
		var open atomic.Bool
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		for range 100 {
			all.Go(func() {
				q.of("c").wait(ctx, time.Hour, func(t *ticket) bool {
					sends.Add(1)
					t.leave() // the plan shows a place
					<-time.After(5 * time.Millisecond)
					if open.Load() {
						served.Add(1)
					}
					return open.Load()
				})
			})
		}
		time.Sleep(2 * time.Second)
		if n := sends.Load(); n > 200 || n < 10 {
			t.Errorf("%d sends in two seconds", n)
		}
		open.Store(true)
		q.freed("c")
		time.Sleep(time.Second)
		if served.Load() != 100 {
			t.Error(fmt.Sprint(served.Load(), " of 100 were served when there were places again"))
		}
		cancel()
		all.Wait()
	})
}
