package tunnel

import (
	"context"
	"time"

	"comporta/service/gateway"
)

// Agent is what stands behind a member's end of a tunnel. All its methods are called from many goroutines at once.
type Agent interface {
	// Admit decides, on the load of this moment, whether the member takes one more request. It is asked before the body of a
	// request is read. A refusal carries one of CodeCPULimit, CodeMemoryLimit, CodeConcurrencyLimit, CodeDraining. Otherwise release
	// must be called exactly once, when the request has ended in whatever way: before the end of its answer leaves, if there is one.
	// It must be quick.
	Admit() (release func(), refusal *gateway.Error)
	// Run runs an admitted task and writes its answer to out. An error before out.Begin becomes the whole answer; one after it
	// ends the answer visibly broken. ctx ends when the caller goes away, the tunnel breaks or the task's time is up.
	Run(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error)
	// Report says how the member is now.
	Report() Report
	// Urgent is signalled (it is never closed) when Report has something that should be told at once, such as draining.
	// Each call returns a channel of its own for one listener; stop ends it.
	Urgent() (signal <-chan struct{}, stop func())
	// Configure takes what the service says of this member.
	Configure(s gateway.MemberSettings)
	// Reconnect is the service's wish that this tunnel be replaced after the delay: a new one first, then the old one closed.
	Reconnect(after time.Duration)
}

// Report is what a member tells of itself over its tunnel every few seconds, and at once when it starts to drain.
type Report struct {
	Load     gateway.Load            `json:"load"`
	Limits   gateway.EffectiveLimits `json:"limits"`
	Draining bool                    `json:"draining"`
}
