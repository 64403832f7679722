package service

import (
	"context"
	"slices"

	"comporta/persistence"
	"comporta/service/gateway"
)

// CheckDataSource is Check for a data source that is named without its cluster, as a connection is. It answers the cluster.
func (a *Access) CheckDataSource(ctx context.Context, caller *gateway.Caller, action Action, id gateway.ID) (gateway.ID, error) {
	var cluster gateway.ID
	err := a.Store.View(ctx, func(r persistence.Reader) (err error) {
		cluster, err = r.DataSourceCluster(ctx, id)
		return err
	})
	if gateway.IsCode(err, gateway.CodeNotFound) {
		return "", hiddenError(Target{DataSource: id})
	}
	if err != nil {
		return "", err
	}
	return cluster, a.Check(ctx, caller, action, Target{Cluster: cluster, DataSource: id})
}

// ListOwn returns the data sources of all clusters that the caller has a role on, or on whose cluster he is Admin: at most limit after a
// place, oldest first. The tenant role TenantAdmin shows nothing here.
func (s *DataSources) ListOwn(ctx context.Context, caller *gateway.Caller, after After, limit int) ([]DataSourceView, error) {
	states, ids, err := s.ownClusters(ctx, caller)
	if err != nil || len(ids) == 0 {
		return []DataSourceView{}, err
	}
	own := *caller
	own.TenantAdmin = false
	var views []DataSourceView
	err = s.Store.View(ctx, func(r persistence.Reader) error {
		all, err := r.DataSources(ctx, persistence.Page{}, ids...)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(d gateway.DataSource) bool {
			return len(visibleTo(&own, states[d.ClusterID], []gateway.DataSource{d})) == 0
		})
		views, err = s.views(ctx, r, PageAfter(all, after, limit, func(d *gateway.DataSource) After { return After{At: d.CreatedAt, ID: d.ID} }))
		return err
	})
	return views, err
}

// ownClusters are the clusters where the caller has any role. One that was deleted meanwhile is left out.
func (s *DataSources) ownClusters(ctx context.Context, caller *gateway.Caller) (map[gateway.ID]*gateway.ClusterState, []gateway.ID, error) {
	var clusters []gateway.Cluster
	err := s.Store.View(ctx, func(r persistence.Reader) (err error) {
		clusters, err = r.Clusters(ctx, persistence.ClusterFilter{Principal: caller.ID})
		return err
	})
	states, ids := map[gateway.ID]*gateway.ClusterState{}, []gateway.ID{}
	for _, c := range clusters {
		state, err := s.directory.get(ctx, c.ID)
		if gateway.IsCode(err, gateway.CodeNotFound) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		states[c.ID], ids = state, append(ids, c.ID)
	}
	return states, ids, err
}
