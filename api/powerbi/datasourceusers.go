package powerbi

import (
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// ListDataSourceUsers lists the users of a data source.
//
//	@Summary	List the users of a data source
//	@Tags		data sources
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster		path		string	true	"cluster id"		Format(uuid)
//	@Param		dataSource	path		string	true	"data source id"	Format(uuid)
//	@Param		$top		query		int		false	"at most so many"
//	@Param		$skip		query		int		false	"leave out so many"
//	@Success	200			{object}	List[DataSourceUser]
//	@Failure	400,401,404	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayClusters/{cluster}/datasources/{dataSource}/users [get]
func (h *Handlers) ListDataSourceUsers(c echo.Context) error {
	page, err := pageOf(c)
	if err != nil {
		return err
	}
	clusterID, id, err := sourceIDs(c)
	if err != nil {
		return err
	}
	view, err := h.Service.DataSources.Get(c.Request().Context(), clusterID, id)
	if err != nil {
		return err
	}
	return list(c, h, "gatewayClusters/datasources/users", cut(dataSource(&view).Users, page))
}

// DataSourceUserRequest names a principal by identifier (object id) or e-mail address. None takes his role away; a role that is not given
// stays as it is.
type DataSourceUserRequest struct {
	DatasourceAccessRight *Right    `json:"datasourceAccessRight" required:"true" validate:"required" swaggertype:"string" enums:"None,Read,ReadOverrideEffectiveIdentity"`
	Identifier            *ID       `json:"identifier" swaggertype:"string" format:"uuid"`
	EmailAddress          string    `json:"emailAddress"`
	DisplayName           string    `json:"displayName"`
	PrincipalType         *UserKind `json:"principalType" swaggertype:"string" enums:"None,User,App,Group"`
	Role                  *UserRole `json:"role" swaggertype:"string" enums:"Owner,UserWithReshare,User"`
	// Profile is a service principal's profile. There are none here: to take it for the application itself would give that too much.
	Profile json.RawMessage `json:"profile" swaggerignore:"true"`
}

// noProfile refuses a service principal's profile, but not that there is none.
func noProfile(profile json.RawMessage) error {
	if len(profile) == 0 || string(profile) == "null" {
		return nil
	}
	return gateway.Errorf(gateway.CodeInvalid, "profile: there are no service principal profiles here. Name the application itself by identifier, without profile.")
}

// PutDataSourceUser gives a principal a role on a data source.
//
//	@Summary	Add a user to a data source
//	@Tags		data sources
//	@Accept		json
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster		path	string					true	"cluster id"		Format(uuid)
//	@Param		dataSource	path	string					true	"data source id"	Format(uuid)
//	@Param		body		body	DataSourceUserRequest	true	"who and which right"
//	@Success	200
//	@Failure	400,401,403,404,408,413	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayClusters/{cluster}/datasources/{dataSource}/users [post]
func (h *Handlers) PutDataSourceUser(c echo.Context) error {
	var r DataSourceUserRequest
	if err := rest.Decode(c, &r, "objectId"); err != nil {
		return err
	}
	if err := noProfile(r.Profile); err != nil {
		return err
	}
	n := service.NewDataSourceUser{Email: r.EmailAddress, Right: r.DatasourceAccessRight.Value}
	if r.Identifier != nil {
		n.PrincipalID = r.Identifier.Value
	}
	if r.Role != nil {
		n.Role = r.Role.Value
	}
	clusterID, id, err := sourceIDs(c)
	if err != nil {
		return err
	}
	if err := h.Service.DataSources.PutUser(c.Request().Context(), rest.Caller(c), clusterID, id, n); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}

// DeleteDataSourceUser takes a principal's role on a data source away.
//
//	@Summary	Remove a user from a data source
//	@Tags		data sources
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster		path	string	true	"cluster id"		Format(uuid)
//	@Param		dataSource	path	string	true	"data source id"	Format(uuid)
//	@Param		user		path	string	true	"object id or e-mail address"
//	@Success	200
//	@Failure	400,401,403,404	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayClusters/{cluster}/datasources/{dataSource}/users/{user} [delete]
func (h *Handlers) DeleteDataSourceUser(c echo.Context) error {
	if query(c, "profileId") != "" {
		return gateway.Errorf(gateway.CodeInvalid, "profileId: there are no service principal profiles here. Leave it out to remove the application itself.")
	}
	clusterID, id, err := sourceIDs(c)
	if err != nil {
		return err
	}
	if err := h.Service.DataSources.DeleteUser(c.Request().Context(), rest.Caller(c), clusterID, id, rest.Param(c, "user")); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}
