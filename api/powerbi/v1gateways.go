package powerbi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// V1Gateway is a cluster as the v1.0 paths show it.
type V1Gateway struct {
	ID gateway.ID `json:"id"`
	// GatewayID is a number that old clients read past; it names nothing and is always 0.
	GatewayID int       `json:"gatewayId"`
	Name      string    `json:"name"`
	Type      string    `json:"type" enums:"Resource"`
	PublicKey PublicKey `json:"publicKey"`
	// GatewayAnnotation is a JSON text with gatewayContactInformation (a list), gatewayVersion and gatewayMachine.
	GatewayAnnotation string `json:"gatewayAnnotation"`
	GatewayStatus     string `json:"gatewayStatus" enums:"Live,None"`
}

// V1GatewayEntity is one cluster with its context.
type V1GatewayEntity struct {
	Context string `json:"@odata.context"`
	V1Gateway
}

func v1Gateway(v *service.ClusterView) V1Gateway {
	return V1Gateway{ID: v.ID, Name: v.Name, Type: "Resource", PublicKey: publicKey(v.Key), GatewayAnnotation: clusterAnnotation(v), GatewayStatus: liveOr(v.Online(), "None")}
}

func (h *Handlers) v1Context(name string) string {
	return h.PublicURL + "/v1.0/myorg/$metadata#" + name
}

// v1List answers a list in the envelope of v1.0; none is an empty list, never null.
func v1List[T any](c echo.Context, h *Handlers, name string, values []T) error {
	if values == nil {
		values = []T{}
	}
	return c.JSON(http.StatusOK, List[T]{Context: h.v1Context(name), Value: values})
}

// ListV1Gateways lists the clusters in which the caller has a role.
//
//	@Summary	List gateways (v1.0)
//	@Tags		v1.0
//	@Produce	json
//	@Security	oauth2
//	@Success	200	{object}	List[V1Gateway]
//	@Failure	400,401	{object}	ErrorResponse
//	@Router		/v1.0/myorg/gateways [get]
func (h *Handlers) ListV1Gateways(c echo.Context) error {
	if err := serves(c); err != nil {
		return err
	}
	views, err := h.Service.Clusters.List(c.Request().Context(), rest.Caller(c), service.Individual, service.ClusterFilter{})
	if err != nil {
		return err
	}
	gateways := make([]V1Gateway, len(views))
	for i := range views {
		gateways[i] = v1Gateway(&views[i])
	}
	return v1List(c, h, "gateways", gateways)
}

// GetV1Gateway answers one cluster.
//
//	@Summary	Get a gateway (v1.0)
//	@Tags		v1.0
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string	true	"cluster id"	Format(uuid)
//	@Success	200		{object}	V1GatewayEntity
//	@Failure	401,404	{object}	ErrorResponse
//	@Router		/v1.0/myorg/gateways/{cluster} [get]
func (h *Handlers) GetV1Gateway(c echo.Context) error {
	id, err := rest.ID(c, rest.ParamCluster)
	if err != nil {
		return err
	}
	view, err := h.Service.Clusters.Get(c.Request().Context(), rest.Caller(c), id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, V1GatewayEntity{h.v1Context("gateways/$entity"), v1Gateway(&view)})
}
