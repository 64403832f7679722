package service

import (
	"context"

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
		u := gateway.DataSourceUser{DataSourceID: id, PrincipalID: p.ID, Role: n.Role, Right: n.Right, CreatedAt: tx.Now()}
		if err := tx.PutDataSourceUser(ctx, u); err != nil {
			return err
		}
		return s.audit(ctx, tx, caller, change{action: "datasource.user.put", kind: "datasource", id: id, cluster: cluster, after: auditDataSourceUser{p.ID, n.Role, n.Right}})
	})
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
