package powerbi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service/gateway"
)

// PermissionRequest gives a principal a role on a cluster.
type PermissionRequest struct {
	// ID is the principal's object id.
	ID   *ID   `json:"id" required:"true" validate:"required" swaggertype:"string" format:"uuid"`
	Role *Role `json:"role" required:"true" validate:"required" swaggertype:"string" enums:"Admin,ConnectionCreator,ConnectionCreatorWithReshare"`
	// AllowedDataSourceTypes are words or numbers; null means all, and must be null for an Admin.
	AllowedDataSourceTypes []SourceType `json:"allowedDataSourceTypes" swaggertype:"array,string"`
	// AllowedDataSources is its older name; where both are given they must agree.
	AllowedDataSources []SourceType `json:"allowedDataSources" swaggertype:"array,string"`
	TenantID           string       `json:"tenantId"`
}

// types are what the role is limited to; nil is nothing. What is read shows both names, so both come back.
func (r *PermissionRequest) types() ([]gateway.DataSourceType, error) {
	newer, older := plainTypes(r.AllowedDataSourceTypes), plainTypes(r.AllowedDataSources)
	if newer == nil {
		return older, nil
	}
	if older == nil {
		return newer, nil
	}
	for _, t := range slices.Concat(newer, older) {
		if !slices.Contains(newer, t) || !slices.Contains(older, t) {
			return nil, errContradiction()
		}
	}
	return newer, nil
}

// plainTypes keeps apart no list, which is every type, and an empty one, which is none.
func plainTypes(given []SourceType) []gateway.DataSourceType {
	if given == nil {
		return nil
	}
	types := make([]gateway.DataSourceType, len(given))
	for i, t := range given {
		types[i] = t.Value
	}
	return types
}

// ListPermissions lists the permissions of a cluster.
//
//	@Summary	List the permissions of a cluster
//	@Tags		permissions
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string	true	"cluster id"	Format(uuid)
//	@Param		$top	query		int		false	"at most so many"
//	@Param		$skip	query		int		false	"leave out so many"
//	@Success	200		{object}	List[Permission]
//	@Failure	400,401,403,404	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayClusters/{cluster}/permissions [get]
func (h *Handlers) ListPermissions(c echo.Context) error {
	page, err := pageOf(c)
	if err != nil {
		return err
	}
	id, err := rest.ID(c, rest.ParamCluster)
	if err != nil {
		return err
	}
	view, err := h.Service.Clusters.Get(c.Request().Context(), rest.Caller(c), id)
	if err != nil {
		return err
	}
	return list(c, h, "gatewayClusters/permissions", cut(h.cluster(&view).Permissions, page))
}

// permissionRequest reads the body. A list beside a null under the newer name is refused: the sender may have lifted a limit under the one name, or
// set it under the other.
func permissionRequest(c echo.Context) (r PermissionRequest, err error) {
	text, err := rest.ReadBody(c, rest.MaxBody)
	if err != nil {
		return r, err
	}
	if err := rest.Unmarshal(text, &r, "principalType", "principalDisplayName", "principalEmail", "clusterId"); err != nil {
		return r, err
	}
	if r.AllowedDataSources != nil && isNull(text, "allowedDataSourceTypes") {
		return r, errContradiction()
	}
	return r, nil
}

// isNull says whether an object has a property that is null; what is decoded does not tell that from one left out.
func isNull(object []byte, property string) bool {
	var properties map[string]json.RawMessage
	_ = json.Unmarshal(bytes.TrimPrefix(object, []byte("\xef\xbb\xbf")), &properties) // it was decoded already
	for name, value := range properties {
		if strings.EqualFold(name, property) {
			return string(value) == "null"
		}
	}
	return false
}

func errContradiction() *gateway.Error {
	return gateway.Errorf(gateway.CodeInvalid, "allowedDataSourceTypes and allowedDataSources, its older name, contradict each other; send one of them.")
}

// PutPermission gives a role.
//
//	@Summary	Give a principal a role on a cluster
//	@Tags		permissions
//	@Accept		json
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path	string				true	"cluster id"	Format(uuid)
//	@Param		body	body	PermissionRequest	true	"who and which role"
//	@Success	200
//	@Failure	400,401,403,404,408,413	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayClusters/{cluster}/permissions [post]
func (h *Handlers) PutPermission(c echo.Context) error {
	r, err := permissionRequest(c)
	if err != nil {
		return err
	}
	id, err := rest.ID(c, rest.ParamCluster)
	if err != nil {
		return err
	}
	p := gateway.Permission{ClusterID: id, PrincipalID: r.ID.Value, Role: r.Role.Value}
	if p.AllowedTypes, err = r.types(); err != nil {
		return err
	}
	if err := h.Service.Clusters.PutPermission(c.Request().Context(), rest.Caller(c), p); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}

// DeletePermission takes a role away.
//
//	@Summary	Take a principal's role on a cluster away
//	@Tags		permissions
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster		path	string	true	"cluster id"				Format(uuid)
//	@Param		principal	path	string	true	"the principal's object id"	Format(uuid)
//	@Success	200
//	@Failure	401,403,404	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayClusters/{cluster}/permissions/{principal} [delete]
func (h *Handlers) DeletePermission(c echo.Context) error {
	id, err := rest.ID(c, rest.ParamCluster)
	if err != nil {
		return err
	}
	principal, err := rest.ID(c, "principal")
	if err != nil {
		return err
	}
	if err := h.Service.Clusters.DeletePermission(c.Request().Context(), rest.Caller(c), id, principal); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}
