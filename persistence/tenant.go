package persistence

import (
	"context"

	"comporta/service/gateway"
)

const (
	policyColumns    = "tenant_id, resource_restricted, personal_restricted"
	installerColumns = "principal_id, gateway_type, created_at"
)

// Policy finds the tenant's policy; CodeNotFound before the first PutPolicy.
func (r *reader) Policy(ctx context.Context) (gateway.TenantPolicy, error) {
	return one(ctx, r, from(policyColumns, "policy"), func(from row, p *gateway.TenantPolicy) error {
		return from.Scan(&p.TenantID, &p.ResourceRestricted, &p.PersonalRestricted)
	}, "tenant policy", "")
}

func (t *tx) PutPolicy(ctx context.Context, p gateway.TenantPolicy) error {
	return t.insert(ctx, "policy", "one, "+policyColumns,
		"ON CONFLICT (one) DO UPDATE SET tenant_id = excluded.tenant_id, resource_restricted = excluded.resource_restricted, personal_restricted = excluded.personal_restricted",
		[]any{1, p.TenantID, p.ResourceRestricted, p.PersonalRestricted})
}

func (r *reader) Installers(ctx context.Context) ([]gateway.Installer, error) {
	s := from(installerColumns, "installers").order("created_at, principal_id, gateway_type", Page{})
	return list(ctx, r, s, func(from row, i *gateway.Installer) error {
		return from.Scan(&i.PrincipalID, &i.Type, timeInto{&i.CreatedAt})
	})
}

// PutInstaller stores an installer; one that is there already keeps its time.
func (t *tx) PutInstaller(ctx context.Context, i gateway.Installer) error {
	return t.insert(ctx, "installers", installerColumns, "ON CONFLICT (principal_id, gateway_type) DO NOTHING",
		[]any{i.PrincipalID, i.Type, i.CreatedAt})
}

func (t *tx) DeleteInstaller(ctx context.Context, principal gateway.ID, kind gateway.GatewayType) error {
	_, err := t.exec(ctx, "DELETE FROM installers WHERE principal_id = ? AND gateway_type = ?", principal, kind)
	return err
}
