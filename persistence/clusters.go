package persistence

import (
	"context"

	"comporta/service/gateway"
)

const (
	clusterFields = "name, description, department, contact_info, region, primary_id, mode, allow_cloud_refresh, allow_custom_connectors, " +
		"limits, queue_timeout, cluster_key"
	clusterColumns = "id, created_at, revision, " + clusterFields
	// What is stored has the folded name too, which nobody reads back.
	clusterStored = "folded, revision, " + clusterFields
)

// storedKey is a gateway.ClusterKey as it is stored: its names belong to the database.
type storedKey struct {
	Modulus      []byte `json:"modulus"`
	Exponent     []byte `json:"exponent"`
	Salt         []byte `json:"salt"`
	Time         uint32 `json:"time"`
	Memory       uint32 `json:"memory"`
	Threads      uint8  `json:"threads"`
	VerifierHash []byte `json:"verifierHash"`
	Sealed       []byte `json:"sealed"`
}

func clusterValues(c gateway.Cluster, revision int64) []any {
	return []any{fold(c.Name), revision, c.Name, c.Description, c.Department, c.ContactInfo, c.Region, c.PrimaryID, c.Mode, c.AllowCloudRefresh,
		c.AllowCustomConnectors, asJSON{c.Limits}, c.QueueTimeout, asJSON{storedKey(c.Key)}}
}

func scanCluster(from row, c *gateway.Cluster) error {
	var key storedKey
	err := from.Scan(&c.ID, timeInto{&c.CreatedAt}, &c.Revision, &c.Name, &c.Description, &c.Department, &c.ContactInfo, &c.Region, &c.PrimaryID,
		&c.Mode, &c.AllowCloudRefresh, &c.AllowCustomConnectors, jsonInto{&c.Limits}, &c.QueueTimeout, jsonInto{&key})
	c.Key = gateway.ClusterKey(key)
	return err
}

func (r *reader) Cluster(ctx context.Context, id gateway.ID) (gateway.Cluster, error) {
	return one(ctx, r, from(clusterColumns, "clusters").where("id = ?", id), scanCluster, "gateway cluster", id)
}

func (r *reader) ClusterByName(ctx context.Context, name string) (gateway.Cluster, error) {
	return one(ctx, r, from(clusterColumns, "clusters").where("folded = ?", fold(name)), scanCluster, "gateway cluster", "")
}

func (r *reader) Clusters(ctx context.Context, f ClusterFilter) ([]gateway.Cluster, error) {
	s := from(clusterColumns, "clusters")
	if f.Principal != "" {
		s.where("id IN ("+clustersOfPrincipal+")", f.Principal, f.Principal)
	}
	s.after("created_at", f.After)
	return list(ctx, r, s.order("created_at, id", f.Page), scanCluster)
}

// clustersOfPrincipal selects the ids of the clusters where a principal, given twice, has any role.
const clustersOfPrincipal = "SELECT cluster_id FROM permissions WHERE principal_id = ? UNION " +
	"SELECT d.cluster_id FROM data_source_users u JOIN data_sources d ON d.id = u.data_source_id WHERE u.principal_id = ?"

func (r *reader) ClusterRevisions(ctx context.Context, since int64) (map[gateway.ID]int64, int64, error) {
	newest, err := r.newest(ctx, clusterChanges)
	changed := map[gateway.ID]int64{}
	if err != nil || newest <= since {
		return changed, newest, err
	}
	live, err := list(ctx, r, from("id, revision", "clusters").where("revision > ?", since), func(from row, c *gateway.Cluster) error {
		return from.Scan(&c.ID, &c.Revision)
	})
	if err != nil {
		return nil, 0, err
	}
	deleted, err := r.deletedSince(ctx, clusterChanges, since)
	if err != nil {
		return nil, 0, err
	}
	for _, c := range live {
		changed[c.ID] = c.Revision
	}
	for _, id := range deleted {
		changed[id] = -1
	}
	return changed, newest, nil
}

// CreateCluster stores a cluster. Its revision is the change number, not the one given: so it grows even when an id is used again.
func (t *tx) CreateCluster(ctx context.Context, c gateway.Cluster) error {
	if err := t.unbury(ctx, clusterChanges, c.ID); err != nil {
		return err
	}
	revision, err := t.raise(ctx, clusterChanges)
	if err != nil {
		return err
	}
	t.touched[c.ID] = true
	values := append([]any{c.ID, c.CreatedAt}, clusterValues(c, revision)...)
	return t.clusterName(t.insert(ctx, "clusters", "id, created_at, "+clusterStored, "", values))
}

func (t *tx) UpdateCluster(ctx context.Context, c gateway.Cluster) error {
	revision, err := t.raise(ctx, clusterChanges)
	if err != nil {
		return err
	}
	return t.clusterName(t.change(ctx, "gateway cluster", c.ID, "UPDATE clusters SET ("+clusterStored+") = "+marks(clusterStored)+" WHERE id = ?",
		append(clusterValues(c, revision), c.ID)...))
}

func (t *tx) clusterName(err error) error {
	return t.taken(err, gateway.CodeDuplicateClusterName, "The gateway DisplayName input is already being used by another gateway")
}

// DeleteCluster removes a cluster. All that refers to it goes by cascade; the load samples of its members refer to nothing.
func (t *tx) DeleteCluster(ctx context.Context, id gateway.ID) error {
	if _, err := t.exec(ctx, "DELETE FROM load_samples WHERE member_id IN (SELECT id FROM members WHERE cluster_id = ?)", id); err != nil {
		return err
	}
	if err := t.change(ctx, "gateway cluster", id, "DELETE FROM clusters WHERE id = ?", id); err != nil {
		return err
	}
	delete(t.touched, id)
	return t.bury(ctx, clusterChanges, id)
}

// TouchCluster raises a cluster's revision. One raise is enough for a transaction, because nobody sees those in between.
func (t *tx) TouchCluster(ctx context.Context, id gateway.ID) error {
	if t.touched[id] {
		return nil
	}
	revision, err := t.raise(ctx, clusterChanges)
	if err != nil {
		return err
	}
	if err := t.change(ctx, "gateway cluster", id, "UPDATE clusters SET revision = ? WHERE id = ?", revision, id); err != nil {
		return err
	}
	t.touched[id] = true
	return nil
}
