package persistence

import (
	"context"
	"encoding/json"

	"comporta/service/gateway"
)

const dataSourceColumns = "d.id, d.cluster_id, d.name, d.type, d.connection_details, d.annotation, d.single_sign_on, d.credential, d.created_at"

func readDataSource(row scanner) (gateway.DataSource, error) {
	var d gateway.DataSource
	var credential string
	var created int64
	err := row.Scan(&d.ID, &d.ClusterID, &d.Name, &d.Type, &d.ConnectionDetails, &d.Annotation, &d.SingleSignOn, &credential, &created)
	if err != nil {
		return d, err
	}
	d.CreatedAt = moment(created)
	return d, json.Unmarshal([]byte(credential), &d.Credential)
}

// DataSource finds one data source of a cluster.
func (c *conn) DataSource(ctx context.Context, cluster, id gateway.ID) (gateway.DataSource, error) {
	return one(ctx, c, "data source", id, readDataSource, "SELECT "+dataSourceColumns+" FROM data_sources d WHERE d.id = ? AND d.cluster_id = ?", id, cluster)
}

// DataSources lists the data sources of these clusters, or of all.
func (c *conn) DataSources(ctx context.Context, page Page, clusters ...gateway.ID) ([]gateway.DataSource, error) {
	query, args := "SELECT "+dataSourceColumns+" FROM data_sources d", []any{}
	if len(clusters) > 0 {
		query += " WHERE d.cluster_id IN " + c.dialect.ids()
		args = append(args, idsText(clusters))
	}
	query += " ORDER BY d.created_at, d.id LIMIT ? OFFSET ?"
	return many(ctx, c, readDataSource, query, append(args, limit(page.Limit), page.Skip)...)
}

// CreateDataSource stores a new data source.
func (c *conn) CreateDataSource(ctx context.Context, d gateway.DataSource) error {
	_, err := c.exec(ctx, `INSERT INTO data_sources (id, cluster_id, name, folded_name, type, connection_details, annotation, single_sign_on, credential, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		d.ID, d.ClusterID, d.Name, fold(d.Name), d.Type, d.ConnectionDetails, d.Annotation, d.SingleSignOn, jsonText(d.Credential), micros(d.CreatedAt))
	if err != nil {
		return c.sourceNameTaken(err)
	}
	return c.TouchCluster(ctx, d.ClusterID)
}

func (c *conn) sourceNameTaken(err error) error {
	if c.dialect.unique(err) {
		return gateway.Wrap(gateway.CodeDuplicateDataSourceName, err, "The cluster already has a data source of that name.")
	}
	return err
}

// UpdateDataSource stores a changed data source.
func (c *conn) UpdateDataSource(ctx context.Context, d gateway.DataSource) error {
	err := c.must(ctx, "data source", d.ID, `UPDATE data_sources SET name = ?, folded_name = ?, connection_details = ?, annotation = ?, single_sign_on = ?, credential = ?
		WHERE id = ? AND cluster_id = ?`,
		d.Name, fold(d.Name), d.ConnectionDetails, d.Annotation, d.SingleSignOn, jsonText(d.Credential), d.ID, d.ClusterID)
	if err != nil {
		return c.sourceNameTaken(err)
	}
	return c.TouchCluster(ctx, d.ClusterID)
}

// DeleteDataSource removes a data source with its users.
func (c *conn) DeleteDataSource(ctx context.Context, cluster, id gateway.ID) error {
	if err := c.must(ctx, "data source", id, "DELETE FROM data_sources WHERE id = ? AND cluster_id = ?", id, cluster); err != nil {
		return err
	}
	return c.TouchCluster(ctx, cluster)
}

func readDataSourceUser(row scanner) (u gateway.DataSourceUser, err error) {
	var created int64
	err = row.Scan(&u.DataSourceID, &u.PrincipalID, &u.Role, &u.Right, &created)
	u.CreatedAt = moment(created)
	return u, err
}

// DataSourceUsers lists the users of these data sources.
func (c *conn) DataSourceUsers(ctx context.Context, dataSources ...gateway.ID) ([]gateway.DataSourceUser, error) {
	return many(ctx, c, readDataSourceUser, `SELECT data_source_id, principal_id, role, access_right, created_at FROM data_source_users
		WHERE data_source_id IN `+c.dialect.ids()+` ORDER BY created_at, data_source_id, principal_id`, idsText(dataSources))
}

// PutDataSourceUser creates or replaces a user.
func (c *conn) PutDataSourceUser(ctx context.Context, u gateway.DataSourceUser) error {
	_, err := c.exec(ctx, `INSERT INTO data_source_users (data_source_id, principal_id, role, access_right, created_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (data_source_id, principal_id) DO UPDATE SET role = excluded.role, access_right = excluded.access_right`,
		u.DataSourceID, u.PrincipalID, u.Role, u.Right, micros(u.CreatedAt))
	if err != nil {
		return err
	}
	return c.touchClusterOf(ctx, u.DataSourceID)
}

// DeleteDataSourceUser takes a user's role away.
func (c *conn) DeleteDataSourceUser(ctx context.Context, dataSource, principal gateway.ID) error {
	err := c.must(ctx, "user of the data source", principal, "DELETE FROM data_source_users WHERE data_source_id = ? AND principal_id = ?", dataSource, principal)
	if err != nil {
		return err
	}
	return c.touchClusterOf(ctx, dataSource)
}

func (c *conn) touchClusterOf(ctx context.Context, dataSource gateway.ID) error {
	change, err := c.nextChange(ctx, clusterChanges)
	if err != nil {
		return err
	}
	return c.must(ctx, "data source", dataSource, `UPDATE clusters SET revision = revision + 1, change = ?
		WHERE id = (SELECT cluster_id FROM data_sources WHERE id = ?)`, change, dataSource)
}
