package service

import (
	"testing"

	"comporta/service/gateway"
)

// The permission table of the contract, written out: one row per action, one column per kind of caller.
// A allowed, F forbidden (403), H hidden (404).
func TestDecideFollowsTheTable(t *testing.T) {
	callers := []struct {
		name   string
		rights Rights
	}{
		{"nobody", Rights{}},
		{"nobody, policy open", Rights{PolicyOpen: true}},
		{"installer", Rights{Installer: true}},
		{"tenant admin", Rights{TenantAdmin: true}},
		{"cluster admin", Rights{Cluster: gateway.ClusterAdmin}},
		{"creator with reshare", Rights{Cluster: gateway.ConnectionCreatorReshare}},
		{"creator", Rights{Cluster: gateway.ConnectionCreator}},
		{"owner", Rights{DataSource: gateway.DataSourceOwner, AnyDataSource: true}},
		{"reshare user", Rights{DataSource: gateway.DataSourceReshare, AnyDataSource: true}},
		{"user", Rights{DataSource: gateway.DataSourceReader, AnyDataSource: true}},
		{"user of another data source", Rights{AnyDataSource: true}},
	}
	table := map[Action]string{
		//                nobody open  inst  tadm  cadm  resh  crea  ownr  rusr  user  other
		ListOwn:          "AAAAAAAAAAA",
		ListAll:          "FFFAFFFFFFF",
		Administer:       "FFFAFFFFFFF",
		Install:          "FAAAFFFFFFF",
		SeeCluster:       "HHHAAAAAAAA",
		SeePermissions:   "HHHAAAAFFFF",
		ManageCluster:    "HHHAAFFFFFF",
		CreateDataSource: "HHHFAAAFFFF",
		SeeDataSource:    "HHHAAHHAAAH",
		ManageDataSource: "HHHAAHHAFFH",
		UseDataSource:    "HHHFAHHAAAH",
	}
	letters := map[Verdict]byte{Allowed: 'A', Forbidden: 'F', Hidden: 'H'}
	for action, row := range table {
		for i, c := range callers {
			if got := letters[Decide(action, c.rights)]; got != row[i] {
				t.Errorf("%s, %s: got %c, the table says %c", action, c.name, got, row[i])
			}
		}
	}
}

func TestAnUnknownActionIsForbidden(t *testing.T) {
	if Decide("fly", Rights{TenantAdmin: true, Cluster: gateway.ClusterAdmin}) != Forbidden {
		t.Error("an action that nobody defined must be forbidden to all")
	}
}
