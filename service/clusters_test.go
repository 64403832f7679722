package service

import (
	"context"
	"strings"
	"testing"

	"comporta/service/gateway"
)

// A rebuilt machine takes the place that it names. It got the primary's, whatever name it gave, and cut off a machine that was well.
func TestOverwritingAClusterTakesOverTheMemberThatIsNamed(t *testing.T) {
	w, ctx := newWorld(t), context.Background()
	first, err := w.Clusters.Create(ctx, w.admin, NewCluster{Name: "Lisbon", MemberName: "node1", RecoveryKey: testRecoveryKey})
	if err != nil {
		t.Fatal(err)
	}
	second, err := w.Members.Add(ctx, w.admin, first.ClusterID, NewMember{Name: "node2", RecoveryKey: testRecoveryKey})
	if err != nil {
		t.Fatal(err)
	}
	again := func(caller *gateway.Caller, name string) (Invitation, error) {
		return w.Clusters.Create(ctx, caller, NewCluster{Name: "lisbon", MemberName: name, RecoveryKey: testRecoveryKey, Overwrite: true})
	}
	for name, want := range map[string]gateway.ID{"": first.MemberID, "node1": first.MemberID, " NODE2 ": second.MemberID} {
		if i, err := again(w.admin, name); err != nil || i.ClusterID != first.ClusterID || i.MemberID != want || i.Token == "" {
			t.Errorf("%q: %+v %v, want member %s", name, i, err, want)
		}
	}
	if _, err := again(w.admin, "node3"); !gateway.IsCode(err, gateway.CodeNotFound) || !strings.Contains(err.Error(), "node1, node2") {
		t.Errorf("a member that is not there: %v", err)
	}
	if _, err := again(w.principal(t, "stranger"), "node3"); !gateway.IsCode(err, gateway.CodeDuplicateClusterName) || strings.Contains(err.Error(), "node1") {
		t.Errorf("to a stranger: %v", err)
	}
	if err := w.Members.Promote(ctx, w.admin, first.ClusterID, second.MemberID); err != nil {
		t.Fatal(err)
	}
	if i, err := again(w.admin, ""); err != nil || i.MemberID != second.MemberID {
		t.Errorf("without a name, after a promotion: %+v %v", i, err)
	}
}

// Whoever wants to take over and finds nothing gets no new cluster, if he says so; scripts that make or take over in one call go on.
func TestOverwritingAClusterThatMustExistMakesNone(t *testing.T) {
	w, ctx := newWorld(t), context.Background()
	n := NewCluster{Name: "Nowhere", RecoveryKey: testRecoveryKey, Overwrite: true, MustExist: true}
	if _, err := w.Clusters.Create(ctx, w.admin, n); !gateway.IsCode(err, gateway.CodeNotFound) || !strings.Contains(err.Error(), "Nowhere") {
		t.Errorf("got %v", err)
	}
	n.MustExist = false
	if _, err := w.Clusters.Create(ctx, w.admin, n); err != nil {
		t.Errorf("it need not exist: %v", err)
	}
}
