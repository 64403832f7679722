//go:build linux

package faults

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// plainWorld is a world on loopback for one test.
func plainWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	db, _, _ := ground(t)
	w, err := newWorld(nil, db, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	return w
}

// answer sends a request and returns status, header and body.
func (w *world) answer(t *testing.T, method, path string, body any) (int, http.Header, string) {
	t.Helper()
	resp, err := w.send(context.Background(), method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// query is a dispatch of a statement that reads.
func (w *world) query(text string) map[string]any {
	return map[string]any{"datasourceId": w.source, "query": map[string]any{"text": text}}
}

// servers counts who serves so many reads.
func (w *world) servers(t *testing.T, n int) map[string]int {
	t.Helper()
	by := map[string]int{}
	for i := range n {
		status, header, text := w.answer(t, "POST", "/dispatch", w.query(fmt.Sprintf("select %d", i)))
		if status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		by[header.Get("X-Gateway-Member-Name")]++
	}
	return by
}

// The primary goes last: while others are there it stays, by that name of the error; with it goes the cluster.
func TestR66ThePrimaryGoesLast(t *testing.T) {
	w := plainWorld(t)
	primary, second := "/memberGateways/"+w.members[0].id, "/memberGateways/"+w.members[1].id
	if status, _, text := w.answer(t, "DELETE", primary, nil); status < 400 || !strings.Contains(text, "CannotDeletePrimaryGatewayIfClusterMemberExists") {
		t.Errorf("the primary of two: %d %s", status, text)
	}
	if now, err := w.standings(); err != nil || len(now) != 2 || !now["one"].well() {
		t.Errorf("something changed: %v, %v", now, err)
	}
	for _, path := range []string{second, primary} {
		if status, _, text := w.answer(t, "DELETE", path, nil); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, _, text := w.answer(t, "GET", "", nil); status != http.StatusNotFound || !strings.Contains(text, "EntityNotFound") {
		t.Errorf("the cluster after its primary: %d %s", status, text)
	}
}

// status is what the cluster says of itself and of each member.
func (w *world) status(t *testing.T) (cluster, version string, codes map[string]string) {
	t.Helper()
	var s struct {
		ClusterStatus       string
		GatewayVersion      string
		MemberGatewayErrors []struct{ GatewayName, ErrorCode string }
	}
	if err := w.call("GET", "/status", nil, &s); err != nil {
		t.Fatal(err)
	}
	codes = map[string]string{}
	for _, e := range s.MemberGatewayErrors {
		codes[e.GatewayName] = e.ErrorCode
	}
	return s.ClusterStatus, s.GatewayVersion, codes
}

// A cluster lives while one member can be reached, and names what is wrong with each of the others. The version outlives the machine.
func TestR67StatusOfAClusterThatIsHalfThere(t *testing.T) {
	w := plainWorld(t)
	if err := w.set(w.members[1], map[string]any{"enabled": false}); err != nil {
		t.Fatal(err)
	}
	cluster, version, codes := w.status(t)
	if cluster != "Live" || version == "" || len(codes) != 1 || codes["two"] != "DMTS_GatewayIsDisabled" {
		t.Errorf("one disabled: %s %s %v", cluster, version, codes)
	}
	w.members[0].process.kill()
	var last string
	err := until("the cluster is dead", func() bool {
		cluster, last, codes = w.status(t)
		return cluster == "None" && codes["one"] == "DM_GWPipeline_Client_GatewayUnreachable"
	})
	if err != nil || codes["two"] != "DMTS_GatewayIsDisabled" || last != version {
		t.Errorf("one lost, one disabled: %s %s %v, %v", cluster, last, codes, err)
	}
}

// Failover is the primary as long as it is there, then the next, and the primary again. Even distribution is what its name says.
func TestR75FailoverAndEvenDistribution(t *testing.T) {
	w := plainWorld(t)
	if err := w.mode("Failover"); err != nil {
		t.Fatal(err)
	}
	if by := w.servers(t, 100); by["one"] != 100 {
		t.Errorf("all is well: %v", by)
	}
	w.members[0].process.kill()
	if err := noticedLost(w, nil); err != nil {
		t.Fatal(err)
	}
	if by := w.servers(t, 50); by["two"] != 50 {
		t.Errorf("without the primary: %v", by)
	}
	if err := all(w.members[0].start, w.live); err != nil {
		t.Fatal(err)
	}
	if by := w.servers(t, 50); by["one"] != 50 {
		t.Errorf("with the primary again: %v", by)
	}
	if err := w.mode("Random"); err != nil {
		t.Fatal(err)
	}
	// Of 1,000 throws of a coin, 400 to 600 are heads but for one time in three thousand million.
	if by := w.servers(t, 1000); by["one"] < 400 || by["one"] > 600 {
		t.Errorf("evenly: %v", by)
	}
}

// running is how many requests the member runs.
func (w *world) running(name string) int {
	var list struct {
		Value []struct {
			Name            string
			RunningRequests int
		}
	}
	if w.call("GET", "/memberGateways", nil, &list) != nil {
		return -1
	}
	for _, m := range list.Value {
		if m.Name == name {
			return m.RunningRequests
		}
	}
	return -1
}

// With a limit of two, the third request goes to the other member and the fifth is refused in words. What is counted comes back to
// nothing after an end, a time-out, a caller who left, and a crash.
func TestR78TheConcurrencyLimit(t *testing.T) {
	w := plainWorld(t)
	if err := all(func() error { return w.mode("Failover") }, func() error { return changeAll(map[string]any{"concurrentOperationLimit": 2})(w, nil) }); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	for i := range 4 {
		body := w.query("select pg_sleep(30)")
		if i == 0 {
			body["timeoutSeconds"] = 5
		}
		go func() {
			if resp, err := w.send(ctx, "POST", "/dispatch", body); err == nil {
				resp.Body.Close()
			}
		}()
		if err := until(fmt.Sprint(i+1, " requests run"), func() bool { return w.running("one")+w.running("two") == i+1 }); err != nil {
			t.Fatal(err)
		}
	}
	if one, two := w.running("one"), w.running("two"); one != 2 || two != 2 {
		t.Errorf("%d on the first member and %d on the second", one, two)
	}
	if status, header, text := w.answer(t, "POST", "/dispatch", w.query("select 1")); status != http.StatusTooManyRequests || header.Get("Retry-After") == "" || !strings.Contains(text, "exceeded the concurrency limit") {
		t.Errorf("the fifth: %d %s", status, text)
	}
	w.members[1].process.kill()
	if err := until("a crash and a time-out are counted", func() bool { return w.running("two") == 0 && w.running("one") == 1 }); err != nil {
		t.Error(err)
	}
	leave()
	if err := until("a caller who left is counted", func() bool { return w.running("one") == 0 }); err != nil {
		t.Error(err)
	}
}

// An answer names the member that gave it; an eleventh member is refused by name, and nothing is left of it.
func TestR79ElevenMembers(t *testing.T) {
	w := plainWorld(t)
	if _, header, _ := w.answer(t, "POST", "/dispatch", w.query("select 1")); header.Get("X-Gateway-Member-Name") != "one" || header.Get("X-Gateway-Member-Id") != w.members[0].id {
		t.Errorf("served by %v", header)
	}
	for i := 3; i <= 11; i++ {
		status, _, text := w.answer(t, "POST", "/memberGateways", map[string]any{"name": fmt.Sprint("member ", i), "recoveryKey": recoveryKey})
		if wellNow := status == http.StatusCreated; wellNow != (i <= 10) || i == 11 && !strings.Contains(text, "GatewayMemberLimitExceeded") {
			t.Errorf("member %d: %d %s", i, status, text)
		}
	}
	if now, err := w.standings(); err != nil || len(now) != 10 {
		t.Errorf("%d members, %v", len(now), err)
	}
}

// A query of two and a half minutes passes. It takes as long, so it runs with the soak only.
func TestR81ALongQueryPasses(t *testing.T) {
	if os.Getenv("COMPORTA_SOAK") == "" {
		t.Skip("COMPORTA_SOAK is not set: the query takes 150 s")
	}
	w := plainWorld(t)
	started := time.Now()
	status, header, text := w.answer(t, "POST", "/dispatch", w.query("select 42, pg_sleep(150) is null"))
	if status != http.StatusOK || !strings.Contains(text, "[[42,") || header.Get("X-Gateway-Attempts") != "1" {
		t.Errorf("after %v: %d %s", time.Since(started), status, text)
	}
}
