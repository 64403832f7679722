package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"comporta/persistence"
	"comporta/service/gateway"
)

func clusterID(c gateway.Cluster) gateway.ID { return c.ID }

func (s *suite) listClusters(f persistence.ClusterFilter) []gateway.ID {
	s.Helper()
	return ids(read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.Cluster, error) { return r.Clusters(ctx, f) }), clusterID)
}

func clusters(s *suite) {
	c := s.newCluster()
	s.full(c)
	s.full(c.Key)
	s.full(c.Limits)
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.CreateCluster(ctx, c) })
	c.Revision = 0
	got, err := s.getCluster(c.ID)
	s.ok(err)
	s.same(got, c)

	created := s.revision(c.ID)
	other := s.newCluster()
	other.ID, other.CreatedAt, other.Revision = c.ID, c.CreatedAt, 0
	other.Limits, other.Mode, other.AllowCloudRefresh, other.Key.Sealed, other.QueueTimeout = gateway.Limits{}, gateway.Failover, false, []byte("new"), 0
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.UpdateCluster(ctx, other) })
	got, err = s.getCluster(c.ID)
	s.ok(err)
	s.same(got, other)
	if s.revision(c.ID) <= created {
		s.Fatal("an update does not raise the revision")
	}

	touched := s.revision(c.ID)
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.TouchCluster(ctx, c.ID) })
	if s.revision(c.ID) <= touched {
		s.Fatal("a touch does not raise the revision")
	}
	again := s.newCluster()
	again.ID = c.ID
	s.code(s.try(func(ctx context.Context, tx persistence.Tx) error { return tx.CreateCluster(ctx, again) }), gateway.CodeConflict)

	zero := gateway.Cluster{ID: newID(), Name: "nothing else"}
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.CreateCluster(ctx, zero) })
	got, err = s.getCluster(zero.ID)
	s.ok(err)
	s.same(got, zero)
}

func clusterNames(s *suite) {
	create := func(name string) (gateway.ID, error) {
		c := s.newCluster()
		c.Name = name
		return c.ID, s.try(func(ctx context.Context, tx persistence.Tx) error { return tx.CreateCluster(ctx, c) })
	}
	for _, names := range [][2]string{{"Sales", "sALES"}, {"ÜBUNG", "übung"}, {"Продажи", "ПРОДАЖИ"}, {"販売", "販売"}, {"o'brien; --", "O'BRIEN; --"}} {
		id, err := create(names[0])
		s.ok(err)
		_, err = create(names[1])
		s.code(err, gateway.CodeDuplicateClusterName)
		found := read(s, func(ctx context.Context, r persistence.Reader) (gateway.Cluster, error) {
			return r.ClusterByName(ctx, names[1])
		})
		s.same(found.ID, id)
	}
	if _, err := create("Sales%"); err != nil {
		s.Fatal("a name like a pattern is taken for one:", err)
	}

	c := s.cluster()
	c.Name = "SALES"
	s.code(s.try(func(ctx context.Context, tx persistence.Tx) error { return tx.UpdateCluster(ctx, c) }), gateway.CodeDuplicateClusterName)
	own := s.cluster()
	own.Name = strings.ToUpper(own.Name)
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.UpdateCluster(ctx, own) })
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.DeleteCluster(ctx, own.ID) })
	if _, err := create(own.Name); err != nil {
		s.Fatal("the name of a deleted cluster stays taken:", err)
	}
}

func clusterLists(s *suite) {
	if list := read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.Cluster, error) {
		return r.Clusters(ctx, persistence.ClusterFilter{})
	}); list == nil || len(list) != 0 {
		s.Fatalf("an empty list is %#v", list)
	}
	var all []gateway.ID
	for i := range 6 {
		c := s.newCluster()
		// Two at a time are as old as each other and stand by id.
		c.CreatedAt = at(100 - i/2)
		s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.CreateCluster(ctx, c) })
		all = append(all, c.ID)
	}
	slices.Sort(all[0:2])
	slices.Sort(all[2:4])
	slices.Sort(all[4:6])
	want := slices.Concat(all[4:6], all[2:4], all[0:2])
	s.same(s.listClusters(persistence.ClusterFilter{}), want)
	s.same(s.listClusters(persistence.ClusterFilter{Page: persistence.Page{Skip: 1, Limit: 3}}), want[1:4])
	s.same(s.listClusters(persistence.ClusterFilter{Page: persistence.Page{Skip: 4}}), want[4:])
	s.same(s.listClusters(persistence.ClusterFilter{Page: persistence.Page{Skip: 9, Limit: 1}}), []gateway.ID{})
	s.same(s.listClusters(persistence.ClusterFilter{After: persistence.After{At: at(98), ID: want[0]}, Page: persistence.Page{Limit: 2}}), want[1:3])

	p := s.principal()
	s.same(s.listClusters(persistence.ClusterFilter{Principal: p.ID}), []gateway.ID{})
	s.permission(want[3], p.ID)
	s.user(s.dataSource(want[1]).ID, p.ID)
	s.user(s.dataSource(want[3]).ID, p.ID)
	s.permission(want[0], s.principal().ID)
	s.same(s.listClusters(persistence.ClusterFilter{Principal: p.ID}), []gateway.ID{want[1], want[3]})
	s.same(s.listClusters(persistence.ClusterFilter{Principal: p.ID, After: persistence.After{At: at(98), ID: want[1]}, Page: persistence.Page{Limit: 5}}), []gateway.ID{want[3]})
}

// clusterPages walks a list by position while rows come and go: each that stays all the time is seen once.
func clusterPages(s *suite) {
	var stay []gateway.ID
	for range 20 {
		stay = append(stay, s.cluster().ID)
	}
	seen := map[gateway.ID]int{}
	var after persistence.After
	for {
		page := read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.Cluster, error) {
			return r.Clusters(ctx, persistence.ClusterFilter{After: after, Page: persistence.Page{Limit: 3}})
		})
		if len(page) == 0 {
			break
		}
		for _, c := range page {
			seen[c.ID]++
		}
		last := page[len(page)-1]
		after = persistence.After{At: last.CreatedAt, ID: last.ID}
		// One that was seen goes and an older one comes: by counting, the next page would skip and repeat.
		early := s.newCluster()
		early.CreatedAt = at(-s.made)
		s.write(func(ctx context.Context, tx persistence.Tx) error {
			if err := tx.CreateCluster(ctx, early); err != nil {
				return err
			}
			return tx.DeleteCluster(ctx, page[0].ID)
		})
	}
	for _, id := range stay {
		if seen[id] != 1 {
			s.Fatalf("a cluster was seen %d times", seen[id])
		}
	}
}

func clusterState(s *suite) {
	c, other, p, q := s.cluster(), s.cluster(), s.principal(), s.principal()
	state := func() gateway.ClusterState {
		v := read(s, func(ctx context.Context, r persistence.Reader) (gateway.ClusterState, error) {
			return r.ClusterState(ctx, c.ID)
		})
		v.Cluster.Revision = c.Revision
		return v
	}
	s.same(state(), gateway.ClusterState{Cluster: c, Members: []gateway.Member{}, Permissions: map[gateway.ID]gateway.Permission{}, DataSources: map[gateway.ID]*gateway.DataSourceState{}})

	m1, m2 := s.member(c.ID), s.member(c.ID)
	s.member(other.ID)
	d1, d2 := s.dataSource(c.ID), s.dataSource(c.ID)
	s.user(s.dataSource(other.ID).ID, p.ID)
	s.permission(other.ID, p.ID)
	perm, u1, u2 := s.permission(c.ID, q.ID), s.user(d1.ID, p.ID), s.user(d1.ID, q.ID)
	s.same(state(), gateway.ClusterState{Cluster: c, Members: []gateway.Member{m1, m2}, Permissions: map[gateway.ID]gateway.Permission{q.ID: perm},
		DataSources: map[gateway.ID]*gateway.DataSourceState{
			d1.ID: {DataSource: d1, Users: map[gateway.ID]gateway.DataSourceUser{p.ID: u1, q.ID: u2}},
			d2.ID: {DataSource: d2, Users: map[gateway.ID]gateway.DataSourceUser{}},
		}})
}

func clusterCascade(s *suite) {
	c, keep, p := s.cluster(), s.cluster(), s.principal()
	m, d := s.member(c.ID), s.dataSource(c.ID)
	s.permission(c.ID, p.ID)
	s.user(d.ID, p.ID)
	kept := s.member(keep.ID)
	e := gateway.Enrolment{TokenHash: []byte("hash"), ClusterID: c.ID, MemberID: m.ID, ExpiresAt: time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)}
	s.write(func(ctx context.Context, tx persistence.Tx) error {
		if err := tx.PutEnrolment(ctx, e); err != nil {
			return err
		}
		return tx.AppendLoadSamples(ctx, []gateway.LoadSample{{MemberID: m.ID, At: at(1)}, {MemberID: kept.ID, At: at(1)}})
	})
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.DeleteCluster(ctx, c.ID) })
	s.ok(s.store.View(s.Context(), func(r persistence.Reader) error {
		ctx := s.Context()
		for what, err := range map[string]error{
			"cluster": second(r.Cluster(ctx, c.ID)), "state": second(r.ClusterState(ctx, c.ID)), "member": second(r.Member(ctx, m.ID)),
			"data source": second(r.DataSource(ctx, c.ID, d.ID)), "enrolment": second(r.Enrolment(ctx, e.TokenHash)),
		} {
			if !gateway.IsCode(err, gateway.CodeNotFound) {
				s.Errorf("the %s outlives the cluster: %v", what, err)
			}
		}
		s.same(first(r.Permissions(ctx, c.ID)), []gateway.Permission{})
		s.same(first(r.DataSourceUsers(ctx, d.ID)), []gateway.DataSourceUser{})
		s.same(first(r.LoadSamples(ctx, m.ID, time.Time{}, 10)), []gateway.LoadSample{})
		s.same(len(first(r.LoadSamples(ctx, kept.ID, time.Time{}, 10))), 1)
		s.same(second(r.Principal(ctx, p.ID)), nil)
		s.same(second(r.Member(ctx, kept.ID)), nil)
		return nil
	}))
}

func first[T any](v T, _ error) T        { return v }
func second[T any](_ T, err error) error { return err }

type revisions struct {
	changed map[gateway.ID]int64
	newest  int64
}

func (s *suite) changes(since int64) revisions {
	s.Helper()
	return read(s, func(ctx context.Context, r persistence.Reader) (v revisions, err error) {
		v.changed, v.newest, err = r.ClusterRevisions(ctx, since)
		return v, err
	})
}

func clusterRevisions(s *suite) {
	start := s.changes(0)
	s.same(start.changed, map[gateway.ID]int64{})
	c, other, p := s.cluster(), s.cluster(), s.principal()
	s.same(s.changes(start.newest).changed, map[gateway.ID]int64{c.ID: s.revision(c.ID), other.ID: s.revision(other.ID)})
	m, d := s.newMember(c.ID), s.newDataSource(c.ID)
	for _, step := range []struct {
		name string
		do   func(ctx context.Context, tx persistence.Tx) error
	}{
		{"UpdateCluster", func(ctx context.Context, tx persistence.Tx) error { return tx.UpdateCluster(ctx, c) }},
		{"TouchCluster", func(ctx context.Context, tx persistence.Tx) error { return tx.TouchCluster(ctx, c.ID) }},
		{"CreateMember", func(ctx context.Context, tx persistence.Tx) error { return tx.CreateMember(ctx, m) }},
		{"UpdateMember", func(ctx context.Context, tx persistence.Tx) error { return tx.UpdateMember(ctx, m) }},
		{"CreateDataSource", func(ctx context.Context, tx persistence.Tx) error { return tx.CreateDataSource(ctx, d) }},
		{"UpdateDataSource", func(ctx context.Context, tx persistence.Tx) error { return tx.UpdateDataSource(ctx, d) }},
		{"PutDataSourceUser", func(ctx context.Context, tx persistence.Tx) error {
			return tx.PutDataSourceUser(ctx, gateway.DataSourceUser{DataSourceID: d.ID, PrincipalID: p.ID})
		}},
		{"PutPermission", func(ctx context.Context, tx persistence.Tx) error {
			return tx.PutPermission(ctx, gateway.Permission{ClusterID: c.ID, PrincipalID: p.ID})
		}},
		{"DeletePermission", func(ctx context.Context, tx persistence.Tx) error { return tx.DeletePermission(ctx, c.ID, p.ID) }},
		{"DeletePrincipal", func(ctx context.Context, tx persistence.Tx) error { return tx.DeletePrincipal(ctx, p.ID) }},
		{"DeleteDataSource", func(ctx context.Context, tx persistence.Tx) error { return tx.DeleteDataSource(ctx, c.ID, d.ID) }},
		{"DeleteMember", func(ctx context.Context, tx persistence.Tx) error { return tx.DeleteMember(ctx, m.ID) }},
	} {
		before, revision := s.changes(0).newest, s.revision(c.ID)
		s.write(step.do)
		after := s.changes(before)
		s.same(slices.Collect(maps.Keys(after.changed)), []gateway.ID{c.ID})
		if after.newest <= before || after.changed[c.ID] <= revision || after.changed[c.ID] != s.revision(c.ID) {
			s.Fatalf("%s: change number %d -> %d, revision %d -> %d", step.name, before, after.newest, revision, after.changed[c.ID])
		}
		s.same(s.changes(after.newest).changed, map[gateway.ID]int64{})
	}
	clusterDeletions(s, c, other)
}

func clusterDeletions(s *suite, c, other gateway.Cluster) {
	before, revision := s.changes(0).newest, s.revision(c.ID)
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.DeleteCluster(ctx, c.ID) })
	s.same(s.changes(before).changed, map[gateway.ID]int64{c.ID: -1})
	s.same(s.changes(0).changed, map[gateway.ID]int64{c.ID: -1, other.ID: s.revision(other.ID)})
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.CreateCluster(ctx, c) })
	if again := s.revision(c.ID); again <= revision {
		s.Fatalf("a cluster that is made again has revision %d after %d", again, revision)
	}
	s.same(s.changes(before).changed, map[gateway.ID]int64{c.ID: s.revision(c.ID)})
	m := s.member(c.ID)
	before = s.changes(0).newest
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.SawMember(ctx, m.ID, "v", "m", at(1)) })
	s.same(s.changes(0).newest, before)
}

// thousandsOfClusters is about lists of ids that are longer than any statement takes placeholders.
func thousandsOfClusters(s *suite) {
	const many = 5001
	p := s.principal()
	all := make([]gateway.ID, 0, many)
	s.write(func(ctx context.Context, tx persistence.Tx) error {
		all = all[:0]
		for i := range many {
			c := gateway.Cluster{ID: newID(), Name: fmt.Sprint("c", i), CreatedAt: at(i)}
			all = append(all, c.ID)
			if err := tx.CreateCluster(ctx, c); err != nil {
				return err
			}
			if err := tx.CreateMember(ctx, gateway.Member{ID: c.ID, ClusterID: c.ID, Name: "m", CreatedAt: at(i)}); err != nil {
				return err
			}
			if err := tx.PutPermission(ctx, gateway.Permission{ClusterID: c.ID, PrincipalID: p.ID, Role: gateway.ClusterAdmin, CreatedAt: at(i)}); err != nil {
				return err
			}
		}
		return nil
	})
	s.same(s.listClusters(persistence.ClusterFilter{}), all)
	s.same(s.listClusters(persistence.ClusterFilter{Principal: p.ID}), all)
	s.same(ids(read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.Member, error) {
		return r.Members(ctx, all...)
	}), func(m gateway.Member) gateway.ID { return m.ID }), all)
	s.same(ids(read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.Permission, error) {
		return r.Permissions(ctx, all...)
	}), func(p gateway.Permission) gateway.ID { return p.ClusterID }), all)
	s.same(len(read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.DataSource, error) {
		return r.DataSources(ctx, persistence.Page{}, all...)
	})), 0)
	s.same(len(s.changes(0).changed), many)
}
