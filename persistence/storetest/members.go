package storetest

import (
	"context"
	"strings"
	"time"

	"comporta/persistence"
	"comporta/service/gateway"
)

func (s *suite) getMember(id gateway.ID) gateway.Member {
	s.Helper()
	return read(s, func(ctx context.Context, r persistence.Reader) (gateway.Member, error) { return r.Member(ctx, id) })
}

func members(s *suite) {
	c, other := s.cluster(), s.cluster()
	m := s.member(c.ID)
	s.full(m)
	s.same(s.getMember(m.ID), m)

	bare := gateway.Member{ID: newID(), ClusterID: c.ID, Name: "bare", State: gateway.MemberEnabled}
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.CreateMember(ctx, bare) })
	s.same(s.getMember(bare.ID), bare)

	changed := s.newMember(c.ID)
	changed.ID, changed.CreatedAt, changed.State, changed.Draining, changed.PublicKey = m.ID, m.CreatedAt, gateway.MemberEnabled, false, []byte("key")
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.UpdateMember(ctx, changed) })
	s.same(s.getMember(m.ID), changed)

	changed.Version, changed.Machine, changed.LastSeen = "9", "box", at(500)
	s.write(func(ctx context.Context, tx persistence.Tx) error {
		return tx.SawMember(ctx, m.ID, "9", "box", at(500))
	})
	s.same(s.getMember(m.ID), changed)
	changed.LastSeen = at(501) // a tunnel that breaks before the machine said anything
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.SawMember(ctx, m.ID, "", "", at(501)) })
	s.same(s.getMember(m.ID), changed)

	twin := s.newMember(c.ID)
	twin.Name = strings.ToUpper(changed.Name)
	s.code(s.try(func(ctx context.Context, tx persistence.Tx) error { return tx.CreateMember(ctx, twin) }), gateway.CodeDuplicateMemberName)
	bare.Name = twin.Name
	s.code(s.try(func(ctx context.Context, tx persistence.Tx) error { return tx.UpdateMember(ctx, bare) }), gateway.CodeDuplicateMemberName)
	twin.ClusterID = other.ID
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.CreateMember(ctx, twin) })
	again := s.newMember(c.ID)
	again.ID = m.ID
	s.code(s.try(func(ctx context.Context, tx persistence.Tx) error { return tx.CreateMember(ctx, again) }), gateway.CodeConflict)

	s.write(func(ctx context.Context, tx persistence.Tx) error {
		return tx.AppendLoadSamples(ctx, []gateway.LoadSample{{MemberID: m.ID, At: at(1)}})
	})
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.DeleteMember(ctx, m.ID) })
	s.same(len(read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.LoadSample, error) {
		return r.LoadSamples(ctx, m.ID, time.Time{}, 10)
	})), 0)
}

func memberOrder(s *suite) {
	c, other := s.cluster(), s.cluster()
	first, second, third := s.member(c.ID), s.member(c.ID), s.member(c.ID)
	elsewhere := s.member(other.ID)
	order := func(clusters ...gateway.ID) []gateway.ID {
		s.Helper()
		return ids(read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.Member, error) {
			return r.Members(ctx, clusters...)
		}), func(m gateway.Member) gateway.ID { return m.ID })
	}
	s.same(order(c.ID), []gateway.ID{first.ID, second.ID, third.ID})
	c.PrimaryID = third.ID
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.UpdateCluster(ctx, c) })
	s.same(order(c.ID), []gateway.ID{third.ID, first.ID, second.ID})
	s.same(order(other.ID, c.ID), []gateway.ID{third.ID, first.ID, second.ID, elsewhere.ID})
	s.same(order(), []gateway.ID{})
	s.same(order(newID()), []gateway.ID{})
}
