package gateway

import "time"

// MaxMembers is how many members a cluster takes.
// Source: Microsoft's high-availability page; an 11th join is refused, an imported bigger cluster still routes.
const MaxMembers = 10

// MaxDataSources is how many data sources a cluster takes. Microsoft names 1,000; automation has been seen with more, so ours is wider.
const MaxDataSources = 10000

// BalanceMode says how a cluster spreads requests over its available members.
type BalanceMode string

// The balance modes, by their present-day words.
const (
	// Failover sends everything to the primary and moves on in order only when it is not available.
	Failover BalanceMode = "Failover"
	// DistributeEvenly takes the available members in a uniformly random order. Power BI's word is Random.
	DistributeEvenly BalanceMode = "DistributeEvenly"
	// LeastLoaded takes the less busy of two random members: our extension.
	LeastLoaded BalanceMode = "LeastLoaded"
)

// Cluster is the unit of management.
type Cluster struct {
	// ID is also the id of the member with which the cluster was created.
	ID          ID
	Name        string
	Description string
	Department  string
	ContactInfo string
	// Region is the key of the region the cluster belongs to.
	Region string
	// PrimaryID is the member tried first by Failover. It equals ID until another member is promoted.
	PrimaryID ID
	Mode      BalanceMode
	// AllowCloudRefresh and AllowCustomConnectors are kept for the clients that set them; nothing here depends on them.
	AllowCloudRefresh     bool
	AllowCustomConnectors bool
	// Limits apply to every member that has none of its own.
	Limits Limits
	// QueueTimeout is how long a request waits for a place when every available member is over its concurrency limit only; 0 refuses at once.
	QueueTimeout time.Duration
	// Key is what the service keeps of the cluster's key pair and recovery key.
	Key       ClusterKey
	CreatedAt time.Time
	// Revision grows with every change of the cluster or of anything in it.
	Revision int64
}

// ClusterKey is the public half of the cluster's key pair and what is needed to check a recovery key. The private key is there only
// sealed; nothing in it opens it without the recovery key.
type ClusterKey struct {
	// Modulus and Exponent are big-endian unsigned bytes, as clients expect them.
	Modulus, Exponent []byte
	// Salt, Time, Memory (KiB) and Threads are the Argon2id input beside the recovery key.
	Salt         []byte
	Time, Memory uint32
	Threads      uint8
	// VerifierHash is SHA-256 over the verifier that Argon2id yields beside the sealing key.
	VerifierHash []byte
	// Sealed is the encrypted private key.
	Sealed []byte
}

// MemberState is what the administrator wants of a member. What the tunnel shows is Presence, how busy it is is Load: three different things.
type MemberState string

// The member states.
const (
	MemberEnabled  MemberState = "Enabled"
	MemberDisabled MemberState = "Disabled"
)

// Member is one gateway machine of a cluster.
type Member struct {
	ID        ID
	ClusterID ID
	Name      string
	// Description and Annotation hold what clients store with a member; Annotation is a JSON text or "".
	Description string
	Annotation  string
	State       MemberState
	// Draining: takes no new request by the administrator's wish, without being disabled.
	Draining bool
	// Limits set here win over the cluster's.
	Limits Limits
	// PublicKey is the member's own Ed25519 key; empty until the machine enrolled.
	PublicKey []byte
	// Version, Machine and Protocol are what the machine last said of itself.
	Version   string
	Machine   string
	CreatedAt time.Time
	// LastSeen is the last time a tunnel of the member was alive; zero if never. It is written now and then, not at every sign of life.
	LastSeen time.Time
}

// Enrolled reports whether a machine took over this member.
func (m *Member) Enrolled() bool { return len(m.PublicKey) > 0 }

// Enrolment is the right to become the machine of one member, once. The token itself is not kept, only its hash.
type Enrolment struct {
	TokenHash []byte
	ClusterID ID
	MemberID  ID
	ExpiresAt time.Time
}

// ClusterState is a cluster with everything in it that routing, dispatch and permission checks need, read in one moment.
type ClusterState struct {
	Cluster Cluster
	// Members stand in plan order: primary first, then by creation.
	Members []Member
	// Permissions by principal.
	Permissions map[ID]Permission
	// DataSources by id, each with its users.
	DataSources map[ID]*DataSourceState
}

// DataSourceState is a data source with the rights on it.
type DataSourceState struct {
	DataSource DataSource
	// Users by principal.
	Users map[ID]DataSourceUser
}
