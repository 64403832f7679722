// Package member is the agent on a gateway machine: it joins a cluster, keeps tunnels to the service open, decides about admission, and
// runs what comes through.
//
// Member is the connect loop's owner; one loop per tunnel owns the back-off, one Dial owns one connection.
//
// The back-off is stricter than the contract, which asks for a jittered, capped one that begins anew after a stable minute: members are to be
// back within seconds of the service answering, whatever went before. While nobody answers a slot tries every one to two seconds; only a no
// of the service, and tunnels that hardly begin, make it wait for up to 30 s; the first drop of a tunnel costs 0.2 s at most; and when one
// slot is let in, the others of the member try at once. See backoff.go for the reasons.
//
// It imports tunnel, connector,
// credential, recovery and gateway, never persistence, api or service.
package member
