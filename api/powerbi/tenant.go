package powerbi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service/gateway"
)

// Policy says who may create clusters and join members.
type Policy struct {
	ID gateway.ID `json:"id"`
	// Policy is None, or PersonalInstallRestricted, EnterpriseInstallRestricted, or both with a comma.
	Policy                       string `json:"policy"`
	ResourceGatewayInstallPolicy string `json:"resourceGatewayInstallPolicy" enums:"Open,Restricted"`
	PersonalGatewayInstallPolicy string `json:"personalGatewayInstallPolicy" enums:"Open,Restricted"`
}

func policy(p gateway.TenantPolicy) Policy {
	words := map[[2]bool]string{{false, false}: "None", {true, false}: "EnterpriseInstallRestricted", {false, true}: "PersonalInstallRestricted",
		{true, true}: "PersonalInstallRestricted, EnterpriseInstallRestricted"}
	return Policy{ID: p.TenantID, Policy: words[[2]bool{p.ResourceRestricted, p.PersonalRestricted}],
		ResourceGatewayInstallPolicy: openOr(p.ResourceRestricted), PersonalGatewayInstallPolicy: openOr(p.PersonalRestricted)}
}

func openOr(restricted bool) string {
	if restricted {
		return "Restricted"
	}
	return "Open"
}

// GetPolicy answers the tenant's policy.
//
//	@Summary	Get the tenant policy
//	@Tags		tenant
//	@Produce	json
//	@Security	oauth2
//	@Success	200	{object}	Policy
//	@Failure	401,403	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayPolicy [get]
func (h *Handlers) GetPolicy(c echo.Context) error {
	p, err := h.Service.Tenant.Policy(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, policy(p))
}

// PolicyRequest changes the policy; None and what is left out stay as they are.
type PolicyRequest struct {
	Resource PolicyWord `json:"resourceGatewayInstallPolicy" swaggertype:"string" enums:"None,Open,Restricted"`
	Personal PolicyWord `json:"personalGatewayInstallPolicy" swaggertype:"string" enums:"None,Open,Restricted"`
}

// SetPolicy changes the tenant's policy.
//
//	@Summary	Change the tenant policy
//	@Tags		tenant
//	@Accept		json
//	@Produce	json
//	@Security	oauth2
//	@Param		body	body		PolicyRequest	true	"what changes"
//	@Success	200		{object}	Policy
//	@Failure	400,401,403,408,413	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayPolicy [post]
func (h *Handlers) SetPolicy(c echo.Context) error {
	var r PolicyRequest
	if err := rest.Decode(c, &r, "id", "policy"); err != nil {
		return err
	}
	p, err := h.Service.Tenant.SetPolicy(c.Request().Context(), rest.Caller(c), r.Resource.Restricted, r.Personal.Restricted)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, policy(p))
}

// Installer may create clusters and join members while the policy is restricted.
type Installer struct {
	ID   gateway.ID `json:"id"`
	Type string     `json:"type" enums:"Resource,Personal,VirtualNetwork"`
}

// ListInstallers lists the installers.
//
//	@Summary	List installers
//	@Tags		tenant
//	@Produce	json
//	@Security	oauth2
//	@Param		$filter	query		string	false	"type eq 'Resource'"
//	@Param		$top	query		int		false	"at most so many"
//	@Param		$skip	query		int		false	"leave out so many"
//	@Success	200		{object}	List[Installer]
//	@Failure	400,401,403	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayInstallers [get]
func (h *Handlers) ListInstallers(c echo.Context) error {
	page, err := pageOf(c, "$filter")
	if err != nil {
		return err
	}
	kind, err := typeFilter(c)
	if err != nil {
		return err
	}
	stored, err := h.Service.Tenant.Installers(c.Request().Context(), kind)
	if err != nil {
		return err
	}
	installers := make([]Installer, len(stored))
	for i, s := range stored {
		installers[i] = Installer{s.PrincipalID, string(s.Type)}
	}
	return list(c, h, "gatewayInstallers", cut(installers, page))
}

// InstallersRequest adds or removes installers.
type InstallersRequest struct {
	IDs         []ID       `json:"ids" required:"true" validate:"required" swaggertype:"array,string"`
	Operation   *Operation `json:"operation" required:"true" validate:"required" swaggertype:"string" enums:"None,Add,Remove"`
	GatewayType *Type      `json:"gatewayType" required:"true" validate:"required" swaggertype:"string" enums:"Resource,Personal,VirtualNetwork"`
}

// ChangeInstallers adds or removes installers; repeating it is harmless.
//
//	@Summary	Add or remove installers
//	@Tags		tenant
//	@Accept		json
//	@Produce	json
//	@Security	oauth2
//	@Param		body	body	InstallersRequest	true	"who"
//	@Success	200
//	@Failure	400,401,403,408,413	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayInstallers [post]
func (h *Handlers) ChangeInstallers(c echo.Context) error {
	var r InstallersRequest
	if err := rest.Decode(c, &r); err != nil {
		return err
	}
	if r.Operation.Value == "None" {
		return c.NoContent(http.StatusOK)
	}
	ids := make([]gateway.ID, len(r.IDs))
	for i, id := range r.IDs {
		ids[i] = id.Value
	}
	err := h.Service.Tenant.ChangeInstallers(c.Request().Context(), rest.Caller(c), ids, r.GatewayType.Value, r.Operation.Value == "Add")
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}

// RegionEntry is a region.
type RegionEntry struct {
	RegionKey              string `json:"regionKey"`
	Region                 string `json:"region"`
	BackendURI             string `json:"backendUri"`
	IsDefaultPowerBIRegion bool   `json:"isDefaultPowerBIRegion"`
}

// ListRegions lists the regions; all are served by this one address.
//
//	@Summary	List regions
//	@Tags		tenant
//	@Produce	json
//	@Security	oauth2
//	@Param		$top	query		int	false	"at most so many"
//	@Param		$skip	query		int	false	"leave out so many"
//	@Success	200		{object}	List[RegionEntry]
//	@Failure	400,401	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayRegions [get]
func (h *Handlers) ListRegions(c echo.Context) error {
	page, err := pageOf(c)
	if err != nil {
		return err
	}
	var regions []RegionEntry
	for _, r := range h.Service.Tenant.Regions {
		regions = append(regions, RegionEntry{r.Key, r.Name, h.PublicURL, r.Home})
	}
	return list(c, h, "gatewayRegions", cut(regions, page))
}
