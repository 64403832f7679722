package service

import (
	"context"
	"net/mail"
	"strings"
	"time"

	"comporta/persistence"
	"comporta/service/gateway"
)

// existingPrincipal finds a principal that is about to get a right.
func existingPrincipal(ctx context.Context, r persistence.Reader, id gateway.ID) (gateway.Principal, error) {
	p, err := r.Principal(ctx, id)
	if gateway.IsCode(err, gateway.CodeNotFound) {
		return p, gateway.Errorf(gateway.CodePrincipalNotFound, "Principal not found: %s is not the object id of a user, application or group here.", id).About(id)
	}
	return p, err
}

// NewPrincipal is what a principal is made of. ID may be "" to have one made.
type NewPrincipal struct {
	ID          gateway.ID
	Kind        gateway.PrincipalKind
	Name, Email string
	TenantAdmin bool
}

// CreatePrincipal makes a principal; an application gets a first secret, which is returned this once.
func (t *Tenant) CreatePrincipal(ctx context.Context, caller *gateway.Caller, n NewPrincipal) (gateway.Principal, string, error) {
	name, err := cleanName("displayName", n.Name)
	if err != nil {
		return gateway.Principal{}, "", err
	}
	email, err := cleanEmail(n.Email)
	if err != nil {
		return gateway.Principal{}, "", err
	}
	p := gateway.Principal{ID: n.ID, Kind: n.Kind, Name: name, Email: email, TenantAdmin: n.TenantAdmin}
	if err := noAdminGroup(p); err != nil {
		return gateway.Principal{}, "", err
	}
	if p.ID == "" {
		p.ID = t.NewID()
	}
	var secret, hash string
	if p.Kind == gateway.App {
		if secret, hash, err = t.makeSecret(); err != nil {
			return gateway.Principal{}, "", err
		}
	}
	err = t.Store.InTx(ctx, func(tx persistence.Tx) error {
		p.CreatedAt = tx.Now()
		if err := tx.CreatePrincipal(ctx, p); err != nil {
			return err
		}
		if hash != "" {
			if err := tx.PutSecret(ctx, gateway.Secret{ID: t.NewID(), PrincipalID: p.ID, Label: "first", Hash: hash, CreatedAt: tx.Now()}); err != nil {
				return err
			}
		}
		return t.audit(ctx, tx, caller, change{action: "principal.create", kind: "principal", id: p.ID, after: viewPrincipal(p)})
	})
	return p, secret, err
}

func (t *Tenant) makeSecret() (secret, hash string, err error) {
	if secret, err = newSecret(t.Random); err != nil {
		return "", "", err
	}
	hash, err = t.hashSecret(secret)
	return secret, hash, err
}

func cleanEmail(email string) (string, error) {
	email = strings.TrimSpace(email)
	if email == "" {
		return "", nil
	}
	a, err := mail.ParseAddress(email)
	if err != nil || a.Address != email || len(email) > 254 {
		return "", gateway.Errorf(gateway.CodeInvalid, "emailAddress is not an e-mail address.")
	}
	return email, nil
}

// Principals lists all principals.
func (t *Tenant) Principals(ctx context.Context, page persistence.Page) ([]gateway.Principal, error) {
	var list []gateway.Principal
	err := t.Store.View(ctx, func(r persistence.Reader) (err error) {
		list, err = r.Principals(ctx, page)
		return err
	})
	return list, err
}

// Principal finds one principal.
func (t *Tenant) Principal(ctx context.Context, id gateway.ID) (gateway.Principal, error) {
	var p gateway.Principal
	err := t.Store.View(ctx, func(r persistence.Reader) (err error) {
		p, err = r.Principal(ctx, id)
		return err
	})
	return p, err
}

// PrincipalPatch changes what is not nil.
type PrincipalPatch struct {
	Name, Email           *string
	TenantAdmin, Disabled *bool
}

// UpdatePrincipal changes a principal. Disabling ends its tokens at once. The last TenantAdmin who can log in cannot be disabled or demoted.
func (t *Tenant) UpdatePrincipal(ctx context.Context, caller *gateway.Caller, id gateway.ID, patch PrincipalPatch) (gateway.Principal, error) {
	var now gateway.Principal
	err := t.changedPrincipal(ctx, id, func(tx persistence.Tx) error {
		before, err := tx.Principal(ctx, id)
		if err != nil {
			return err
		}
		if now, err = patched(before, patch); err != nil {
			return err
		}
		if err := t.keepsAdmin(ctx, tx, before, func() error { return tx.UpdatePrincipal(ctx, now) }); err != nil {
			return err
		}
		return t.audit(ctx, tx, caller, change{action: "principal.update", kind: "principal", id: id, before: viewPrincipal(before), after: viewPrincipal(now)})
	})
	return now, err
}

func patched(p gateway.Principal, patch PrincipalPatch) (gateway.Principal, error) {
	var err error
	if patch.Name != nil {
		if p.Name, err = cleanName("displayName", *patch.Name); err != nil {
			return p, err
		}
	}
	if patch.Email != nil {
		if p.Email, err = cleanEmail(*patch.Email); err != nil {
			return p, err
		}
	}
	if patch.TenantAdmin != nil {
		p.TenantAdmin = *patch.TenantAdmin
	}
	if patch.Disabled != nil {
		p.Disabled = *patch.Disabled
	}
	if patch.TenantAdmin != nil {
		return p, noAdminGroup(p)
	}
	return p, nil
}

// noAdminGroup refuses the tenant role for a group: it cannot call, and its members are not known here.
func noAdminGroup(p gateway.Principal) error {
	if p.Kind == gateway.Group && p.TenantAdmin {
		return gateway.Errorf(gateway.CodeConflict, "A group cannot call, so it cannot be a TenantAdmin. Make its members TenantAdmin one by one.").About(p.ID)
	}
	return nil
}

// keepsAdmin makes a change of one principal, and refuses one after which nobody could administer the service.
func (t *Tenant) keepsAdmin(ctx context.Context, tx persistence.Tx, before gateway.Principal, change func() error) error {
	could, err := t.canAdminister(ctx, tx, before)
	if err != nil {
		return err
	}
	if err := change(); err != nil || !could {
		return err
	}
	all, err := tx.Principals(ctx, persistence.Page{})
	if err != nil {
		return err
	}
	for _, p := range all {
		if can, err := t.canAdminister(ctx, tx, p); can || err != nil {
			return err
		}
	}
	return gateway.Errorf(gateway.CodeConflict, "After this nobody could log in as TenantAdmin. Make another enabled application with a secret TenantAdmin first, "+
		"or give this one a second secret.").About(before.ID)
}

// canAdminister says whether a principal is an administrator who can log in: an application by a secret, a user only by an outside issuer.
func (t *Tenant) canAdminister(ctx context.Context, tx persistence.Tx, p gateway.Principal) (bool, error) {
	if !p.TenantAdmin || p.Disabled {
		return false, nil
	}
	if p.Kind != gateway.App {
		return p.Kind == gateway.User && t.Issuers != nil, nil
	}
	secrets, err := tx.Secrets(ctx, p.ID)
	return len(liveSecrets(secrets, tx.Now())) > 0, err
}

// DeletePrincipal removes a principal with its secrets and roles. Clusters that it created stay.
func (t *Tenant) DeletePrincipal(ctx context.Context, caller *gateway.Caller, id gateway.ID) error {
	var touched []gateway.ID
	err := t.changedPrincipal(ctx, id, func(tx persistence.Tx) error {
		before, err := tx.Principal(ctx, id)
		if err != nil {
			return err
		}
		clusters, err := tx.Clusters(ctx, persistence.ClusterFilter{Principal: id})
		if err != nil {
			return err
		}
		touched = touched[:0]
		for _, c := range clusters {
			touched = append(touched, c.ID)
			if err := tx.TouchCluster(ctx, c.ID); err != nil {
				return err
			}
		}
		if err := t.keepsAdmin(ctx, tx, before, func() error { return tx.DeletePrincipal(ctx, id) }); err != nil {
			return err
		}
		return t.audit(ctx, tx, caller, change{action: "principal.delete", kind: "principal", id: id, before: viewPrincipal(before)})
	})
	for _, c := range touched {
		t.directory.refresh(context.WithoutCancel(ctx), c)
	}
	return err
}

// rereadTimeout is how long a change waits for its own reading, whoever asked for it.
const rereadTimeout = 5 * time.Second

func (t *Tenant) changedPrincipal(ctx context.Context, id gateway.ID, fn func(tx persistence.Tx) error) error {
	if err := t.Store.InTx(ctx, fn); err != nil {
		return err
	}
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), rereadTimeout)
	defer cancel()
	_, err := t.access.readPrincipal(reading, id)
	if err != nil {
		t.access.forgetPrincipal(id) // the change is made: nobody may go on with what was before
	}
	if gateway.IsCode(err, gateway.CodeNotFound) {
		return nil
	}
	return err
}

// AddSecret gives a principal one more secret, returned this once. lifetime 0 means it does not expire.
func (t *Tenant) AddSecret(ctx context.Context, caller *gateway.Caller, id gateway.ID, label string, lifetime time.Duration) (gateway.Secret, string, error) {
	if err := checkText("label", label); err != nil {
		return gateway.Secret{}, "", err
	}
	secret, hash, err := t.makeSecret()
	if err != nil {
		return gateway.Secret{}, "", err
	}
	s := gateway.Secret{ID: t.NewID(), PrincipalID: id, Label: label, Hash: hash}
	err = t.Store.InTx(ctx, func(tx persistence.Tx) error {
		p, err := tx.Principal(ctx, id)
		if err != nil {
			return err
		}
		if p.Kind != gateway.App {
			return gateway.Errorf(gateway.CodeInvalid, "Only applications have secrets.").About(id)
		}
		s.CreatedAt = tx.Now()
		if lifetime > 0 {
			s.ExpiresAt = tx.Now().Add(lifetime)
		}
		if err := tx.PutSecret(ctx, s); err != nil {
			return err
		}
		return t.audit(ctx, tx, caller, change{action: "secret.add", kind: "principal", id: id, after: auditSecret{s.ID, s.Label}})
	})
	return s, secret, err
}

// Secrets lists a principal's secrets, without their hashes.
func (t *Tenant) Secrets(ctx context.Context, id gateway.ID) ([]gateway.Secret, error) {
	var list []gateway.Secret
	err := t.Store.View(ctx, func(r persistence.Reader) (err error) {
		if _, err = r.Principal(ctx, id); err == nil {
			list, err = r.Secrets(ctx, id)
		}
		return err
	})
	for i := range list {
		list[i].Hash = ""
	}
	return list, err
}

// RemoveSecret takes a secret away; tokens already issued live out their hour. The last secret of the last TenantAdmin stays.
func (t *Tenant) RemoveSecret(ctx context.Context, caller *gateway.Caller, principal, secret gateway.ID) error {
	return t.Store.InTx(ctx, func(tx persistence.Tx) error {
		p, err := tx.Principal(ctx, principal)
		if err != nil {
			return err
		}
		if err := t.keepsAdmin(ctx, tx, p, func() error { return tx.DeleteSecret(ctx, principal, secret) }); err != nil {
			return err
		}
		return t.audit(ctx, tx, caller, change{action: "secret.remove", kind: "principal", id: principal, before: auditSecret{SecretID: secret}})
	})
}
