package service

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"comporta/service/gateway"
)

// Scripts take the cluster's id for the first member's. Once that member is gone it still means credentials that every member can use.
func TestTheClustersIDStandsForAllMembersWhenItsFirstIsGone(t *testing.T) {
	w, ctx := newWorld(t), context.Background()
	cluster, members, id := w.cluster(t, 2)
	if err := w.Members.Promote(ctx, w.admin, cluster, members[1]); err != nil {
		t.Fatal(err)
	}
	if err := w.Members.Remove(ctx, w.admin, cluster, members[0]); err != nil {
		t.Fatal(err)
	}
	keep := func(entries map[gateway.ID]CredentialInput) (string, error) {
		err := w.DataSources.Update(ctx, w.admin, cluster, id, DataSourcePatch{Credentials: entries})
		view, _ := w.DataSources.Get(ctx, cluster, id)
		return view.Credential.Envelope, err
	}
	of := func(envelope string) CredentialInput { return CredentialInput{Type: "Basic", Envelope: envelope} }
	if kept, err := keep(map[gateway.ID]CredentialInput{cluster: of("cluster's")}); err != nil || kept != "cluster's" {
		t.Errorf("by the cluster's id: %q %v", kept, err)
	}
	if kept, err := keep(map[gateway.ID]CredentialInput{cluster: of("cluster's"), members[1]: of("member's")}); err != nil || kept != "member's" {
		t.Errorf("a member's own entry comes first: %q %v", kept, err)
	}
	if _, err := keep(map[gateway.ID]CredentialInput{gateway.ID(uuid.NewString()): of("stranger's")}); !gateway.IsCode(err, gateway.CodeCredentialFormat) {
		t.Errorf("by a stranger's id: %v", err)
	}
}
