package routing

import "comporta/service/gateway"

// Reason says why a member may or may not take a request. The zero value is Available.
type Reason uint8

// The reasons, in the order in which Plan asks: the first that holds is the one given.
const (
	// Available: the member may take the request.
	Available Reason = iota
	// Disabled: the administrator switched the member off.
	Disabled
	// Draining: the member finishes what it runs and takes nothing new.
	Draining
	// Offline: no tunnel of the member is alive.
	Offline
	// CPU, Memory and Concurrency: the member is at or over that limit.
	CPU
	Memory
	Concurrency
)

// reasons holds, by Reason, the word, the code that a detail carries and the words for people.
var reasons = [...]struct {
	word string
	code gateway.Code
	text string
}{
	Available:   {"available", "Available", "The member is available."},
	Disabled:    {"disabled", gateway.CodeDisabled, "The member is disabled."},
	Draining:    {"draining", gateway.CodeDraining, "The member is draining."},
	Offline:     {"offline", gateway.CodeUnreachable, "The member is offline."},
	CPU:         {"cpu", gateway.CodeCPULimit, "The member is at or over its CPU limit."},
	Memory:      {"memory", gateway.CodeMemoryLimit, "The member is at or over its memory limit."},
	Concurrency: {"concurrency", gateway.CodeConcurrencyLimit, "The member is at or over its concurrency limit."},
}

// String returns the reason's word: available, disabled, draining, offline, cpu, memory or concurrency.
func (r Reason) String() string {
	if int(r) >= len(reasons) {
		return "unknown"
	}
	return reasons[r].word
}

// Code returns the code with which details and status answers name the reason; "Available" for Available.
func (r Reason) Code() gateway.Code {
	if int(r) >= len(reasons) {
		return gateway.CodeInternal
	}
	return reasons[r].code
}

// Text returns the reason as a sentence for people.
func (r Reason) Text() string {
	if int(r) >= len(reasons) {
		return "The reason is unknown."
	}
	return reasons[r].text
}

// OverLimit reports whether the reason is a limit, so that the member may take requests again without anybody doing anything.
func (r Reason) OverLimit() bool { return r == CPU || r == Memory || r == Concurrency }

// ReasonOf returns the reason that a failed attempt gives for its member: the one whose code err carries, Offline for any other, since
// a member that broke before admission cannot be reached for this request.
func ReasonOf(err *gateway.Error) Reason {
	if err == nil {
		return Offline
	}
	for r := Disabled; r <= Concurrency; r++ {
		if reasons[r].code == err.Code {
			return r
		}
	}
	return Offline
}
