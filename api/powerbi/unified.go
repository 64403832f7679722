package powerbi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// ListUnifiedClusters lists the clusters in which the caller has a role.
//
//	@Summary		List clusters (oldest surface)
//	@Description	A bare array, everything expanded.
//	@Tags			unifiedgateway
//	@Produce		json
//	@Security		oauth2
//	@Success		200	{array}		UnifiedCluster
//	@Failure		400,401	{object}	ErrorResponse
//	@Router			/unifiedgateway/gatewayclusters [get]
func (h *Handlers) ListUnifiedClusters(c echo.Context) error {
	if err := serves(c); err != nil {
		return err
	}
	views, err := h.Service.Clusters.List(c.Request().Context(), rest.Caller(c), service.Individual, service.ClusterFilter{})
	if err != nil {
		return err
	}
	clusters := make([]UnifiedCluster, len(views))
	for i := range views {
		clusters[i] = h.unifiedCluster(&views[i])
	}
	return c.JSON(http.StatusOK, clusters)
}

// GetUnifiedCluster answers one cluster.
//
//	@Summary	Get a cluster (oldest surface)
//	@Tags		unifiedgateway
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string	true	"cluster id"	Format(uuid)
//	@Success	200		{object}	UnifiedCluster
//	@Failure	401,404	{object}	ErrorResponse
//	@Router		/unifiedgateway/gatewayclusters/{cluster} [get]
func (h *Handlers) GetUnifiedCluster(c echo.Context) error {
	id, err := rest.ID(c, rest.ParamCluster)
	if err != nil {
		return err
	}
	view, err := h.Service.Clusters.Get(c.Request().Context(), rest.Caller(c), id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, h.unifiedCluster(&view))
}

// UpdateUnifiedClusterRequest changes what is given; null and what is left out stay as they are.
type UpdateUnifiedClusterRequest struct {
	Name                  *string   `json:"name"`
	Description           *string   `json:"description"`
	LoadBalancingSettings *Selector `json:"loadBalancingSettings" swaggertype:"string" example:"{\"selector\":1}"`
}

// UpdateUnifiedCluster changes a cluster.
//
//	@Summary	Change a cluster (oldest surface)
//	@Tags		unifiedgateway
//	@Accept		json
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string						true	"cluster id"	Format(uuid)
//	@Param		body	body		UpdateUnifiedClusterRequest	true	"what changes"
//	@Success	200		{object}	UnifiedCluster
//	@Failure	400,401,403,404,408,409,413	{object}	ErrorResponse
//	@Router		/unifiedgateway/gatewayclusters/{cluster} [patch]
func (h *Handlers) UpdateUnifiedCluster(c echo.Context) error {
	var r UpdateUnifiedClusterRequest
	if err := rest.Decode(c, &r, unifiedReadOnly...); err != nil {
		return err
	}
	id, err := rest.ID(c, rest.ParamCluster)
	if err != nil {
		return err
	}
	patch := service.ClusterPatch{Name: r.Name, Description: r.Description}
	if r.LoadBalancingSettings != nil {
		patch.Mode, patch.Spread = &r.LoadBalancingSettings.Value, true
	}
	if err := h.Service.Clusters.Update(c.Request().Context(), rest.Caller(c), id, patch); err != nil {
		return err
	}
	return h.GetUnifiedCluster(c)
}

// UpdateUnifiedGatewayRequest changes what is given; null and what is left out stay as they are.
type UpdateUnifiedGatewayRequest struct {
	// ClusterMemberStatus None disables the member: no new request, running ones finish.
	ClusterMemberStatus *MemberStatusWord `json:"clusterMemberStatus" swaggertype:"string" enums:"None,Enabled"`
	GatewayName         *string           `json:"gatewayName"`
	// GatewayAnnotation is a JSON text.
	GatewayAnnotation *string `json:"gatewayAnnotation"`
}

// UpdateUnifiedGateway changes a member.
//
//	@Summary	Change a member (oldest surface)
//	@Tags		unifiedgateway
//	@Accept		json
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string						true	"cluster id"	Format(uuid)
//	@Param		member	path		string						true	"member id"		Format(uuid)
//	@Param		body	body		UpdateUnifiedGatewayRequest	true	"what changes"
//	@Success	200		{object}	UnifiedGateway
//	@Failure	400,401,403,404,408,409,413	{object}	ErrorResponse
//	@Router		/unifiedgateway/gatewayclusters/{cluster}/gateways/{member} [patch]
func (h *Handlers) UpdateUnifiedGateway(c echo.Context) error {
	var r UpdateUnifiedGatewayRequest
	if err := rest.Decode(c, &r, unifiedReadOnly...); err != nil {
		return err
	}
	same := UpdateMemberRequest{Name: r.GatewayName, Annotation: r.GatewayAnnotation}
	if r.ClusterMemberStatus != nil {
		same.State = &State{r.ClusterMemberStatus.Value}
	}
	patch, err := same.patch()
	if err != nil {
		return err
	}
	if err := h.updateMember(c, patch); err != nil {
		return err
	}
	view, m, err := h.memberOf(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, unifiedGateway(&view.Cluster, m))
}

// RemoveUnifiedGateway takes a member out of its cluster.
//
//	@Summary		Remove a member (oldest surface)
//	@Description	Success also when the cluster has no such member. The primary goes last, and the cluster goes with it.
//	@Tags			unifiedgateway
//	@Produce		json
//	@Security		oauth2
//	@Param			cluster	path	string	true	"cluster id"	Format(uuid)
//	@Param			member	path	string	true	"member id"		Format(uuid)
//	@Success		200
//	@Failure		401,403,404,409	{object}	ErrorResponse
//	@Router			/unifiedgateway/gatewayclusters/{cluster}/gateways/{member} [delete]
func (h *Handlers) RemoveUnifiedGateway(c echo.Context) error {
	err := h.RemoveMember(c)
	if gateway.IsCode(err, gateway.CodeNotFound) {
		return c.NoContent(http.StatusOK)
	}
	return err
}

// UnifiedStatus is how a member is now.
type UnifiedStatus struct {
	Status       string `json:"gatewayStatus" enums:"Live"`
	Version      string `json:"gatewayVersion"`
	UpgradeState string `json:"gatewayUpgradeState" enums:"UpToDate,NewVersionAvailable,Unknown"`
}

// GetUnifiedStatus answers how a member is now. Clients turn the error of an unreachable one into the word Unreachable by its code.
//
//	@Summary	Status of a member (oldest surface)
//	@Tags		unifiedgateway
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string	true	"cluster id"	Format(uuid)
//	@Param		member	path		string	true	"member id"		Format(uuid)
//	@Success	200		{object}	UnifiedStatus
//	@Failure	400		{object}	ErrorResponse	"DM_GWPipeline_Client_GatewayUnreachable"
//	@Failure	401,404	{object}	ErrorResponse
//	@Router		/unifiedgateway/gatewayclusters/{cluster}/gateways/{member}/status [get]
func (h *Handlers) GetUnifiedStatus(c echo.Context) error {
	view, m, err := h.memberOf(c)
	if err != nil {
		return err
	}
	if !m.Presence.Online {
		return failedTest(c, gateway.Errorf(gateway.CodeUnreachable, "Gateway is unreachable").About(m.ID))
	}
	return c.JSON(http.StatusOK, UnifiedStatus{"Live", m.CurrentVersion(), upgradeState(m.CurrentVersion(), view.MixedVersions())})
}
