// Package faults breaks the product on purpose: the real binary, real members on lines of their own, a real database, and one fault at a time.
// None of the requests that callers send meanwhile may be lost, doubled or wrong; the database's own table of executions says what ran.
//
// A line is a pair of TUN devices, one in the member's network namespace, and this process carries the packets between them: so it can
// lose, delay, reorder, double, damage and hold back what it likes, on any kernel. Rules of nft answer with RST. Without root, or without
// namespaces, the faults of processes and of the service are left, on loopback.
//
// A clock is the wall clock of one process, which steps when the test says so. No program of the system can do that to a program of Go; so the
// same objects are linked to a package runtime that reads the clock wrongly.
//
// TestSoak strikes with the same faults at random for as long as COMPORTA_SOAK says (make soak). TestFiveHundredMembersComeBack loses a
// thousand tunnels at once.
//
// The cases of the field that speak of members, routing and limits, and the tests that stand for them:
//
//	R63 unreachable is not unknown     api TestR63UnreachableIsNotUnknown, and every fault with an outage here
//	R64 the cluster that is named      api TestR64TheClusterThatIsNamedServes
//	R66 the primary goes last          TestR66ThePrimaryGoesLast, api/fabric TestR66R67Members
//	R67 status of half a cluster       TestR67StatusOfAClusterThatIsHalfThere, api/fabric TestR66R67Members
//	R69 versions refresh by themselves service/member TestAMemberConnectsReportsAndObeys (the version comes with every tunnel)
//	R71 a new recovery key             api TestR71ANewRecoveryKeyCutsNobodyOff: no member is disabled, so there is no legacy key to recover with
//	R74 an offline member is not tried TestFaults "killed …", "packets dropped …", "frozen …"; service/tunnel TestSilentNetworkIsNoticedOnBothSides
//	R75 what the modes mean            TestR75FailoverAndEvenDistribution, service/routing TestFailoverIsThePrimaryWhileItIsAvailable and
//	                                   TestDistributeEvenlyIsUniformOverAllOrders
//	R77 averages, unknown figures      service/member TestTheLoadIsAveragedOverTheWindow, service/tunnel TestFiguresThatMakeNoSenseLimitNothing
//	R78 the concurrency limit          TestR78TheConcurrencyLimit, TestFaults "over its limit" and "all over their limits"
//	R79 who served; the eleventh       TestR79ElevenMembers. No cluster of twelve can be imported: there is no import. A primary that is down
//	                                   is TestFaults "killed …": the service, not the primary, keeps the data sources
//	R81 long queries                   TestR81ALongQueryPasses (with the soak), cmd/e2e TestATimeOutCancelsOnTheMember
//	R83 who registered may go          api TestR83TheMachineOutlivesWhoRegisteredIt
//
// R65, R68, R70, R72, R73, R76, R80 and R82 are no cases of ours.
package faults
