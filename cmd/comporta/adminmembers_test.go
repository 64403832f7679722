package main

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// The daily work on members from the command line.
func TestAdminMembers(t *testing.T) {
	s := newStory(t)
	s.cast("one")
	second := s.join("two")
	cluster := s.cluster.String()
	set := func(flags ...string) map[string]any {
		t.Helper()
		return s.admin(t, nil, append([]string{"members", "set", cluster, second.String()}, flags...)...)[0]
	}
	if m := set("--no-enabled", "--name", "Zwei", "--cpu", "80", "--concurrency", "7"); m["state"] != "Disabled" || m["name"] != "Zwei" ||
		m["cpuUtilizationPercentageThreshold"] != 80.0 || m["concurrentOperationLimit"] != 7.0 {
		t.Errorf("set: %v", m)
	}
	if m := set("--enabled", "--draining", "--reset-limits"); m["state"] != "Enabled" || m["draining"] != true || m["concurrentOperationLimit"] != 40.0 {
		t.Errorf("set back: %v", m)
	}
	set("--no-draining")
	s.admin(t, nil, "members", "promote", cluster, second.String())
	list := s.admin(t, nil, "members", "list", cluster)
	if len(list) != 2 || list[0]["name"] != "Zwei" || list[0]["isPrimary"] != true {
		t.Errorf("after the promotion: %v", list)
	}
	s.admin(t, nil, "members", "remove", cluster, s.cluster.String())
	if list = s.admin(t, nil, "members", "list", cluster); len(list) != 1 {
		t.Errorf("after the removal: %v", list)
	}
	now := s.admin(t, nil, "clusters", "set", cluster, "--balance", "LeastLoaded", "--queue-timeout", "5", "--name", "Renamed")[0]
	if now["loadBalancingSelectorType"] != "LeastLoaded" || now["queueTimeoutSeconds"] != 5.0 || now["name"] != "Renamed" {
		t.Errorf("the cluster: %v", now)
	}
	if status, _, stderr := comporta(t, s.login(), "admin", "--server", s.address, "clusters", "delete", cluster); status != exitUsage || !strings.Contains(stderr, "--yes") {
		t.Errorf("a deletion without --yes: %d %s", status, stderr)
	}
	s.admin(t, nil, "clusters", "delete", cluster, "--yes")
	if status, _, _ := comporta(t, s.login(), "admin", "--server", s.address, "members", "set", cluster, second.String()); status != exitUsage {
		t.Errorf("a change of nothing ends with %d", status)
	}
}

// A pipeline gets the right to query one data source, and loses it again.
func TestAdminRights(t *testing.T) {
	s := newStory(t)
	s.cast("one")
	source, cluster := s.sqlite("x.db").String(), s.cluster.String()
	made := s.admin(t, nil, "principals", "create", "Pipeline", "--email", "p@example.com")[0]
	id := made["id"].(string)
	query := func() int {
		env := []string{"COMPORTA_CLIENT_ID=" + id, "COMPORTA_CLIENT_SECRET=" + made["clientSecret"].(string)}
		status, _, _ := comporta(t, env, "admin", "--server", s.address, "query", cluster, source, "select 1", "--format", "csv")
		return status
	}
	if query() != exitFailure {
		t.Error("a pipeline without a role queries")
	}
	s.admin(t, nil, "datasource", "users", "add", cluster, source, id)
	if users := s.admin(t, nil, "datasource", "users", "list", cluster, source); len(users) != 2 || query() != exitOK {
		t.Errorf("a pipeline with a role does not query: %v", users)
	}
	// What is not given stays: the role, and the right that only the API gives.
	override := map[string]any{"identifier": id, "datasourceAccessRight": "ReadOverrideEffectiveIdentity"}
	if err := s.client.call(deadline(t), http.MethodPost, clusterPath(s.cluster)+"/datasources/"+source+"/users", override, nil); err != nil {
		t.Fatal(err)
	}
	for _, add := range [][]string{{id, "--role", "Owner"}, {strings.ToUpper(id)}, {"P@example.com"}} {
		s.admin(t, nil, append([]string{"datasource", "users", "add", cluster, source}, add...)...)
		users := s.admin(t, nil, "datasource", "users", "list", cluster, source)
		i := slices.IndexFunc(users, func(u map[string]any) bool { return u["identifier"] == id })
		if i < 0 || users[i]["role"] != "Owner" || users[i]["datasourceAccessRight"] != override["datasourceAccessRight"] {
			t.Errorf("an Owner added with %v: %v", add, users)
		}
	}
	s.admin(t, nil, "datasource", "users", "remove", cluster, source, "p@example.com")
	if query() != exitFailure {
		t.Error("a pipeline whose role was taken away queries")
	}
	s.admin(t, nil, "permissions", "set", cluster, id, "--role", "ConnectionCreator", "--types", "PostgreSql")
	list := s.admin(t, nil, "permissions", "list", cluster)
	if len(list) != 2 || list[1]["role"] != "ConnectionCreator" || len(list[1]["allowedDataSourceTypes"].([]any)) != 1 {
		t.Errorf("permissions: %v", list)
	}
	s.admin(t, nil, "permissions", "remove", cluster, id)
	if list = s.admin(t, nil, "permissions", "list", cluster); len(list) != 1 {
		t.Errorf("after taking the role away: %v", list)
	}
	until(t, "the request is in the records", func() bool {
		records := s.admin(t, nil, "records", cluster)
		return len(records) > 0 && records[len(records)-1]["outcome"] == "ok"
	})
}

// An answer that breaks off is never shown as a whole one.
func TestABrokenAnswerIsSaidToBeIncomplete(t *testing.T) {
	s := newStory(t)
	s.cast("only")
	source := s.sqlite("slow.db").String()
	p := start(t, s.login(), "admin", "--server", s.address, "query", s.cluster.String(), source,
		"with recursive n(i) as (select 1 union all select i+1 from n) select i, hex(randomblob(200)) from n", "--format", "ndjson")
	p.says(`{`)
	s.members[s.cluster].kill()
	if status := p.exit(); status != exitFailure || !strings.Contains(p.stderr.String(), `member "only" is incomplete`) {
		t.Errorf("status %d: %s", status, p.stderr)
	}
}

// Every member is a figure of its own, also one that is down, and dispatches count by how they ended.
func TestMetricsOfMembersAndDispatches(t *testing.T) {
	s := newStory(t, "--metrics-listen", "127.0.0.1:0")
	at := "http://" + s.service.saysErr(`serving metrics.*address=(\S+)`)[1] + "/metrics"
	s.cast("one")
	away := s.join("two")
	s.query(s.sqlite("x.db"), "select 1")
	read := func() string {
		resp, err := http.Get(at)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return string(text)
	}
	until(t, "the dispatch is counted", func() bool { return strings.Contains(read(), `comporta_dispatches_total{outcome="ok"} 1`) })
	text := read()
	for _, line := range []string{
		`comporta_member_up{cluster="` + s.cluster.String() + `",member="` + s.cluster.String() + `"} 1`,
		`comporta_member_up{cluster="` + s.cluster.String() + `",member="` + away.String() + `"} 0`,
		`comporta_member_enabled{cluster="` + s.cluster.String() + `",member="` + away.String() + `"} 1`,
		"comporta_dispatch_attempts_total 1", "comporta_dispatch_seconds_count 1",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
}
