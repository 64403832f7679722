package gateway

// Chance is what an attempt may hope for, and so how long it is worth waiting for.
type Chance int

const (
	// First: somebody else is left to take the request.
	First Chance = iota
	// Last: nobody else is left. A member whose answers come in slowly is waited for longer.
	Last
	// Again: nobody else is left, and the member let an attempt of this request wait already. Waited for like Last, also if the member is in doubt.
	Again
)
