package persistence

import (
	"context"
	"encoding/json"
	"time"

	"comporta/service/gateway"
)

const clusterColumns = `c.id, c.name, c.description, c.department, c.contact_info, c.region, c.primary_id, c.mode, c.allow_cloud_refresh,
	c.allow_custom_connectors, c.limits, c.queue_timeout, c.cluster_key, c.created_at, c.revision`

func readCluster(row scanner) (gateway.Cluster, error) {
	var c gateway.Cluster
	var limits, key string
	var queue, created int64
	err := row.Scan(&c.ID, &c.Name, &c.Description, &c.Department, &c.ContactInfo, &c.Region, &c.PrimaryID, &c.Mode, &c.AllowCloudRefresh,
		&c.AllowCustomConnectors, &limits, &queue, &key, &created, &c.Revision)
	if err != nil {
		return c, err
	}
	c.QueueTimeout, c.CreatedAt = time.Duration(queue), moment(created)
	if err := json.Unmarshal([]byte(limits), &c.Limits); err != nil {
		return c, err
	}
	return c, json.Unmarshal([]byte(key), &c.Key)
}

// Cluster finds one cluster.
func (c *conn) Cluster(ctx context.Context, id gateway.ID) (gateway.Cluster, error) {
	return one(ctx, c, "gateway cluster", id, readCluster, "SELECT "+clusterColumns+" FROM clusters c WHERE c.id = ?", id)
}

// ClusterByName finds a cluster by its folded name.
func (c *conn) ClusterByName(ctx context.Context, name string) (gateway.Cluster, error) {
	return one(ctx, c, "gateway cluster", "", readCluster, "SELECT "+clusterColumns+" FROM clusters c WHERE c.folded_name = ?", fold(name))
}

// Clusters lists clusters, oldest first.
func (c *conn) Clusters(ctx context.Context, f ClusterFilter) ([]gateway.Cluster, error) {
	query := "SELECT " + clusterColumns + " FROM clusters c WHERE (c.created_at > ? OR c.created_at = ? AND c.id > ?)"
	args := []any{micros(f.After.At), micros(f.After.At), f.After.ID}
	if f.Principal != "" {
		query += ` AND (c.id IN (SELECT cluster_id FROM permissions WHERE principal_id = ?) OR c.id IN (SELECT d.cluster_id FROM data_source_users u
			JOIN data_sources d ON d.id = u.data_source_id WHERE u.principal_id = ?))`
		args = append(args, f.Principal, f.Principal)
	}
	query += " ORDER BY c.created_at, c.id LIMIT ? OFFSET ?"
	return many(ctx, c, readCluster, query, append(args, limit(f.Page.Limit), f.Page.Skip)...)
}

// ClusterState reads a cluster with everything in it.
func (c *conn) ClusterState(ctx context.Context, id gateway.ID) (gateway.ClusterState, error) {
	cluster, err := c.Cluster(ctx, id)
	if err != nil {
		return gateway.ClusterState{}, err
	}
	s := gateway.ClusterState{Cluster: cluster, Permissions: map[gateway.ID]gateway.Permission{}, DataSources: map[gateway.ID]*gateway.DataSourceState{}}
	if s.Members, err = c.Members(ctx, id); err != nil {
		return s, err
	}
	permissions, err := c.Permissions(ctx, id)
	if err != nil {
		return s, err
	}
	for _, p := range permissions {
		s.Permissions[p.PrincipalID] = p
	}
	return s, c.addSources(ctx, &s)
}

func (c *conn) addSources(ctx context.Context, s *gateway.ClusterState) error {
	sources, err := c.DataSources(ctx, Page{}, s.Cluster.ID)
	if err != nil {
		return err
	}
	ids := make([]gateway.ID, len(sources))
	for i, d := range sources {
		ids[i] = d.ID
		s.DataSources[d.ID] = &gateway.DataSourceState{DataSource: d, Users: map[gateway.ID]gateway.DataSourceUser{}}
	}
	users, err := c.DataSourceUsers(ctx, ids...)
	for _, u := range users {
		s.DataSources[u.DataSourceID].Users[u.PrincipalID] = u
	}
	return err
}

// CreateCluster stores a new cluster.
func (c *conn) CreateCluster(ctx context.Context, cl gateway.Cluster) error {
	change, err := c.nextChange(ctx, clusterChanges)
	if err != nil {
		return err
	}
	_, err = c.exec(ctx, `INSERT INTO clusters (id, name, folded_name, description, department, contact_info, region, primary_id, mode, allow_cloud_refresh,
		allow_custom_connectors, limits, queue_timeout, cluster_key, created_at, revision, change) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?)`,
		cl.ID, cl.Name, fold(cl.Name), cl.Description, cl.Department, cl.ContactInfo, cl.Region, cl.PrimaryID, cl.Mode, cl.AllowCloudRefresh,
		cl.AllowCustomConnectors, jsonText(cl.Limits), int64(cl.QueueTimeout), jsonText(cl.Key), micros(cl.CreatedAt), change)
	return c.nameTaken(err)
}

func (c *conn) nameTaken(err error) error {
	if c.dialect.unique(err) {
		return gateway.Wrap(gateway.CodeDuplicateClusterName, err, "The gateway DisplayName input is already being used by another gateway")
	}
	return err
}

// UpdateCluster stores a changed cluster.
func (c *conn) UpdateCluster(ctx context.Context, cl gateway.Cluster) error {
	err := c.must(ctx, "gateway cluster", cl.ID, `UPDATE clusters SET name = ?, folded_name = ?, description = ?, department = ?, contact_info = ?, region = ?,
		primary_id = ?, mode = ?, allow_cloud_refresh = ?, allow_custom_connectors = ?, limits = ?, queue_timeout = ?, cluster_key = ? WHERE id = ?`,
		cl.Name, fold(cl.Name), cl.Description, cl.Department, cl.ContactInfo, cl.Region, cl.PrimaryID, cl.Mode, cl.AllowCloudRefresh,
		cl.AllowCustomConnectors, jsonText(cl.Limits), int64(cl.QueueTimeout), jsonText(cl.Key), cl.ID)
	if err != nil {
		return c.nameTaken(err)
	}
	return c.TouchCluster(ctx, cl.ID)
}

// DeleteCluster removes a cluster with all that hangs on it.
func (c *conn) DeleteCluster(ctx context.Context, id gateway.ID) error {
	if err := c.must(ctx, "gateway cluster", id, "DELETE FROM clusters WHERE id = ?", id); err != nil {
		return err
	}
	return c.bury(ctx, clusterChanges, id)
}

// TouchCluster raises a cluster's revision and the change number.
func (c *conn) TouchCluster(ctx context.Context, id gateway.ID) error {
	change, err := c.nextChange(ctx, clusterChanges)
	if err != nil {
		return err
	}
	return c.must(ctx, "gateway cluster", id, "UPDATE clusters SET revision = revision + 1, change = ? WHERE id = ?", change, id)
}
