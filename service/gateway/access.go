package gateway

import "time"

// PrincipalKind says what a principal is.
type PrincipalKind string

// The kinds of principal.
const (
	User  PrincipalKind = "User"
	App   PrincipalKind = "App"
	Group PrincipalKind = "Group"
)

// Principal is who calls: a user, an application or a group.
type Principal struct {
	ID    ID
	Kind  PrincipalKind
	Name  string
	Email string
	// TenantAdmin sees every cluster in organisation scope and may manage any of them.
	TenantAdmin bool
	Disabled    bool
	CreatedAt   time.Time
}

// Secret is one password of a principal: only its hash is kept. A principal may have several at once, so that they can rotate.
type Secret struct {
	ID          ID
	PrincipalID ID
	Label       string
	// Hash is an encoded Argon2id hash with its own salt and parameters.
	Hash      string
	CreatedAt time.Time
	// ExpiresAt is zero when it does not expire.
	ExpiresAt time.Time
}

// SigningKey is the public half of a key that signs access tokens. The private half lives in the memory of the process that made it.
type SigningKey struct {
	ID        string // the kid
	PublicKey []byte // PKIX, DER
	CreatedAt time.Time
	ExpiresAt time.Time
}

// ClusterRole is a role on a cluster.
type ClusterRole string

// The cluster roles, strongest first.
const (
	ClusterAdmin             ClusterRole = "Admin"
	ConnectionCreatorReshare ClusterRole = "ConnectionCreatorWithReshare"
	ConnectionCreator        ClusterRole = "ConnectionCreator"
)

// Permission is one principal's role on a cluster. It is known by the principal's id.
type Permission struct {
	ClusterID   ID
	PrincipalID ID
	Role        ClusterRole
	// AllowedTypes limits a creator to these data source types; nil means all. Always nil for an Admin.
	AllowedTypes []DataSourceType
	CreatedAt    time.Time
}

// DataSourceRole is a role on a data source.
type DataSourceRole string

// The data source roles, strongest first.
const (
	DataSourceOwner   DataSourceRole = "Owner"
	DataSourceReshare DataSourceRole = "UserWithReshare"
	DataSourceReader  DataSourceRole = "User"
)

// AccessRight is the Power BI word for what a user of a data source may do.
type AccessRight string

// The access rights.
const (
	RightNone         AccessRight = "None"
	RightRead         AccessRight = "Read"
	RightReadOverride AccessRight = "ReadOverrideEffectiveIdentity"
)

// DataSourceUser is one principal's role on a data source.
type DataSourceUser struct {
	DataSourceID ID
	PrincipalID  ID
	Role         DataSourceRole
	Right        AccessRight
	CreatedAt    time.Time
}

// GatewayType is the kind of gateway that a policy or an installer entry speaks of.
type GatewayType string

// The gateway types. Only Resource (a standard cluster) exists here; the others are words of the surface.
const (
	Resource       GatewayType = "Resource"
	Personal       GatewayType = "Personal"
	VirtualNetwork GatewayType = "VirtualNetwork"
)

// TenantPolicy says who may create clusters and join members.
type TenantPolicy struct {
	TenantID           ID
	ResourceRestricted bool
	PersonalRestricted bool
}

// Installer is a principal that may create clusters and join members while the policy is restricted.
type Installer struct {
	PrincipalID ID
	Type        GatewayType
	CreatedAt   time.Time
}

// Caller is who makes a request, as the token and the state database say.
type Caller struct {
	ID          ID
	TenantID    ID
	Name        string
	TenantAdmin bool
	// RequestID is the id of this one request; From is the address it came from. Both go to the audit log.
	RequestID string
	From      string
}

// AuditEntry is one change: who, what, from where, before and after without secrets.
type AuditEntry struct {
	ID        ID
	At        time.Time
	CallerID  ID
	Caller    string
	From      string
	RequestID string
	// Action is a word such as cluster.create; Kind and ResourceID name what was changed, ClusterID where it lives.
	Action     string
	Kind       string
	ResourceID ID
	ClusterID  ID
	// Before and After are JSON texts, "" where there is none.
	Before, After string
}

// DispatchRecord is one dispatch, as it ended.
type DispatchRecord struct {
	ID           ID
	At           time.Time
	RequestID    string
	CallerID     ID
	ClusterID    ID
	MemberID     ID
	DataSourceID ID
	Duration     time.Duration
	Rows         int64
	Bytes        int64
	Attempts     int
	// Outcome is "ok" or the code of the failure.
	Outcome string
}

// LoadSample is one member's load at one time, kept for the charts.
type LoadSample struct {
	MemberID ID
	At       time.Time
	Load     Load
}
