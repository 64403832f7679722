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
	hash, err = hashSecret(t.Random, secret)
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

// UpdatePrincipal changes a principal. Disabling ends its tokens at once. The last enabled TenantAdmin cannot be disabled or demoted.
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
		if err := keepsAdmin(ctx, tx, before, now.TenantAdmin && !now.Disabled); err != nil {
			return err
		}
		if err := tx.UpdatePrincipal(ctx, now); err != nil {
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
	return p, nil
}

// keepsAdmin refuses a change after which nobody could administer the service.
func keepsAdmin(ctx context.Context, r persistence.Reader, before gateway.Principal, staysAdmin bool) error {
	if staysAdmin || !before.TenantAdmin || before.Disabled {
		return nil
	}
	all, err := r.Principals(ctx, persistence.Page{})
	if err != nil {
		return err
	}
	for _, p := range all {
		if p.ID != before.ID && p.TenantAdmin && !p.Disabled {
			return nil
		}
	}
	return gateway.Errorf(gateway.CodeConflict, "This is the last enabled TenantAdmin; make another one first.").About(before.ID)
}

// DeletePrincipal removes a principal with its secrets and roles. Clusters that it created stay.
func (t *Tenant) DeletePrincipal(ctx context.Context, caller *gateway.Caller, id gateway.ID) error {
	var touched []gateway.ID
	err := t.changedPrincipal(ctx, id, func(tx persistence.Tx) error {
		before, err := tx.Principal(ctx, id)
		if err != nil {
			return err
		}
		if err := keepsAdmin(ctx, tx, before, false); err != nil {
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
		if err := tx.DeletePrincipal(ctx, id); err != nil {
			return err
		}
		return t.audit(ctx, tx, caller, change{action: "principal.delete", kind: "principal", id: id, before: viewPrincipal(before)})
	})
	for _, c := range touched {
		t.directory.refresh(context.WithoutCancel(ctx), c)
	}
	return err
}

func (t *Tenant) changedPrincipal(ctx context.Context, id gateway.ID, fn func(tx persistence.Tx) error) error {
	if err := t.Store.InTx(ctx, fn); err != nil {
		return err
	}
	_, err := t.access.readPrincipal(context.WithoutCancel(ctx), id)
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

// RemoveSecret takes a secret away; tokens already issued live out their hour.
func (t *Tenant) RemoveSecret(ctx context.Context, caller *gateway.Caller, principal, secret gateway.ID) error {
	return t.Store.InTx(ctx, func(tx persistence.Tx) error {
		if err := tx.DeleteSecret(ctx, principal, secret); err != nil {
			return err
		}
		return t.audit(ctx, tx, caller, change{action: "secret.remove", kind: "principal", id: principal, before: auditSecret{SecretID: secret}})
	})
}
