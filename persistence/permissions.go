package persistence

import (
	"context"
	"encoding/json"

	"comporta/service/gateway"
)

func readPermission(row scanner) (gateway.Permission, error) {
	var p gateway.Permission
	var types string
	var created int64
	if err := row.Scan(&p.ClusterID, &p.PrincipalID, &p.Role, &types, &created); err != nil {
		return p, err
	}
	p.CreatedAt = moment(created)
	return p, json.Unmarshal([]byte(types), &p.AllowedTypes)
}

// Permissions lists the permissions of these clusters.
func (c *conn) Permissions(ctx context.Context, clusters ...gateway.ID) ([]gateway.Permission, error) {
	return many(ctx, c, readPermission, `SELECT cluster_id, principal_id, role, allowed_types, created_at FROM permissions
		WHERE cluster_id IN `+c.dialect.ids()+` ORDER BY created_at, principal_id`, idsText(clusters))
}

// PutPermission creates or replaces a permission.
func (c *conn) PutPermission(ctx context.Context, p gateway.Permission) error {
	_, err := c.exec(ctx, `INSERT INTO permissions (cluster_id, principal_id, role, allowed_types, created_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (cluster_id, principal_id) DO UPDATE SET role = excluded.role, allowed_types = excluded.allowed_types`,
		p.ClusterID, p.PrincipalID, p.Role, jsonText(p.AllowedTypes), micros(p.CreatedAt))
	if err != nil {
		return err
	}
	return c.TouchCluster(ctx, p.ClusterID)
}

// DeletePermission takes a permission away.
func (c *conn) DeletePermission(ctx context.Context, cluster, principal gateway.ID) error {
	err := c.must(ctx, "permission", principal, "DELETE FROM permissions WHERE cluster_id = ? AND principal_id = ?", cluster, principal)
	if err != nil {
		return err
	}
	return c.TouchCluster(ctx, cluster)
}

// Policy reads the tenant's policy.
func (c *conn) Policy(ctx context.Context) (gateway.TenantPolicy, error) {
	read := func(row scanner) (p gateway.TenantPolicy, err error) {
		err = row.Scan(&p.TenantID, &p.ResourceRestricted, &p.PersonalRestricted)
		return p, err
	}
	return one(ctx, c, "tenant policy", "", read, "SELECT tenant_id, resource_restricted, personal_restricted FROM policy WHERE one = 1")
}

// PutPolicy creates or replaces the tenant's policy.
func (c *conn) PutPolicy(ctx context.Context, p gateway.TenantPolicy) error {
	_, err := c.exec(ctx, `INSERT INTO policy (one, tenant_id, resource_restricted, personal_restricted) VALUES (1, ?, ?, ?) ON CONFLICT (one) DO UPDATE
		SET tenant_id = excluded.tenant_id, resource_restricted = excluded.resource_restricted, personal_restricted = excluded.personal_restricted`,
		p.TenantID, p.ResourceRestricted, p.PersonalRestricted)
	return err
}

// Installers lists the installers.
func (c *conn) Installers(ctx context.Context) ([]gateway.Installer, error) {
	read := func(row scanner) (i gateway.Installer, err error) {
		var created int64
		err = row.Scan(&i.PrincipalID, &i.Type, &created)
		i.CreatedAt = moment(created)
		return i, err
	}
	return many(ctx, c, read, "SELECT principal_id, type, created_at FROM installers ORDER BY created_at, principal_id, type")
}

// PutInstaller adds an installer; one that is there already stays as it is.
func (c *conn) PutInstaller(ctx context.Context, i gateway.Installer) error {
	_, err := c.exec(ctx, "INSERT INTO installers (principal_id, type, created_at) VALUES (?, ?, ?) ON CONFLICT (principal_id, type) DO NOTHING",
		i.PrincipalID, i.Type, micros(i.CreatedAt))
	return err
}

// DeleteInstaller removes an installer, if it is there.
func (c *conn) DeleteInstaller(ctx context.Context, principal gateway.ID, t gateway.GatewayType) error {
	_, err := c.exec(ctx, "DELETE FROM installers WHERE principal_id = ? AND type = ?", principal, t)
	return err
}
