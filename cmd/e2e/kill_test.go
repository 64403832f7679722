package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"comporta/service/credential"
)

// Three members, five hundred reads at once, and the one that serves dies by kill -9: no request fails, and the answers say who served.
func TestNoReadFailsWhenTheServingMemberIsKilled(t *testing.T) {
	name, _ := postgres(t)
	w := serve(t, t.TempDir(), "127.0.0.1:0")
	members := map[string]*process{"one": w.member("one"), "two": w.member("two"), "three": w.member("three")}
	w.call("PATCH", "/gatewayClusters/"+w.cluster, map[string]any{"concurrentOperationLimit": 0}, nil)
	source := w.source("pg", "PostgreSql", `{"server":"127.0.0.1:5432","database":"`+name+`"}`, credential.Basic(name, dbPassword))
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 100

	const requests, atOnce = 500, 50
	var served sync.Map
	var answered, next atomic.Int64
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for i := next.Add(1); i <= requests; i = next.Add(1) {
				who, err := w.numbered(source, i)
				if err != nil {
					t.Errorf("request %d: %v", i, err)
				}
				count, _ := served.LoadOrStore(who, new(atomic.Int64))
				count.(*atomic.Int64).Add(1)
				if answered.Add(1) == requests/5 {
					members["one"].kill()
				}
			}
		})
	}
	all.Wait()
	total := int64(0)
	served.Range(func(who, n any) bool {
		t.Logf("%s served %d", who, n.(*atomic.Int64).Load())
		total += n.(*atomic.Int64).Load()
		return true
	})
	if _, ok := served.Load("one"); !ok {
		t.Error("the primary served nothing before it died")
	}
	if _, ok := served.Load("two"); !ok || total != requests {
		t.Errorf("the next in order did not take over, or an answer is missing: %d of %d", total, requests)
	}
}

// numbered asks for a number and returns who answered it.
func (w *world) numbered(source string, i int64) (string, error) {
	resp, err := w.dispatch(context.Background(), source, fmt.Sprintf("select %d as n, pg_sleep(0.02) is null as slept", i), "application/json", true)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	if resp.StatusCode != 200 || !strings.Contains(string(text), fmt.Sprintf(`"rows":[[%d,`, i)) {
		return "", fmt.Errorf("%d %s", resp.StatusCode, text)
	}
	return resp.Header.Get("X-Gateway-Member-Name"), nil
}

// The service is killed in the middle of writes, a hundred times over, on one database: everything that it acknowledged is there.
func TestNothingAcknowledgedIsLostWhenTheServiceIsKilled(t *testing.T) {
	rounds := 100
	if testing.Short() {
		rounds = 5
	}
	w := serve(t, t.TempDir(), "127.0.0.1:0")
	acknowledged := map[string]string{}
	for round := range rounds {
		var mu sync.Mutex
		var writers sync.WaitGroup
		first := make(chan struct{}, 1)
		for writer := range 3 {
			writers.Go(func() {
				for i := 0; ; i++ {
					name := fmt.Sprintf("p-%d-%d-%d", round, writer, i)
					status, text, err := w.try("POST", "/principals", map[string]any{"principalType": "Group", "displayName": name})
					if err != nil {
						return
					}
					var made struct{ ID string }
					if status != 201 || json.Unmarshal(text, &made) != nil {
						t.Errorf("%d %s", status, text)
						return
					}
					mu.Lock()
					acknowledged[made.ID] = name
					mu.Unlock()
					select {
					case first <- struct{}{}:
					default:
					}
				}
			})
		}
		<-first
		// A random moment within the writes; there is no condition to wait for.
		time.Sleep(time.Duration(rand.IntN(15)) * time.Millisecond)
		w.service.kill()
		writers.Wait()
		http.DefaultClient.CloseIdleConnections()
		w.startService("127.0.0.1:0")
	}
	var list struct {
		Value []struct{ ID, DisplayName string }
	}
	w.call("GET", "/principals", nil, &list)
	there := map[string]string{}
	for _, p := range list.Value {
		there[p.ID] = p.DisplayName
	}
	for id, name := range acknowledged {
		if there[id] != name {
			t.Errorf("%s was acknowledged and is lost", name)
		}
	}
	var audit struct {
		Value []struct{ ResourceID, Action string }
	}
	w.call("GET", "/auditEvents?action=principal.create&since="+time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), nil, &audit)
	t.Logf("%d kills, %d acknowledged writes, none lost", rounds, len(acknowledged))
}

// A write that ended is there once; a member that is killed while it writes leaves one clear error and no second try.
func TestAWriteIsNeverRunTwice(t *testing.T) {
	name, db := postgres(t)
	run(t, db, "create table log (n bigint)", "grant all on log to "+name)
	w := serve(t, t.TempDir(), "127.0.0.1:0")
	first := w.member("one")
	w.member("two")
	source := w.source("pg", "PostgreSql", `{"server":"127.0.0.1:5432","database":"`+name+`"}`, credential.Basic(name, dbPassword))
	write := func(n int, more string) (int, string) {
		resp, err := w.dispatch(context.Background(), source, fmt.Sprintf("insert into log select %d%s", n, more), "application/json", false)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	count := func(n int) (times int) {
		if err := db.QueryRow("select count(*) from log where n = $1", n).Scan(&times); err != nil {
			t.Fatal(err)
		}
		return times
	}
	if status, text := write(1, ""); status != 200 || count(1) != 1 || !strings.Contains(text, `"rowsAffected":1`) {
		t.Fatalf("a plain write: %d %s, %d times", status, text, count(1))
	}
	done := make(chan string, 1)
	go func() {
		status, text := write(2, " from pg_sleep(3)")
		done <- fmt.Sprint(status, " ", text)
	}()
	// The database says that it runs: the member's own count may still be that of the write before.
	w.eventually("the write runs", func() (runs bool) {
		if err := db.QueryRow("select count(*) > 0 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state = 'active' and query like '%pg_sleep(3)%'").Scan(&runs); err != nil {
			t.Fatal(err)
		}
		return runs
	})
	first.kill()
	if got := <-done; !strings.HasPrefix(got, "502") || !strings.Contains(got, "GatewayRequestOutcomeUnknown") {
		t.Errorf("killed while it wrote: %s", got)
	}
	if n := count(2); n > 1 {
		t.Errorf("it ran %d times", n)
	}
	if status, text := write(3, ""); status != 200 || count(3) != 1 {
		t.Errorf("the next write: %d %s", status, text)
	}
}

// A rolling restart: each member drains on SIGTERM and comes back, while reads and writes go on. None fails, none is doubled.
func TestARollingRestartFailsNothing(t *testing.T) {
	name, db := postgres(t)
	run(t, db, "create table log (n text primary key)", "grant all on log to "+name)
	w := serve(t, t.TempDir(), "127.0.0.1:0")
	states := map[string]string{"one": w.join("one"), "two": w.join("two")}
	running := map[string]*process{}
	for m, state := range states {
		running[m] = w.run(state, m)
	}
	w.call("PATCH", "/gatewayClusters/"+w.cluster, map[string]any{"loadBalancingSelectorType": "Random"}, nil)
	source := w.source("pg", "PostgreSql", `{"server":"127.0.0.1:5432","database":"`+name+`"}`, credential.Basic(name, dbPassword))
	stop := make(chan struct{})
	var sent atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for readOnly := i%2 == 0; ; {
				select {
				case <-stop:
					return
				default:
				}
				query := "select 1"
				if !readOnly {
					query = "insert into log values ('" + uuid.NewString() + "')"
					sent.Add(1)
				}
				resp, err := w.dispatch(context.Background(), source, query, "application/json", readOnly)
				if err != nil {
					t.Error(err)
					return
				}
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != 200 {
					t.Errorf("%s: %d %s %v", query[:6], resp.StatusCode, text, err)
					return
				}
			}
		})
	}
	for range 2 {
		for m, state := range states {
			running[m].stop()
			running[m] = w.run(state, m)
			before := sent.Load()
			w.eventually("writes go on", func() bool { return sent.Load() > before+20 })
		}
	}
	close(stop)
	all.Wait()
	var written int64
	if err := db.QueryRow("select count(*) from log").Scan(&written); err != nil || written != sent.Load() {
		t.Errorf("%d writes were sent and %d are there, %v", sent.Load(), written, err)
	}
	t.Logf("four restarts under load, %d writes", written)
}
