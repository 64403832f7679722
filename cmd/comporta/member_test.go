package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"comporta/service/gateway"
)

// A member that drains finishes what runs, takes nothing new, and leaves with status 0; the other one serves meanwhile.
func TestDrainOnSIGTERM(t *testing.T) {
	s := newStory(t)
	s.cast("one", "two")
	db := s.sqlite("slow.db")
	resp := s.dispatch(&queryCall{DataSource: db, Text: longQuery}, gateway.FormatNDJSON)
	defer resp.Body.Close()
	draining := gateway.ID(resp.Header.Get("X-Gateway-Member-Id"))
	s.members[draining].signal(syscall.SIGTERM)
	until(t, "the other member serves", func() bool { return s.query(db, `SELECT 1`).memberID != draining })
	if lines := strings.Count(all(t, resp.Body), "\n"); lines != longRows {
		t.Errorf("the running answer has %d lines", lines)
	}
	if status := s.members[draining].exit(); status != exitOK {
		t.Errorf("a drained member ends with %d", status)
	}
}

// A request that takes longer than the drain timeout is cut, and the member says so.
func TestDrainIsBounded(t *testing.T) {
	s := newStory(t)
	id := s.join("one")
	p := s.run("one", id, "--drain-timeout", "100ms")
	if err := s.client.waitLive(deadline(t), s.cluster, 1); err != nil {
		t.Fatal(err)
	}
	db := s.sqlite("slow.db")
	resp := s.dispatch(&queryCall{DataSource: db, Text: `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n`}, gateway.FormatCSV)
	defer resp.Body.Close()
	p.signal(syscall.SIGTERM)
	if status := p.exit(); status != exitFailure || !strings.Contains(p.stderr.String(), "--drain-timeout") {
		t.Errorf("status %d: %s", status, tail(p.stderr.String(), 300))
	}
}

// A member ends also when a data source does not heed that its request was cut: here one function of SQLite, which takes very long.
func TestDrainIsBoundedThoughACallHangs(t *testing.T) {
	s := newStory(t)
	id := s.join("one")
	p := s.run("one", id, "--drain-timeout", "100ms")
	if err := s.client.waitLive(deadline(t), s.cluster, 1); err != nil {
		t.Fatal(err)
	}
	resp := s.dispatch(&queryCall{DataSource: s.sqlite("slow.db"), Text: `WITH n(i) AS (VALUES (0), (1))
		SELECT CASE i WHEN 1 THEN instr(hex(zeroblob(1500000)), hex(zeroblob(700000 + i)) || '1') END FROM n`}, gateway.FormatNDJSON)
	defer resp.Body.Close() // the first row came, and the function runs
	p.signal(syscall.SIGTERM)
	if status := p.exit(); status != exitFailure || !strings.Contains(p.stderr.String(), "data sources are still at work") {
		t.Errorf("status %d: %s", status, tail(p.stderr.String(), 600))
	}
}

// Members come back by themselves when the service does, also when it was killed.
func TestMembersOutliveTheService(t *testing.T) {
	s := newStory(t)
	s.cast("one", "two")
	db := s.sqlite("x.db")
	s.service.kill()
	s.serve("--listen", strings.TrimPrefix(s.address, "http://"))
	s.connect()
	if err := s.client.waitLive(deadline(t), s.cluster, 2); err != nil {
		t.Fatal(err)
	}
	if got := s.query(db, `SELECT 42`).Rows; len(got) != 1 {
		t.Errorf("rows: %v", got)
	}
}

// SIGHUP takes new limits from the member's own file; a bad file changes nothing.
func TestReloadOfTheMembersFile(t *testing.T) {
	s := newStory(t)
	file := filepath.Join(s.dir, "GatewayCore.dll.config")
	limit := func(value string) {
		t.Helper()
		text := `<configuration><applicationSettings><Microsoft.PowerBI.DataMovement.Pipeline.GatewayCore.GatewayCoreSettings>
			<setting name="ConcurrentOperationLimit"><value>` + value + `</value></setting>
			</Microsoft.PowerBI.DataMovement.Pipeline.GatewayCore.GatewayCoreSettings></applicationSettings></configuration>`
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	limit("7")
	id := s.join("one")
	p := s.run("one", id, "--config", file)
	shown := func() float64 {
		var m map[string]any
		if err := s.client.call(deadline(t), http.MethodGet, clusterPath(s.cluster)+"/memberGateways/"+id.String(), nil, &m); err != nil {
			t.Fatal(err)
		}
		n, _ := m["concurrentOperationLimit"].(float64)
		return n
	}
	until(t, "the limit of the file is in force", func() bool { return shown() == 7 })
	limit("9")
	p.signal(syscall.SIGHUP)
	until(t, "the new limit is in force", func() bool { return shown() == 9 })
	limit("many")
	p.signal(syscall.SIGHUP)
	until(t, "the bad file is reported", func() bool { return strings.Contains(p.stderr.String(), "ConcurrentOperationLimit") })
	if n := shown(); n != 9 {
		t.Errorf("after a bad file the limit is %v", n)
	}
}

// The wrong recovery key joins nothing and leaves nothing behind; the right one takes a member over under its old id.
func TestRecoveryKeyOnJoin(t *testing.T) {
	s := newStory(t)
	id := s.join("one")
	wrong := append(s.login(), "COMPORTA_RECOVERY_KEY=not the recovery key")
	p := start(t, wrong, "member", "join", "--server", s.address, "--state", s.folder("two"), "--name", "two", "--cluster", s.cluster.String())
	if status := p.exit(); status != exitFailure || !strings.Contains(p.stderr.String(), "InvalidRecoveryKey") {
		t.Errorf("status %d: %s", status, p.stderr)
	}
	if _, err := os.Stat(s.folder("two")); err == nil {
		t.Error("a refused join leaves a state folder behind")
	}
	again := start(t, s.login(), "member", "join", "--server", s.address, "--state", s.folder("rebuilt"), "--name", "one", "--cluster", s.cluster.String(), "--overwrite")
	if found := again.says(`member id +(\S+)`); found[1] != id.String() {
		t.Errorf("the rebuilt machine is %s, not %s", found[1], id)
	}
}

// An enrolment token that an administrator made joins one machine, which needs no other rights.
func TestJoinWithAnEnrolmentToken(t *testing.T) {
	s := newStory(t)
	s.join("one")
	var invited struct {
		Token string `json:"enrolmentToken"`
	}
	body := map[string]any{"name": "two", "recoveryKey": storyRecoveryKey}
	if err := s.client.call(deadline(t), http.MethodPost, clusterPath(s.cluster)+"/memberGateways", body, &invited); err != nil {
		t.Fatal(err)
	}
	token, key := filepath.Join(s.dir, "token"), filepath.Join(s.dir, "key")
	for file, text := range map[string]string{token: invited.Token + "\n", key: storyRecoveryKey + "\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	join := func(state string) *program {
		return start(t, nil, "member", "join", "--server", s.address, "--state", s.folder(state), "--enrolment-token-file", token, "--recovery-key-file", key)
	}
	if p := join("two"); p.exit() != exitOK {
		t.Fatal(p.stderr)
	}
	if p := join("three"); p.exit() != exitFailure || !strings.Contains(p.stderr.String(), "InvalidEnrolmentToken") {
		t.Errorf("a used token: %s", p.stderr)
	}
}
