package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The cluster's id was its first member's. Data sources are registered, and their credentials replaced, also when this member is gone.
func TestAdminDataSourcesOutliveTheFirstMember(t *testing.T) {
	s := newStory(t)
	s.cast("one")
	second, cluster := s.join("two"), s.cluster.String()
	s.admin(t, nil, "members", "promote", cluster, second.String())
	s.admin(t, nil, "members", "remove", cluster, cluster)
	path := filepath.Join(s.files(), "late.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	password := []string{"COMPORTA_PASSWORD=" + storyPassword}
	made := s.admin(t, password, "datasource", "add", cluster, "--name", "late", "--kind", "SQLite", "--path", path, "--username", "reader")
	s.admin(t, password, "datasource", "credentials", cluster, made[0]["id"].(string), "--username", "reader")
}
