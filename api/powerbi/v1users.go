package powerbi

import (
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// ListV1Users lists the users of a data source.
//
//	@Summary	List the users of a data source (v1.0)
//	@Tags		v1.0
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster		path		string	true	"cluster id"		Format(uuid)
//	@Param		dataSource	path		string	true	"data source id"	Format(uuid)
//	@Success	200			{object}	List[DataSourceUser]
//	@Failure	400,401,404	{object}	ErrorResponse
//	@Router		/v1.0/myorg/gateways/{cluster}/datasources/{dataSource}/users [get]
func (h *Handlers) ListV1Users(c echo.Context) error {
	if err := serves(c); err != nil {
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
	return v1List(c, h, "datasourceUsers", dataSource(&view).Users)
}

// V1UserRequest names a principal by e-mail address or by identifier. None takes his role away; there is no word for a role here, so one
// that he has stays.
type V1UserRequest struct {
	DatasourceAccessRight *Right `json:"datasourceAccessRight" required:"true" validate:"required" swaggertype:"string" enums:"None,Read,ReadOverrideEffectiveIdentity"`
	EmailAddress          string `json:"emailAddress"`
	// Identifier is an object id; for users an e-mail address is taken too.
	Identifier    string    `json:"identifier"`
	DisplayName   string    `json:"displayName"`
	PrincipalType *UserKind `json:"principalType" swaggertype:"string" enums:"None,User,App,Group"`
	// Profile is a service principal's profile. There are none here: to take it for the application itself would give that too much.
	Profile json.RawMessage `json:"profile" swaggerignore:"true"`
}

func (r *V1UserRequest) user() service.NewDataSourceUser {
	n := service.NewDataSourceUser{Email: r.EmailAddress, Right: r.DatasourceAccessRight.Value}
	if id, ok := gateway.ParseID(r.Identifier); ok {
		n.PrincipalID = id
	} else if n.Email == "" {
		n.Email = r.Identifier
	}
	return n
}

// PutV1User lets a principal use a data source.
//
//	@Summary	Add a user to a data source (v1.0)
//	@Tags		v1.0
//	@Accept		json
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster		path	string			true	"cluster id"		Format(uuid)
//	@Param		dataSource	path	string			true	"data source id"	Format(uuid)
//	@Param		body		body	V1UserRequest	true	"who and which right"
//	@Success	200
//	@Failure	400,401,403,404,408,413	{object}	ErrorResponse
//	@Router		/v1.0/myorg/gateways/{cluster}/datasources/{dataSource}/users [post]
func (h *Handlers) PutV1User(c echo.Context) error {
	var r V1UserRequest
	if err := rest.Decode(c, &r, "objectId", "role"); err != nil {
		return err
	}
	if err := noProfile(r.Profile); err != nil {
		return err
	}
	clusterID, id, err := sourceIDs(c)
	if err != nil {
		return err
	}
	if err := h.Service.DataSources.PutUser(c.Request().Context(), rest.Caller(c), clusterID, id, r.user()); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}

// DeleteV1User takes a principal's role on a data source away.
//
//	@Summary	Remove a user from a data source (v1.0)
//	@Tags		v1.0
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster		path	string	true	"cluster id"		Format(uuid)
//	@Param		dataSource	path	string	true	"data source id"	Format(uuid)
//	@Param		user		path	string	true	"object id or e-mail address"
//	@Success	200
//	@Failure	400,401,403,404	{object}	ErrorResponse
//	@Router		/v1.0/myorg/gateways/{cluster}/datasources/{dataSource}/users/{user} [delete]
func (h *Handlers) DeleteV1User(c echo.Context) error { return h.DeleteDataSourceUser(c) }
