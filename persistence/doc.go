// Package persistence keeps the state of the service: the Store contract and its one SQL implementation for SQLite and PostgreSQL.
//
// It imports gateway and nothing else of the product. It stores and finds; it decides nothing. Everything that changes runs inside
// InTx, everything that reads inside View; an acknowledged InTx survives kill -9 and power loss.
//
// Both databases have the same schema and run the same statements. Ids are texts; times are microseconds since 1970 in UTC, 0 for
// the zero time; bytes are base64 texts; what is only ever read as a whole (limits, keys, credentials) is a JSON text. Names that
// must be unique stand twice, as written and folded by strings.ToLower without Unicode normalisation; the folded one is indexed.
//
// Write transactions run one after the other, on SQLite through its one writer connection and on PostgreSQL through a lock that all
// processes share. So whatever a transaction has read stays true until it commits: counts and uniqueness cannot be raced.
package persistence
