package persistence

import (
	"context"
	"database/sql"
	"errors"

	"comporta/service/gateway"
)

const (
	dataSourceFields  = "name, kind, connection_details, annotation, single_sign_on, credential"
	dataSourceColumns = "id, created_at, cluster_id, " + dataSourceFields
	dataSourceStored  = "folded, " + dataSourceFields
	userColumns       = "u.data_source_id, u.principal_id, u.created_at, u.role, u.access_right"
	userTables        = "data_source_users u JOIN data_sources d ON d.id = u.data_source_id"
)

func dataSourceValues(d gateway.DataSource) []any {
	return []any{fold(d.Name), d.Name, d.Type, d.ConnectionDetails, d.Annotation, d.SingleSignOn, asJSON{d.Credential}}
}

func scanDataSource(from row, d *gateway.DataSource) error {
	return from.Scan(&d.ID, timeInto{&d.CreatedAt}, &d.ClusterID, &d.Name, &d.Type, &d.ConnectionDetails, &d.Annotation, &d.SingleSignOn,
		jsonInto{&d.Credential})
}

func scanDataSourceUser(from row, u *gateway.DataSourceUser) error {
	return from.Scan(&u.DataSourceID, &u.PrincipalID, timeInto{&u.CreatedAt}, &u.Role, &u.Right)
}

func (r *reader) DataSource(ctx context.Context, cluster, id gateway.ID) (gateway.DataSource, error) {
	s := from(dataSourceColumns, "data_sources").where("id = ?", id).where("cluster_id = ?", cluster)
	return one(ctx, r, s, scanDataSource, "data source", id)
}

func (r *reader) DataSourceCluster(ctx context.Context, id gateway.ID) (gateway.ID, error) {
	s := from("cluster_id", "data_sources").where("id = ?", id)
	return one(ctx, r, s, func(from row, cluster *gateway.ID) error { return from.Scan(cluster) }, "data source", id)
}

func (r *reader) DataSources(ctx context.Context, page Page, clusters ...gateway.ID) ([]gateway.DataSource, error) {
	s := from(dataSourceColumns, "data_sources")
	whereClusters(s, clusters)
	return list(ctx, r, s.order("created_at, id", page), scanDataSource)
}

func whereClusters(s *selection, clusters []gateway.ID) {
	switch len(clusters) {
	case 0:
	case 1:
		// Equality lets the index give the order as well.
		s.where("cluster_id = ?", clusters[0])
	default:
		s.where("cluster_id IN (SELECT value FROM each(?))", idList(clusters))
	}
}

func (r *reader) UserDataSources(ctx context.Context, page Page, cluster, principal gateway.ID) ([]gateway.DataSource, error) {
	s := from(dataSourceColumns, "data_sources").where("cluster_id = ?", cluster)
	s.where("id IN (SELECT data_source_id FROM data_source_users WHERE principal_id = ?)", principal)
	return list(ctx, r, s.order("created_at, id", page), scanDataSource)
}

func (r *reader) DataSourceIDs(ctx context.Context, principal gateway.ID, clusters ...gateway.ID) ([]DataSourceID, error) {
	own := "EXISTS (SELECT 1 FROM data_source_users u WHERE u.data_source_id = data_sources.id AND u.principal_id = ?)"
	s := from("id, cluster_id, "+own, "data_sources")
	s.args = append(s.args, principal)
	whereClusters(s, clusters)
	return list(ctx, r, s.order("created_at, id", Page{}), func(from row, d *DataSourceID) error {
		return from.Scan(&d.ID, &d.ClusterID, &d.Own)
	})
}

func (r *reader) OwnDataSources(ctx context.Context, principal gateway.ID, after After, limit int) ([]gateway.DataSource, error) {
	s := from(dataSourceColumns, "data_sources").where("(id IN (SELECT data_source_id FROM data_source_users WHERE principal_id = ?) OR "+
		"cluster_id IN (SELECT cluster_id FROM permissions WHERE principal_id = ? AND role = ?))", principal, principal, gateway.ClusterAdmin)
	s.after("created_at", after)
	return list(ctx, r, s.order("created_at, id", Page{Limit: limit}), scanDataSource)
}

func (r *reader) DataSourceUsers(ctx context.Context, dataSources ...gateway.ID) ([]gateway.DataSourceUser, error) {
	s := from(userColumns, "data_source_users u").where("u.data_source_id IN (SELECT value FROM each(?))", idList(dataSources))
	return list(ctx, r, s.order("u.created_at, u.data_source_id, u.principal_id", Page{}), scanDataSourceUser)
}

func (t *tx) CreateDataSource(ctx context.Context, d gateway.DataSource) error {
	values := append([]any{d.ID, d.CreatedAt, d.ClusterID}, dataSourceValues(d)...)
	if err := t.insert(ctx, "data_sources", "id, created_at, cluster_id, "+dataSourceStored, "", values); err != nil {
		return t.dataSourceName(err)
	}
	return t.TouchCluster(ctx, d.ClusterID)
}

// UpdateDataSource stores all but the data source's cluster and time of creation, which never change.
func (t *tx) UpdateDataSource(ctx context.Context, d gateway.DataSource) error {
	err := t.change(ctx, "data source", d.ID,
		"UPDATE data_sources SET ("+dataSourceStored+") = "+marks(dataSourceStored)+" WHERE id = ? AND cluster_id = ?",
		append(dataSourceValues(d), d.ID, d.ClusterID)...)
	if err != nil {
		return t.dataSourceName(err)
	}
	return t.TouchCluster(ctx, d.ClusterID)
}

func (t *tx) dataSourceName(err error) error {
	return t.taken(err, gateway.CodeDuplicateDataSourceName, "Another data source of this cluster has this name already.")
}

func (t *tx) DeleteDataSource(ctx context.Context, cluster, id gateway.ID) error {
	if err := t.change(ctx, "data source", id, "DELETE FROM data_sources WHERE id = ? AND cluster_id = ?", id, cluster); err != nil {
		return err
	}
	return t.TouchCluster(ctx, cluster)
}

func (t *tx) PutDataSourceUser(ctx context.Context, u gateway.DataSourceUser) error {
	err := t.insert(ctx, "data_source_users", "data_source_id, principal_id, created_at, role, access_right",
		"ON CONFLICT (data_source_id, principal_id) DO UPDATE SET created_at = excluded.created_at, role = excluded.role, access_right = excluded.access_right",
		[]any{u.DataSourceID, u.PrincipalID, u.CreatedAt, u.Role, u.Right})
	if err != nil {
		return err
	}
	return t.touchClusterOf(ctx, u.DataSourceID)
}

func (t *tx) DeleteDataSourceUser(ctx context.Context, dataSource, principal gateway.ID) error {
	err := t.change(ctx, "data source user", principal, "DELETE FROM data_source_users WHERE data_source_id = ? AND principal_id = ?", dataSource, principal)
	if err != nil {
		return err
	}
	return t.touchClusterOf(ctx, dataSource)
}

func (t *tx) touchClusterOf(ctx context.Context, dataSource gateway.ID) error {
	var cluster gateway.ID
	err := t.first(ctx, "SELECT cluster_id FROM data_sources WHERE id = ?", []any{dataSource}, func(from row) error { return from.Scan(&cluster) })
	if errors.Is(err, sql.ErrNoRows) {
		return missing("data source", dataSource)
	}
	if err != nil {
		return err
	}
	return t.TouchCluster(ctx, cluster)
}
