// Package routing chooses and orders the members that may serve a request.
//
// It is pure: a balance mode, member snapshots and a random source go in, an ordered plan or a reason per member comes out. It reads no
// clock, takes no lock, writes no log and, once a Route has been used, allocates nothing. Everything it decides can be told from its
// arguments. It imports gateway and the standard library.
package routing
