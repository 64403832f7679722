package service

import (
	"context"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"
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
	hash, err := hashSecret(t.Random, secret)
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
		return t.audit(ctx, tx, caller, change{action: "installer.remove", kind: "installer", id: id, before: kind})
	}
	if _, err := existingPrincipal(ctx, tx, id); err != nil {
		return err
	}
	if err := tx.PutInstaller(ctx, gateway.Installer{PrincipalID: id, Type: kind, CreatedAt: tx.Now()}); err != nil {
		return err
	}
	return t.audit(ctx, tx, caller, change{action: "installer.add", kind: "installer", id: id, after: kind})
}

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
