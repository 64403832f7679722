package storetest

import (
	"context"
	"time"

	"comporta/persistence"
	"comporta/service/gateway"
)

func permissions(s *suite) {
	c, other, p, q := s.cluster(), s.cluster(), s.principal(), s.principal()
	list := func(clusters ...gateway.ID) []gateway.Permission {
		s.Helper()
		return read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.Permission, error) {
			return r.Permissions(ctx, clusters...)
		})
	}
	s.same(list(c.ID), []gateway.Permission{})
	s.same(list(), []gateway.Permission{})
	later, earlier := s.permission(c.ID, p.ID), s.permission(c.ID, q.ID)
	s.full(later)
	earlier.CreatedAt, earlier.AllowedTypes, earlier.Role = at(0), nil, gateway.ClusterAdmin
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.PutPermission(ctx, earlier) })
	third := s.permission(other.ID, p.ID)
	third.AllowedTypes = []gateway.DataSourceType{}
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.PutPermission(ctx, third) })
	s.same(list(c.ID), []gateway.Permission{earlier, later})
	s.same(list(other.ID, c.ID), []gateway.Permission{earlier, later, third})
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.DeletePermission(ctx, c.ID, p.ID) })
	s.same(list(c.ID, other.ID), []gateway.Permission{earlier, third})
}

func tenant(s *suite) {
	policy := func() (gateway.TenantPolicy, error) {
		return find(s, func(ctx context.Context, r persistence.Reader) (gateway.TenantPolicy, error) { return r.Policy(ctx) })
	}
	_, err := policy()
	s.code(err, gateway.CodeNotFound)
	for _, want := range []gateway.TenantPolicy{
		{TenantID: newID(), ResourceRestricted: true}, {TenantID: newID(), PersonalRestricted: true}, {TenantID: newID()},
	} {
		s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.PutPolicy(ctx, want) })
		got, err := policy()
		s.ok(err)
		s.same(got, want)
	}

	installers := func() []gateway.Installer {
		return read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.Installer, error) { return r.Installers(ctx) })
	}
	s.same(installers(), []gateway.Installer{})
	p := s.principal()
	first := gateway.Installer{PrincipalID: p.ID, Type: gateway.Resource, CreatedAt: at(1)}
	other := gateway.Installer{PrincipalID: p.ID, Type: gateway.Personal, CreatedAt: at(2)}
	s.write(func(ctx context.Context, tx persistence.Tx) error {
		for _, i := range []gateway.Installer{other, first, first} {
			if err := tx.PutInstaller(ctx, i); err != nil {
				return err
			}
		}
		return nil
	})
	s.same(installers(), []gateway.Installer{first, other})
	for range 2 {
		s.write(func(ctx context.Context, tx persistence.Tx) error {
			return tx.DeleteInstaller(ctx, p.ID, gateway.Personal)
		})
	}
	s.same(installers(), []gateway.Installer{first})
}

func enrolments(s *suite) {
	c := s.cluster()
	m, n := s.member(c.ID), s.member(c.ID)
	hour := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	live := gateway.Enrolment{TokenHash: []byte{0, 1, 255}, ClusterID: c.ID, MemberID: m.ID, ExpiresAt: hour}
	other := gateway.Enrolment{TokenHash: []byte{2}, ClusterID: c.ID, MemberID: n.ID, ExpiresAt: hour}
	expired := gateway.Enrolment{TokenHash: []byte{3}, ClusterID: c.ID, MemberID: n.ID, ExpiresAt: at(0).AddDate(-3, 0, 0)}
	s.full(live)
	s.write(func(ctx context.Context, tx persistence.Tx) error {
		for _, e := range []gateway.Enrolment{live, other, expired} {
			if err := tx.PutEnrolment(ctx, e); err != nil {
				return err
			}
		}
		return nil
	})
	get := func(e gateway.Enrolment) (gateway.Enrolment, error) {
		return find(s, func(ctx context.Context, r persistence.Reader) (gateway.Enrolment, error) {
			return r.Enrolment(ctx, e.TokenHash)
		})
	}
	got, err := get(live)
	s.ok(err)
	s.same(got, live)
	_, err = get(expired)
	s.code(err, gateway.CodeNotFound)
	for range 2 {
		s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.DeleteEnrolments(ctx, m.ID) })
	}
	_, err = get(live)
	s.code(err, gateway.CodeNotFound)
	got, err = get(other)
	s.ok(err)
	s.same(got, other)
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.DeleteMember(ctx, n.ID) })
	_, err = get(other)
	s.code(err, gateway.CodeNotFound)
}
