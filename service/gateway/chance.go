package gateway

// Chance is what an attempt may hope for, and so how long it is worth waiting for.
type Chance int

const (
	// First has somebody else behind this member in the plan.
	First Chance = iota
	// Last has nobody behind it. A member that brings answers to others is waited for longer.
	Last
	// Again comes when everybody in the plan was tried, and this member's attempt was lost. It is waited for like Last, also if it is in doubt.
	Again
)
