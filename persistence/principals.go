package persistence

import (
	"context"
	"time"

	"comporta/service/gateway"
)

const principalColumns = "id, kind, name, email, tenant_admin, disabled, created_at"

func readPrincipal(row scanner) (p gateway.Principal, err error) {
	var created int64
	err = row.Scan(&p.ID, &p.Kind, &p.Name, &p.Email, &p.TenantAdmin, &p.Disabled, &created)
	p.CreatedAt = moment(created)
	return p, err
}

// Principal finds one principal.
func (c *conn) Principal(ctx context.Context, id gateway.ID) (gateway.Principal, error) {
	return one(ctx, c, "principal", id, readPrincipal, "SELECT "+principalColumns+" FROM principals WHERE id = ?", id)
}

// PrincipalByEmail finds a principal by its folded e-mail.
func (c *conn) PrincipalByEmail(ctx context.Context, email string) (gateway.Principal, error) {
	return one(ctx, c, "principal", "", readPrincipal, "SELECT "+principalColumns+" FROM principals WHERE folded_email = ?", fold(email))
}

// Principals lists principals, oldest first.
func (c *conn) Principals(ctx context.Context, page Page) ([]gateway.Principal, error) {
	return many(ctx, c, readPrincipal, "SELECT "+principalColumns+" FROM principals ORDER BY created_at, id LIMIT ? OFFSET ?", limit(page.Limit), page.Skip)
}

// foldedEmail is NULL for none, so that the unique index lets several have none.
func foldedEmail(email string) any {
	if email == "" {
		return nil
	}
	return fold(email)
}

// CreatePrincipal stores a new principal.
func (c *conn) CreatePrincipal(ctx context.Context, p gateway.Principal) error {
	change, err := c.nextChange(ctx, principalChanges)
	if err != nil {
		return err
	}
	_, err = c.exec(ctx, `INSERT INTO principals (id, kind, name, email, folded_email, tenant_admin, disabled, created_at, change) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		p.ID, p.Kind, p.Name, p.Email, foldedEmail(p.Email), p.TenantAdmin, p.Disabled, micros(p.CreatedAt), change)
	return c.principalTaken(err)
}

func (c *conn) principalTaken(err error) error {
	if c.dialect.unique(err) {
		return gateway.Wrap(gateway.CodeDuplicatePrincipal, err, "There is a principal with that id or e-mail address already.")
	}
	return err
}

// UpdatePrincipal stores a changed principal.
func (c *conn) UpdatePrincipal(ctx context.Context, p gateway.Principal) error {
	change, err := c.nextChange(ctx, principalChanges)
	if err != nil {
		return err
	}
	err = c.must(ctx, "principal", p.ID, `UPDATE principals SET kind = ?, name = ?, email = ?, folded_email = ?, tenant_admin = ?, disabled = ?, change = ? WHERE id = ?`,
		p.Kind, p.Name, p.Email, foldedEmail(p.Email), p.TenantAdmin, p.Disabled, change, p.ID)
	return c.principalTaken(err)
}

// DeletePrincipal removes a principal with its secrets and rights. The clusters in which it had rights change with it.
func (c *conn) DeletePrincipal(ctx context.Context, id gateway.ID) error {
	touched, err := c.Clusters(ctx, ClusterFilter{Principal: id})
	if err != nil {
		return err
	}
	if err := c.must(ctx, "principal", id, "DELETE FROM principals WHERE id = ?", id); err != nil {
		return err
	}
	for _, cluster := range touched {
		if err := c.TouchCluster(ctx, cluster.ID); err != nil {
			return err
		}
	}
	return c.bury(ctx, principalChanges, id)
}

func readSecret(row scanner) (s gateway.Secret, err error) {
	var created, expires int64
	err = row.Scan(&s.ID, &s.PrincipalID, &s.Label, &s.Hash, &created, &expires)
	s.CreatedAt, s.ExpiresAt = moment(created), moment(expires)
	return s, err
}

// Secrets lists a principal's secrets, oldest first.
func (c *conn) Secrets(ctx context.Context, principal gateway.ID) ([]gateway.Secret, error) {
	return many(ctx, c, readSecret, "SELECT id, principal_id, label, hash, created_at, expires_at FROM secrets WHERE principal_id = ? ORDER BY created_at, id", principal)
}

// PutSecret stores a secret's hash.
func (c *conn) PutSecret(ctx context.Context, s gateway.Secret) error {
	_, err := c.exec(ctx, "INSERT INTO secrets (id, principal_id, label, hash, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
		s.ID, s.PrincipalID, s.Label, s.Hash, micros(s.CreatedAt), micros(s.ExpiresAt))
	return err
}

// DeleteSecret removes a secret.
func (c *conn) DeleteSecret(ctx context.Context, principal, secret gateway.ID) error {
	return c.must(ctx, "secret", secret, "DELETE FROM secrets WHERE id = ? AND principal_id = ?", secret, principal)
}

// SigningKeys lists the keys that have not expired.
func (c *conn) SigningKeys(ctx context.Context, at time.Time) ([]gateway.SigningKey, error) {
	read := func(row scanner) (k gateway.SigningKey, err error) {
		var key string
		var created, expires int64
		if err = row.Scan(&k.ID, &key, &created, &expires); err != nil {
			return k, err
		}
		k.CreatedAt, k.ExpiresAt = moment(created), moment(expires)
		k.PublicKey, err = textBytes(key)
		return k, err
	}
	return many(ctx, c, read, "SELECT id, public_key, created_at, expires_at FROM signing_keys WHERE expires_at > ? ORDER BY created_at, id", micros(at))
}

// PutSigningKey creates a key or moves its expiry, and removes expired ones.
func (c *conn) PutSigningKey(ctx context.Context, k gateway.SigningKey) error {
	if _, err := c.exec(ctx, "DELETE FROM signing_keys WHERE expires_at <= ?", micros(c.now)); err != nil {
		return err
	}
	_, err := c.exec(ctx, `INSERT INTO signing_keys (id, public_key, created_at, expires_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at`, k.ID, bytesText(k.PublicKey), micros(k.CreatedAt), micros(k.ExpiresAt))
	return err
}
