package persistence

import (
	"context"
	"time"

	"comporta/service/gateway"
)

// Store is where the state lives.
type Store interface {
	// InTx runs fn in one write transaction. It commits when fn returns nil and rolls back otherwise; fn's error comes back as it is.
	// fn may run more than once when the database asks for it (serialisation failure), so it must not touch anything but tx.
	InTx(ctx context.Context, fn func(tx Tx) error) error
	// View runs fn on one consistent moment of the state.
	View(ctx context.Context, fn func(r Reader) error) error
	// Ping answers whether the database answers and its migrations are done.
	Ping(ctx context.Context) error
	// Close waits for running transactions and closes the database.
	Close() error
}

// Reader finds things. Every "one" method returns a *gateway.Error with gateway.CodeNotFound when there is nothing; lists are
// empty then, never nil, and stand in order of creation, oldest first, ties by id.
type Reader interface {
	ClusterReader
	MemberReader
	DataSourceReader
	PrincipalReader
	HistoryReader
}

// Tx reads and changes things. Writes return the named codes; a unique-constraint violation is recognised by the driver's code.
type Tx interface {
	Reader
	// Now is the transaction's one moment, in UTC with microseconds.
	Now() time.Time
	ClusterWriter
	MemberWriter
	DataSourceWriter
	PrincipalWriter
	HistoryWriter
}

// Page cuts a list: skip so many, then at most Limit (0: all).
type Page struct{ Skip, Limit int }

// After cuts a list by position instead: only what comes after (At, ID), so that inserts and deletes neither double nor hide a row.
type After struct {
	At time.Time
	ID gateway.ID
}

// ClusterFilter narrows a list of clusters.
type ClusterFilter struct {
	// Principal, when set, keeps the clusters where it has any role: on the cluster or on a data source in it.
	Principal gateway.ID
	After     After
	Page      Page
}

// ClusterReader finds clusters and the rights on them.
type ClusterReader interface {
	Cluster(ctx context.Context, id gateway.ID) (gateway.Cluster, error)
	// ClusterByName finds a cluster by its exact name after case folding.
	ClusterByName(ctx context.Context, name string) (gateway.Cluster, error)
	Clusters(ctx context.Context, f ClusterFilter) ([]gateway.Cluster, error)
	// ClusterState reads a cluster with its members (plan order), permissions, data sources and their users.
	ClusterState(ctx context.Context, id gateway.ID) (gateway.ClusterState, error)
	// ClusterRevisions returns the revision of every cluster changed after the given change number, and the newest change number.
	// A deleted cluster stands there with revision -1. Change numbers grow with every commit that touches a cluster.
	ClusterRevisions(ctx context.Context, since int64) (changed map[gateway.ID]int64, newest int64, err error)
	// Permissions lists the permissions of these clusters (of one: pass one).
	Permissions(ctx context.Context, clusters ...gateway.ID) ([]gateway.Permission, error)
	Policy(ctx context.Context) (gateway.TenantPolicy, error)
	Installers(ctx context.Context) ([]gateway.Installer, error)
	// Enrolment finds a live enrolment by the hash of its token.
	Enrolment(ctx context.Context, tokenHash []byte) (gateway.Enrolment, error)
}

// ClusterWriter changes clusters and the rights on them. Each change raises the cluster's revision and the change number.
type ClusterWriter interface {
	// CreateCluster answers CodeDuplicateClusterName when the name is taken.
	CreateCluster(ctx context.Context, c gateway.Cluster) error
	UpdateCluster(ctx context.Context, c gateway.Cluster) error
	// DeleteCluster removes the cluster and everything that hangs on it.
	DeleteCluster(ctx context.Context, id gateway.ID) error
	// TouchCluster raises the cluster's revision and nothing else.
	TouchCluster(ctx context.Context, id gateway.ID) error
	// PutPermission creates or replaces the permission of that principal on that cluster.
	PutPermission(ctx context.Context, p gateway.Permission) error
	DeletePermission(ctx context.Context, cluster, principal gateway.ID) error
	PutPolicy(ctx context.Context, p gateway.TenantPolicy) error
	// PutInstaller and DeleteInstaller are harmless when repeated.
	PutInstaller(ctx context.Context, i gateway.Installer) error
	DeleteInstaller(ctx context.Context, principal gateway.ID, t gateway.GatewayType) error
	PutEnrolment(ctx context.Context, e gateway.Enrolment) error
	// DeleteEnrolments removes the live enrolments of a member, and all expired ones.
	DeleteEnrolments(ctx context.Context, member gateway.ID) error
}

// MemberReader finds members.
type MemberReader interface {
	Member(ctx context.Context, id gateway.ID) (gateway.Member, error)
	// Members lists the members of these clusters, each cluster's in plan order: primary first, then by creation.
	Members(ctx context.Context, clusters ...gateway.ID) ([]gateway.Member, error)
}

// MemberWriter changes members.
type MemberWriter interface {
	// CreateMember answers CodeDuplicateMemberName when the cluster has a member of that name (case folded).
	CreateMember(ctx context.Context, m gateway.Member) error
	UpdateMember(ctx context.Context, m gateway.Member) error
	DeleteMember(ctx context.Context, id gateway.ID) error
	// SawMember keeps what a machine said of itself and when; what it did not say stays. It does not raise a revision.
	SawMember(ctx context.Context, id gateway.ID, version, machine string, at time.Time) error
}

// DataSourceID names a data source and its cluster. Own: the principal that was asked about has a role on it.
type DataSourceID struct {
	ID, ClusterID gateway.ID
	Own           bool
}

// DataSourceReader finds data sources and their users.
type DataSourceReader interface {
	// DataSource finds one, and only within that cluster.
	DataSource(ctx context.Context, cluster, id gateway.ID) (gateway.DataSource, error)
	// DataSourceCluster finds the cluster that a data source stands on.
	DataSourceCluster(ctx context.Context, id gateway.ID) (gateway.ID, error)
	// DataSources lists those of the clusters, or of all clusters when none is named.
	DataSources(ctx context.Context, page Page, clusters ...gateway.ID) ([]gateway.DataSource, error)
	// UserDataSources lists those of a cluster that a principal has a role on.
	UserDataSources(ctx context.Context, page Page, cluster, principal gateway.ID) ([]gateway.DataSource, error)
	// DataSourceIDs lists the ids of the clusters' data sources, without what is kept of each, and says which a principal has a role on.
	DataSourceIDs(ctx context.Context, principal gateway.ID, clusters ...gateway.ID) ([]DataSourceID, error)
	// OwnDataSources lists, oldest first, at most limit after a place, those that a principal has a role on or whose cluster it is Admin of.
	OwnDataSources(ctx context.Context, principal gateway.ID, after After, limit int) ([]gateway.DataSource, error)
	// DataSourceUsers lists the users of these data sources.
	DataSourceUsers(ctx context.Context, dataSources ...gateway.ID) ([]gateway.DataSourceUser, error)
}

// DataSourceWriter changes data sources and their users.
type DataSourceWriter interface {
	// CreateDataSource answers CodeDuplicateDataSourceName when the cluster has one of that name (case folded).
	CreateDataSource(ctx context.Context, d gateway.DataSource) error
	UpdateDataSource(ctx context.Context, d gateway.DataSource) error
	DeleteDataSource(ctx context.Context, cluster, id gateway.ID) error
	// PutDataSourceUser creates or replaces that principal's role.
	PutDataSourceUser(ctx context.Context, u gateway.DataSourceUser) error
	DeleteDataSourceUser(ctx context.Context, dataSource, principal gateway.ID) error
}

// PrincipalReader finds principals, their secrets and the keys that sign tokens.
type PrincipalReader interface {
	Principal(ctx context.Context, id gateway.ID) (gateway.Principal, error)
	// PrincipalByEmail finds a principal by e-mail, case folded.
	PrincipalByEmail(ctx context.Context, email string) (gateway.Principal, error)
	Principals(ctx context.Context, page Page) ([]gateway.Principal, error)
	Secrets(ctx context.Context, principal gateway.ID) ([]gateway.Secret, error)
	// PrincipalChanges returns every principal changed after the given change number and the newest change number. A deleted one
	// comes back with its id and Disabled set.
	PrincipalChanges(ctx context.Context, since int64) (changed []gateway.Principal, newest int64, err error)
	// SigningKeys lists the keys that have not expired at this time.
	SigningKeys(ctx context.Context, at time.Time) ([]gateway.SigningKey, error)
}

// PrincipalWriter changes principals, their secrets and the keys that sign tokens. Each change of a principal raises the change number
// that PrincipalChanges counts with.
type PrincipalWriter interface {
	// CreatePrincipal answers CodeDuplicatePrincipal when the id or e-mail is taken.
	CreatePrincipal(ctx context.Context, p gateway.Principal) error
	UpdatePrincipal(ctx context.Context, p gateway.Principal) error
	// DeletePrincipal removes the principal, its secrets, permissions, data source roles and installer entries. Clusters that it
	// created stay.
	DeletePrincipal(ctx context.Context, id gateway.ID) error
	PutSecret(ctx context.Context, s gateway.Secret) error
	DeleteSecret(ctx context.Context, principal, secret gateway.ID) error
	// PutSigningKey creates a key or moves its expiry; keys that expired before the transaction's Now are removed.
	PutSigningKey(ctx context.Context, k gateway.SigningKey) error
}

// AuditFilter narrows the audit log. Zero fields do not narrow.
type AuditFilter struct {
	ClusterID, CallerID, ResourceID gateway.ID
	Action                          string
	Since, Until                    time.Time
	After                           After
	Limit                           int
}

// RecordFilter narrows dispatch records. Zero fields do not narrow; newest first.
type RecordFilter struct {
	ClusterID, MemberID, DataSourceID gateway.ID
	Since                             time.Time
	Limit                             int
}

// HistoryReader reads what happened.
type HistoryReader interface {
	// Audit lists entries in order of time, oldest first.
	Audit(ctx context.Context, f AuditFilter) ([]gateway.AuditEntry, error)
	// DispatchRecords lists records, newest first.
	DispatchRecords(ctx context.Context, f RecordFilter) ([]gateway.DispatchRecord, error)
	// LoadSamples lists a member's samples since a time, oldest first: at most so many, the newest among them, evenly thinned out.
	LoadSamples(ctx context.Context, member gateway.ID, since time.Time, most int) ([]gateway.LoadSample, error)
}

// HistoryWriter writes what happened.
type HistoryWriter interface {
	AppendAudit(ctx context.Context, e gateway.AuditEntry) error
	AppendDispatchRecords(ctx context.Context, records []gateway.DispatchRecord) error
	AppendLoadSamples(ctx context.Context, samples []gateway.LoadSample) error
	// Trim removes dispatch records and load samples older than the time, and the oldest beyond the number of each.
	Trim(ctx context.Context, before time.Time, keep int) error
}
