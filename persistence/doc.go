// Package persistence keeps the state of the service: the Store contract and its one SQL implementation for SQLite and PostgreSQL.
//
// It imports gateway and nothing else of the product. It stores and finds; it decides nothing. Everything that changes runs inside
// InTx, everything that reads inside View; an acknowledged InTx survives kill -9 and power loss.
package persistence
