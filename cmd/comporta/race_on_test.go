//go:build race

package main

// raceEnabled: the tests run under the race detector, and so does the binary that they start.
const raceEnabled = true
