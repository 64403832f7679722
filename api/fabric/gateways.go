package fabric

import (
	"encoding/base64"
	"net/http"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// onPremises is the one kind of gateway that there is here.
const onPremises = "OnPremises"

// PublicKey is the cluster's public key, which credentials are encrypted with. Both are base64 of big-endian bytes.
type PublicKey struct {
	Exponent string `json:"exponent" example:"AQAB"`
	Modulus  string `json:"modulus"`
}

func publicKey(k gateway.ClusterKey) PublicKey {
	return PublicKey{base64.StdEncoding.EncodeToString(k.Exponent), base64.StdEncoding.EncodeToString(k.Modulus)}
}

// Gateway is a cluster as this surface shows it. version is the primary's, as it last said.
type Gateway struct {
	ID                          gateway.ID `json:"id"`
	Type                        string     `json:"type" enums:"OnPremises"`
	DisplayName                 string     `json:"displayName"`
	PublicKey                   PublicKey  `json:"publicKey"`
	Version                     string     `json:"version"`
	NumberOfMemberGateways      int        `json:"numberOfMemberGateways"`
	LoadBalancingSetting        string     `json:"loadBalancingSetting" enums:"Failover,DistributeEvenly"`
	AllowCloudConnectionRefresh bool       `json:"allowCloudConnectionRefresh"`
	AllowCustomConnectors       bool       `json:"allowCustomConnectors"`
}

func gatewayOf(v *service.ClusterView) Gateway {
	g := Gateway{ID: v.ID, Type: onPremises, DisplayName: v.Name, PublicKey: publicKey(v.Key), NumberOfMemberGateways: len(v.Members), LoadBalancingSetting: setting(v.Mode),
		AllowCloudConnectionRefresh: v.AllowCloudRefresh, AllowCustomConnectors: v.AllowCustomConnectors}
	if p := v.Primary(); p != nil {
		g.Version = p.CurrentVersion()
	}
	return g
}

// setting is Fabric's word for a mode; it has none for LeastLoaded, which spreads requests as well.
func setting(m gateway.BalanceMode) string {
	if m == gateway.Failover {
		return string(gateway.Failover)
	}
	return string(gateway.DistributeEvenly)
}

// ListGateways lists the clusters in which the caller has a role.
//
//	@Summary	List gateways (Fabric)
//	@Tags		Fabric gateways
//	@Produce	json
//	@Security	oauth2
//	@Param		continuationToken	query		string	false	"from the page before"
//	@Success	200					{object}	Page[Gateway]
//	@Failure	400,401,429			{object}	ErrorResponse
//	@Router		/v1/gateways [get]
func (h *Handlers) ListGateways(c echo.Context) error {
	after, err := afterOf(c)
	if err != nil {
		return err
	}
	filter := service.ClusterFilter{After: after, Page: service.Page{Limit: pageSize + 1}}
	views, err := h.Service.Clusters.List(c.Request().Context(), rest.Caller(c), service.Individual, filter)
	if err != nil {
		return err
	}
	return paged(c, h, views, gatewayOf, func(v *service.ClusterView) service.After { return service.After{At: v.CreatedAt, ID: v.ID} })
}

// CreateGatewayRequest names the kind of gateway to make.
type CreateGatewayRequest struct {
	Type        string `json:"type" required:"true" validate:"required" enums:"VirtualNetwork,StreamingVirtualNetwork"`
	DisplayName string `json:"displayName"`
}

// CreateGateway refuses: Fabric makes virtual network gateways only, and this service has none.
//
//	@Summary		Create a gateway (Fabric)
//	@Description	Always refused: Fabric creates virtual network gateways only. On-premises clusters are created by the machine that joins.
//	@Tags			Fabric gateways
//	@Accept			json
//	@Produce		json
//	@Security		oauth2
//	@Param			body	body	CreateGatewayRequest	true	"the gateway"
//	@Failure		400,401,403,408,413	{object}	ErrorResponse
//	@Router			/v1/gateways [post]
func (h *Handlers) CreateGateway(c echo.Context) error {
	var r CreateGatewayRequest
	err := rest.Decode(c, &r, "capacityId", "virtualNetworkAzureResource", "inactivityMinutesBeforeSleep", "numberOfMemberGateways", "minMemberGatewayCount", "maxMemberGatewayCount",
		"loadBalancingSetting", "allowCloudConnectionRefresh", "allowCustomConnectors")
	if err != nil {
		return err
	}
	kind, err := oneOf("type", r.Type, "VirtualNetwork", "StreamingVirtualNetwork", onPremises, "OnPremisesPersonal")
	if err != nil {
		return err
	}
	return gateway.Errorf(gateway.CodeNotSupported, "Gateways of type %s cannot be created here. Create an on-premises cluster with comporta member join, or at /v2.0/myorg/gatewayClusters.", kind)
}

// GetGateway answers one cluster.
//
//	@Summary	Get a gateway (Fabric)
//	@Tags		Fabric gateways
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string	true	"gateway id"	Format(uuid)
//	@Success	200		{object}	Gateway
//	@Failure	401,404	{object}	ErrorResponse
//	@Router		/v1/gateways/{cluster} [get]
func (h *Handlers) GetGateway(c echo.Context) error {
	id, err := gatewayID(c)
	if err != nil {
		return err
	}
	view, err := h.Service.Clusters.Get(c.Request().Context(), rest.Caller(c), id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, gatewayOf(&view))
}

// UpdateGatewayRequest changes what is given; the rest of a whole object is passed over.
type UpdateGatewayRequest struct {
	Type                        string  `json:"type" required:"true" validate:"required" enums:"OnPremises"`
	DisplayName                 *string `json:"displayName"`
	LoadBalancingSetting        *string `json:"loadBalancingSetting" enums:"Failover,DistributeEvenly"`
	AllowCloudConnectionRefresh *bool   `json:"allowCloudConnectionRefresh"`
	AllowCustomConnectors       *bool   `json:"allowCustomConnectors"`
}

// UpdateGateway changes a cluster.
//
//	@Summary	Change a gateway (Fabric)
//	@Tags		Fabric gateways
//	@Accept		json
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string					true	"gateway id"	Format(uuid)
//	@Param		body	body		UpdateGatewayRequest	true	"what changes"
//	@Success	200		{object}	Gateway
//	@Failure	400,401,403,404,408,409,413	{object}	ErrorResponse
//	@Router		/v1/gateways/{cluster} [patch]
func (h *Handlers) UpdateGateway(c echo.Context) error {
	var r UpdateGatewayRequest
	if err := rest.Decode(c, &r, "id", "publicKey", "version", "numberOfMemberGateways"); err != nil {
		return err
	}
	id, err := gatewayID(c)
	if err != nil {
		return err
	}
	patch, err := r.patch()
	if err != nil {
		return err
	}
	if err := h.Service.Clusters.Update(c.Request().Context(), rest.Caller(c), id, patch); err != nil {
		return err
	}
	return h.GetGateway(c)
}

func (r *UpdateGatewayRequest) patch() (service.ClusterPatch, error) {
	p := service.ClusterPatch{Spread: true, Name: r.DisplayName, AllowCloudRefresh: r.AllowCloudConnectionRefresh, AllowCustomConnectors: r.AllowCustomConnectors}
	kind, err := oneOf("type", r.Type, onPremises, "OnPremisesPersonal", "VirtualNetwork", "StreamingVirtualNetwork")
	if err != nil {
		return p, err
	}
	if kind != onPremises {
		return p, gateway.Errorf(gateway.CodeNotSupported, "The gateway is of type %s, not %s.", onPremises, kind)
	}
	if r.LoadBalancingSetting != nil {
		mode, err := oneOf("loadBalancingSetting", *r.LoadBalancingSetting, gateway.Failover, gateway.DistributeEvenly)
		if err != nil {
			return p, err
		}
		p.Mode = &mode
	}
	return p, nil
}

// DeleteGateway removes a cluster with everything in it.
//
//	@Summary	Delete a gateway (Fabric)
//	@Tags		Fabric gateways
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path	string	true	"gateway id"	Format(uuid)
//	@Success	200
//	@Failure	401,403,404	{object}	ErrorResponse
//	@Router		/v1/gateways/{cluster} [delete]
func (h *Handlers) DeleteGateway(c echo.Context) error {
	id, err := gatewayID(c)
	if err != nil {
		return err
	}
	if err := h.Service.Clusters.Delete(c.Request().Context(), rest.Caller(c), id); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}

// RestartGateway refuses: only virtual network gateways are restarted from here.
//
//	@Summary	Restart a gateway (Fabric); virtual network only, so always refused
//	@Tags		Fabric gateways
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path	string	true	"gateway id"	Format(uuid)
//	@Failure	400,401,403,404	{object}	ErrorResponse
//	@Router		/v1/gateways/{cluster}/restart [post]
func (h *Handlers) RestartGateway(echo.Context) error { return virtualNetworkOnly() }

// ShutdownGateway refuses likewise.
//
//	@Summary	Shut a gateway down (Fabric); virtual network only, so always refused
//	@Tags		Fabric gateways
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path	string	true	"gateway id"	Format(uuid)
//	@Failure	400,401,403,404	{object}	ErrorResponse
//	@Router		/v1/gateways/{cluster}/shutdown [post]
func (h *Handlers) ShutdownGateway(echo.Context) error { return virtualNetworkOnly() }

func virtualNetworkOnly() error {
	return gateway.Errorf(gateway.CodeNotSupported, "Only virtual network gateways can be restarted or shut down from here; restart the machines of an on-premises gateway where they stand.")
}
