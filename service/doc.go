// Package service holds the use cases: clusters, members, data sources, access, dispatch and history. It decides; it knows no HTTP
// and no SQL.
//
// It imports persistence (the contract), routing, recovery and gateway. What else it needs of the world (live tunnels, envelopes,
// time, randomness, ids) comes in through small interfaces and functions that cmd wires. The three management surfaces are three
// dresses of what stands here: a rule that stands in a surface is in the wrong place.
package service
