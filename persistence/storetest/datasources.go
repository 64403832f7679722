package storetest

import (
	"context"
	"strings"

	"comporta/persistence"
	"comporta/service/gateway"
)

func (s *suite) getDataSource(cluster, id gateway.ID) (gateway.DataSource, error) {
	return find(s, func(ctx context.Context, r persistence.Reader) (gateway.DataSource, error) {
		return r.DataSource(ctx, cluster, id)
	})
}

func dataSources(s *suite) {
	c, other := s.cluster(), s.cluster()
	d := s.dataSource(c.ID)
	s.full(d)
	s.full(d.Credential)
	got, err := s.getDataSource(c.ID, d.ID)
	s.ok(err)
	s.same(got, d)
	_, err = s.getDataSource(other.ID, d.ID)
	s.code(err, gateway.CodeNotFound)
	place := func(id gateway.ID) (gateway.ID, error) {
		return find(s, func(ctx context.Context, r persistence.Reader) (gateway.ID, error) {
			return r.DataSourceCluster(ctx, id)
		})
	}
	cluster, err := place(d.ID)
	s.ok(err)
	s.same(cluster, c.ID)
	_, err = place(newID())
	s.code(err, gateway.CodeNotFound)

	changed := s.newDataSource(c.ID)
	changed.ID, changed.CreatedAt, changed.Type, changed.Credential = d.ID, d.CreatedAt, gateway.TypeWeb, gateway.StoredCredential{Type: "Anonymous", Version: 2}
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.UpdateDataSource(ctx, changed) })
	got, err = s.getDataSource(c.ID, d.ID)
	s.ok(err)
	s.same(got, changed)
	elsewhere := changed
	elsewhere.ClusterID = other.ID
	s.code(s.try(func(ctx context.Context, tx persistence.Tx) error { return tx.UpdateDataSource(ctx, elsewhere) }), gateway.CodeNotFound)
	s.code(s.try(func(ctx context.Context, tx persistence.Tx) error { return tx.DeleteDataSource(ctx, other.ID, d.ID) }), gateway.CodeNotFound)

	twin := s.newDataSource(c.ID)
	twin.Name = strings.ToUpper(changed.Name)
	s.code(s.try(func(ctx context.Context, tx persistence.Tx) error { return tx.CreateDataSource(ctx, twin) }), gateway.CodeDuplicateDataSourceName)
	second := s.dataSource(c.ID)
	renamed := second
	renamed.Name = twin.Name
	s.code(s.try(func(ctx context.Context, tx persistence.Tx) error { return tx.UpdateDataSource(ctx, renamed) }), gateway.CodeDuplicateDataSourceName)
	twin.ClusterID = other.ID
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.CreateDataSource(ctx, twin) })
	dataSourceLists(s, changed, twin, second)
}

func dataSourceLists(s *suite, first, elsewhere, second gateway.DataSource) {
	list := func(page persistence.Page, clusters ...gateway.ID) []gateway.ID {
		s.Helper()
		return ids(read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.DataSource, error) {
			return r.DataSources(ctx, page, clusters...)
		}), func(d gateway.DataSource) gateway.ID { return d.ID })
	}
	all := []gateway.ID{first.ID, elsewhere.ID, second.ID}
	s.same(list(persistence.Page{}), all)
	s.same(list(persistence.Page{Skip: 1, Limit: 1}), all[1:2])
	s.same(list(persistence.Page{}, first.ClusterID), []gateway.ID{first.ID, second.ID})
	s.same(list(persistence.Page{Skip: 1}, first.ClusterID), []gateway.ID{second.ID})
	s.same(list(persistence.Page{}, elsewhere.ClusterID, first.ClusterID), all)
	s.same(list(persistence.Page{}, newID()), []gateway.ID{})
	dataSourcesOfAUser(s, first, elsewhere, second)
	s.write(func(ctx context.Context, tx persistence.Tx) error {
		return tx.DeleteDataSource(ctx, first.ClusterID, first.ID)
	})
	s.same(list(persistence.Page{}, first.ClusterID), []gateway.ID{second.ID})
}

// ownDataSources: a role on the data source or Admin on its cluster shows it, once; another role on the cluster does not.
func dataSourcesOfAUser(s *suite, first, elsewhere, second gateway.DataSource) {
	me := s.principal()
	for _, d := range []gateway.DataSource{elsewhere, second} {
		s.write(func(ctx context.Context, tx persistence.Tx) error {
			return tx.PutDataSourceUser(ctx, gateway.DataSourceUser{DataSourceID: d.ID, PrincipalID: me.ID, Role: gateway.DataSourceReader, Right: gateway.RightRead, CreatedAt: at(s.next())})
		})
	}
	own := func(page persistence.Page, cluster, who gateway.ID) []gateway.ID {
		s.Helper()
		return ids(read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.DataSource, error) {
			return r.UserDataSources(ctx, page, cluster, who)
		}), func(d gateway.DataSource) gateway.ID { return d.ID })
	}
	s.same(own(persistence.Page{}, first.ClusterID, me.ID), []gateway.ID{second.ID})
	s.same(own(persistence.Page{Skip: 1}, first.ClusterID, me.ID), []gateway.ID{})
	s.same(own(persistence.Page{}, first.ClusterID, newID()), []gateway.ID{})
	named := func(clusters ...gateway.ID) []persistence.DataSourceID {
		s.Helper()
		return read(s, func(ctx context.Context, r persistence.Reader) ([]persistence.DataSourceID, error) {
			return r.DataSourceIDs(ctx, me.ID, clusters...)
		})
	}
	one, two, three := persistence.DataSourceID{ID: first.ID, ClusterID: first.ClusterID},
		persistence.DataSourceID{ID: elsewhere.ID, ClusterID: elsewhere.ClusterID, Own: true},
		persistence.DataSourceID{ID: second.ID, ClusterID: second.ClusterID, Own: true}
	s.same(named(first.ClusterID), []persistence.DataSourceID{one, three})
	s.same(named(elsewhere.ClusterID, first.ClusterID), []persistence.DataSourceID{one, two, three})
	s.same(named(newID()), []persistence.DataSourceID{})
}

func ownDataSources(s *suite) {
	mine, visited, foreign := s.cluster(), s.cluster(), s.cluster()
	me, other := s.principal(), s.principal()
	first, second, third, hidden := s.dataSource(mine.ID), s.dataSource(visited.ID), s.dataSource(mine.ID), s.dataSource(foreign.ID)
	s.write(func(ctx context.Context, tx persistence.Tx) error {
		return tx.PutPermission(ctx, gateway.Permission{ClusterID: mine.ID, PrincipalID: me.ID, Role: gateway.ClusterAdmin, CreatedAt: at(s.next())})
	})
	s.user(second.ID, me.ID)
	s.user(third.ID, me.ID)
	s.user(hidden.ID, other.ID)
	s.permission(foreign.ID, me.ID)
	own := func(who gateway.ID, after persistence.After, limit int) []gateway.ID {
		s.Helper()
		return ids(read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.DataSource, error) {
			return r.OwnDataSources(ctx, who, after, limit)
		}), func(d gateway.DataSource) gateway.ID { return d.ID })
	}
	s.same(own(me.ID, persistence.After{}, 10), []gateway.ID{first.ID, second.ID, third.ID})
	s.same(own(me.ID, persistence.After{}, 2), []gateway.ID{first.ID, second.ID})
	s.same(own(me.ID, persistence.After{At: second.CreatedAt, ID: second.ID}, 2), []gateway.ID{third.ID})
	s.same(own(other.ID, persistence.After{}, 10), []gateway.ID{hidden.ID})
	s.same(own(newID(), persistence.After{}, 10), []gateway.ID{})
}

func dataSourceUsers(s *suite) {
	c, p, q := s.cluster(), s.principal(), s.principal()
	d, e := s.dataSource(c.ID), s.dataSource(c.ID)
	list := func(sources ...gateway.ID) []gateway.DataSourceUser {
		s.Helper()
		return read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.DataSourceUser, error) {
			return r.DataSourceUsers(ctx, sources...)
		})
	}
	s.same(list(), []gateway.DataSourceUser{})
	s.same(list(d.ID), []gateway.DataSourceUser{})
	u, v, w := s.user(d.ID, p.ID), s.user(d.ID, q.ID), s.user(e.ID, p.ID)
	s.full(u)
	s.same(list(d.ID), []gateway.DataSourceUser{u, v})
	s.same(list(e.ID, d.ID), []gateway.DataSourceUser{u, v, w})
	u.Role, u.Right = gateway.DataSourceOwner, gateway.RightNone
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.PutDataSourceUser(ctx, u) })
	s.same(list(d.ID), []gateway.DataSourceUser{u, v})
	before := s.revision(c.ID)
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.DeleteDataSourceUser(ctx, d.ID, p.ID) })
	s.same(list(d.ID), []gateway.DataSourceUser{v})
	if s.revision(c.ID) <= before {
		s.Fatal("taking a user away does not raise the revision")
	}
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.DeleteDataSource(ctx, c.ID, d.ID) })
	s.same(list(d.ID, e.ID), []gateway.DataSourceUser{w})
}
