// Package member is the agent on a gateway machine: it joins a cluster, keeps tunnels to the service open, decides about admission, and
// runs what comes through.
//
// Member is the connect loop's owner; one loop per tunnel owns the back-off, one Dial owns one connection. It imports tunnel, connector,
// credential, recovery and gateway, never persistence, api or service.
package member
