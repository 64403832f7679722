package powerbi

import (
	"encoding/json"
	"math"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// ListAllClusters lists every cluster of the organisation.
//
//	@Summary		List clusters
//	@Description	Every cluster of the organisation, oldest first; takes a TenantAdmin. Under /v2.0/myorg/me: those in which the caller has any role.
//	@Tags			clusters
//	@Produce		json
//	@Security		oauth2
//	@Param			$expand	query		string	false	"permissions, memberGateways, datasources; any combination. dataSourceIds is always there"
//	@Param			$top	query		int		false	"at most so many"
//	@Param			$skip	query		int		false	"leave out so many"
//	@Success		200		{object}	List[Cluster]
//	@Failure		400,401,403	{object}	ErrorResponse
//	@Router			/v2.0/myorg/gatewayClusters [get]
func (h *Handlers) ListAllClusters(c echo.Context) error {
	return h.listClusters(c, service.Organization)
}

// ListOwnClusters lists the clusters in which the caller has a role.
func (h *Handlers) ListOwnClusters(c echo.Context) error {
	return h.listClusters(c, service.Individual)
}

func (h *Handlers) listClusters(c echo.Context, scope service.Scope) error {
	expand, err := expandOf(c, "permissions", "memberGateways", "datasources", "dataSourceIds")
	if err != nil {
		return err
	}
	page, err := pageOf(c)
	if err != nil {
		return err
	}
	views, err := h.Service.Clusters.List(c.Request().Context(), rest.Caller(c), scope, service.ClusterFilter{Page: page})
	if err != nil {
		return err
	}
	clusters := make([]Cluster, len(views))
	for i := range views {
		clusters[i] = h.cluster(&views[i])
		clusters[i].keep(expand)
		if err := h.fill(c, expand, &clusters[i]); err != nil {
			return err
		}
	}
	return list(c, h, "gatewayClusters", clusters)
}

// keep empties the lists that were not asked for.
func (c *Cluster) keep(e expansion) {
	if !e["permissions"] {
		c.Permissions = []Permission{}
	}
	if !e["memberGateways"] {
		c.MemberGateways = []Member{}
	}
}

// fill adds what is read only for who asks for it: the data sources that he may see.
func (h *Handlers) fill(c echo.Context, e expansion, cluster *Cluster) error {
	if !e["datasources"] {
		return nil
	}
	list, err := h.Service.DataSources.Plain(c.Request().Context(), rest.Caller(c), cluster.ID)
	if err != nil && !gateway.IsCode(err, gateway.CodeNotFound) { // it may have been deleted meanwhile
		return err
	}
	for _, d := range list {
		cluster.Datasources = append(cluster.Datasources, dataSource(&service.DataSourceView{DataSource: d}))
	}
	return nil
}

// CreateClusterRequest makes a cluster and its first member.
type CreateClusterRequest struct {
	Name string `json:"name" required:"true" validate:"required"`
	// RecoveryKey is what machines join with; at least 8 characters. It is not kept and cannot be found again.
	RecoveryKey string `json:"recoveryKey" required:"true" validate:"required"`
	// MemberName names the first member, which has the cluster's name when it is left out; or the member that is taken over.
	MemberName  string `json:"memberName"`
	Description string `json:"description"`
	Region      string `json:"region"`
	// OverwriteExistingGateway readies a member of the cluster of that name for a rebuilt machine, if the recovery key is its own: the one that
	// memberName names, else the primary. Ids, data sources and rights stay.
	OverwriteExistingGateway bool `json:"overwriteExistingGateway"`
	// MustExist, with overwriteExistingGateway, refuses to make a new cluster when there is none of that name.
	MustExist bool `json:"mustExist"`
}

// Invitation is a member that waits for its machine. The token is shown this once and good for an hour.
type Invitation struct {
	ID                 gateway.ID `json:"id"`
	Name               string     `json:"name"`
	ClusterID          gateway.ID `json:"clusterId"`
	MemberGatewayID    gateway.ID `json:"memberGatewayId"`
	GatewayObjectID    gateway.ID `json:"gatewayObjectId"`
	EnrolmentToken     string     `json:"enrolmentToken"`
	EnrolmentExpiresAt time.Time  `json:"enrolmentExpiresAt"`
}

// invitation shows the name as it is stored: trimmed, composed, and of what was taken over as it was spelled. Where it cannot be read, it is the
// name as it was sent: the token is made by then, and shown this once.
func invitation(i service.Invitation, id gateway.ID, name string) Invitation {
	return Invitation{ID: id, Name: name, ClusterID: i.ClusterID, MemberGatewayID: i.MemberID, GatewayObjectID: id, EnrolmentToken: i.Token, EnrolmentExpiresAt: i.ExpiresAt}
}

// CreateCluster makes a cluster.
//
//	@Summary		Create a cluster and its first member
//	@Description	The caller becomes its Admin. The first member has the cluster's id.
//	@Tags			clusters
//	@Accept			json
//	@Produce		json
//	@Security		oauth2
//	@Param			body	body		CreateClusterRequest	true	"the cluster"
//	@Success		201		{object}	Invitation
//	@Failure		400,401,403,404,408,409,413,429	{object}	ErrorResponse
//	@Router			/v2.0/myorg/gatewayClusters [post]
func (h *Handlers) CreateCluster(c echo.Context) error {
	var r CreateClusterRequest
	if err := rest.Decode(c, &r); err != nil {
		return err
	}
	i, err := h.Service.Clusters.Create(c.Request().Context(), rest.Caller(c), service.NewCluster{Name: r.Name, MemberName: r.MemberName, Description: r.Description,
		Region: r.Region, RecoveryKey: r.RecoveryKey, Overwrite: r.OverwriteExistingGateway, MustExist: r.MustExist})
	if err != nil {
		return err
	}
	name := r.Name
	if view, err := h.Service.Clusters.Get(c.Request().Context(), rest.Caller(c), i.ClusterID); err == nil {
		name = view.Name
	}
	return c.JSON(http.StatusCreated, invitation(i, i.ClusterID, name))
}

// GetCluster answers one cluster.
//
//	@Summary	Get a cluster
//	@Tags		clusters
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string	true	"cluster id"	Format(uuid)
//	@Param		$expand	query		string	false	"datasources; everything else is filled"
//	@Success	200		{object}	ClusterEntity
//	@Failure	400,401,404	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayClusters/{cluster} [get]
func (h *Handlers) GetCluster(c echo.Context) error {
	expand, err := expandOf(c, "permissions", "memberGateways", "datasources", "dataSourceIds")
	if err != nil {
		return err
	}
	return h.answerCluster(c, expand)
}

func (h *Handlers) answerCluster(c echo.Context, expand expansion) error {
	id, err := rest.ID(c, rest.ParamCluster)
	if err != nil {
		return err
	}
	view, err := h.Service.Clusters.Get(c.Request().Context(), rest.Caller(c), id)
	if err != nil {
		return err
	}
	cluster := h.cluster(&view)
	if err := h.fill(c, expand, &cluster); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, ClusterEntity{h.context("gatewayClusters/$entity"), cluster})
}

// UpdateClusterRequest changes what is given; null and what is left out stay as they are.
type UpdateClusterRequest struct {
	Name                        *string `json:"name"`
	Department                  *string `json:"department"`
	Description                 *string `json:"description"`
	ContactInformation          *string `json:"contactInformation"`
	AllowCloudDatasourceRefresh *bool   `json:"allowCloudDatasourceRefresh"`
	AllowCustomConnectors       *bool   `json:"allowCustomConnectors"`
	LoadBalancingSelectorType   *Mode   `json:"loadBalancingSelectorType" swaggertype:"string" enums:"Failover,Random,LeastLoaded"`
	LimitsRequest
	QueueTimeoutSeconds *int `json:"queueTimeoutSeconds"`
	ResetLimits         bool `json:"resetLimits"`
}

// UpdateCluster changes a cluster.
//
//	@Summary	Change a cluster
//	@Tags		clusters
//	@Accept		json
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string					true	"cluster id"	Format(uuid)
//	@Param		body	body		UpdateClusterRequest	true	"what changes"
//	@Success	200		{object}	ClusterEntity
//	@Failure	400,401,403,404,408,409,413	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayClusters/{cluster} [patch]
func (h *Handlers) UpdateCluster(c echo.Context) error {
	var r UpdateClusterRequest
	if err := rest.Decode(c, &r, clusterReadOnly...); err != nil {
		return err
	}
	id, err := rest.ID(c, rest.ParamCluster)
	if err != nil {
		return err
	}
	patch := service.ClusterPatch{Name: r.Name, Description: r.Description, Department: r.Department, ContactInfo: r.ContactInformation,
		AllowCloudRefresh: r.AllowCloudDatasourceRefresh, AllowCustomConnectors: r.AllowCustomConnectors, Limits: r.limits(), ResetLimits: r.ResetLimits, SentBack: r.ID != nil}
	if r.LoadBalancingSelectorType != nil {
		patch.Mode = &r.LoadBalancingSelectorType.Value
	}
	if r.QueueTimeoutSeconds != nil {
		// Cut to what is out of range all the same, so that no number of seconds becomes another one.
		d := time.Duration(max(-1, min(*r.QueueTimeoutSeconds, math.MaxInt32))) * time.Second
		patch.QueueTimeout = &d
	}
	if err := h.Service.Clusters.Update(c.Request().Context(), rest.Caller(c), id, patch); err != nil {
		return err
	}
	return h.answerCluster(c, nil)
}

// LimitsRequest are the limits of a cluster or a member, with the names of the configuration file. In the whole of an object sent back, which
// its id tells, a limit that is inherited and unchanged stays inherited.
type LimitsRequest struct {
	ID          json.RawMessage `json:"id" swaggerignore:"true"`
	CPU         *int            `json:"cpuUtilizationPercentageThreshold" minimum:"0" maximum:"100"`
	Memory      *int            `json:"memoryUtilizationPercentageThreshold" minimum:"0" maximum:"100"`
	Window      *int            `json:"resourceUtilizationAggregationTimeInMinutes" minimum:"1" maximum:"60"`
	Concurrency *int            `json:"concurrentOperationLimit" minimum:"0" maximum:"100000"`
}

func (r *LimitsRequest) limits() gateway.Limits {
	return gateway.Limits{CPU: r.CPU, Memory: r.Memory, WindowMinutes: r.Window, Concurrency: r.Concurrency}
}

// DeleteCluster removes a cluster with everything in it.
//
//	@Summary	Delete a cluster
//	@Tags		clusters
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path	string	true	"cluster id"	Format(uuid)
//	@Success	200
//	@Failure	401,403,404	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayClusters/{cluster} [delete]
func (h *Handlers) DeleteCluster(c echo.Context) error {
	id, err := rest.ID(c, rest.ParamCluster)
	if err != nil {
		return err
	}
	if err := h.Service.Clusters.Delete(c.Request().Context(), rest.Caller(c), id); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}

// ClusterCondition is how a cluster is now.
type ClusterCondition struct {
	Context            string `json:"@odata.context"`
	ClusterStatus      string `json:"clusterStatus" enums:"Live,None"`
	StaticCapabilities int    `json:"gatewayStaticCapabilities"`
	GatewayVersion     string `json:"gatewayVersion"`
	UpgradeState       string `json:"gatewayUpgradeState" enums:"UpToDate,NewVersionAvailable,Unknown"`
	// MemberGatewayErrorMessages are plain texts, one per problem of a member.
	MemberGatewayErrorMessages []string        `json:"memberGatewayErrorMessages"`
	MemberGatewayErrors        []MemberProblem `json:"memberGatewayErrors"`
}

// MemberProblem is one problem of one member.
type MemberProblem struct {
	MemberGatewayID gateway.ID `json:"memberGatewayId"`
	GatewayName     string     `json:"gatewayName"`
	ErrorCode       string     `json:"errorCode"`
	ErrorMessage    string     `json:"errorMessage"`
}

// GetStatus answers how a cluster is now.
//
//	@Summary		Status of a cluster
//	@Description	Live if any enabled member can be reached, else None. Every disabled or unreachable member is listed with its code.
//	@Tags			clusters
//	@Produce		json
//	@Security		oauth2
//	@Param			cluster	path		string	true	"cluster id"	Format(uuid)
//	@Success		200		{object}	ClusterCondition
//	@Failure		401,404	{object}	ErrorResponse
//	@Router			/v2.0/myorg/gatewayClusters/{cluster}/status [get]
func (h *Handlers) GetStatus(c echo.Context) error {
	id, err := rest.ID(c, rest.ParamCluster)
	if err != nil {
		return err
	}
	s, err := h.Service.Clusters.Status(c.Request().Context(), id)
	if err != nil {
		return err
	}
	status := ClusterCondition{Context: h.context("gatewayClusters/status/$entity"), ClusterStatus: liveOr(s.Online, "None"), StaticCapabilities: staticCapabilities,
		GatewayVersion: s.Version, UpgradeState: upgradeState(s.Version, s.MixedVersions), MemberGatewayErrorMessages: []string{}, MemberGatewayErrors: []MemberProblem{}}
	for _, p := range s.Problems {
		status.MemberGatewayErrors = append(status.MemberGatewayErrors, MemberProblem{p.MemberID, p.MemberName, string(p.Code), p.Message})
		status.MemberGatewayErrorMessages = append(status.MemberGatewayErrorMessages, p.MemberName+": "+p.Message+" ("+string(p.Code)+")")
	}
	return c.JSON(http.StatusOK, status)
}

func upgradeState(version string, mixed bool) string {
	switch {
	case version == "":
		return "Unknown"
	case mixed:
		return "NewVersionAvailable"
	}
	return "UpToDate"
}

// RecoveryKeyRequest changes a recovery key.
type RecoveryKeyRequest struct {
	CurrentRecoveryKey string `json:"currentRecoveryKey" required:"true" validate:"required"`
	NewRecoveryKey     string `json:"newRecoveryKey" required:"true" validate:"required"`
}

// ChangeRecoveryKey changes a cluster's recovery key.
//
//	@Summary		Change the recovery key
//	@Description	Members that are joined go on working.
//	@Tags			clusters
//	@Accept			json
//	@Produce		json
//	@Security		oauth2
//	@Param			cluster	path	string				true	"cluster id"	Format(uuid)
//	@Param			body	body	RecoveryKeyRequest	true	"both keys"
//	@Success		200
//	@Failure		400,401,403,404,408,413,429	{object}	ErrorResponse
//	@Router			/v2.0/myorg/gatewayClusters/{cluster}/recoveryKey [post]
func (h *Handlers) ChangeRecoveryKey(c echo.Context) error {
	var r RecoveryKeyRequest
	if err := rest.Decode(c, &r); err != nil {
		return err
	}
	id, err := rest.ID(c, rest.ParamCluster)
	if err != nil {
		return err
	}
	if err := h.Service.Clusters.ChangeRecoveryKey(c.Request().Context(), rest.Caller(c), id, r.CurrentRecoveryKey, r.NewRecoveryKey); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}
