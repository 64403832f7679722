package service

import (
	"context"
	"slices"

	"comporta/persistence"
	"comporta/service/gateway"
)

// NewDataSourceUser names a principal by id or by e-mail.
type NewDataSourceUser struct {
	PrincipalID gateway.ID
	Email       string
	Role        gateway.DataSourceRole
	Right       gateway.AccessRight
}

// PutUser gives a principal a role on a data source, in place of any it had.
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
		after := gateway.DataSourceUser{DataSourceID: id, PrincipalID: p.ID, Role: n.Role, Right: n.Right, CreatedAt: tx.Now()}
		return s.putUser(ctx, tx, caller, cluster, before, after)
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
			return gateway.Errorf(gateway.CodeNotFound, "This principal has no role on the data source.").About(principal)
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
			if err != nil {
				return err
			}
			principal = p.ID
		}
		if _, err := tx.DataSource(ctx, cluster, id); err != nil {
			return err
		}
		if err := tx.DeleteDataSourceUser(ctx, id, principal); err != nil {
			return err
		}
		return s.audit(ctx, tx, caller, change{action: "datasource.user.delete", kind: "datasource", id: id, cluster: cluster, before: auditDataSourceUser{PrincipalID: principal}})
	})
}
