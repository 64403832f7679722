package fabric

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// Principal is who holds a role.
type Principal struct {
	ID          gateway.ID `json:"id"`
	DisplayName string     `json:"displayName,omitempty"`
	Type        string     `json:"type" enums:"User,ServicePrincipal,Group"`
}

// RoleAssignment is a principal's role; its id is the principal's.
type RoleAssignment struct {
	ID        gateway.ID `json:"id"`
	Principal Principal  `json:"principal"`
	Role      string     `json:"role"`
}

func assignment(id gateway.ID, p gateway.Principal, role string) RoleAssignment {
	return RoleAssignment{id, Principal{id, p.Name, shown(string(p.Kind), kindWords)}, role}
}

// PrincipalRequest names a principal.
type PrincipalRequest struct {
	ID   string `json:"id" required:"true" validate:"required" format:"uuid"`
	Type string `json:"type" required:"true" validate:"required" enums:"User,ServicePrincipal,Group"`
	// DisplayName is read-only.
	DisplayName string `json:"displayName"`
}

func (p *PrincipalRequest) id() (gateway.ID, error) {
	if _, err := translated("principal.type", p.Type, kindWords); err != nil {
		return "", err
	}
	id, ok := gateway.ParseID(p.ID)
	if !ok {
		return "", gateway.Errorf(gateway.CodeInvalid, "principal.id: %q is not an id (a GUID).", p.ID)
	}
	return id, nil
}

// AddRoleRequest gives a principal a role.
type AddRoleRequest struct {
	Principal *PrincipalRequest `json:"principal" required:"true" validate:"required"`
	Role      string            `json:"role" required:"true" validate:"required"`
}

// ChangeRoleRequest changes a role.
type ChangeRoleRequest struct {
	Role string `json:"role" required:"true" validate:"required"`
}

func gatewayRole(p *service.PermissionView) RoleAssignment {
	return assignment(p.PrincipalID, p.Principal, shown(string(p.Role), roleWords))
}

// ListGatewayRoles lists who has a role on a gateway.
//
//	@Summary	List the role assignments of a gateway (Fabric)
//	@Tags		Fabric gateways
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster				path		string	true	"gateway id"	Format(uuid)
//	@Param		continuationToken	query		string	false	"from the page before"
//	@Success	200					{object}	Page[RoleAssignment]
//	@Failure	400,401,403,404			{object}	ErrorResponse
//	@Router		/v1/gateways/{cluster}/roleAssignments [get]
func (h *Handlers) ListGatewayRoles(c echo.Context) error {
	after, err := afterOf(c)
	if err != nil {
		return err
	}
	id, err := gatewayID(c)
	if err != nil {
		return err
	}
	view, err := h.Service.Clusters.Get(c.Request().Context(), rest.Caller(c), id)
	if err != nil {
		return err
	}
	place := func(p *service.PermissionView) service.After {
		return service.After{At: p.CreatedAt, ID: p.PrincipalID}
	}
	return paged(c, h, service.PageAfter(view.Permissions, after, pageSize+1, place), gatewayRole, place)
}

// AddGatewayRole gives a principal a role on a gateway.
//
//	@Summary	Add a role assignment to a gateway (Fabric)
//	@Tags		Fabric gateways
//	@Accept		json
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string			true	"gateway id"	Format(uuid)
//	@Param		body	body		AddRoleRequest	true	"who and which role"
//	@Success	201		{object}	RoleAssignment
//	@Failure	400,401,403,404,408,413	{object}	ErrorResponse
//	@Router		/v1/gateways/{cluster}/roleAssignments [post]
func (h *Handlers) AddGatewayRole(c echo.Context) error {
	var r AddRoleRequest
	if err := rest.Decode(c, &r, "id"); err != nil {
		return err
	}
	principal, err := r.Principal.id()
	if err != nil {
		return err
	}
	role, err := translated("role", r.Role, roleWords)
	if err != nil {
		return err
	}
	id, err := gatewayID(c)
	if err != nil {
		return err
	}
	if err := h.Service.Clusters.PutRole(c.Request().Context(), rest.Caller(c), id, principal, gateway.ClusterRole(role)); err != nil {
		return err
	}
	made, err := h.permission(c, id, principal)
	if err != nil {
		return err
	}
	return h.created(c, principal, gatewayRole(&made))
}

func (h *Handlers) permission(c echo.Context, cluster, principal gateway.ID) (service.PermissionView, error) {
	view, err := h.Service.Clusters.Get(c.Request().Context(), rest.Caller(c), cluster)
	if err != nil {
		return service.PermissionView{}, err
	}
	for _, p := range view.Permissions {
		if p.PrincipalID == principal {
			return p, nil
		}
	}
	return service.PermissionView{}, gateway.Errorf(gateway.CodeNotFound, "This principal has no role on the gateway.").About(principal)
}

func roleIDs(c echo.Context) (cluster, principal gateway.ID, err error) {
	if cluster, err = gatewayID(c); err != nil {
		return "", "", err
	}
	principal, err = rest.ID(c, "principal")
	return cluster, principal, err
}

// GetGatewayRole answers one role assignment.
//
//	@Summary	Get a role assignment of a gateway (Fabric)
//	@Tags		Fabric gateways
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster		path		string	true	"gateway id"			Format(uuid)
//	@Param		principal	path		string	true	"role assignment id"	Format(uuid)
//	@Success	200			{object}	RoleAssignment
//	@Failure	401,403,404		{object}	ErrorResponse
//	@Router		/v1/gateways/{cluster}/roleAssignments/{principal} [get]
func (h *Handlers) GetGatewayRole(c echo.Context) error {
	id, principal, err := roleIDs(c)
	if err != nil {
		return err
	}
	p, err := h.permission(c, id, principal)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, gatewayRole(&p))
}

// UpdateGatewayRole changes a role. A creator's allowed types, which this surface does not show, stay.
//
//	@Summary	Change a role assignment of a gateway (Fabric)
//	@Tags		Fabric gateways
//	@Accept		json
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster		path		string				true	"gateway id"			Format(uuid)
//	@Param		principal	path		string				true	"role assignment id"	Format(uuid)
//	@Param		body		body		ChangeRoleRequest	true	"the role"
//	@Success	200			{object}	RoleAssignment
//	@Failure	400,401,403,404,408,413	{object}	ErrorResponse
//	@Router		/v1/gateways/{cluster}/roleAssignments/{principal} [patch]
func (h *Handlers) UpdateGatewayRole(c echo.Context) error {
	var r ChangeRoleRequest
	if err := rest.Decode(c, &r, "id", "principal"); err != nil {
		return err
	}
	role, err := translated("role", r.Role, roleWords)
	if err != nil {
		return err
	}
	id, principal, err := roleIDs(c)
	if err != nil {
		return err
	}
	if err := h.Service.Clusters.ChangeRole(c.Request().Context(), rest.Caller(c), id, principal, gateway.ClusterRole(role)); err != nil {
		return err
	}
	return h.GetGatewayRole(c)
}

// DeleteGatewayRole takes a role away.
//
//	@Summary	Delete a role assignment of a gateway (Fabric)
//	@Tags		Fabric gateways
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster		path	string	true	"gateway id"			Format(uuid)
//	@Param		principal	path	string	true	"role assignment id"	Format(uuid)
//	@Success	200
//	@Failure	401,403,404	{object}	ErrorResponse
//	@Router		/v1/gateways/{cluster}/roleAssignments/{principal} [delete]
func (h *Handlers) DeleteGatewayRole(c echo.Context) error {
	id, principal, err := roleIDs(c)
	if err != nil {
		return err
	}
	if err := h.Service.Clusters.DeletePermission(c.Request().Context(), rest.Caller(c), id, principal); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}

// GetOperation answers that there is none: nothing here takes so long that it goes on after its answer.
//
//	@Summary	State of a long running operation (Fabric); there are none
//	@Tags		Fabric gateways
//	@Produce	json
//	@Security	oauth2
//	@Param		operation	path	string	true	"operation id"	Format(uuid)
//	@Failure	401,404	{object}	ErrorResponse
//	@Router		/v1/operations/{operation} [get]
//	@Router		/v1/operations/{operation}/result [get]
func (h *Handlers) GetOperation(c echo.Context) error {
	return gateway.Errorf(gateway.CodeNotFound, "There is no operation %q: every call here ends with its own answer.", strings.ToLower(rest.Param(c, "operation")))
}
