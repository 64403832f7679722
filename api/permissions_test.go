package api_test

import (
	"slices"
	"strings"
	"testing"
)

// Whoever only uses a data source of a cluster reads nowhere who has a role on it, nor his e-mail address.
func TestAUserOfADataSourceSeesNoPermissions(t *testing.T) {
	r := newRoles(newWorld(t))
	const address = "admin-of-the-cluster@example.com"
	r.must(200, "PATCH", "/principals/"+r.principals["admin"].String(), map[string]any{"emailAddress": address}, nil)
	_, lines := parseRights(t)
	shown := map[string]int{}
	for i := range lines {
		l := &lines[i]
		if l.method != "GET" || !strings.Contains(l.path, "luster") && !strings.Contains(l.path, "ateways") {
			continue
		}
		if strings.HasSuffix(strings.ToLower(l.path), "gatewayclusters") || strings.HasSuffix(l.path, "{cluster}") {
			l.path += "?$expand=permissions"
		}
		for _, caller := range []string{"other", "read", "over", "share", "owner", "crea", "limit", "resh", "admin", "tadmin"} {
			if _, text := r.request(l, &r.live, r.tokens[caller]); strings.Contains(text, address) || strings.Contains(text, r.principals["admin"].String()) {
				shown[caller]++
				if _, without := sourceRoles[caller]; without || caller == "other" {
					t.Errorf("%s as %s shows the cluster's Admin: %.600s", l, caller, text)
				}
			}
		}
	}
	for _, caller := range []string{"crea", "limit", "resh", "admin"} {
		if shown[caller] < 5 {
			t.Errorf("%s sees the permissions in %d answers only: the test looks at the wrong ones", caller, shown[caller])
		}
	}
	if !slices.ContainsFunc(lines, func(l rightsLine) bool { return strings.HasPrefix(l.path, "/unifiedgateway/") }) {
		t.Error("the oldest surface is not among the answers")
	}
}
