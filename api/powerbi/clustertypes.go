package powerbi

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"comporta/service"
	"comporta/service/gateway"
)

// PublicKey is the cluster's public key; clients encrypt data source credentials with it. Both are base64 of big-endian bytes.
type PublicKey struct {
	Exponent string `json:"exponent" example:"AQAB"`
	Modulus  string `json:"modulus"`
}

func publicKey(k gateway.ClusterKey) PublicKey {
	return PublicKey{base64.StdEncoding.EncodeToString(k.Exponent), base64.StdEncoding.EncodeToString(k.Modulus)}
}

// Options are the two switches that clients read with a capital letter.
type Options struct {
	CloudDatasourceRefresh bool `json:"CloudDatasourceRefresh"`
	CustomConnectors       bool `json:"CustomConnectors"`
}

// Cluster is a gateway cluster.
type Cluster struct {
	ID                  gateway.ID   `json:"id"`
	Name                string       `json:"name"`
	Description         string       `json:"description"`
	Department          string       `json:"department"`
	ContactInformation  string       `json:"contactInformation"`
	Status              string       `json:"status" enums:"Live,None"`
	Region              string       `json:"region"`
	Type                string       `json:"type" enums:"Resource"`
	Options             Options      `json:"options"`
	Annotation          string       `json:"annotation"`
	PublicKey           PublicKey    `json:"publicKey"`
	LoadBalancing       string       `json:"loadBalancingSettings" example:"{\"selector\":0}"`
	LoadBalancingType   string       `json:"loadBalancingSelectorType" enums:"Failover,Random,LeastLoaded"`
	StaticCapabilities  int          `json:"staticCapabilities"`
	VersionStatus       string       `json:"versionStatus" enums:"Current,Mixed,None"`
	ExpiryDate          *time.Time   `json:"expiryDate" extensions:"x-nullable"`
	PrimaryMemberID     gateway.ID   `json:"primaryMemberId"`
	CPU                 int          `json:"cpuUtilizationPercentageThreshold"`
	Memory              int          `json:"memoryUtilizationPercentageThreshold"`
	Window              int          `json:"resourceUtilizationAggregationTimeInMinutes"`
	Concurrency         int          `json:"concurrentOperationLimit"`
	QueueTimeoutSeconds int          `json:"queueTimeoutSeconds"`
	CreatedDateTime     time.Time    `json:"createdDateTime"`
	DataSourceIDs       []gateway.ID `json:"dataSourceIds"`
	Permissions         []Permission `json:"permissions"`
	MemberGateways      []Member     `json:"memberGateways"`
	// Datasources are filled with $expand=datasources.
	Datasources []DataSource `json:"datasources"`
}

// clusterReadOnly are the properties that a get-change-patch sends back; a change of them is not meant.
var clusterReadOnly = []string{"@odata.context", "id", "status", "region", "type", "options", "annotation", "publicKey", "loadBalancingSettings", "staticCapabilities",
	"versionStatus", "expiryDate", "primaryMemberId", "createdDateTime", "dataSourceIds", "permissions", "memberGateways", "datasources"}

// ClusterEntity is one cluster with its context.
type ClusterEntity struct {
	Context string `json:"@odata.context"`
	Cluster
}

// staticCapabilities is what every member of ours can do; the meaning of Microsoft's bits is not public, so it is a plain 0.
const staticCapabilities = 0

func (h *Handlers) cluster(v *service.ClusterView) Cluster {
	limits := v.Limits.Effective()
	c := Cluster{
		ID: v.ID, Name: v.Name, Description: v.Description, Department: v.Department, ContactInformation: v.ContactInfo, Status: liveOr(v.Online(), "None"),
		Region: v.Region, Type: "Resource", Options: Options{v.AllowCloudRefresh, v.AllowCustomConnectors}, PublicKey: publicKey(v.Key),
		LoadBalancing: selector(v.Mode), LoadBalancingType: modeWord(v.Mode), StaticCapabilities: staticCapabilities, VersionStatus: versionStatus(v),
		PrimaryMemberID: v.PrimaryID, CPU: limits.CPU, Memory: limits.Memory, Window: int(limits.Window / time.Minute), Concurrency: limits.Concurrency,
		QueueTimeoutSeconds: int(v.QueueTimeout / time.Second), CreatedDateTime: v.CreatedAt, DataSourceIDs: v.DataSourceIDs,
		Permissions: []Permission{}, MemberGateways: []Member{}, Datasources: []DataSource{}, Annotation: clusterAnnotation(v),
	}
	for i := range v.Permissions {
		c.Permissions = append(c.Permissions, permission(&v.Permissions[i], h.Service.Access.TenantID()))
	}
	for i := range v.Members {
		c.MemberGateways = append(c.MemberGateways, member(&v.Cluster, &v.Members[i]))
	}
	return c
}

func liveOr(live bool, otherwise string) string {
	if live {
		return "Live"
	}
	return otherwise
}

// selector is the older module's form of the mode; it knows two.
func selector(m gateway.BalanceMode) string {
	if m == gateway.Failover {
		return `{"selector":0}`
	}
	return `{"selector":1}`
}

func versionStatus(v *service.ClusterView) string {
	switch p := v.Primary(); {
	case v.MixedVersions():
		return "Mixed"
	case p == nil || p.CurrentVersion() == "":
		return "None"
	}
	return "Current"
}

// annotation is the JSON text that scripts take apart. Contact information is always a list.
type annotation struct {
	ContactInformation []string `json:"gatewayContactInformation"`
	Version            string   `json:"gatewayVersion"`
	Machine            string   `json:"gatewayMachine"`
	Department         string   `json:"gatewayDepartment,omitempty"`
}

func clusterAnnotation(v *service.ClusterView) string {
	a := annotation{ContactInformation: contacts(v.ContactInfo), Department: v.Department}
	if p := v.Primary(); p != nil {
		a.Version, a.Machine = p.CurrentVersion(), p.CurrentMachine()
	}
	return text(a)
}

func contacts(info string) []string {
	if info == "" {
		return []string{}
	}
	return []string{info}
}

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	return string(raw)
}

// Permission is a principal's role on a cluster.
type Permission struct {
	ID                   gateway.ID `json:"id"`
	PrincipalType        string     `json:"principalType" enums:"User,App,Group"`
	PrincipalDisplayName string     `json:"principalDisplayName"`
	PrincipalEmail       string     `json:"principalEmail"`
	TenantID             gateway.ID `json:"tenantId"`
	Role                 string     `json:"role" enums:"Admin,ConnectionCreator,ConnectionCreatorWithReshare"`
	// AllowedDataSourceTypes is null when all types are allowed; allowedDataSources is its older name.
	AllowedDataSourceTypes []gateway.DataSourceType `json:"allowedDataSourceTypes" extensions:"x-nullable"`
	AllowedDataSources     []gateway.DataSourceType `json:"allowedDataSources" extensions:"x-nullable"`
	ClusterID              gateway.ID               `json:"clusterId"`
}

func permission(p *service.PermissionView, tenant gateway.ID) Permission {
	return Permission{ID: p.PrincipalID, PrincipalType: string(p.Principal.Kind), PrincipalDisplayName: p.Principal.Name, PrincipalEmail: p.Principal.Email,
		TenantID: tenant, Role: string(p.Role), AllowedDataSourceTypes: p.AllowedTypes, AllowedDataSources: p.AllowedTypes, ClusterID: p.ClusterID}
}

// Load is how busy a machine is, in percent; null where it cannot be read.
type Load struct {
	CPU    *float64 `json:"cpuPercent" extensions:"x-nullable"`
	Memory *float64 `json:"memoryPercent" extensions:"x-nullable"`
}

// Member is one gateway machine. state is what the administrator wants, status what the tunnel shows, load how busy it is.
type Member struct {
	ID            gateway.ID `json:"id"`
	Name          string     `json:"name"`
	Description   string     `json:"description"`
	Status        string     `json:"status" enums:"Live,Unreachable"`
	State         string     `json:"state" enums:"Enabled,Disabled"`
	Region        string     `json:"region"`
	Type          string     `json:"type" enums:"Resource"`
	Version       string     `json:"version"`
	VersionStatus string     `json:"versionStatus" enums:"Current,None"`
	ExpiryDate    *time.Time `json:"expiryDate" extensions:"x-nullable"`
	Annotation    string     `json:"annotation"`
	ClusterID     gateway.ID `json:"clusterId"`
	PublicKey     PublicKey  `json:"publicKey"`
	IsPrimary     bool       `json:"isPrimary"`
	// Draining is what the administrator wants, MachineDraining what the machine says of itself: it is going down.
	Draining        bool       `json:"draining"`
	MachineDraining bool       `json:"machineDraining"`
	Enrolled        bool       `json:"enrolled"`
	RunningRequests int        `json:"runningRequests"`
	Load            Load       `json:"load"`
	CPU             int        `json:"cpuUtilizationPercentageThreshold"`
	Memory          int        `json:"memoryUtilizationPercentageThreshold"`
	Window          int        `json:"resourceUtilizationAggregationTimeInMinutes"`
	Concurrency     int        `json:"concurrentOperationLimit"`
	LastSeen        *time.Time `json:"lastSeenDateTime" extensions:"x-nullable"`
	CreatedDateTime time.Time  `json:"createdDateTime"`
}

// memberReadOnly are the properties that a get-change-patch of a member sends back.
var memberReadOnly = []string{"id", "status", "region", "type", "version", "versionStatus", "expiryDate", "clusterId", "publicKey", "isPrimary", "enrolled", "machineDraining",
	"runningRequests", "load", "lastSeenDateTime", "createdDateTime"}

func member(c *gateway.Cluster, v *service.MemberView) Member {
	m := Member{
		ID: v.ID, Name: v.Name, Description: v.Description, Status: liveOr(v.Presence.Online, "Unreachable"), State: string(v.State), Region: c.Region, Type: "Resource",
		Version: v.CurrentVersion(), VersionStatus: "None", ClusterID: v.ClusterID, PublicKey: publicKey(c.Key), IsPrimary: v.ID == c.PrimaryID,
		Draining: v.Draining, MachineDraining: v.Presence.Draining, Enrolled: v.Enrolled(), RunningRequests: max(v.Presence.InFlight, v.Presence.Load.Running),
		Load: Load{percent(v.Presence.Load.CPU), percent(v.Presence.Load.Memory)}, CPU: v.Effective.CPU, Memory: v.Effective.Memory,
		Window: int(v.Effective.Window / time.Minute), Concurrency: v.Effective.Concurrency, CreatedDateTime: v.CreatedAt, Annotation: memberAnnotation(c, v),
	}
	if m.Version != "" {
		m.VersionStatus = "Current"
	}
	if !v.Presence.Online {
		m.RunningRequests = v.Presence.InFlight
	}
	if seen := v.SeenAt(); !seen.IsZero() {
		seen = seen.UTC()
		m.LastSeen = &seen
	}
	return m
}

func percent(r gateway.Reading) *float64 {
	if !r.Known {
		return nil
	}
	return &r.Percent
}

// ownAnnotation leaves out of a member's annotation what memberAnnotation adds to every answer: sent back, it must not stay as it was.
func ownAnnotation(c *gateway.Cluster, annotation string) string {
	var stored map[string]any
	if json.Unmarshal([]byte(annotation), &stored) != nil {
		return annotation
	}
	delete(stored, "gatewayVersion")
	delete(stored, "gatewayMachine")
	if sent, ok := stored["gatewayContactInformation"]; ok && text(sent) == text(contacts(c.ContactInfo)) {
		delete(stored, "gatewayContactInformation")
	}
	if len(stored) == 0 {
		return ""
	}
	return text(stored)
}

// memberAnnotation keeps what clients stored and says machine and version as they are now.
func memberAnnotation(c *gateway.Cluster, v *service.MemberView) string {
	stored := map[string]any{}
	if v.Annotation != "" {
		_ = json.Unmarshal([]byte(v.Annotation), &stored)
	}
	if _, ok := stored["gatewayContactInformation"].([]any); !ok {
		stored["gatewayContactInformation"] = contacts(c.ContactInfo)
	}
	stored["gatewayVersion"], stored["gatewayMachine"] = v.CurrentVersion(), v.CurrentMachine()
	return text(stored)
}
