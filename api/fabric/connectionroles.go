package fabric

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

func connectionRole(u *service.DataSourceUserView) RoleAssignment {
	return assignment(u.PrincipalID, u.Principal, string(u.Role))
}

func connectionRoleOf(word string) (gateway.DataSourceRole, error) {
	return oneOf("role", word, gateway.DataSourceOwner, gateway.DataSourceReshare, gateway.DataSourceReader)
}

// ListConnectionRoles lists who has a role on a connection.
//
//	@Summary	List the role assignments of a connection (Fabric)
//	@Tags		Fabric connections
//	@Produce	json
//	@Security	oauth2
//	@Param		connection			path		string	true	"connection id"	Format(uuid)
//	@Param		continuationToken	query		string	false	"from the page before"
//	@Success	200					{object}	Page[RoleAssignment]
//	@Failure	400,401,404			{object}	ErrorResponse
//	@Router		/v1/connections/{connection}/roleAssignments [get]
func (h *Handlers) ListConnectionRoles(c echo.Context) error {
	after, err := afterOf(c)
	if err != nil {
		return err
	}
	cluster, id, err := place(c)
	if err != nil {
		return err
	}
	view, err := h.Service.DataSources.Get(c.Request().Context(), cluster, id)
	if err != nil {
		return err
	}
	where := func(u *service.DataSourceUserView) service.After {
		return service.After{At: u.CreatedAt, ID: u.PrincipalID}
	}
	return paged(c, h, service.PageAfter(view.Users, after, pageSize+1, where), connectionRole, where)
}

func (h *Handlers) user(c echo.Context, cluster, id, principal gateway.ID) (service.DataSourceUserView, error) {
	view, err := h.Service.DataSources.Get(c.Request().Context(), cluster, id)
	if err != nil {
		return service.DataSourceUserView{}, err
	}
	for _, u := range view.Users {
		if u.PrincipalID == principal {
			return u, nil
		}
	}
	return service.DataSourceUserView{}, gateway.Errorf(gateway.CodeNotFound, "This principal has no role on the connection.").About(principal)
}

// AddConnectionRole gives a principal a role on a connection.
//
//	@Summary	Add a role assignment to a connection (Fabric)
//	@Tags		Fabric connections
//	@Accept		json
//	@Produce	json
//	@Security	oauth2
//	@Param		connection	path		string			true	"connection id"	Format(uuid)
//	@Param		body		body		AddRoleRequest	true	"who and which role"
//	@Success	201			{object}	RoleAssignment
//	@Failure	400,401,403,404,408,413	{object}	ErrorResponse
//	@Router		/v1/connections/{connection}/roleAssignments [post]
func (h *Handlers) AddConnectionRole(c echo.Context) error {
	var r AddRoleRequest
	if err := rest.Decode(c, &r, "id"); err != nil {
		return err
	}
	principal, err := r.Principal.id()
	if err != nil {
		return err
	}
	role, err := connectionRoleOf(r.Role)
	if err != nil {
		return err
	}
	cluster, id, err := place(c)
	if err != nil {
		return err
	}
	n := service.NewDataSourceUser{PrincipalID: principal, Role: role}
	if err := h.Service.DataSources.PutUser(c.Request().Context(), rest.Caller(c), cluster, id, n); err != nil {
		return err
	}
	made, err := h.user(c, cluster, id, principal)
	if err != nil {
		return err
	}
	return h.created(c, principal, connectionRole(&made))
}

// GetConnectionRole answers one role assignment.
//
//	@Summary	Get a role assignment of a connection (Fabric)
//	@Tags		Fabric connections
//	@Produce	json
//	@Security	oauth2
//	@Param		connection	path		string	true	"connection id"			Format(uuid)
//	@Param		principal	path		string	true	"role assignment id"	Format(uuid)
//	@Success	200			{object}	RoleAssignment
//	@Failure	401,404		{object}	ErrorResponse
//	@Router		/v1/connections/{connection}/roleAssignments/{principal} [get]
func (h *Handlers) GetConnectionRole(c echo.Context) error {
	u, err := h.userOfPath(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, connectionRole(&u))
}

func (h *Handlers) userOfPath(c echo.Context) (service.DataSourceUserView, error) {
	cluster, id, err := place(c)
	if err != nil {
		return service.DataSourceUserView{}, err
	}
	principal, err := rest.ID(c, "principal")
	if err != nil {
		return service.DataSourceUserView{}, err
	}
	return h.user(c, cluster, id, principal)
}

// UpdateConnectionRole changes a role. The Power BI access right, which this surface does not show, stays.
//
//	@Summary	Change a role assignment of a connection (Fabric)
//	@Tags		Fabric connections
//	@Accept		json
//	@Produce	json
//	@Security	oauth2
//	@Param		connection	path		string				true	"connection id"			Format(uuid)
//	@Param		principal	path		string				true	"role assignment id"	Format(uuid)
//	@Param		body		body		ChangeRoleRequest	true	"the role"
//	@Success	200			{object}	RoleAssignment
//	@Failure	400,401,403,404,408,413	{object}	ErrorResponse
//	@Router		/v1/connections/{connection}/roleAssignments/{principal} [patch]
func (h *Handlers) UpdateConnectionRole(c echo.Context) error {
	var r ChangeRoleRequest
	if err := rest.Decode(c, &r, "id", "principal"); err != nil {
		return err
	}
	role, err := connectionRoleOf(r.Role)
	if err != nil {
		return err
	}
	cluster, id, err := place(c)
	if err != nil {
		return err
	}
	principal, err := rest.ID(c, "principal")
	if err != nil {
		return err
	}
	if err := h.Service.DataSources.ChangeUserRole(c.Request().Context(), rest.Caller(c), cluster, id, principal, role); err != nil {
		return err
	}
	return h.GetConnectionRole(c)
}

// DeleteConnectionRole takes a role away.
//
//	@Summary	Delete a role assignment of a connection (Fabric)
//	@Tags		Fabric connections
//	@Produce	json
//	@Security	oauth2
//	@Param		connection	path	string	true	"connection id"			Format(uuid)
//	@Param		principal	path	string	true	"role assignment id"	Format(uuid)
//	@Success	200
//	@Failure	401,403,404	{object}	ErrorResponse
//	@Router		/v1/connections/{connection}/roleAssignments/{principal} [delete]
func (h *Handlers) DeleteConnectionRole(c echo.Context) error {
	u, err := h.userOfPath(c)
	if err != nil {
		return err
	}
	cluster, id, err := place(c)
	if err != nil {
		return err
	}
	if err := h.Service.DataSources.DeleteUser(c.Request().Context(), rest.Caller(c), cluster, id, u.PrincipalID.String()); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}
