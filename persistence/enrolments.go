package persistence

import (
	"context"

	"comporta/service/gateway"
)

const enrolmentColumns = "token_hash, cluster_id, member_id, expires_at"

func (r *reader) Enrolment(ctx context.Context, tokenHash []byte) (gateway.Enrolment, error) {
	s := from(enrolmentColumns, "enrolments").where("token_hash = ?", tokenHash).where("expires_at > ?", r.now)
	return one(ctx, r, s, func(from row, e *gateway.Enrolment) error {
		return from.Scan(bytesInto{&e.TokenHash}, &e.ClusterID, &e.MemberID, timeInto{&e.ExpiresAt})
	}, "enrolment", "")
}

// PutEnrolment stores an enrolment. It belongs to no ClusterState and raises no revision.
func (t *tx) PutEnrolment(ctx context.Context, e gateway.Enrolment) error {
	return t.insert(ctx, "enrolments", enrolmentColumns,
		"ON CONFLICT (token_hash) DO UPDATE SET cluster_id = excluded.cluster_id, member_id = excluded.member_id, expires_at = excluded.expires_at",
		[]any{e.TokenHash, e.ClusterID, e.MemberID, e.ExpiresAt})
}

func (t *tx) DeleteEnrolments(ctx context.Context, member gateway.ID) error {
	_, err := t.exec(ctx, "DELETE FROM enrolments WHERE member_id = ? OR expires_at <= ?", member, t.now)
	return err
}
