package gateway

import "time"

// Names of the limit settings, as the configuration file and the surfaces spell them. Source: Microsoft's high-availability page.
const (
	SettingCPU         = "CPUUtilizationPercentageThreshold"
	SettingMemory      = "MemoryUtilizationPercentageThreshold"
	SettingWindow      = "ResourceUtilizationAggregationTimeInMinutes"
	SettingConcurrency = "ConcurrentOperationLimit"
	SettingQueue       = "QueueTimeoutSeconds"
)

// Defaults of the limits where nobody set any.
const (
	DefaultConcurrency = 40
	DefaultWindow      = 5 * time.Minute
)

// Limits are thresholds at or over which a member takes no further request. A nil field is not set here: the next level decides
// (member, cluster, the member's own file, default).
type Limits struct {
	// CPU and Memory are percentages of the whole machine, 0–100; 0 switches the limit off.
	CPU    *int `json:"cpu,omitempty"`
	Memory *int `json:"memory,omitempty"`
	// WindowMinutes is over how many minutes CPU and Memory are averaged, 1–60.
	WindowMinutes *int `json:"windowMinutes,omitempty"`
	// Concurrency is how many requests may run at once on a member, 0–100000; 0 switches the limit off.
	Concurrency *int `json:"concurrency,omitempty"`
}

// MaxConcurrency bounds the concurrency limit.
const MaxConcurrency = 100000

// EffectiveLimits are limits with every level applied. Zero means off.
type EffectiveLimits struct {
	CPU, Memory int
	Window      time.Duration
	Concurrency int
}

// Validate returns a CodeInvalid error naming the first setting that is out of range, and its range.
func (l Limits) Validate() error {
	for _, rule := range []struct {
		name     string
		value    *int
		min, max int
	}{
		{SettingCPU, l.CPU, 0, 100},
		{SettingMemory, l.Memory, 0, 100},
		{SettingWindow, l.WindowMinutes, 1, 60},
		{SettingConcurrency, l.Concurrency, 0, MaxConcurrency},
	} {
		if rule.value != nil && (*rule.value < rule.min || *rule.value > rule.max) {
			return Errorf(CodeInvalid, "%s is %d; it must be between %d and %d.", rule.name, *rule.value, rule.min, rule.max)
		}
	}
	return nil
}

// Over returns l with the settings that it leaves open taken from base.
func (l Limits) Over(base Limits) Limits {
	pick := func(a, b *int) *int {
		if a != nil {
			return a
		}
		return b
	}
	return Limits{
		CPU:           pick(l.CPU, base.CPU),
		Memory:        pick(l.Memory, base.Memory),
		WindowMinutes: pick(l.WindowMinutes, base.WindowMinutes),
		Concurrency:   pick(l.Concurrency, base.Concurrency),
	}
}

// Effective returns l with the defaults for whatever nobody set.
func (l Limits) Effective() EffectiveLimits {
	value := func(p *int, fallback int) int {
		if p != nil {
			return *p
		}
		return fallback
	}
	return EffectiveLimits{
		CPU:         value(l.CPU, 0),
		Memory:      value(l.Memory, 0),
		Window:      time.Duration(value(l.WindowMinutes, int(DefaultWindow/time.Minute))) * time.Minute,
		Concurrency: value(l.Concurrency, DefaultConcurrency),
	}
}

// Reading is a measured percentage that may be unknown. An unknown reading never limits.
type Reading struct {
	Percent float64 `json:"percent"`
	Known   bool    `json:"known"`
}

// Load is how busy a member is: machine-wide averages over its window, and the requests it runs now.
type Load struct {
	CPU     Reading `json:"cpu"`
	Memory  Reading `json:"memory"`
	Running int     `json:"running"`
}

// Presence is what the tunnel shows of a member.
type Presence struct {
	// Online: at least one tunnel is alive.
	Online bool
	// Since is when Online last changed; zero if the member was never seen by this process.
	Since time.Time
	// Tunnels is how many are alive.
	Tunnels int
	// Draining: the member itself said that it is going down.
	Draining bool
	// Load is its last report; LoadAt when that came. Limits are the ones the member applies, file and defaults included.
	Load   Load
	LoadAt time.Time
	Limits EffectiveLimits
	// InFlight is how many requests this service has handed to the member that have not ended.
	InFlight int
	// Version, Machine and Protocol are what it said when it connected.
	Version  string
	Machine  string
	Protocol string
}

// overLimit names what each limit's refusal speaks of.
var overLimit = map[Code]string{CodeCPULimit: "CPU", CodeMemoryLimit: "memory", CodeConcurrencyLimit: "concurrency"}

// OverLimit makes the error of a member, or of all of them, at or over a limit: code is one of CodeCPULimit, CodeMemoryLimit and
// CodeConcurrencyLimit. The words are Microsoft's, as callers' scripts know them (contract section 8).
func OverLimit(code Code) *Error {
	return Errorf(code, "The gateway you selected can't establish data source connections because it's exceeded the %s limit set by your gateway admin. "+
		"Try again later, or ask your gateway admin to increase the limit.", overLimit[code])
}
