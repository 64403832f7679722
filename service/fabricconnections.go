package service

import (
	"context"

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
	var views []DataSourceView
	err := s.Store.View(ctx, func(r persistence.Reader) error {
		own, err := r.OwnDataSources(ctx, caller.ID, after, limit)
		if err != nil {
			return err
		}
		views, err = s.views(ctx, r, own)
		return err
	})
	return views, err
}
