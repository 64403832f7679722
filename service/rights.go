package service

import (
	"context"
	"slices"

	"comporta/persistence"
	"comporta/service/gateway"
)

// Action is something a caller may or may not do. Every route of every surface declares one.
type Action string

// The actions, as the permission table of the contract lists them.
const (
	// ListOwn: list what the caller has a role in. Anyone with a token may ask.
	ListOwn Action = "list-own"
	// ListAll: list in organisation scope.
	ListAll Action = "list-all"
	// Install: create a cluster or join a member.
	Install Action = "install"
	// SeeCluster: read one cluster, its members and status.
	SeeCluster Action = "see-cluster"
	// SeePermissions: read who has a role on a cluster.
	SeePermissions Action = "see-permissions"
	// ManageCluster: change, rename or remove a cluster or member, limits, permissions.
	ManageCluster Action = "manage-cluster"
	// CreateDataSource: register a data source on the cluster.
	CreateDataSource Action = "create-data-source"
	// SeeDataSource: read one data source.
	SeeDataSource Action = "see-data-source"
	// ManageDataSource: change or delete a data source, its credentials and users.
	ManageDataSource Action = "manage-data-source"
	// UseDataSource: test it and dispatch to it.
	UseDataSource Action = "use-data-source"
	// Administer: policy, installers, principals, audit log.
	Administer Action = "administer"
)

// Verdict is what the predicate answers.
type Verdict int

// The verdicts.
const (
	// Allowed: go on.
	Allowed Verdict = iota
	// Forbidden: the caller sees the entity but may not do this.
	Forbidden
	// Hidden: to this caller the entity does not exist.
	Hidden
)

// Rights is all that the predicate looks at.
type Rights struct {
	TenantAdmin bool
	// PolicyOpen and Installer speak of creating and joining.
	PolicyOpen, Installer bool
	// Cluster is the caller's role on the cluster, "" for none.
	Cluster gateway.ClusterRole
	// DataSource is the caller's role on the data source in question, AnyDataSource whether he has one on any of the cluster.
	DataSource    gateway.DataSourceRole
	AnyDataSource bool
}

// Decide is the one predicate of who may do what: contract section 2, pure.
func Decide(action Action, r Rights) Verdict {
	admin := r.TenantAdmin || r.Cluster == gateway.ClusterAdmin
	seesCluster := admin || r.Cluster != "" || r.AnyDataSource
	seesDataSource := admin || r.DataSource != ""
	switch action {
	case ListOwn:
		return Allowed
	case ListAll, Administer:
		return allowIf(r.TenantAdmin)
	case Install:
		return allowIf(r.TenantAdmin || r.PolicyOpen || r.Installer)
	case SeeCluster:
		return orHide(seesCluster, true)
	case SeePermissions:
		// Names and e-mail addresses are no business of somebody who only uses a data source.
		return orHide(seesCluster, admin || r.Cluster != "")
	case ManageCluster:
		return orHide(seesCluster, admin)
	case CreateDataSource:
		// A tenant administrator may give himself the role; he does not have it by himself.
		return orHide(seesCluster, r.Cluster != "")
	case SeeDataSource:
		return orHide(seesDataSource, true)
	case ManageDataSource:
		return orHide(seesDataSource, admin || r.DataSource == gateway.DataSourceOwner)
	case UseDataSource:
		// A tenant administrator manages data sources without a role; reading the data behind them takes one.
		return orHide(seesDataSource, r.Cluster == gateway.ClusterAdmin || r.DataSource != "")
	}
	return Forbidden
}

func allowIf(yes bool) Verdict {
	if yes {
		return Allowed
	}
	return Forbidden
}

func orHide(sees, may bool) Verdict {
	if !sees {
		return Hidden
	}
	return allowIf(may)
}

// Target is what an action is about; both are "" where the action is about no entity.
type Target struct{ Cluster, DataSource gateway.ID }

// Check answers nil when the caller may do this, CodeForbidden when not, and CodeNotFound when he may not even know of the target.
// An id that does not exist gets the very same answer as one that is hidden.
func (a *Access) Check(ctx context.Context, caller *gateway.Caller, action Action, on Target) error {
	r := Rights{TenantAdmin: caller.TenantAdmin}
	if action == Install && !caller.TenantAdmin {
		if err := a.installRights(ctx, caller, &r); err != nil {
			return err
		}
	}
	// Who may install is a matter of the tenant; asking for the cluster here would tell strangers which ids exist.
	if on.Cluster != "" && action != Install {
		if err := a.clusterRights(ctx, caller, on, &r); err != nil {
			return err
		}
	}
	switch Decide(action, r) {
	case Allowed:
		return nil
	case Hidden:
		return hiddenError(on)
	}
	return forbiddenError(action, on)
}

func (a *Access) installRights(ctx context.Context, caller *gateway.Caller, r *Rights) error {
	return a.Store.View(ctx, func(s persistence.Reader) error {
		policy, err := s.Policy(ctx)
		if err != nil {
			return err
		}
		installers, err := s.Installers(ctx)
		if err != nil {
			return err
		}
		r.PolicyOpen = !policy.ResourceRestricted
		r.Installer = slices.ContainsFunc(installers, func(i gateway.Installer) bool {
			return i.PrincipalID == caller.ID && i.Type == gateway.Resource
		})
		return nil
	})
}

func (a *Access) clusterRights(ctx context.Context, caller *gateway.Caller, on Target, r *Rights) error {
	state, err := a.directory.get(ctx, on.Cluster)
	if gateway.IsCode(err, gateway.CodeNotFound) {
		return hiddenError(on)
	}
	if err != nil {
		return err
	}
	r.Cluster = state.Permissions[caller.ID].Role
	if on.DataSource == "" {
		r.AnyDataSource = hasAnyDataSource(state, caller.ID)
		return nil
	}
	ds, ok := state.DataSources[on.DataSource]
	if !ok {
		return hiddenError(on)
	}
	r.DataSource = ds.Users[caller.ID].Role
	return nil
}

func hasAnyDataSource(state *gateway.ClusterState, principal gateway.ID) bool {
	for _, ds := range state.DataSources {
		if _, ok := ds.Users[principal]; ok {
			return true
		}
	}
	return false
}

func hiddenError(on Target) *gateway.Error {
	if on.DataSource != "" {
		return gateway.Errorf(gateway.CodeNotFound, "There is no such data source, or you have no role on it.").About(on.DataSource)
	}
	return gateway.Errorf(gateway.CodeNotFound, "There is no such gateway cluster, or you have no role on it.").About(on.Cluster)
}

func forbiddenError(action Action, on Target) *gateway.Error {
	about := on.DataSource
	if about == "" {
		about = on.Cluster
	}
	e := gateway.Errorf(gateway.CodeForbidden, "%s", forbiddenWords[action]).About(about)
	if action == Install {
		e.Code = gateway.CodeInstallRestricted
	}
	return e
}

var forbiddenWords = map[Action]string{
	ListAll:          "Listing every cluster of the organisation takes the tenant role TenantAdmin. Leave the organisation scope to list your own.",
	Administer:       "This takes the tenant role TenantAdmin.",
	Install:          "The tenant policy restricts who may create clusters and join members, and you are not one of the installers. Ask a TenantAdmin.",
	SeePermissions:   "Seeing who has a role on the cluster takes the role ConnectionCreator or more on it.",
	ManageCluster:    "This takes the role Admin on the cluster.",
	CreateDataSource: "Creating a data source takes the role ConnectionCreator or more on the cluster.",
	ManageDataSource: "This takes the role Owner on the data source, or Admin on its cluster.",
	UseDataSource:    "Using a data source takes a role on it, or Admin on its cluster.",
}
