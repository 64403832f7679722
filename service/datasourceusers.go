package service

import (
	"cmp"
	"context"
	"slices"

	"comporta/persistence"
	"comporta/service/gateway"
)

// NewDataSourceUser names a principal by id or by e-mail. A Role or Right that is "" stays as it is; who had none becomes a User with Read.
// The surfaces speak of one and not of the other. RightNone takes the principal's role away.
type NewDataSourceUser struct {
	PrincipalID gateway.ID
	Email       string
	Role        gateway.DataSourceRole
	Right       gateway.AccessRight
}

// over is what becomes of a user.
func (n *NewDataSourceUser) over(u gateway.DataSourceUser) gateway.DataSourceUser {
	u.Role, u.Right = cmp.Or(n.Role, u.Role, gateway.DataSourceReader), cmp.Or(n.Right, u.Right, gateway.RightRead)
	return u
}

// PutUser gives a principal a role on a data source, or changes it.
func (s *DataSources) PutUser(ctx context.Context, caller *gateway.Caller, cluster, id gateway.ID, n NewDataSourceUser) error {
	return s.changed(ctx, cluster, func(tx persistence.Tx) error {
		if _, err := tx.DataSource(ctx, cluster, id); err != nil {
			return err
		}
		p, err := findPrincipal(ctx, tx, n.PrincipalID, n.Email)
		if err != nil {
			return err
		}
		before, err := userOf(ctx, tx, id, p.ID)
		if err != nil {
			return err
		}
		if n.Right == gateway.RightNone {
			return s.deleteUser(ctx, tx, caller, cluster, before)
		}
		after := gateway.DataSourceUser{DataSourceID: id, PrincipalID: p.ID, CreatedAt: tx.Now()}
		if before != nil {
			after = *before
		}
		return s.putUser(ctx, tx, caller, cluster, before, n.over(after))
	})
}

// ChangeUserRole changes the role that a principal has on a data source; its right stays. CodeNotFound when it has none: what was taken
// away meanwhile does not come back.
func (s *DataSources) ChangeUserRole(ctx context.Context, caller *gateway.Caller, cluster, id, principal gateway.ID, role gateway.DataSourceRole) error {
	return s.changed(ctx, cluster, func(tx persistence.Tx) error {
		if _, err := tx.DataSource(ctx, cluster, id); err != nil {
			return err
		}
		before, err := userOf(ctx, tx, id, principal)
		if err != nil {
			return err
		}
		if before == nil {
			return noUser(principal)
		}
		after := *before
		after.Role = role
		return s.putUser(ctx, tx, caller, cluster, before, after)
	})
}

// putUser writes a user; one that was there before keeps its place in lists.
func (s *DataSources) putUser(ctx context.Context, tx persistence.Tx, caller *gateway.Caller, cluster gateway.ID, before *gateway.DataSourceUser, after gateway.DataSourceUser) error {
	var old any
	if before != nil {
		after.CreatedAt = before.CreatedAt
		old = auditDataSourceUser{before.PrincipalID, before.Role, before.Right}
	}
	if err := tx.PutDataSourceUser(ctx, after); err != nil {
		return err
	}
	return s.audit(ctx, tx, caller, change{action: "datasource.user.put", kind: "datasource", id: after.DataSourceID, cluster: cluster, before: old,
		after: auditDataSourceUser{after.PrincipalID, after.Role, after.Right}})
}

// userOf finds a principal's role on a data source, nil when it has none.
func userOf(ctx context.Context, r persistence.Reader, dataSource, principal gateway.ID) (*gateway.DataSourceUser, error) {
	all, err := r.DataSourceUsers(ctx, dataSource)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(u gateway.DataSourceUser) bool { return u.PrincipalID == principal })
	if i < 0 {
		return nil, nil
	}
	return &all[i], nil
}

// findPrincipal finds a principal by id, or by e-mail when there is no id.
func findPrincipal(ctx context.Context, r persistence.Reader, id gateway.ID, email string) (gateway.Principal, error) {
	if id != "" {
		return existingPrincipal(ctx, r, id)
	}
	if email == "" {
		return gateway.Principal{}, gateway.Errorf(gateway.CodeInvalid, "Name the user by identifier or by emailAddress.")
	}
	p, err := r.PrincipalByEmail(ctx, email)
	if gateway.IsCode(err, gateway.CodeNotFound) {
		return p, gateway.Errorf(gateway.CodePrincipalNotFound, "Principal not found: nobody here has the e-mail address %q.", email)
	}
	return p, err
}

// DeleteUser takes a principal's role away; who is a principal's id or e-mail.
func (s *DataSources) DeleteUser(ctx context.Context, caller *gateway.Caller, cluster, id gateway.ID, who string) error {
	return s.changed(ctx, cluster, func(tx persistence.Tx) error {
		principal, ok := gateway.ParseID(who)
		if !ok {
			p, err := findPrincipal(ctx, tx, "", who)
			if gateway.IsCode(err, gateway.CodePrincipalNotFound) {
				return gateway.Errorf(gateway.CodeNotFound, "Nobody of this name has a role on the data source.")
			}
			if err != nil {
				return err
			}
			principal = p.ID
		}
		if _, err := tx.DataSource(ctx, cluster, id); err != nil {
			return err
		}
		before, err := userOf(ctx, tx, id, principal)
		if err != nil {
			return err
		}
		if before == nil {
			return noUser(principal)
		}
		return s.deleteUser(ctx, tx, caller, cluster, before)
	})
}

// deleteUser takes a role away; nil is none.
func (s *DataSources) deleteUser(ctx context.Context, tx persistence.Tx, caller *gateway.Caller, cluster gateway.ID, before *gateway.DataSourceUser) error {
	if before == nil {
		return nil
	}
	if err := tx.DeleteDataSourceUser(ctx, before.DataSourceID, before.PrincipalID); err != nil {
		return err
	}
	return s.audit(ctx, tx, caller, change{action: "datasource.user.delete", kind: "datasource", id: before.DataSourceID, cluster: cluster,
		before: auditDataSourceUser{before.PrincipalID, before.Role, before.Right}})
}

func noUser(principal gateway.ID) *gateway.Error {
	return gateway.Errorf(gateway.CodeNotFound, "This principal has no role on the data source.").About(principal)
}
