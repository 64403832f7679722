// Package storetest is the conformance suite of the Store contract: whatever passes it behaves as the rest of the product expects.
// It imports persistence and gateway; only tests import it.
package storetest

import (
	"testing"

	"comporta/persistence"
)

// Run checks every method of the contract. open returns a store on an empty database of its own; it sees to closing it.
func Run(t *testing.T, open func(t *testing.T) persistence.Store) {
	for _, part := range []struct {
		name string
		test func(s *suite)
	}{
		{"Clusters", clusters},
		{"ClusterNames", clusterNames},
		{"ClusterLists", clusterLists},
		{"ClusterPages", clusterPages},
		{"ClusterState", clusterState},
		{"ClusterCascade", clusterCascade},
		{"ClusterRevisions", clusterRevisions},
		{"ThousandsOfClusters", thousandsOfClusters},
		{"Permissions", permissions},
		{"Tenant", tenant},
		{"Enrolments", enrolments},
		{"Members", members},
		{"MemberOrder", memberOrder},
		{"DataSources", dataSources},
		{"OwnDataSources", ownDataSources},
		{"DataSourceUsers", dataSourceUsers},
		{"Principals", principals},
		{"PrincipalChanges", principalChanges},
		{"PrincipalCascade", principalCascade},
		{"Secrets", secrets},
		{"SigningKeys", signingKeys},
		{"Audit", audit},
		{"DispatchRecords", dispatchRecords},
		{"LoadSamples", loadSamples},
		{"Trim", trim},
		{"AnyText", anyText},
		{"NotFound", notFound},
		{"UnknownReferences", unknownReferences},
		{"Rollback", rollback},
		{"FailedWriteDooms", failedWriteDooms},
		{"PanicRollsBack", panicRollsBack},
		{"Cancelled", cancelled},
		{"ViewIsOneMoment", viewIsOneMoment},
		{"NoLostUpdate", noLostUpdate},
		{"NoOvercount", noOvercount},
		{"OneWinner", oneWinner},
		{"ChangesSeenInOrder", changesSeenInOrder},
		{"NowFollowsCommits", nowFollowsCommits},
		{"Close", closing},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(&suite{T: t, store: open(t)}) })
	}
}
