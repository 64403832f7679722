package persistence

import (
	"context"

	"comporta/service/gateway"
)

func (r *reader) ClusterState(ctx context.Context, id gateway.ID) (gateway.ClusterState, error) {
	var state gateway.ClusterState
	var err error
	if state.Cluster, err = r.Cluster(ctx, id); err != nil {
		return state, err
	}
	if state.Members, err = r.Members(ctx, id); err != nil {
		return state, err
	}
	if state.Permissions, err = r.permissionsByPrincipal(ctx, id); err != nil {
		return state, err
	}
	state.DataSources, err = r.dataSourceStates(ctx, id)
	return state, err
}

func (r *reader) permissionsByPrincipal(ctx context.Context, cluster gateway.ID) (map[gateway.ID]gateway.Permission, error) {
	all, err := r.Permissions(ctx, cluster)
	if err != nil {
		return nil, err
	}
	byPrincipal := make(map[gateway.ID]gateway.Permission, len(all))
	for _, p := range all {
		byPrincipal[p.PrincipalID] = p
	}
	return byPrincipal, nil
}

func (r *reader) dataSourceStates(ctx context.Context, cluster gateway.ID) (map[gateway.ID]*gateway.DataSourceState, error) {
	sources, err := r.DataSources(ctx, Page{}, cluster)
	if err != nil {
		return nil, err
	}
	states := make(map[gateway.ID]*gateway.DataSourceState, len(sources))
	for _, d := range sources {
		states[d.ID] = &gateway.DataSourceState{DataSource: d, Users: map[gateway.ID]gateway.DataSourceUser{}}
	}
	users, err := list(ctx, r, from(userColumns, userTables).where("d.cluster_id = ?", cluster), scanDataSourceUser)
	if err != nil {
		return nil, err
	}
	for _, u := range users {
		states[u.DataSourceID].Users[u.PrincipalID] = u
	}
	return states, nil
}
