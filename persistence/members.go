package persistence

import (
	"context"
	"encoding/json"
	"time"

	"comporta/service/gateway"
)

const memberColumns = `m.id, m.cluster_id, m.name, m.description, m.annotation, m.state, m.draining, m.limits, m.public_key, m.version, m.machine,
	m.created_at, m.last_seen`

func readMember(row scanner) (gateway.Member, error) {
	var m gateway.Member
	var limits, key string
	var created, seen int64
	err := row.Scan(&m.ID, &m.ClusterID, &m.Name, &m.Description, &m.Annotation, &m.State, &m.Draining, &limits, &key, &m.Version, &m.Machine, &created, &seen)
	if err != nil {
		return m, err
	}
	m.CreatedAt, m.LastSeen = moment(created), moment(seen)
	if m.PublicKey, err = textBytes(key); err != nil {
		return m, err
	}
	return m, json.Unmarshal([]byte(limits), &m.Limits)
}

// Member finds one member.
func (c *conn) Member(ctx context.Context, id gateway.ID) (gateway.Member, error) {
	return one(ctx, c, "member", id, readMember, "SELECT "+memberColumns+" FROM members m WHERE m.id = ?", id)
}

// Members lists the members of these clusters, primaries first.
func (c *conn) Members(ctx context.Context, clusters ...gateway.ID) ([]gateway.Member, error) {
	return many(ctx, c, readMember, "SELECT "+memberColumns+` FROM members m JOIN clusters c ON c.id = m.cluster_id WHERE m.cluster_id IN `+c.dialect.ids()+`
		ORDER BY c.created_at, c.id, CASE WHEN m.id = c.primary_id THEN 0 ELSE 1 END, m.created_at, m.id`, idsText(clusters))
}

// CreateMember stores a new member.
func (c *conn) CreateMember(ctx context.Context, m gateway.Member) error {
	_, err := c.exec(ctx, `INSERT INTO members (id, cluster_id, name, folded_name, description, annotation, state, draining, limits, public_key, version, machine,
		created_at, last_seen) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.ID, m.ClusterID, m.Name, fold(m.Name), m.Description, m.Annotation, m.State, m.Draining, jsonText(m.Limits), bytesText(m.PublicKey), m.Version,
		m.Machine, micros(m.CreatedAt), micros(m.LastSeen))
	if err != nil {
		return c.memberNameTaken(err)
	}
	return c.TouchCluster(ctx, m.ClusterID)
}

func (c *conn) memberNameTaken(err error) error {
	if c.dialect.unique(err) {
		return gateway.Wrap(gateway.CodeDuplicateMemberName, err, "The cluster already has a member of that name.")
	}
	return err
}

// UpdateMember stores a changed member.
func (c *conn) UpdateMember(ctx context.Context, m gateway.Member) error {
	err := c.must(ctx, "member", m.ID, `UPDATE members SET name = ?, folded_name = ?, description = ?, annotation = ?, state = ?, draining = ?, limits = ?,
		public_key = ?, version = ?, machine = ? WHERE id = ?`,
		m.Name, fold(m.Name), m.Description, m.Annotation, m.State, m.Draining, jsonText(m.Limits), bytesText(m.PublicKey), m.Version, m.Machine, m.ID)
	if err != nil {
		return c.memberNameTaken(err)
	}
	return c.TouchCluster(ctx, m.ClusterID)
}

// DeleteMember removes a member.
func (c *conn) DeleteMember(ctx context.Context, id gateway.ID) error {
	m, err := c.Member(ctx, id)
	if err != nil {
		return err
	}
	if err := c.must(ctx, "member", id, "DELETE FROM members WHERE id = ?", id); err != nil {
		return err
	}
	return c.TouchCluster(ctx, m.ClusterID)
}

// SawMember keeps what a machine said of itself.
func (c *conn) SawMember(ctx context.Context, id gateway.ID, version, machine string, at time.Time) error {
	return c.must(ctx, "member", id, "UPDATE members SET version = ?, machine = ?, last_seen = ? WHERE id = ?", version, machine, micros(at), id)
}

// Enrolment finds an enrolment that has not expired.
func (c *conn) Enrolment(ctx context.Context, tokenHash []byte) (gateway.Enrolment, error) {
	read := func(row scanner) (e gateway.Enrolment, err error) {
		var expires int64
		err = row.Scan(&e.ClusterID, &e.MemberID, &expires)
		e.TokenHash, e.ExpiresAt = tokenHash, moment(expires)
		return e, err
	}
	return one(ctx, c, "enrolment", "", read, "SELECT cluster_id, member_id, expires_at FROM enrolments WHERE token_hash = ? AND expires_at > ?",
		bytesText(tokenHash), micros(c.now))
}

// PutEnrolment stores an enrolment.
func (c *conn) PutEnrolment(ctx context.Context, e gateway.Enrolment) error {
	_, err := c.exec(ctx, "INSERT INTO enrolments (token_hash, cluster_id, member_id, expires_at) VALUES (?, ?, ?, ?)",
		bytesText(e.TokenHash), e.ClusterID, e.MemberID, micros(e.ExpiresAt))
	return err
}

// DeleteEnrolments removes a member's enrolments and all expired ones.
func (c *conn) DeleteEnrolments(ctx context.Context, member gateway.ID) error {
	_, err := c.exec(ctx, "DELETE FROM enrolments WHERE member_id = ? OR expires_at <= ?", member, micros(c.now))
	return err
}
