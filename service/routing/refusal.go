package routing

import (
	"time"

	"comporta/service/gateway"
)

// When a caller that was refused should try again. CPU and memory are averages over minutes and move slowly; a place comes free as soon
// as any running request ends.
const (
	RetryAfterLoad        = 30 * time.Second
	RetryAfterConcurrency = 5 * time.Second
)

// Refusal makes the error for a request that no member took: of a route with nothing in Order, or of one whose members all refused or
// broke (see Refused). Its resource is the cluster, its details name every member's reason in plan order.
//
// The cause when members differ:
//
//   - If any member is over a limit, the first such member in plan order names it: trying later helps, which is what the caller needs to
//     know, and disabled or offline members beside it change nothing of that.
//   - Otherwise, if every member is disabled, the cluster is disabled.
//   - Otherwise nobody can be reached. A draining member counts as offline: it will be back, or its machine is going away, and neither
//     is an administrator's decision that the cluster be off. So does an Available one, which a dispatcher had no time left to try, and
//     a cluster without members.
func Refusal(clusterID gateway.ID, members []Member, route *Route) *gateway.Error {
	return describe(causeOf(route.Reasons), clusterID, members, route)
}

// NoPlace makes the error for a request that stood in line for a place and got none, or found the line full. That is the cause whatever the
// members show at this moment: a place that is free now is for those who stand in front.
func NoPlace(clusterID gateway.ID, members []Member, route *Route) *gateway.Error {
	for i, reason := range route.Reasons {
		if reason == Available {
			route.Refused(i, Concurrency)
		}
	}
	return describe(overLimit(Concurrency), clusterID, members, route)
}

// describe adds the resource and every member's reason.
func describe(err *gateway.Error, clusterID gateway.ID, members []Member, route *Route) *gateway.Error {
	err.Resource = clusterID
	err.Details = make([]gateway.Detail, 0, len(members))
	for i := range members {
		reason := route.Reasons[i]
		err.Details = append(err.Details, gateway.Detail{Code: string(reason.Code()), Message: reason.Text(), ResourceID: members[i].ID})
	}
	return err
}

func causeOf(reasons []Reason) *gateway.Error {
	allDisabled := len(reasons) > 0
	for _, reason := range reasons {
		if reason.OverLimit() {
			return overLimit(reason)
		}
		allDisabled = allDisabled && reason == Disabled
	}
	if allDisabled {
		return &gateway.Error{Code: gateway.CodeDisabled, Message: "Gateway is disabled"}
	}
	return &gateway.Error{Code: gateway.CodeUnreachable, Message: "Gateway is unreachable"}
}

// overLimit makes the error of a limit, without resource and details.
func overLimit(reason Reason) *gateway.Error {
	err := gateway.OverLimit(reason.Code())
	err.RetryAfter = RetryAfterLoad
	if reason == Concurrency {
		err.RetryAfter = RetryAfterConcurrency
	}
	return err
}
