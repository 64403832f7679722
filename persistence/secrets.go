package persistence

import (
	"context"
	"time"

	"comporta/service/gateway"
)

const (
	secretColumns = "id, created_at, principal_id, label, hash, expires_at"
	keyColumns    = "id, created_at, public_key, expires_at"
)

func (r *reader) Secrets(ctx context.Context, principal gateway.ID) ([]gateway.Secret, error) {
	s := from(secretColumns, "secrets").where("principal_id = ?", principal).order("created_at, id", Page{})
	return list(ctx, r, s, func(from row, v *gateway.Secret) error {
		return from.Scan(&v.ID, timeInto{&v.CreatedAt}, &v.PrincipalID, &v.Label, &v.Hash, timeInto{&v.ExpiresAt})
	})
}

// PutSecret creates or replaces a secret of a principal; an id that another principal's secret has is CodeConflict.
func (t *tx) PutSecret(ctx context.Context, s gateway.Secret) error {
	n, err := t.exec(ctx, "UPDATE secrets SET label = ?, hash = ?, created_at = ?, expires_at = ? WHERE id = ? AND principal_id = ?",
		s.Label, s.Hash, s.CreatedAt, s.ExpiresAt, s.ID, s.PrincipalID)
	if err != nil || n > 0 {
		return err
	}
	return t.insert(ctx, "secrets", secretColumns, "", []any{s.ID, s.CreatedAt, s.PrincipalID, s.Label, s.Hash, s.ExpiresAt})
}

func (t *tx) DeleteSecret(ctx context.Context, principal, secret gateway.ID) error {
	return t.change(ctx, "secret", secret, "DELETE FROM secrets WHERE id = ? AND principal_id = ?", secret, principal)
}

func (r *reader) SigningKeys(ctx context.Context, at time.Time) ([]gateway.SigningKey, error) {
	s := from(keyColumns, "signing_keys").where("expires_at > ?", at).order("created_at, id", Page{})
	return list(ctx, r, s, func(from row, k *gateway.SigningKey) error {
		return from.Scan(&k.ID, timeInto{&k.CreatedAt}, bytesInto{&k.PublicKey}, timeInto{&k.ExpiresAt})
	})
}

// PutSigningKey creates a key or moves its expiry; the key itself never changes under its id.
func (t *tx) PutSigningKey(ctx context.Context, k gateway.SigningKey) error {
	err := t.insert(ctx, "signing_keys", keyColumns, "ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at",
		[]any{k.ID, k.CreatedAt, k.PublicKey, k.ExpiresAt})
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, "DELETE FROM signing_keys WHERE expires_at < ?", t.now)
	return err
}
