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
		return s.putPermission(ctx, tx, caller, before, p)
	})
}

// putPermission writes a permission; one that was there before keeps its place in lists.
func (s *Clusters) putPermission(ctx context.Context, tx persistence.Tx, caller *gateway.Caller, before *gateway.Permission, after gateway.Permission) error {
	var old any
	if before != nil {
		after.CreatedAt = before.CreatedAt
		old = auditPermission{before.Role, before.AllowedTypes}
	}
	if err := tx.PutPermission(ctx, after); err != nil {
		return err
	}
	return s.audit(ctx, tx, caller, change{action: "permission.put", kind: "permission", id: after.PrincipalID, cluster: after.ClusterID,
		before: old, after: auditPermission{after.Role, after.AllowedTypes}})
}

// PutRole gives a principal a role on a cluster. It says nothing of types: a creator's allowed types stay as they are.
func (s *Clusters) PutRole(ctx context.Context, caller *gateway.Caller, cluster, principal gateway.ID, role gateway.ClusterRole) error {
	return s.changed(ctx, cluster, func(tx persistence.Tx) error {
		if _, err := existingPrincipal(ctx, tx, principal); err != nil {
			return err
		}
		before, err := permissionOf(ctx, tx, cluster, principal)
		if err != nil {
			return err
		}
		after := gateway.Permission{ClusterID: cluster, PrincipalID: principal, CreatedAt: tx.Now()}
		if before != nil {
			after = *before
		}
		return s.putRole(ctx, tx, caller, before, after, role)
	})
}

// ChangeRole is PutRole for a principal that has a role. CodeNotFound when it has none: what was taken away meanwhile does not come back.
func (s *Clusters) ChangeRole(ctx context.Context, caller *gateway.Caller, cluster, principal gateway.ID, role gateway.ClusterRole) error {
	return s.changed(ctx, cluster, func(tx persistence.Tx) error {
		before, err := permissionOf(ctx, tx, cluster, principal)
		if err != nil {
			return err
		}
		if before == nil {
			return noPermission(principal)
		}
		return s.putRole(ctx, tx, caller, before, *before, role)
	})
}

// putRole writes after with this role. An Admin has no limit of types.
func (s *Clusters) putRole(ctx context.Context, tx persistence.Tx, caller *gateway.Caller, before *gateway.Permission, after gateway.Permission, role gateway.ClusterRole) error {
	if after.Role = role; role == gateway.ClusterAdmin {
		after.AllowedTypes = nil
	}
	return s.putPermission(ctx, tx, caller, before, after)
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
