package persistence

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"comporta/service/gateway"
)

const (
	memberColumns = "m.id, m.created_at, m.cluster_id, m.name, m.description, m.annotation, m.state, m.draining, m.limits, m.public_key, " +
		"m.version, m.machine, m.last_seen"
	memberTables = "members m JOIN clusters c ON c.id = m.cluster_id"
	memberStored = "folded, name, description, annotation, state, draining, limits, public_key, version, machine, last_seen"
	// memberOrder is the plan order: primary first, then by creation.
	memberOrder = "c.created_at, c.id, CASE WHEN m.id = c.primary_id THEN 0 ELSE 1 END, m.created_at, m.id"
)

func memberValues(m gateway.Member) []any {
	return []any{fold(m.Name), m.Name, m.Description, m.Annotation, m.State, m.Draining, asJSON{m.Limits}, m.PublicKey, m.Version, m.Machine,
		m.LastSeen}
}

func scanMember(from row, m *gateway.Member) error {
	return from.Scan(&m.ID, timeInto{&m.CreatedAt}, &m.ClusterID, &m.Name, &m.Description, &m.Annotation, &m.State, &m.Draining,
		jsonInto{&m.Limits}, bytesInto{&m.PublicKey}, &m.Version, &m.Machine, timeInto{&m.LastSeen})
}

func (r *reader) Member(ctx context.Context, id gateway.ID) (gateway.Member, error) {
	return one(ctx, r, from(memberColumns, "members m").where("m.id = ?", id), scanMember, "member", id)
}

func (r *reader) Members(ctx context.Context, clusters ...gateway.ID) ([]gateway.Member, error) {
	s := from(memberColumns, memberTables).where("m.cluster_id IN (SELECT value FROM each(?))", idList(clusters))
	return list(ctx, r, s.order(memberOrder, Page{}), scanMember)
}

func (t *tx) CreateMember(ctx context.Context, m gateway.Member) error {
	values := append([]any{m.ID, m.CreatedAt, m.ClusterID}, memberValues(m)...)
	if err := t.insert(ctx, "members", "id, created_at, cluster_id, "+memberStored, "", values); err != nil {
		return t.memberName(err)
	}
	return t.TouchCluster(ctx, m.ClusterID)
}

// UpdateMember stores all but the member's cluster and time of creation, which never change.
func (t *tx) UpdateMember(ctx context.Context, m gateway.Member) error {
	err := t.change(ctx, "member", m.ID, "UPDATE members SET ("+memberStored+") = "+marks(memberStored)+" WHERE id = ? AND cluster_id = ?",
		append(memberValues(m), m.ID, m.ClusterID)...)
	if err != nil {
		return t.memberName(err)
	}
	return t.TouchCluster(ctx, m.ClusterID)
}

func (t *tx) memberName(err error) error {
	return t.taken(err, gateway.CodeDuplicateMemberName, "Another member has this name already.")
}

// DeleteMember removes a member, its enrolments and its load samples.
func (t *tx) DeleteMember(ctx context.Context, id gateway.ID) error {
	var cluster gateway.ID
	err := t.first(ctx, "DELETE FROM members WHERE id = ? RETURNING cluster_id", []any{id}, func(from row) error { return from.Scan(&cluster) })
	if errors.Is(err, sql.ErrNoRows) {
		return missing("member", id)
	}
	if err != nil {
		return err
	}
	if _, err := t.exec(ctx, "DELETE FROM load_samples WHERE member_id = ?", id); err != nil {
		return err
	}
	return t.TouchCluster(ctx, cluster)
}

func (t *tx) SawMember(ctx context.Context, id gateway.ID, version, machine string, at time.Time) error {
	return t.change(ctx, "member", id, "UPDATE members SET version = COALESCE(NULLIF(?, ''), version), machine = COALESCE(NULLIF(?, ''), machine), last_seen = ? WHERE id = ?",
		version, machine, at, id)
}
