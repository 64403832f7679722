// Package gateway is the vocabulary of Comporta: the types, ids, words and the one error type that every other room speaks.
//
// It imports the standard library only and every package may import it. Nothing here decides, stores or sends anything; the words
// are those of the architecture page: cluster, member, primary, data source, principal, tunnel, presence, load, limit, route,
// admission, dispatch, draining, recovery key.
package gateway
