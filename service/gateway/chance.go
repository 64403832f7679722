package gateway

// Chance is what an attempt may hope for, and so how long it is worth waiting for.
type Chance int

const (
	// First: somebody else stands behind this member in the plan.
	First Chance = iota
	// Last: nobody does. A member that brings answers to others is waited for longer.
	Last
	// Again: everybody in the plan was tried, and this member's attempt was lost. It is waited for like Last, also if it is in doubt.
	Again
)
