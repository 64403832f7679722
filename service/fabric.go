package service

import (
	"slices"

	"comporta/service/gateway"
)

// notTheTest are codes that say nothing of the data source: the test itself was not made.
var notTheTest = []gateway.Code{gateway.CodeNotFound, gateway.CodeForbidden, gateway.CodeInternal, gateway.CodeUnavailable, gateway.CodeClientGone}

// ProbeFailure returns err when it is what a probe found out (nobody reachable, over a limit, no login), and nil when there is no error or
// when the probe could not be made at all.
func ProbeFailure(err error) *gateway.Error {
	e := gateway.AsError(err)
	if e == nil || slices.Contains(notTheTest, e.Code) {
		return nil
	}
	return e
}

// PageAfter cuts a list that stands in order of creation: at most limit entries after a place.
func PageAfter[T any](list []T, after After, limit int, place func(*T) After) []T {
	start := 0
	for start < len(list) && !isAfter(place(&list[start]), after) {
		start++
	}
	return list[start:min(len(list), start+limit)]
}

// isAfter compares places as the store orders them: by time, ties by id.
func isAfter(a, b After) bool {
	return a.At.After(b.At) || a.At.Equal(b.At) && a.ID > b.ID
}
