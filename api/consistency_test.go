package api_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"comporta/persistence"
	"comporta/service"
	"comporta/service/gateway"
)

// listing reads a whole list in one of the ways that clients have, and answers its ids in their order.
type listing struct {
	name string
	// offset: the pages are counted, so what is deleted before the place of a page moves the rest. That is $skip; nobody can be complete who
	// reads on by it while others delete older entries. Deletes of younger ones and inserts do no harm, as the order is that of creation.
	offset bool
	read   func(w *world) []string
}

var clusterListings = []listing{
	{"v2", false, whole("/gatewayClusters")},
	{"v2 own", false, whole("/me/gatewayClusters")},
	{"v2 $top $skip", true, skipping("/gatewayClusters", 100)},
	{"v2 own $top $skip", true, skipping("/me/gatewayClusters", 997)},
	{"v1.0", false, whole("//v1.0/myorg/gateways")},
	{"oldest", false, bare("//unifiedgateway/gatewayclusters")},
	{"Fabric", false, following("//v1/gateways")},
}

type entry struct{ ID, ObjectID string }

// whole reads a list in one answer.
func whole(path string) func(*world) []string {
	return func(w *world) []string {
		var page struct{ Value []entry }
		w.must(200, "GET", path, nil, &page)
		return idsOf(page.Value)
	}
}

// bare is whole for a list without an envelope.
func bare(path string) func(*world) []string {
	return func(w *world) []string {
		var all []entry
		w.must(200, "GET", path, nil, &all)
		return idsOf(all)
	}
}

func idsOf(entries []entry) []string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		if ids[i] = e.ID; e.ID == "" {
			ids[i] = e.ObjectID
		}
	}
	return ids
}

// skipping reads pages by $top and $skip until one is not full.
func skipping(path string, top int) func(*world) []string {
	return func(w *world) (ids []string) {
		for {
			page := whole(fmt.Sprintf("%s?$top=%d&$skip=%d", path, top, len(ids)))(w)
			if ids = append(ids, page...); len(page) < top {
				return ids
			}
		}
	}
}

// following reads pages by the addresses that they give.
func following(first string) func(*world) []string {
	return func(w *world) (ids []string) {
		for path := first; path != ""; {
			var page struct {
				Value                              []entry
				ContinuationToken, ContinuationURI string
			}
			w.must(200, "GET", path, nil, &page)
			if (page.ContinuationToken == "") != (page.ContinuationURI == "") || !strings.HasPrefix(page.ContinuationURI, w.url) && page.ContinuationURI != "" {
				w.t.Fatalf("token %q and address %q of the next page do not fit", page.ContinuationToken, page.ContinuationURI)
			}
			ids = append(ids, idsOf(page.Value)...)
			if path = strings.TrimPrefix(page.ContinuationURI, w.url); path != "" {
				path = "/" + path
			}
		}
		return ids
	}
}

// Every list has what existed during all of it exactly once, whoever else inserts and deletes meanwhile. R45.
func TestR45ListsAreWholeWhileOthersInsertAndDelete(t *testing.T) {
	onBothStores(t, func(t *testing.T, state persistence.Config) {
		w := newWorldOn(t, state)
		var stable []gateway.ID
		for _, n := range []int{1, 100, 101, 1001, 5001} {
			stable = append(stable, w.plantClusters(n-len(stable), longAgo)...)
			for _, l := range clusterListings {
				if n < 5000 { // it takes its time, and adds nothing for the longest list
					w.listQuietly(l, stable)
				}
				w.listAmidChanges(l, stable, w.plantClusters, w.removeClusters)
			}
		}
	})
}

// longAgo is the one time of creation of what is planted, so that the order is by id: what comes and goes stands between what stays.
var longAgo = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// listQuietly reads a list while nothing changes: twice the same, and nothing else in it.
func (w *world) listQuietly(l listing, stable []gateway.ID) {
	w.t.Helper()
	first := l.read(w)
	w.completeOnce(l.name, first, stable)
	if len(first) != len(stable) || !slices.Equal(first, l.read(w)) {
		w.t.Errorf("%s: %d entries of %d, or another order the second time", l.name, len(first), len(stable))
	}
}

// listAmidChanges reads a list while others insert and delete, before and behind the reader's place.
func (w *world) listAmidChanges(l listing, stable []gateway.ID, plant func(int, time.Time) []gateway.ID, remove func(...gateway.ID)) {
	w.t.Helper()
	doomed := plant(20, longAgo)
	changes := &churn{plant: plant, remove: remove, doomed: doomed, at: longAgo}
	if l.offset {
		changes.doomed, changes.at = nil, time.Time{}
	}
	reader, stop := changes.beside(w)
	ids := l.read(reader)
	stop()
	w.completeOnce(l.name+" amid changes", ids, stable)
	remove(append(doomed, changes.planted...)...)
}

// completeOnce checks that a list has each of these once, and nothing twice.
func (w *world) completeOnce(what string, ids []string, stable []gateway.ID) {
	w.t.Helper()
	seen := map[string]int{}
	for _, id := range ids {
		seen[id]++
	}
	missing, doubled := 0, 0
	for _, id := range stable {
		if seen[id.String()] == 0 {
			missing++
		}
	}
	for _, n := range seen {
		if n > 1 {
			doubled++
		}
	}
	if missing > 0 || doubled > 0 {
		w.t.Errorf("%s: %d of %d are missing, %d stand twice", what, missing, len(stable), doubled)
	}
}

// churn inserts and deletes beside a reader.
type churn struct {
	plant   func(int, time.Time) []gateway.ID
	remove  func(...gateway.ID)
	at      time.Time
	doomed  []gateway.ID
	planted []gateway.ID
}

// beside answers a reader whose every request sets off a round of changes that goes on while it is answered. stop waits for the last one.
func (c *churn) beside(w *world) (reader *world, stop func()) {
	rounds, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for range rounds {
			c.round()
		}
	}()
	own := *w
	own.client = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		select {
		case rounds <- struct{}{}:
		default: // the round before is not over
		}
		return w.client.Do(r)
	})}
	return &own, func() { close(rounds); <-ended }
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// round inserts two, and deletes one of them and one of the doomed.
func (c *churn) round() {
	made := c.plant(2, c.at)
	c.remove(made[0])
	c.planted = append(c.planted, made[1])
	if len(c.doomed) > 0 {
		c.remove(c.doomed[0])
		c.doomed = c.doomed[1:]
	}
}

// write runs a transaction that must succeed.
func (w *world) write(fn func(ctx context.Context, tx persistence.Tx) error) {
	ctx := context.Background()
	if err := w.store.InTx(ctx, func(tx persistence.Tx) error { return fn(ctx, tx) }); err != nil {
		w.t.Error(err)
	}
}

// moment is the time itself, or the transaction's.
func moment(at time.Time, tx persistence.Tx) time.Time {
	if at.IsZero() {
		return tx.Now()
	}
	return at
}

// plantClusters makes clusters without the work of a key pair.
func (w *world) plantClusters(n int, at time.Time) []gateway.ID {
	ids := make([]gateway.ID, n)
	for i := range ids {
		ids[i] = newID()
	}
	w.write(func(ctx context.Context, tx persistence.Tx) error {
		for _, id := range ids {
			c := gateway.Cluster{ID: id, PrimaryID: id, Name: id.String(), Region: "home", Mode: gateway.Failover, CreatedAt: moment(at, tx)}
			if err := tx.CreateCluster(ctx, c); err != nil {
				return err
			}
			if err := tx.CreateMember(ctx, gateway.Member{ID: id, ClusterID: id, Name: "m", State: gateway.MemberEnabled, CreatedAt: tx.Now()}); err != nil {
				return err
			}
			p := gateway.Permission{ClusterID: id, PrincipalID: gateway.ID(w.adminID), Role: gateway.ClusterAdmin, CreatedAt: tx.Now()}
			if err := tx.PutPermission(ctx, p); err != nil {
				return err
			}
		}
		return nil
	})
	return ids
}

func (w *world) removeClusters(ids ...gateway.ID) {
	w.write(func(ctx context.Context, tx persistence.Tx) error {
		return ignoreGone(ids, func(id gateway.ID) error { return tx.DeleteCluster(ctx, id) })
	})
}

// ignoreGone does this for each; those that are gone do no harm.
func ignoreGone(ids []gateway.ID, do func(gateway.ID) error) error {
	for _, id := range ids {
		if err := do(id); err != nil && !gateway.IsCode(err, gateway.CodeNotFound) {
			return err
		}
	}
	return nil
}

// More data sources than Microsoft lets a cluster have are listed whole, too.
func TestFifteenHundredDataSourcesAreListedWholeWhileOthersInsertAndDelete(t *testing.T) {
	onBothStores(t, func(t *testing.T, state persistence.Config) {
		w := newWorldOn(t, state)
		w.cluster = w.plantClusters(1, longAgo)[0].String()
		stable, one := w.plantSources(1500, longAgo), "/gatewayClusters/"+w.cluster+"/datasources"
		for _, l := range []listing{{"v2", false, whole(one)}, {"v2 $top $skip", true, skipping(one, 100)}, {"v2 with users", false, whole(one + "?$expand=users")},
			{"v1.0", false, whole("//v1.0/myorg/gateways/" + w.cluster + "/datasources")}, {"Fabric", false, following("//v1/connections")}} {
			w.listQuietly(l, stable)
			w.listAmidChanges(l, stable, w.plantSources, w.removeSources)
		}
	})
}

func (w *world) plantSources(n int, at time.Time) []gateway.ID {
	ids, cluster := make([]gateway.ID, n), gateway.ID(w.cluster)
	for i := range ids {
		ids[i] = newID()
	}
	w.write(func(ctx context.Context, tx persistence.Tx) error {
		for _, id := range ids {
			d := gateway.DataSource{ID: id, ClusterID: cluster, Name: id.String(), Type: gateway.TypeFile, ConnectionDetails: `{"path":"/x"}`, SingleSignOn: "None",
				Credential: gateway.StoredCredential{Type: "Anonymous", Encryption: "Any", Privacy: "None", Version: 1}, CreatedAt: moment(at, tx)}
			if err := tx.CreateDataSource(ctx, d); err != nil {
				return err
			}
		}
		return nil
	})
	return ids
}

// notice has the service look at the cluster again, which others wrote.
func (w *world) notice() {
	w.t.Helper()
	if err := w.service.Clusters.Update(context.Background(), &gateway.Caller{ID: gateway.ID(w.adminID)}, gateway.ID(w.cluster), service.ClusterPatch{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) removeSources(ids ...gateway.ID) {
	w.write(func(ctx context.Context, tx persistence.Tx) error {
		return ignoreGone(ids, func(id gateway.ID) error { return tx.DeleteDataSource(ctx, gateway.ID(w.cluster), id) })
	})
}

func fileSource(name string) map[string]any {
	return map[string]any{"datasourceType": "File", "datasourceName": name, "connectionDetails": `{"path":"/x"}`, "credentialDetails": map[string]any{"credentialType": "Anonymous"}}
}

// Twenty at once want one name, each in letters and blanks of its own: one gets it, the others learn why not.
func TestR49OfTwentyWhoWantOneNameOneGetsIt(t *testing.T) {
	onBothStores(t, func(t *testing.T, state persistence.Config) {
		w := newWorldOn(t, state)
		w.cluster = field(w.must(201, "POST", "/gatewayClusters", map[string]any{"name": "mine", "recoveryKey": recoveryKey}, nil), "clusterId")
		one := "/gatewayClusters/" + w.cluster
		w.race(201, 1, "DMTS_DuplicateDataSourceNameError", func(i int) *http.Response {
			return w.send("POST", one+"/datasources", fileSource(spelt("Wanted Übung", i)))
		})
		w.race(201, 1, "DuplicateGatewayName", func(i int) *http.Response {
			return w.send("POST", "/gatewayClusters", map[string]any{"name": spelt("wanted Gateway", i), "recoveryKey": recoveryKey})
		})
		w.race(201, 1, "DuplicateGatewayMemberName", func(i int) *http.Response {
			return w.send("POST", one+"/memberGateways", map[string]any{"name": spelt("wanted Member", i), "recoveryKey": recoveryKey})
		})
		others := w.plantClusters(20, longAgo)
		w.race(200, 1, "DuplicateGatewayName", func(i int) *http.Response {
			return w.send("PATCH", "/gatewayClusters/"+others[i].String(), map[string]any{"name": spelt("Renamed", i)})
		})
		w.race(200, 1, "DuplicateGatewayName", func(i int) *http.Response {
			return w.send("PATCH", "//v1/gateways/"+others[i].String(), map[string]any{"type": "OnPremises", "displayName": spelt("renamed again", i)})
		})
		sources := w.plantSources(20, longAgo)
		w.notice()
		w.race(200, 1, "DMTS_DuplicateDataSourceNameError", func(i int) *http.Response {
			return w.send("PATCH", one+"/datasources/"+sources[i].String(), map[string]any{"datasourceName": spelt("Renamed", i)})
		})
		// Ten members are all that a cluster takes: the first, the one that won above, and eight of these.
		w.race(201, 8, "GatewayMemberLimitExceeded", func(i int) *http.Response {
			return w.send("POST", one+"/memberGateways", map[string]any{"name": fmt.Sprint("member ", i), "recoveryKey": recoveryKey})
		})
	})
}

// spelt is a name in one of several spellings that are all the same name.
func spelt(name string, i int) string {
	return []string{name, strings.ToUpper(name), " " + name, strings.ToLower(name) + "\t"}[i%4]
}

// race sends twenty requests at once: so many succeed, the others are conflicts with this code.
func (w *world) race(success, winners int, code string, send func(i int) *http.Response) {
	w.t.Helper()
	const racers = 20
	results, start, done := make([]*http.Response, racers), make(chan struct{}), sync.WaitGroup{}
	for i := range racers {
		done.Add(1)
		go func() { defer done.Done(); <-start; results[i] = send(i) }()
	}
	close(start)
	done.Wait()
	won, lost := 0, 0
	for _, r := range results {
		switch said := r.Header.Get("X-PowerBI-Error-Info") + r.Header.Get("x-ms-public-api-error-code"); {
		case r.StatusCode == success:
			won++
		case r.StatusCode == 409 && said == code:
			lost++
		default:
			w.t.Errorf("%s %s: %d %s", r.Request.Method, r.Request.URL.Path, r.StatusCode, said)
		}
	}
	if won != winners || lost != racers-winners {
		w.t.Errorf("%d won, %d lost with %s; want %d and %d", won, lost, code, winners, racers-winners)
	}
}

// Two change different properties of one thing at the same time, a hundred times over: no change is lost.
func TestTwoChangesAtOnceBothHold(t *testing.T) {
	onBothStores(t, func(t *testing.T, state persistence.Config) {
		w := newWorldOn(t, state)
		w.cluster = w.plantClusters(1, longAgo)[0].String()
		cluster, fabric := "/gatewayClusters/"+w.cluster, "//v1/gateways/"+w.cluster
		member, source := cluster+"/memberGateways/"+w.cluster, cluster+"/datasources/"+w.plantSources(1, longAgo)[0].String()
		w.notice()
		pairs := [][2]patch{
			{{cluster, "description", ""}, {cluster, "department", ""}},
			{{cluster, "description", ""}, {fabric, "displayName", "name"}},
			{{member, "description", ""}, {member, "name", ""}},
			{{source, "datasourceAnnotation", ""}, {source, "datasourceName", ""}},
		}
		for round := range 100 {
			pair, value := pairs[round%len(pairs)], fmt.Sprint("value ", round)
			w.together(pair, value)
			now := w.must(200, "GET", pair[0].path, nil, nil)
			for _, p := range pair {
				if got := field(now, cmp.Or(p.shown, p.property)); got != value {
					t.Errorf("round %d: %s is %q, want %q", round, p.property, got, value)
				}
			}
		}
	})
}

// patch is the change of one property, which the reader of the other surface sees under the name shown.
type patch struct{ path, property, shown string }

// together sends two changes at the same time.
func (w *world) together(pair [2]patch, value string) {
	w.t.Helper()
	var done sync.WaitGroup
	for _, p := range pair {
		body := map[string]any{p.property: value}
		if strings.HasPrefix(p.path, "//v1/") {
			body["type"] = "OnPremises"
		}
		done.Add(1)
		go func() {
			defer done.Done()
			if resp := w.send("PATCH", p.path, body); resp.StatusCode != 200 {
				w.t.Errorf("PATCH %s: %d", p.path, resp.StatusCode)
			}
		}()
	}
	done.Wait()
}

// A role that was taken away stays away, also when somebody changes it at that very moment; a change never gives back what is gone.
func TestARoleTakenAwayStaysAway(t *testing.T) {
	onBothStores(t, func(t *testing.T, state persistence.Config) {
		w := newWorldOn(t, state)
		w.cluster = w.plantClusters(1, longAgo)[0].String()
		source, who := w.plantSources(1, longAgo)[0].String(), w.as("colleague").adminID
		w.notice()
		for one, word := range map[string]string{"//v1/gateways/" + w.cluster: "ConnectionCreator", "//v1/connections/" + source: "User"} {
			role, then := one+"/roleAssignments/"+who, map[string]string{"ConnectionCreator": "Admin", "User": "Owner"}[word]
			for range 30 {
				w.must(201, "POST", one+"/roleAssignments", map[string]any{"principal": map[string]any{"id": who, "type": "ServicePrincipal"}, "role": word}, nil)
				var done sync.WaitGroup
				done.Add(2)
				go func() { defer done.Done(); w.send("PATCH", role, map[string]any{"role": then}) }()
				go func() { defer done.Done(); w.send("DELETE", role, nil) }()
				done.Wait()
				w.must(404, "GET", role, nil, nil)
			}
		}
	})
}

// A role that changes keeps its place in the list, so that a reader of pages meets it once.
func TestAChangedRoleKeepsItsPlace(t *testing.T) {
	w := newWorld(t)
	w.cluster = w.plantClusters(1, longAgo)[0].String()
	source := w.plantSources(1, longAgo)[0].String()
	w.notice()
	for list, words := range map[string][2]string{"//v1/gateways/" + w.cluster: {"ConnectionCreator", "Admin"}, "//v1/connections/" + source: {"User", "Owner"}} {
		list += "/roleAssignments"
		var who []string
		for range 3 {
			who = append(who, w.as("colleague").adminID)
			w.must(201, "POST", list, map[string]any{"principal": map[string]any{"id": who[len(who)-1], "type": "ServicePrincipal"}, "role": words[0]}, nil)
		}
		before := whole(list)(w)
		w.must(200, "PATCH", list+"/"+who[0], map[string]any{"role": words[1]}, nil)
		w.must(201, "POST", list, map[string]any{"principal": map[string]any{"id": who[1], "type": "ServicePrincipal"}, "role": words[1]}, nil)
		if after := whole(list)(w); !slices.Equal(before, after) {
			t.Errorf("%s was %v and became %v", list, before, after)
		}
	}
}
