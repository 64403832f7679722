package service

import (
	"context"
	"strings"
	"time"

	"comporta/persistence"
	"comporta/service/gateway"
	"comporta/service/recovery"
)

// Members are the use cases around members and the machines behind them.
type Members struct {
	*core
	guard *guard
}

// MemberView is a member as an answer shows it. State is what the administrator wants, Presence what the tunnel shows.
type MemberView struct {
	gateway.Member
	Presence gateway.Presence
	// Effective are the limits in force: those the machine reports while it is online, else those that are set here.
	Effective gateway.EffectiveLimits
}

// CurrentVersion is what the machine says of itself now, else what it last said.
func (v *MemberView) CurrentVersion() string {
	if v.Presence.Version != "" {
		return v.Presence.Version
	}
	return v.Version
}

// CurrentMachine likewise.
func (v *MemberView) CurrentMachine() string {
	if v.Presence.Machine != "" {
		return v.Presence.Machine
	}
	return v.Machine
}

// SeenAt is when a tunnel of the member was last alive; zero if never.
func (v *MemberView) SeenAt() time.Time {
	switch {
	case v.Presence.LoadAt.After(v.LastSeen):
		return v.Presence.LoadAt
	case v.Presence.Since.After(v.LastSeen):
		return v.Presence.Since
	}
	return v.LastSeen
}

func (s *core) viewOf(c *gateway.Cluster, m gateway.Member) MemberView {
	v := MemberView{Member: m, Presence: s.Tunnels.Presence(m.ID)}
	v.Effective = m.Limits.Over(c.Limits).Effective()
	if v.Presence.Online && v.Presence.Limits != (gateway.EffectiveLimits{}) {
		v.Effective = v.Presence.Limits
	}
	return v
}

// NewMember is what a member is made of.
type NewMember struct {
	Name, RecoveryKey string
	// Overwrite readies an existing member of that name for a rebuilt machine, under its old id. MustExist then refuses to make a new one
	// when there is none of that name.
	Overwrite, MustExist bool
}

// Add makes one more member. It takes the cluster's recovery key; to a caller who cannot see the cluster, a wrong key and an unknown
// cluster look the same.
func (s *Members) Add(ctx context.Context, caller *gateway.Caller, cluster gateway.ID, n NewMember) (Invitation, error) {
	name, err := cleanName("name", n.Name)
	if err != nil {
		return Invitation{}, err
	}
	if err := recovery.ValidateKey([]byte(n.RecoveryKey)); err != nil {
		return Invitation{}, err
	}
	state, err := s.directory.get(ctx, cluster)
	if gateway.IsCode(err, gateway.CodeNotFound) {
		// It takes as long as with a cluster that is there, and gets the same answer.
		err := s.guard.try(ctx, cluster, func() bool { return recovery.CheckKey([]byte(n.RecoveryKey), recovery.Decoy(s.RecoveryCost)) })
		if ctx.Err() != nil {
			return Invitation{}, err
		}
		return Invitation{}, hiddenError(Target{Cluster: cluster})
	}
	if err != nil {
		return Invitation{}, err
	}
	err = s.guard.try(ctx, cluster, func() bool { return recovery.CheckKey([]byte(n.RecoveryKey), state.Cluster.Key) })
	if err != nil {
		return Invitation{}, hideFrom(caller, state, err)
	}
	if n.Overwrite {
		if m := memberNamed(state, name); m != nil {
			return s.reinvite(ctx, caller, cluster, m.ID)
		}
		if n.MustExist {
			return Invitation{}, noneNamed(state, name)
		}
	}
	return s.add(ctx, caller, gateway.Member{ID: s.NewID(), ClusterID: cluster, Name: name, State: gateway.MemberEnabled})
}

// noneNamed is for callers who have shown the recovery key, so it may list names.
func noneNamed(state *gateway.ClusterState, name string) *gateway.Error {
	names := make([]string, len(state.Members))
	for i := range state.Members {
		names[i] = state.Members[i].Name
	}
	return gateway.Errorf(gateway.CodeNotFound, "The cluster has no member %q that could be taken over. Its members are: %s.", name, strings.Join(names, ", "))
}

// hideFrom turns "wrong recovery key" into "no such cluster" for a caller who may not know that the cluster exists.
func hideFrom(caller *gateway.Caller, state *gateway.ClusterState, err error) error {
	r := Rights{TenantAdmin: caller.TenantAdmin, Cluster: state.Permissions[caller.ID].Role, AnyDataSource: hasAnyDataSource(state, caller.ID)}
	if Decide(SeeCluster, r) == Allowed || !gateway.IsCode(err, gateway.CodeRecoveryKeyWrong) && !gateway.IsCode(err, gateway.CodeRecoveryKeyLocked) {
		return err
	}
	return hiddenError(Target{Cluster: state.Cluster.ID})
}

func memberNamed(state *gateway.ClusterState, name string) *gateway.Member {
	for i := range state.Members {
		if sameName(state.Members[i].Name, name) {
			return &state.Members[i]
		}
	}
	return nil
}

func (s *Members) add(ctx context.Context, caller *gateway.Caller, m gateway.Member) (Invitation, error) {
	invitation, enrolment, err := s.invite(m.ClusterID, m.ID)
	if err != nil {
		return Invitation{}, err
	}
	err = s.changed(ctx, m.ClusterID, func(tx persistence.Tx) error {
		members, err := tx.Members(ctx, m.ClusterID)
		if err != nil {
			return err
		}
		if len(members) >= gateway.MaxMembers {
			return gateway.Errorf(gateway.CodeTooManyMembers, "The cluster has %d members, which is all it takes. Remove one first.", len(members)).About(m.ClusterID)
		}
		m.CreatedAt, enrolment.ExpiresAt = tx.Now(), tx.Now().Add(enrolmentLifetime)
		if err := tx.CreateMember(ctx, m); err != nil {
			return err
		}
		if err := tx.PutEnrolment(ctx, enrolment); err != nil {
			return err
		}
		return s.audit(ctx, tx, caller, change{action: "member.add", kind: "member", id: m.ID, cluster: m.ClusterID, after: viewMember(m)})
	})
	invitation.ExpiresAt = enrolment.ExpiresAt
	return invitation, err
}

// List returns a cluster's members in plan order: primary first, then by creation.
func (s *Members) List(ctx context.Context, cluster gateway.ID) ([]MemberView, error) {
	state, err := s.directory.get(ctx, cluster)
	if err != nil {
		return nil, err
	}
	views := make([]MemberView, len(state.Members))
	for i, m := range state.Members {
		views[i] = s.viewOf(&state.Cluster, m)
	}
	return views, nil
}

// Get returns one member of a cluster.
func (s *Members) Get(ctx context.Context, cluster, id gateway.ID) (MemberView, error) {
	views, err := s.List(ctx, cluster)
	if err != nil {
		return MemberView{}, err
	}
	for _, v := range views {
		if v.ID == id {
			return v, nil
		}
	}
	return MemberView{}, noMember(id)
}

func noMember(id gateway.ID) *gateway.Error {
	return gateway.Errorf(gateway.CodeNotFound, "There is no such member here.").About(id)
}

// MemberPatch changes what is not nil. ResetLimits first takes the member's own limits away, so that the cluster's apply. SentBack says that
// the limits came with the whole of what was read: see sentBack.
type MemberPatch struct {
	Name, Description, Annotation *string
	State                         *gateway.MemberState
	Draining                      *bool
	Limits                        gateway.Limits
	ResetLimits, SentBack         bool
}

// Update changes a member. Once it returns, a member disabled or draining by it gets no new request; running ones go on.
func (s *Members) Update(ctx context.Context, caller *gateway.Caller, cluster, id gateway.ID, patch MemberPatch) error {
	if err := patch.check(); err != nil {
		return err
	}
	return s.changed(ctx, cluster, func(tx persistence.Tx) error {
		before, err := memberOf(ctx, tx, cluster, id)
		if err != nil {
			return err
		}
		c, err := tx.Cluster(ctx, cluster)
		if err != nil {
			return err
		}
		after := patch.apply(before, s.viewOf(&c, before).Effective)
		if err := tx.UpdateMember(ctx, after); err != nil {
			return err
		}
		return s.audit(ctx, tx, caller, change{action: "member.update", kind: "member", id: id, cluster: cluster, before: viewMember(before), after: viewMember(after)})
	})
}

func (p *MemberPatch) check() error {
	if p.Name != nil {
		name, err := cleanName("name", *p.Name)
		if err != nil {
			return err
		}
		p.Name = &name
	}
	for property, text := range map[string]*string{"description": p.Description, "annotation": p.Annotation} {
		if text != nil {
			if err := checkText(property, *text); err != nil {
				return err
			}
		}
	}
	return p.Limits.Validate()
}

// apply changes a member; shown are the limits that answers show of it.
func (p *MemberPatch) apply(m gateway.Member, shown gateway.EffectiveLimits) gateway.Member {
	set(&m.Name, p.Name)
	set(&m.Description, p.Description)
	set(&m.Annotation, p.Annotation)
	set(&m.State, p.State)
	set(&m.Draining, p.Draining)
	if p.ResetLimits {
		m.Limits = gateway.Limits{}
	}
	given := p.Limits
	if p.SentBack {
		given = sentBack(given, m.Limits, shown)
	}
	m.Limits = given.Over(m.Limits)
	return m
}

func memberOf(ctx context.Context, r persistence.Reader, cluster, id gateway.ID) (gateway.Member, error) {
	m, err := r.Member(ctx, id)
	if gateway.IsCode(err, gateway.CodeNotFound) || err == nil && m.ClusterID != cluster {
		return m, noMember(id)
	}
	return m, err
}

// Remove takes a member out of its cluster. The primary goes last, and the cluster goes with it.
func (s *Members) Remove(ctx context.Context, caller *gateway.Caller, cluster, id gateway.ID) error {
	return s.changed(ctx, cluster, func(tx persistence.Tx) error {
		m, err := memberOf(ctx, tx, cluster, id)
		if err != nil {
			return err
		}
		members, err := tx.Members(ctx, cluster)
		if err != nil {
			return err
		}
		if len(members) == 1 {
			return s.delete(ctx, tx, caller, cluster)
		}
		c, err := tx.Cluster(ctx, cluster)
		if err != nil {
			return err
		}
		if c.PrimaryID == id {
			return gateway.Errorf(gateway.CodePrimaryHasMembers, "The primary member cannot be removed while there are other members. Remove them first, or promote one of them.").About(id)
		}
		if err := tx.DeleteMember(ctx, id); err != nil {
			return err
		}
		return s.audit(ctx, tx, caller, change{action: "member.remove", kind: "member", id: id, cluster: cluster, before: viewMember(m)})
	})
}

// Promote makes another member the primary. The cluster keeps its id, data sources, permissions and settings.
func (s *Members) Promote(ctx context.Context, caller *gateway.Caller, cluster, id gateway.ID) error {
	return s.changed(ctx, cluster, func(tx persistence.Tx) error {
		if _, err := memberOf(ctx, tx, cluster, id); err != nil {
			return err
		}
		before, err := tx.Cluster(ctx, cluster)
		if err != nil {
			return err
		}
		after := before
		after.PrimaryID = id
		if err := tx.UpdateCluster(ctx, after); err != nil {
			return err
		}
		return s.audit(ctx, tx, caller, change{action: "member.promote", kind: "member", id: id, cluster: cluster, before: viewCluster(before), after: viewCluster(after)})
	})
}
