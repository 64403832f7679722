package service

import (
	"context"
	"strings"
	"testing"

	"comporta/service/gateway"
)

func TestCleanName(t *testing.T) {
	for _, good := range []string{"a", "Lager (Süd) №1", "東京", strings.Repeat("é", maxName)} {
		if got, err := cleanName("name", "  "+good+"\t"); err != nil || got != good {
			t.Errorf("%q: got %q, %v", good, got, err)
		}
	}
	for _, bad := range []string{"\u200b", "\ufeff", " \u200b\u2060\ufeff ", "\u00ad", "\u3164\u115f", "\u2800", "\ufe0f", "\u200b\u00a0\u200b", "", "  ", "a\nb", "a\x00b", "a\x7f", strings.Repeat("é", maxName+1), "\xff"} {
		if _, err := cleanName("name", bad); !gateway.IsCode(err, gateway.CodeInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestNamesAreKeptComposed(t *testing.T) {
	const composed, taken = "Z\u00fcrich \uac00", "Zu\u0308rich \u1100\u1161"
	got, err := cleanName("name", taken)
	if err != nil || got != composed || !sameName(taken, strings.ToUpper(composed)) {
		t.Errorf("%q became %q, %v", taken, got, err)
	}
	for _, mixed := range []string{"a\u200bb", "\u200dx", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u0928\u094d\u200d"} {
		if got, err := cleanName("name", mixed); err != nil || got != mixed {
			t.Errorf("%q became %q, %v", mixed, got, err)
		}
	}
}

// Two clusters or two members cannot have one name in two forms.
func TestANameInAnotherFormIsTaken(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	made, err := w.Clusters.Create(ctx, w.admin, NewCluster{Name: "Z\u00fcrich", RecoveryKey: testRecoveryKey})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Clusters.Create(ctx, w.admin, NewCluster{Name: "ZU\u0308RICH", RecoveryKey: testRecoveryKey}); !gateway.IsCode(err, gateway.CodeDuplicateClusterName) {
		t.Errorf("a cluster: %v", err)
	}
	if _, err := w.Members.Add(ctx, w.admin, made.ClusterID, NewMember{Name: "Zu\u0308rich", RecoveryKey: testRecoveryKey}); !gateway.IsCode(err, gateway.CodeDuplicateMemberName) {
		t.Errorf("a member: %v", err)
	}
}
