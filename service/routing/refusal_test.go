package routing_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"comporta/service/gateway"
	"comporta/service/routing"
)

const (
	cpuText         = "The gateway you selected can't establish data source connections because it's exceeded the CPU limit set by your gateway admin. Try again later, or ask your gateway admin to increase the limit."
	memoryText      = "The gateway you selected can't establish data source connections because it's exceeded the memory limit set by your gateway admin. Try again later, or ask your gateway admin to increase the limit."
	concurrencyText = "The gateway you selected can't establish data source connections because it's exceeded the concurrency limit set by your gateway admin. Try again later, or ask your gateway admin to increase the limit."
	clusterID       = gateway.ID("c")
)

func TestRefusalNamesTheCause(t *testing.T) {
	const cpu, memory, concurrency = routing.CPU, routing.Memory, routing.Concurrency
	const disabled, draining, offline = routing.Disabled, routing.Draining, routing.Offline
	for _, c := range []struct {
		name    string
		reasons []routing.Reason
		code    gateway.Code
		message string
		retry   time.Duration
	}{
		{"cpu", []routing.Reason{cpu, memory}, "GatewayCpuLimitExceeded", cpuText, routing.RetryAfterLoad},
		{"memory", []routing.Reason{memory, cpu}, "GatewayMemoryLimitExceeded", memoryText, routing.RetryAfterLoad},
		{"concurrency", []routing.Reason{concurrency, cpu}, "GatewayConcurrencyLimitExceeded", concurrencyText, routing.RetryAfterConcurrency},
		{"limit behind others", []routing.Reason{disabled, offline, draining, memory, cpu}, "GatewayMemoryLimitExceeded", memoryText, routing.RetryAfterLoad},
		{"all offline", []routing.Reason{offline, offline}, "DM_GWPipeline_Client_GatewayUnreachable", "Gateway is unreachable", 0},
		{"offline and disabled", []routing.Reason{disabled, offline}, "DM_GWPipeline_Client_GatewayUnreachable", "Gateway is unreachable", 0},
		{"all disabled", []routing.Reason{disabled, disabled}, "DMTS_GatewayIsDisabled", "Gateway is disabled", 0},
		{"all draining", []routing.Reason{draining, draining}, "DM_GWPipeline_Client_GatewayUnreachable", "Gateway is unreachable", 0},
		{"draining and disabled", []routing.Reason{disabled, draining}, "DM_GWPipeline_Client_GatewayUnreachable", "Gateway is unreachable", 0},
		{"no members", nil, "DM_GWPipeline_Client_GatewayUnreachable", "Gateway is unreachable", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			members := make([]routing.Member, len(c.reasons))
			for i := range members {
				members[i].ID = gateway.ID(rune('a' + i))
			}
			err := routing.Refusal(clusterID, members, &routing.Route{Reasons: c.reasons})
			if err.Code != c.code || err.Message != c.message || err.RetryAfter != c.retry || err.Resource != clusterID {
				t.Errorf("got %+v", err)
			}
			if len(err.Details) != len(members) {
				t.Fatalf("%d details for %d members", len(err.Details), len(members))
			}
			for i, d := range err.Details {
				if d.ResourceID != members[i].ID || d.Code != string(c.reasons[i].Code()) || d.Message != c.reasons[i].Text() {
					t.Errorf("detail %d: %+v", i, d)
				}
			}
		})
	}
}

// oracleCause is the contract's rule written plainly over the reasons' words.
func oracleCause(words []string) gateway.Code {
	codes := map[string]gateway.Code{"cpu": gateway.CodeCPULimit, "memory": gateway.CodeMemoryLimit, "concurrency": gateway.CodeConcurrencyLimit}
	for _, w := range words {
		if code, over := codes[w]; over {
			return code
		}
	}
	if len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return w != "disabled" }) {
		return gateway.CodeDisabled
	}
	return gateway.CodeUnreachable
}

// A dispatcher whose every attempt fails ends with a refusal built from what the attempts found out, in whatever order it tried.
func TestRefusalAfterAttemptsAgainstOracle(t *testing.T) {
	failures := map[gateway.Code]string{gateway.CodeCPULimit: "cpu", gateway.CodeMemoryLimit: "memory", gateway.CodeConcurrencyLimit: "concurrency",
		gateway.CodeDraining: "draining", gateway.CodeDisabled: "disabled", gateway.CodeUnreachable: "offline", gateway.CodeBroken: "offline"}
	codes := []gateway.Code{gateway.CodeCPULimit, gateway.CodeMemoryLimit, gateway.CodeConcurrencyLimit, gateway.CodeDraining,
		gateway.CodeDisabled, gateway.CodeUnreachable, gateway.CodeBroken}
	rapid.Check(t, func(t *rapid.T) {
		members, mode := memberList().Draw(t, "members"), rapid.SampledFrom(modes).Draw(t, "mode")
		route := plan(mode, members, seeded(rapid.Uint64().Draw(t, "seed")))
		words := make([]string, len(members))
		for i, m := range members {
			words[i] = oracleReason(m)
		}
		for _, i := range route.Order {
			code := rapid.SampledFrom(codes).Draw(t, "failure")
			route.Refused(i, routing.ReasonOf(gateway.Errorf(code, "x")))
			words[i] = failures[code]
		}
		err := routing.Refusal(clusterID, members, route)
		if want := oracleCause(words); err.Code != want {
			t.Fatalf("%v: %s, want %s", words, err.Code, want)
		}
		for i := range members {
			if route.Reasons[i].String() != words[i] || err.Details[i].ResourceID != members[i].ID {
				t.Fatalf("member %d: %v in %v", i, route.Reasons[i], words)
			}
		}
	})
}

func TestFull(t *testing.T) {
	const cpu, concurrency, disabled, offline = routing.CPU, routing.Concurrency, routing.Disabled, routing.Offline
	for _, c := range []struct {
		reasons []routing.Reason
		want    bool
	}{
		{nil, false},
		{[]routing.Reason{concurrency}, true},
		{[]routing.Reason{disabled, concurrency, offline, routing.Draining}, true},
		{[]routing.Reason{concurrency, routing.Available}, false},
		{[]routing.Reason{concurrency, cpu}, false},
		{[]routing.Reason{routing.Memory, concurrency}, false},
		{[]routing.Reason{offline, disabled}, false},
	} {
		if got := (&routing.Route{Reasons: c.reasons}).Full(); got != c.want {
			t.Errorf("%v: %v", c.reasons, got)
		}
	}
}

func TestReasonWords(t *testing.T) {
	words := []string{"available", "disabled", "draining", "offline", "cpu", "memory", "concurrency", "unknown"}
	for i, want := range words {
		r := routing.Reason(i)
		if r.String() != want || r.Code() == "" || r.Text() == "" {
			t.Errorf("%d: %q %q %q", i, r, r.Code(), r.Text())
		}
	}
	if routing.ReasonOf(nil) != routing.Offline || routing.ReasonOf(&gateway.Error{Code: "Available"}) != routing.Offline {
		t.Error("a failed attempt must never make a member available")
	}
}

// Who stood in line for a place hears of places, not of what the members show when his time there is over.
func TestNoPlaceIsAlwaysAMatterOfPlaces(t *testing.T) {
	reasons := []routing.Reason{routing.Disabled, routing.Available, routing.CPU}
	members := []routing.Member{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	err := routing.NoPlace(clusterID, members, &routing.Route{Reasons: slices.Clone(reasons)})
	if err.Code != gateway.CodeConcurrencyLimit || err.Message != concurrencyText || err.RetryAfter != routing.RetryAfterConcurrency || err.Resource != clusterID {
		t.Errorf("got %+v", err)
	}
	reasons[1] = routing.Concurrency
	for i, d := range err.Details {
		if d.ResourceID != members[i].ID || d.Code != string(reasons[i].Code()) {
			t.Errorf("detail %d: %+v", i, d)
		}
	}
}
