package service

import (
	"context"
	"slices"

	"comporta/persistence"
	"comporta/service/gateway"
)

// Scope says whose clusters a list holds.
type Scope int

// The scopes.
const (
	// Individual: those where the caller has any role.
	Individual Scope = iota
	// Organization: all; the route takes a TenantAdmin.
	Organization
)

// ClusterView is a cluster as an answer shows it: what is kept, and what its tunnels show.
type ClusterView struct {
	gateway.Cluster
	Members       []MemberView
	Permissions   []PermissionView
	DataSourceIDs []gateway.ID
}

// PermissionView is a permission with what is known of its principal.
type PermissionView struct {
	gateway.Permission
	Principal gateway.Principal
}

// Online reports whether any enabled member can be reached.
func (v *ClusterView) Online() bool {
	return slices.ContainsFunc(v.Members, func(m MemberView) bool {
		return m.State == gateway.MemberEnabled && m.Presence.Online
	})
}

// MixedVersions reports whether the members run different versions.
func (v *ClusterView) MixedVersions() bool {
	seen := ""
	for _, m := range v.Members {
		version := m.CurrentVersion()
		if version == "" {
			continue
		}
		if seen != "" && version != seen {
			return true
		}
		seen = version
	}
	return false
}

// Primary returns the primary member, or nil for a cluster that has none.
func (v *ClusterView) Primary() *MemberView {
	for i := range v.Members {
		if v.Members[i].ID == v.PrimaryID {
			return &v.Members[i]
		}
	}
	return nil
}

// List returns the clusters of a scope as the caller may see them, oldest first.
func (s *Clusters) List(ctx context.Context, caller *gateway.Caller, scope Scope, f persistence.ClusterFilter) ([]ClusterView, error) {
	if scope == Individual {
		f.Principal = caller.ID
	}
	var views []ClusterView
	err := s.Store.View(ctx, func(r persistence.Reader) error {
		clusters, err := r.Clusters(ctx, f)
		if err != nil {
			return err
		}
		views, err = s.views(ctx, r, caller, clusters)
		return err
	})
	return views, err
}

// Get returns one cluster as the caller may see it.
func (s *Clusters) Get(ctx context.Context, caller *gateway.Caller, id gateway.ID) (ClusterView, error) {
	var view ClusterView
	err := s.Store.View(ctx, func(r persistence.Reader) error {
		c, err := r.Cluster(ctx, id)
		if err != nil {
			return err
		}
		views, err := s.views(ctx, r, caller, []gateway.Cluster{c})
		if err == nil {
			view = views[0]
		}
		return err
	})
	return view, err
}

// showTo leaves out who has a role on the cluster, and data sources, unless the caller may see that.
func (v *ClusterView) showTo(caller *gateway.Caller, sources []persistence.DataSourceID) {
	r := Rights{TenantAdmin: caller.TenantAdmin, AnyDataSource: true}
	for i := range v.Permissions {
		if v.Permissions[i].PrincipalID == caller.ID {
			r.Cluster = v.Permissions[i].Role
		}
	}
	if Decide(SeePermissions, r) != Allowed {
		v.Permissions = []PermissionView{}
	}
	for _, d := range sources {
		if r.DataSource = ""; d.Own {
			r.DataSource = gateway.DataSourceReader
		}
		if Decide(SeeDataSource, r) == Allowed {
			v.DataSourceIDs = append(v.DataSourceIDs, d.ID)
		}
	}
}

// views joins clusters with their members, permissions and data source ids, as the caller may see them; one query each for the whole list.
func (s *Clusters) views(ctx context.Context, r persistence.Reader, caller *gateway.Caller, clusters []gateway.Cluster) ([]ClusterView, error) {
	if len(clusters) == 0 {
		return []ClusterView{}, nil
	}
	views, at, ids := make([]ClusterView, len(clusters)), map[gateway.ID]int{}, make([]gateway.ID, len(clusters))
	for i, c := range clusters {
		views[i] = ClusterView{Cluster: c, Members: []MemberView{}, Permissions: []PermissionView{}, DataSourceIDs: []gateway.ID{}}
		at[c.ID], ids[i] = i, c.ID
	}
	members, err := r.Members(ctx, ids...)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		v := &views[at[m.ClusterID]]
		v.Members = append(v.Members, s.viewOf(&v.Cluster, m))
	}
	if err := addPermissions(ctx, r, views, at, ids); err != nil {
		return nil, err
	}
	sources, err := r.DataSourceIDs(ctx, caller.ID, ids...)
	if err != nil {
		return nil, err
	}
	of := map[gateway.ID][]persistence.DataSourceID{}
	for _, d := range sources {
		of[d.ClusterID] = append(of[d.ClusterID], d)
	}
	for i := range views {
		views[i].showTo(caller, of[views[i].ID])
	}
	return views, nil
}

func addPermissions(ctx context.Context, r persistence.Reader, views []ClusterView, at map[gateway.ID]int, ids []gateway.ID) error {
	permissions, err := r.Permissions(ctx, ids...)
	if err != nil {
		return err
	}
	known := map[gateway.ID]gateway.Principal{}
	for _, p := range permissions {
		who, ok := known[p.PrincipalID]
		if !ok {
			if who, err = r.Principal(ctx, p.PrincipalID); err != nil && !gateway.IsCode(err, gateway.CodeNotFound) {
				return err
			}
			known[p.PrincipalID] = who
		}
		v := &views[at[p.ClusterID]]
		v.Permissions = append(v.Permissions, PermissionView{p, who})
	}
	return nil
}
