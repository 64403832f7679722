package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// admin runs an admin command and returns its JSON.
func (s *story) admin(t *testing.T, env []string, args ...string) []map[string]any {
	t.Helper()
	full := append([]string{"admin", "--server", s.address, "--json"}, args...)
	status, stdout, stderr := comporta(t, append(s.login(), env...), full...)
	if status != exitOK {
		t.Fatalf("%v: %s", args, stderr)
	}
	var list []map[string]any
	if strings.HasPrefix(stdout, "{") {
		stdout = "[" + stdout + "]" // one object
	}
	if err := json.Unmarshal([]byte(stdout), &list); err != nil && strings.HasPrefix(stdout, "[") {
		t.Fatalf("%v: %v in %s", args, err, stdout)
	}
	return list
}

// Principals from creation to deletion, secrets that rotate, and what each change does to a token.
func TestAdminPrincipals(t *testing.T) {
	s := newStory(t)
	made := s.admin(t, nil, "principals", "create", "Pipeline")[0]
	id, first := made["id"].(string), made["clientSecret"].(string)
	works := func(secret string) bool {
		h, err := httpClient("")
		if err != nil {
			t.Fatal(err)
		}
		defer h.CloseIdleConnections()
		_, err = newAPIClient(h, s.address, id, secret).clusters(deadline(t), false)
		return err == nil
	}
	if !works(first) {
		t.Error("the first secret does not work")
	}
	second := s.admin(t, nil, "principals", "add-secret", id, "--label", "rotated", "--days", "30")[0]["clientSecret"].(string)
	secrets := s.admin(t, nil, "principals", "secrets", id)
	if len(secrets) != 2 || !works(second) {
		t.Errorf("after adding one: %v", secrets)
	}
	for _, known := range secrets {
		if known["label"] == "first" {
			s.admin(t, nil, "principals", "remove-secret", id, known["id"].(string))
		}
	}
	if works(first) || !works(second) {
		t.Error("removing the first secret: the wrong one is gone")
	}
	s.admin(t, nil, "principals", "disable", id)
	if works(second) {
		t.Error("a disabled application works")
	}
	s.admin(t, nil, "principals", "enable", id)
	if !works(second) {
		t.Error("an enabled application does not work")
	}
	s.admin(t, nil, "principals", "delete", id)
	if list := s.admin(t, nil, "principals", "list"); len(list) != 1 {
		t.Errorf("after deleting: %v", list)
	}
	if len(s.admin(t, nil, "audit", "--action", "principal.update")) != 2 {
		t.Error("the audit log does not have both updates")
	}
}

// A data source registered, probed, queried and given new credentials from the command line; the envelope that encrypt prints is taken too.
func TestAdminDataSources(t *testing.T) {
	s := newStory(t)
	s.cast("one")
	path := filepath.Join(s.files(), "cli.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	password := []string{"COMPORTA_PASSWORD=" + storyPassword}
	cluster := s.cluster.String()
	made := s.admin(t, password, "datasource", "add", cluster, "--name", "CLI", "--kind", "SQLite", "--path", path, "--username", "reader", "--encryption", "NotEncrypted")
	id := made[0]["id"].(string)
	s.admin(t, password, "datasource", "credentials", cluster, id, "--username", "reader") // it is still spoken to as before
	if kept := s.connection(t, id); kept != "NotEncrypted" {
		t.Errorf("new credentials changed how it is spoken to: %s", kept)
	}
	s.admin(t, nil, "datasource", "status", cluster, id)
	status, stdout, stderr := comporta(t, s.login(), "admin", "--server", s.address, "query", cluster, id, "select 'Ωmega' as word, 12 as n")
	if status != exitOK || !strings.Contains(stdout, "Ωmega  12") || !strings.Contains(stdout, "served by one") {
		t.Errorf("query: %d %s%s", status, stdout, stderr)
	}
	for statement, want := range map[string]string{"select char(27) || '[2J' || char(10) || 'x' as v": "\n   [2J x\n", "create table t(x)": "changed, served by one"} {
		_, stdout, stderr = comporta(t, s.login(), "admin", "--server", s.address, "query", "--write", cluster, id, statement)
		if !strings.Contains(stdout, want) {
			t.Errorf("%s: %q %s", statement, stdout, stderr)
		}
	}
	// The database's words hold what it did not find.
	status, _, stderr = comporta(t, s.login(), "admin", "--server", s.address, "query", cluster, id, "select * from \"\x1b[2J\u009b3J\"")
	if status != exitFailure || !strings.Contains(stderr, "no such table:  [2J 3J") {
		t.Errorf("a name that steers the terminal: %d %q", status, stderr)
	}
	status, stdout, _ = comporta(t, append(s.login(), password...), "admin", "--server", s.address, "encrypt", cluster, "--username", "reader")
	if status != exitOK || len(strings.TrimSpace(stdout)) < 400 || strings.Contains(stdout, storyPassword) {
		t.Errorf("encrypt: %d %q", status, stdout)
	}
	if list := s.admin(t, nil, "clusters", "show", cluster); len(list) != 1 || list[0]["status"] != "Live" {
		t.Errorf("members: %v", list)
	}
	s.admin(t, nil, "policy", "--restricted")
	if now := s.admin(t, nil, "policy")[0]; now["resourceGatewayInstallPolicy"] != "Restricted" {
		t.Errorf("policy: %v", now)
	}
	s.admin(t, []string{"COMPORTA_NEW_RECOVERY_KEY=another recovery key"}, "recovery-key", cluster)
	s.admin(t, nil, "datasource", "delete", cluster, id)
	if list := s.admin(t, nil, "datasource", "list", cluster); len(list) != 0 {
		t.Errorf("after deleting: %v", list)
	}
}

// connection is how a data source is spoken to.
func (s *story) connection(t *testing.T, id string) string {
	t.Helper()
	var c struct {
		CredentialDetails struct{ ConnectionEncryption string }
	}
	if err := s.client.call(t.Context(), http.MethodGet, "/v1/connections/"+id, nil, &c); err != nil {
		t.Fatal(err)
	}
	return c.CredentialDetails.ConnectionEncryption
}
