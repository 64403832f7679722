package service

import (
	"context"
	"slices"

	"comporta/persistence"
	"comporta/service/gateway"
)

// PutPermission gives a principal a role on a cluster, in place of any it had. types must be nil for an Admin; nil means all.
func (s *Clusters) PutPermission(ctx context.Context, caller *gateway.Caller, p gateway.Permission) error {
	if p.Role == gateway.ClusterAdmin && p.AllowedTypes != nil {
		return gateway.Errorf(gateway.CodeInvalid, "allowedDataSourceTypes must be null when role is Admin: an Admin may create every type.")
	}
	return s.changed(ctx, p.ClusterID, func(tx persistence.Tx) error {
		if _, err := existingPrincipal(ctx, tx, p.PrincipalID); err != nil {
			return err
		}
		before, err := permissionOf(ctx, tx, p.ClusterID, p.PrincipalID)
		if err != nil {
			return err
		}
		p.CreatedAt = tx.Now()
		var old any
		if before != nil {
			p.CreatedAt = before.CreatedAt
			old = auditPermission{before.Role, before.AllowedTypes}
		}
		if err := tx.PutPermission(ctx, p); err != nil {
			return err
		}
		return s.audit(ctx, tx, caller, change{action: "permission.put", kind: "permission", id: p.PrincipalID, cluster: p.ClusterID,
			before: old, after: auditPermission{p.Role, p.AllowedTypes}})
	})
}

// ChangeRole changes the role that a principal has on a cluster; a creator's allowed types stay. CodeNotFound when it has none: what was
// taken away meanwhile does not come back.
func (s *Clusters) ChangeRole(ctx context.Context, caller *gateway.Caller, cluster, principal gateway.ID, role gateway.ClusterRole) error {
	return s.changed(ctx, cluster, func(tx persistence.Tx) error {
		before, err := permissionOf(ctx, tx, cluster, principal)
		if err != nil {
			return err
		}
		if before == nil {
			return noPermission(principal)
		}
		after := *before
		if after.Role = role; role == gateway.ClusterAdmin {
			after.AllowedTypes = nil
		}
		if err := tx.PutPermission(ctx, after); err != nil {
			return err
		}
		return s.audit(ctx, tx, caller, change{action: "permission.put", kind: "permission", id: principal, cluster: cluster,
			before: auditPermission{before.Role, before.AllowedTypes}, after: auditPermission{after.Role, after.AllowedTypes}})
	})
}

func noPermission(principal gateway.ID) *gateway.Error {
	return gateway.Errorf(gateway.CodeNotFound, "This principal has no role on the cluster.").About(principal)
}

// DeletePermission takes a principal's role on a cluster away.
func (s *Clusters) DeletePermission(ctx context.Context, caller *gateway.Caller, cluster, principal gateway.ID) error {
	return s.changed(ctx, cluster, func(tx persistence.Tx) error {
		before, err := permissionOf(ctx, tx, cluster, principal)
		if err != nil {
			return err
		}
		if before == nil {
			return noPermission(principal)
		}
		if err := tx.DeletePermission(ctx, cluster, principal); err != nil {
			return err
		}
		return s.audit(ctx, tx, caller, change{action: "permission.delete", kind: "permission", id: principal, cluster: cluster,
			before: auditPermission{before.Role, before.AllowedTypes}})
	})
}

func permissionOf(ctx context.Context, r persistence.Reader, cluster, principal gateway.ID) (*gateway.Permission, error) {
	all, err := r.Permissions(ctx, cluster)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(p gateway.Permission) bool { return p.PrincipalID == principal })
	if i < 0 {
		return nil, nil
	}
	return &all[i], nil
}
