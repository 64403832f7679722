package persistence

import (
	"context"

	"comporta/service/gateway"
)

const (
	principalFields  = "kind, name, email, tenant_admin, disabled"
	principalColumns = "id, created_at, " + principalFields
	principalStored  = "folded, change_number, " + principalFields
)

func principalValues(p gateway.Principal, change int64) []any {
	return []any{fold(p.Email), change, p.Kind, p.Name, p.Email, p.TenantAdmin, p.Disabled}
}

func scanPrincipal(from row, p *gateway.Principal) error {
	return from.Scan(&p.ID, timeInto{&p.CreatedAt}, &p.Kind, &p.Name, &p.Email, &p.TenantAdmin, &p.Disabled)
}

func (r *reader) Principal(ctx context.Context, id gateway.ID) (gateway.Principal, error) {
	return one(ctx, r, from(principalColumns, "principals").where("id = ?", id), scanPrincipal, "principal", id)
}

// PrincipalByEmail finds a principal by e-mail; "" finds none, though many may have none.
func (r *reader) PrincipalByEmail(ctx context.Context, email string) (gateway.Principal, error) {
	s := from(principalColumns, "principals").where("folded = ?", fold(email)).where("folded <> ''")
	return one(ctx, r, s, scanPrincipal, "principal", "")
}

func (r *reader) Principals(ctx context.Context, page Page) ([]gateway.Principal, error) {
	return list(ctx, r, from(principalColumns, "principals").order("created_at, id", page), scanPrincipal)
}

func (r *reader) PrincipalChanges(ctx context.Context, since int64) ([]gateway.Principal, int64, error) {
	newest, err := r.newest(ctx, principalChanges)
	if err != nil || newest <= since {
		return []gateway.Principal{}, newest, err
	}
	s := from(principalColumns, "principals").where("change_number > ?", since).order("created_at, id", Page{})
	changed, err := list(ctx, r, s, scanPrincipal)
	if err != nil {
		return nil, 0, err
	}
	deleted, err := r.deletedSince(ctx, principalChanges, since)
	if err != nil {
		return nil, 0, err
	}
	for _, id := range deleted {
		changed = append(changed, gateway.Principal{ID: id, Disabled: true})
	}
	return changed, newest, nil
}

func (t *tx) CreatePrincipal(ctx context.Context, p gateway.Principal) error {
	if err := t.unbury(ctx, principalChanges, p.ID); err != nil {
		return err
	}
	change, err := t.raise(ctx, principalChanges)
	if err != nil {
		return err
	}
	values := append([]any{p.ID, p.CreatedAt}, principalValues(p, change)...)
	return t.principalTaken(t.insert(ctx, "principals", "id, created_at, "+principalStored, "", values))
}

func (t *tx) UpdatePrincipal(ctx context.Context, p gateway.Principal) error {
	change, err := t.raise(ctx, principalChanges)
	if err != nil {
		return err
	}
	return t.principalTaken(t.change(ctx, "principal", p.ID,
		"UPDATE principals SET ("+principalStored+") = "+marks(principalStored)+" WHERE id = ?", append(principalValues(p, change), p.ID)...))
}

func (t *tx) principalTaken(err error) error {
	if gateway.IsCode(err, gateway.CodeConflict) {
		return gateway.Wrap(gateway.CodeDuplicatePrincipal, err, "Another principal has this id or e-mail already.")
	}
	return err
}

// DeletePrincipal removes a principal. What refers to it goes by cascade, which changes the clusters where it had a role.
func (t *tx) DeletePrincipal(ctx context.Context, id gateway.ID) error {
	if err := t.touchClustersOf(ctx, id); err != nil {
		return err
	}
	if err := t.change(ctx, "principal", id, "DELETE FROM principals WHERE id = ?", id); err != nil {
		return err
	}
	return t.bury(ctx, principalChanges, id)
}

func (t *tx) touchClustersOf(ctx context.Context, principal gateway.ID) error {
	revision, err := t.raise(ctx, clusterChanges)
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, "UPDATE clusters SET revision = ? WHERE id IN ("+clustersOfPrincipal+")", revision, principal, principal)
	return err
}
