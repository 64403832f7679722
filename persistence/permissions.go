package persistence

import (
	"context"

	"comporta/service/gateway"
)

const permissionColumns = "cluster_id, principal_id, created_at, role, allowed_types"

func scanPermission(from row, p *gateway.Permission) error {
	return from.Scan(&p.ClusterID, &p.PrincipalID, timeInto{&p.CreatedAt}, &p.Role, jsonInto{&p.AllowedTypes})
}

func (r *reader) Permissions(ctx context.Context, clusters ...gateway.ID) ([]gateway.Permission, error) {
	s := from(permissionColumns, "permissions").where("cluster_id IN (SELECT value FROM each(?))", idList(clusters))
	return list(ctx, r, s.order("created_at, cluster_id, principal_id", Page{}), scanPermission)
}

// idList is any number of ids as one argument; nil is none of them.
func idList(ids []gateway.ID) asJSON {
	if ids == nil {
		ids = []gateway.ID{}
	}
	return asJSON{ids}
}

func (t *tx) PutPermission(ctx context.Context, p gateway.Permission) error {
	err := t.insert(ctx, "permissions", permissionColumns,
		"ON CONFLICT (cluster_id, principal_id) DO UPDATE SET created_at = excluded.created_at, role = excluded.role, allowed_types = excluded.allowed_types",
		[]any{p.ClusterID, p.PrincipalID, p.CreatedAt, p.Role, asJSON{p.AllowedTypes}})
	if err != nil {
		return err
	}
	return t.TouchCluster(ctx, p.ClusterID)
}

func (t *tx) DeletePermission(ctx context.Context, cluster, principal gateway.ID) error {
	err := t.change(ctx, "permission", principal, "DELETE FROM permissions WHERE cluster_id = ? AND principal_id = ?", cluster, principal)
	if err != nil {
		return err
	}
	return t.TouchCluster(ctx, cluster)
}
