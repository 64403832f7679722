package powerbi

import (
	"encoding/json"
	"time"

	"comporta/service"
	"comporta/service/gateway"
)

// UnifiedCluster is a cluster as the oldest surface shows it, the one that OnPremisesDataGatewayHAMgmt speaks.
type UnifiedCluster struct {
	// GatewayID is a number that old clients read past; it names nothing and is always 0.
	GatewayID   int        `json:"gatewayId"`
	ObjectID    gateway.ID `json:"objectId"`
	Name        string     `json:"name"`
	Description string     `json:"description"`
	// PublicKey is a JSON text, as every nested thing on this surface but gateways and permission.
	PublicKey string `json:"publicKey"`
	Keyword   string `json:"keyword"`
	Metadata  string `json:"metadata"`
	// LoadBalancingSettings is a JSON text; selector is 0 for Failover and 1 for Random.
	LoadBalancingSettings string           `json:"loadBalancingSettings" example:"{\"selector\":0}"`
	Annotation            string           `json:"annotation"`
	VersionStatus         string           `json:"versionStatus" enums:"Current,Mixed,None"`
	ExpiryDate            *time.Time       `json:"expiryDate" extensions:"x-nullable"`
	Type                  string           `json:"type" enums:"Resource"`
	Options               Options          `json:"options"`
	Permission            []Permission     `json:"permission"`
	Gateways              []UnifiedGateway `json:"gateways"`
}

// UnifiedGateway is a member as the oldest surface shows it. The anchor is the primary; gatewayClusterStatus is what the administrator
// wants: Enabled, or None for disabled.
type UnifiedGateway struct {
	GatewayID             int        `json:"gatewayId"`
	ObjectID              gateway.ID `json:"gatewayObjectId"`
	Name                  string     `json:"gatewayName"`
	Annotation            string     `json:"gatewayAnnotation"`
	Status                string     `json:"gatewayStatus" enums:"Live,Unreachable"`
	IsAnchor              bool       `json:"isAnchorGateway"`
	ClusterStatus         string     `json:"gatewayClusterStatus" enums:"None,Enabled"`
	LoadBalancingSettings string     `json:"gatewayLoadBalancingSettings"`
	StaticCapabilities    int        `json:"gatewayStaticCapabilities"`
	PublicKey             string     `json:"gatewayPublicKey"`
	Version               string     `json:"gatewayVersion"`
	VersionStatus         string     `json:"gatewayVersionStatus" enums:"Current,None"`
	ExpiryDate            *time.Time `json:"expiryDate" extensions:"x-nullable"`
}

// unifiedReadOnly are the properties that a get-change-patch of either sends back; a change of them is not meant.
var unifiedReadOnly = []string{"gatewayId", "objectId", "publicKey", "keyword", "metadata", "annotation", "versionStatus", "expiryDate", "type", "options", "permission",
	"gateways", "gatewayObjectId", "gatewayStatus", "isAnchorGateway", "gatewayClusterStatus", "gatewayLoadBalancingSettings", "gatewayStaticCapabilities",
	"gatewayPublicKey", "gatewayVersion", "gatewayVersionStatus"}

func (h *Handlers) unifiedCluster(v *service.ClusterView) UnifiedCluster {
	c := h.cluster(v)
	u := UnifiedCluster{ObjectID: c.ID, Name: c.Name, Description: c.Description, PublicKey: text(c.PublicKey), LoadBalancingSettings: c.LoadBalancing,
		Annotation: c.Annotation, VersionStatus: c.VersionStatus, ExpiryDate: c.ExpiryDate, Type: c.Type, Options: c.Options, Permission: c.Permissions,
		Gateways: make([]UnifiedGateway, len(v.Members))}
	for i := range v.Members {
		u.Gateways[i] = unifiedGateway(&v.Cluster, &v.Members[i])
	}
	return u
}

func unifiedGateway(c *gateway.Cluster, v *service.MemberView) UnifiedGateway {
	m := member(c, v)
	u := UnifiedGateway{ObjectID: m.ID, Name: m.Name, Annotation: m.Annotation, Status: m.Status, IsAnchor: m.IsPrimary, ClusterStatus: "None",
		LoadBalancingSettings: selector(c.Mode), StaticCapabilities: staticCapabilities, PublicKey: text(m.PublicKey), Version: m.Version,
		VersionStatus: m.VersionStatus, ExpiryDate: m.ExpiryDate}
	if v.State == gateway.MemberEnabled {
		u.ClusterStatus = "Enabled"
	}
	return u
}

// MemberStatusWord is clusterMemberStatus: None (disabled) or Enabled.
type MemberStatusWord struct{ Value gateway.MemberState }

// FromJSON implements rest.Word.
func (s *MemberStatusWord) FromJSON(text string, isNumber bool) error {
	w, err := wordOf(text, isNumber, map[int]string{0: "None", 1: "Enabled"}, "None", "Enabled")
	s.Value = gateway.MemberDisabled
	if w == "Enabled" {
		s.Value = gateway.MemberEnabled
	}
	return err
}

// Selector is loadBalancingSettings: a JSON text with one number. A missing or unknown selector is Failover, as the older module reads it.
type Selector struct{ Value gateway.BalanceMode }

// FromJSON implements rest.Word.
func (s *Selector) FromJSON(text string, isNumber bool) error {
	var settings struct {
		Selector json.Number `json:"selector"`
	}
	if isNumber || json.Unmarshal([]byte(text), &settings) != nil {
		return gateway.Errorf(gateway.CodeInvalid, `loadBalancingSettings must be the text of a JSON object such as {"selector":1}.`)
	}
	s.Value = gateway.Failover
	if settings.Selector == "1" {
		s.Value = gateway.DistributeEvenly
	}
	return nil
}
