package service

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"comporta/persistence"
	"comporta/service/gateway"
)

// Tenant holds what concerns the whole organisation: principals, the install policy and the installers.
type Tenant struct {
	*core
	access *Access
}

// FirstAdmin is the TenantAdmin application of a new database. Secret is "" when the operator chose it himself or when the database
// was not new: nothing prints a secret again.
type FirstAdmin struct {
	ID      gateway.ID
	Secret  string
	Created bool
}

// Start readies the service: on an empty database it makes the tenant and the first TenantAdmin application (with the id and secret
// given, else with new ones), then it makes the key that signs tokens. tenant may be "" to have an id made.
func (t *Tenant) Start(ctx context.Context, tenant, adminID, adminSecret string) (FirstAdmin, error) {
	first, secret, err := t.firstAdmin(adminID, adminSecret)
	if err != nil {
		return FirstAdmin{}, err
	}
	hash, err := t.hashSecret(secret)
	if err != nil {
		return FirstAdmin{}, err
	}
	tenantID, err := t.tenantID(tenant)
	if err != nil {
		return FirstAdmin{}, err
	}
	made := FirstAdmin{ID: first.ID}
	err = t.Store.InTx(ctx, func(tx persistence.Tx) error {
		made.Created, err = t.bootstrap(ctx, tx, tenantID, first, hash)
		return err
	})
	if err != nil {
		return FirstAdmin{}, err
	}
	if made.Created && adminSecret == "" {
		made.Secret = secret
	}
	if err := t.readTenant(ctx); err != nil {
		return FirstAdmin{}, err
	}
	return made, t.access.newSigner(ctx)
}

func (t *Tenant) tenantID(text string) (gateway.ID, error) {
	if text == "" {
		return t.NewID(), nil
	}
	id, ok := gateway.ParseID(text)
	if !ok {
		return "", gateway.Errorf(gateway.CodeInvalid, "The tenant id must be a GUID.")
	}
	return id, nil
}

func (t *Tenant) firstAdmin(adminID, adminSecret string) (gateway.Principal, string, error) {
	id, ok := gateway.ParseID(adminID)
	if adminID == "" {
		id, ok = t.NewID(), true
	}
	if !ok {
		return gateway.Principal{}, "", gateway.Errorf(gateway.CodeInvalid, "COMPORTA_ADMIN_ID must be a GUID.")
	}
	secret := adminSecret
	if secret == "" {
		var err error
		if secret, err = newSecret(t.Random); err != nil {
			return gateway.Principal{}, "", err
		}
	} else if n := utf8.RuneCountInString(secret); n < minSecret || len(secret) > maxSecret {
		return gateway.Principal{}, "", gateway.Errorf(gateway.CodeInvalid, "COMPORTA_ADMIN_SECRET must have between %d and %d characters.", minSecret, maxSecret)
	}
	return gateway.Principal{ID: id, Kind: gateway.App, Name: "First administrator", TenantAdmin: true}, secret, nil
}

// bootstrap makes tenant and administrator if there is no principal yet.
func (t *Tenant) bootstrap(ctx context.Context, tx persistence.Tx, tenant gateway.ID, first gateway.Principal, hash string) (bool, error) {
	some, err := tx.Principals(ctx, persistence.Page{Limit: 1})
	if err != nil || len(some) > 0 {
		return false, err
	}
	if err := tx.PutPolicy(ctx, gateway.TenantPolicy{TenantID: tenant}); err != nil {
		return false, err
	}
	first.CreatedAt = tx.Now()
	if err := tx.CreatePrincipal(ctx, first); err != nil {
		return false, err
	}
	err = tx.PutSecret(ctx, gateway.Secret{ID: t.NewID(), PrincipalID: first.ID, Label: "first start", Hash: hash, CreatedAt: tx.Now()})
	if err != nil {
		return false, err
	}
	caller := &gateway.Caller{ID: first.ID, Name: "first start"}
	return true, t.audit(ctx, tx, caller, change{action: "principal.create", kind: "principal", id: first.ID, after: viewPrincipal(first)})
}

func (t *Tenant) readTenant(ctx context.Context) error {
	policy, err := t.Policy(ctx)
	if err != nil {
		return fmt.Errorf("read the tenant: %w", err)
	}
	t.access.tenant.Store(&policy.TenantID)
	return nil
}

// Policy says who may create clusters and join members.
func (t *Tenant) Policy(ctx context.Context) (gateway.TenantPolicy, error) {
	var p gateway.TenantPolicy
	err := t.Store.View(ctx, func(r persistence.Reader) (err error) {
		p, err = r.Policy(ctx)
		return err
	})
	return p, err
}

// SetPolicy changes what is not nil.
func (t *Tenant) SetPolicy(ctx context.Context, caller *gateway.Caller, resourceRestricted, personalRestricted *bool) (gateway.TenantPolicy, error) {
	var now gateway.TenantPolicy
	err := t.Store.InTx(ctx, func(tx persistence.Tx) error {
		before, err := tx.Policy(ctx)
		if err != nil {
			return err
		}
		now = before
		if resourceRestricted != nil {
			now.ResourceRestricted = *resourceRestricted
		}
		if personalRestricted != nil {
			now.PersonalRestricted = *personalRestricted
		}
		if err := tx.PutPolicy(ctx, now); err != nil {
			return err
		}
		return t.audit(ctx, tx, caller, change{action: "policy.update", kind: "policy", id: now.TenantID, before: before, after: now})
	})
	return now, err
}

// Installers lists the installers of one type, or of all for "".
func (t *Tenant) Installers(ctx context.Context, kind gateway.GatewayType) ([]gateway.Installer, error) {
	var all []gateway.Installer
	err := t.Store.View(ctx, func(r persistence.Reader) (err error) {
		all, err = r.Installers(ctx)
		return err
	})
	return slices.DeleteFunc(all, func(i gateway.Installer) bool { return kind != "" && i.Type != kind }), err
}

// ChangeInstallers adds or removes these principals; repeating it is harmless. An unknown principal is CodePrincipalNotFound.
func (t *Tenant) ChangeInstallers(ctx context.Context, caller *gateway.Caller, principals []gateway.ID, kind gateway.GatewayType, add bool) error {
	return t.Store.InTx(ctx, func(tx persistence.Tx) error {
		for _, id := range principals {
			if err := t.changeInstaller(ctx, tx, caller, id, kind, add); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *Tenant) changeInstaller(ctx context.Context, tx persistence.Tx, caller *gateway.Caller, id gateway.ID, kind gateway.GatewayType, add bool) error {
	if !add {
		err := tx.DeleteInstaller(ctx, id, kind)
		if err != nil {
			return err
		}
		return t.audit(ctx, tx, caller, change{action: "installer.remove", kind: "installer", id: id, before: auditInstaller{kind}})
	}
	if _, err := existingPrincipal(ctx, tx, id); err != nil {
		return err
	}
	if err := tx.PutInstaller(ctx, gateway.Installer{PrincipalID: id, Type: kind, CreatedAt: tx.Now()}); err != nil {
		return err
	}
	return t.audit(ctx, tx, caller, change{action: "installer.add", kind: "installer", id: id, after: auditInstaller{kind}})
}
