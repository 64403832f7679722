package storetest

import (
	"context"
	"strings"
	"time"

	"comporta/persistence"
	"comporta/service/gateway"
)

func (s *suite) getPrincipal(id gateway.ID) (gateway.Principal, error) {
	return find(s, func(ctx context.Context, r persistence.Reader) (gateway.Principal, error) {
		return r.Principal(ctx, id)
	})
}

func principals(s *suite) {
	p := s.principal()
	s.full(p)
	got, err := s.getPrincipal(p.ID)
	s.ok(err)
	s.same(got, p)
	byEmail := func(email string) (gateway.Principal, error) {
		return find(s, func(ctx context.Context, r persistence.Reader) (gateway.Principal, error) {
			return r.PrincipalByEmail(ctx, email)
		})
	}
	got, err = byEmail(strings.ToUpper(p.Email))
	s.ok(err)
	s.same(got, p)

	app := gateway.Principal{ID: newID(), Kind: gateway.App, Name: "no e-mail"}
	other := gateway.Principal{ID: newID(), Kind: gateway.Group, Name: "none either", CreatedAt: at(0)}
	for _, v := range []gateway.Principal{app, other} {
		s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.CreatePrincipal(ctx, v) })
	}
	_, err = byEmail("")
	s.code(err, gateway.CodeNotFound)

	create := func(v gateway.Principal) error {
		return s.try(func(ctx context.Context, tx persistence.Tx) error { return tx.CreatePrincipal(ctx, v) })
	}
	twin := s.newPrincipal()
	twin.Email = strings.ToUpper(p.Email)
	s.code(create(twin), gateway.CodeDuplicatePrincipal)
	twin = s.newPrincipal()
	twin.ID = p.ID
	s.code(create(twin), gateway.CodeDuplicatePrincipal)
	app.Email = strings.ToLower(p.Email)
	s.code(s.try(func(ctx context.Context, tx persistence.Tx) error { return tx.UpdatePrincipal(ctx, app) }), gateway.CodeDuplicatePrincipal)

	app.Email, app.Name, app.TenantAdmin, app.Disabled = "app@example.org", "now with one", true, true
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.UpdatePrincipal(ctx, app) })
	got, err = byEmail("App@Example.ORG")
	s.ok(err)
	s.same(got, app)
	list := func(page persistence.Page) []gateway.Principal {
		return read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.Principal, error) {
			return r.Principals(ctx, page)
		})
	}
	s.same(list(persistence.Page{}), []gateway.Principal{app, other, p})
	s.same(list(persistence.Page{Skip: 1, Limit: 1}), []gateway.Principal{other})
}

type principalChange struct {
	changed []gateway.Principal
	newest  int64
}

func principalChanges(s *suite) {
	changes := func(since int64) principalChange {
		s.Helper()
		return read(s, func(ctx context.Context, r persistence.Reader) (v principalChange, err error) {
			v.changed, v.newest, err = r.PrincipalChanges(ctx, since)
			return v, err
		})
	}
	s.same(changes(0).changed, []gateway.Principal{})
	p, q := s.principal(), s.principal()
	start := changes(0)
	s.same(start.changed, []gateway.Principal{p, q})
	s.same(changes(start.newest), principalChange{[]gateway.Principal{}, start.newest})
	q.Disabled, q.Name = false, "other"
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.UpdatePrincipal(ctx, q) })
	updated := changes(start.newest)
	s.same(updated.changed, []gateway.Principal{q})
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.DeletePrincipal(ctx, q.ID) })
	deleted := changes(updated.newest)
	s.same(deleted.changed, []gateway.Principal{{ID: q.ID, Disabled: true}})
	if !(start.newest < updated.newest && updated.newest < deleted.newest) {
		s.Fatal("the change number does not grow")
	}
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.CreatePrincipal(ctx, q) })
	s.same(changes(updated.newest).changed, []gateway.Principal{q})
}

func principalCascade(s *suite) {
	c, p, keep := s.cluster(), s.principal(), s.principal()
	d := s.dataSource(c.ID)
	s.permission(c.ID, p.ID)
	kept := s.permission(c.ID, keep.ID)
	s.user(d.ID, p.ID)
	s.write(func(ctx context.Context, tx persistence.Tx) error {
		if err := tx.PutSecret(ctx, gateway.Secret{ID: newID(), PrincipalID: p.ID}); err != nil {
			return err
		}
		return tx.PutInstaller(ctx, gateway.Installer{PrincipalID: p.ID, Type: gateway.Resource})
	})
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.DeletePrincipal(ctx, p.ID) })
	s.ok(s.store.View(s.Context(), func(r persistence.Reader) error {
		ctx := s.Context()
		s.same(first(r.Permissions(ctx, c.ID)), []gateway.Permission{kept})
		s.same(first(r.DataSourceUsers(ctx, d.ID)), []gateway.DataSourceUser{})
		s.same(first(r.Secrets(ctx, p.ID)), []gateway.Secret{})
		s.same(first(r.Installers(ctx)), []gateway.Installer{})
		s.same(second(r.Cluster(ctx, c.ID)), nil)
		return nil
	}))
}

func secrets(s *suite) {
	p, other := s.principal(), s.principal()
	list := func(id gateway.ID) []gateway.Secret {
		s.Helper()
		return read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.Secret, error) { return r.Secrets(ctx, id) })
	}
	s.same(list(p.ID), []gateway.Secret{})
	one := gateway.Secret{ID: newID(), PrincipalID: p.ID, Label: "ône", Hash: "$argon2id$…", CreatedAt: at(2), ExpiresAt: at(3)}
	two := gateway.Secret{ID: newID(), PrincipalID: p.ID, CreatedAt: at(1)}
	s.full(one)
	put := func(v gateway.Secret) error {
		return s.try(func(ctx context.Context, tx persistence.Tx) error { return tx.PutSecret(ctx, v) })
	}
	s.ok(put(one))
	s.ok(put(two))
	s.same(list(p.ID), []gateway.Secret{two, one})
	one.Label, one.ExpiresAt = "again", time.Time{}
	s.ok(put(one))
	s.same(list(p.ID), []gateway.Secret{two, one})
	stolen := one
	stolen.PrincipalID = other.ID
	s.code(put(stolen), gateway.CodeConflict)
	s.code(s.try(func(ctx context.Context, tx persistence.Tx) error { return tx.DeleteSecret(ctx, other.ID, one.ID) }), gateway.CodeNotFound)
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.DeleteSecret(ctx, p.ID, one.ID) })
	s.same(list(p.ID), []gateway.Secret{two})
}

func signingKeys(s *suite) {
	now := time.Now().UTC().Truncate(time.Microsecond)
	old := gateway.SigningKey{ID: "b", PublicKey: []byte{4}, CreatedAt: at(1), ExpiresAt: now.Add(time.Hour)}
	young := gateway.SigningKey{ID: "a", PublicKey: []byte{0, 255}, CreatedAt: at(2), ExpiresAt: now.Add(2 * time.Hour)}
	s.full(young)
	put := func(k gateway.SigningKey) {
		s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.PutSigningKey(ctx, k) })
	}
	list := func(at time.Time) []gateway.SigningKey {
		return read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.SigningKey, error) {
			return r.SigningKeys(ctx, at)
		})
	}
	s.same(list(now), []gateway.SigningKey{})
	put(young)
	put(old)
	s.same(list(now), []gateway.SigningKey{old, young})
	s.same(list(old.ExpiresAt), []gateway.SigningKey{young})
	old.ExpiresAt = now.Add(3 * time.Hour)
	put(old)
	s.same(list(now.Add(150*time.Minute)), []gateway.SigningKey{old})
	old.ExpiresAt = now.Add(-time.Hour)
	put(old)
	s.same(list(now.Add(-24*time.Hour)), []gateway.SigningKey{young})
}
