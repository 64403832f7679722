package service

import (
	"context"
	"time"

	"comporta/service/gateway"
)

// ClusterStatus is how a cluster is now.
type ClusterStatus struct {
	// Online: any enabled member can be reached.
	Online bool
	// Version is the primary's, as it last said.
	Version       string
	MixedVersions bool
	// Problems list what is wrong per member.
	Problems []MemberProblem
}

// MemberProblem is why a member takes no request, or takes them blindly.
type MemberProblem struct {
	MemberID   gateway.ID
	MemberName string
	Code       gateway.Code
	Message    string
}

// Codes that only status answers carry.
const (
	codeMixedVersions  gateway.Code = "GatewayMembersRunDifferentVersions"
	codeReadingUnknown gateway.Code = "GatewayLoadReadingUnknown"
)

// Status says how a cluster is now, with a problem for each member that is disabled or cannot be reached.
func (s *Clusters) Status(ctx context.Context, id gateway.ID) (ClusterStatus, error) {
	state, err := s.directory.get(ctx, id)
	if err != nil {
		return ClusterStatus{}, err
	}
	view := ClusterView{Cluster: state.Cluster}
	for _, m := range state.Members {
		view.Members = append(view.Members, s.viewOf(&state.Cluster, m))
	}
	status := ClusterStatus{Online: view.Online(), MixedVersions: view.MixedVersions(), Problems: []MemberProblem{}}
	if p := view.Primary(); p != nil {
		status.Version = p.CurrentVersion()
	}
	for i := range view.Members {
		status.Problems = append(status.Problems, s.Problems(&view.Members[i])...)
	}
	if status.MixedVersions {
		status.Problems = append(status.Problems, MemberProblem{MemberID: id, MemberName: state.Cluster.Name, Code: codeMixedVersions,
			Message: "The members run different versions; bring them to the same one."})
	}
	return status, nil
}

// settling is for how long after its connection a member's load may still be unknown: the use of a CPU takes two readings.
const settling = 15 * time.Second

// Problems lists what is wrong with one member.
func (s *core) Problems(m *MemberView) []MemberProblem {
	problem := func(code gateway.Code, message string) MemberProblem {
		return MemberProblem{m.ID, m.Name, code, message}
	}
	var list []MemberProblem
	if m.State == gateway.MemberDisabled {
		list = append(list, problem(gateway.CodeDisabled, "Gateway is disabled"))
	}
	switch {
	case !m.Presence.Online:
		list = append(list, problem(gateway.CodeUnreachable, "Gateway is unreachable"))
	case m.Draining || m.Presence.Draining:
		list = append(list, problem(gateway.CodeDraining, "Gateway is draining"))
	case !m.Presence.Since.IsZero() && s.Now().Sub(m.Presence.Since) > settling && (!m.Presence.Load.CPU.Known || !m.Presence.Load.Memory.Known):
		list = append(list, problem(codeReadingUnknown, "The machine's CPU or memory use cannot be read, so it does not limit"))
	}
	return list
}
