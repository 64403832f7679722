package powerbi

import (
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// V1DataSource is a data source as the v1.0 paths show it. Its credentials are never in an answer.
type V1DataSource struct {
	ID                gateway.ID            `json:"id"`
	GatewayID         gateway.ID            `json:"gatewayId"`
	DatasourceType    string                `json:"datasourceType"`
	DatasourceName    string                `json:"datasourceName"`
	ConnectionDetails string                `json:"connectionDetails" example:"{\"server\":\"db:5432\",\"database\":\"sales\"}"`
	CredentialType    string                `json:"credentialType"`
	CredentialDetails V1CredentialSignature `json:"credentialDetails"`
}

// V1CredentialSignature says how the data source logs in, without what it logs in with.
type V1CredentialSignature struct {
	UseEndUserOAuth2Credentials bool `json:"useEndUserOAuth2Credentials"`
}

// V1DataSourceEntity is one data source with its context.
type V1DataSourceEntity struct {
	Context string `json:"@odata.context"`
	V1DataSource
}

// endUserSignOn is the single sign-on that v1.0 knows only as a switch among the credentials.
const endUserSignOn = "AzureActiveDirectory"

func v1DataSource(v *service.DataSourceView) V1DataSource {
	return V1DataSource{ID: v.ID, GatewayID: v.ClusterID, DatasourceType: string(v.Type), DatasourceName: v.Name, ConnectionDetails: v.ConnectionDetails,
		CredentialType: v.Credential.Type, CredentialDetails: V1CredentialSignature{v.SingleSignOn == endUserSignOn}}
}

// ListV1DataSources lists the data sources of a cluster that the caller may see.
//
//	@Summary	List data sources (v1.0)
//	@Tags		v1.0
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string	true	"cluster id"	Format(uuid)
//	@Success	200		{object}	List[V1DataSource]
//	@Failure	400,401,404	{object}	ErrorResponse
//	@Router		/v1.0/myorg/gateways/{cluster}/datasources [get]
func (h *Handlers) ListV1DataSources(c echo.Context) error {
	if err := serves(c); err != nil {
		return err
	}
	id, err := rest.ID(c, rest.ParamCluster)
	if err != nil {
		return err
	}
	views, err := h.Service.DataSources.List(c.Request().Context(), rest.Caller(c), id, service.Page{})
	if err != nil {
		return err
	}
	sources := make([]V1DataSource, len(views))
	for i := range views {
		sources[i] = v1DataSource(&views[i])
	}
	return v1List(c, h, "gatewayDatasources", sources)
}

// V1CreateDataSourceRequest registers a data source; all four are needed.
type V1CreateDataSourceRequest struct {
	DataSourceType *SourceType `json:"dataSourceType" required:"true" validate:"required" swaggertype:"string" enums:"Sql,PostgreSql,MySql,Extension,Web,OData,File,Folder"`
	DataSourceName string      `json:"dataSourceName" required:"true" validate:"required"`
	// ConnectionDetails is the text of a JSON object; it comes back as it was sent.
	ConnectionDetails json.RawMessage `json:"connectionDetails" required:"true" validate:"required" swaggertype:"string" example:"{\"server\":\"db:5432\",\"database\":\"sales\"}"`
	// CredentialDetails serve every member: the members of a cluster share one key.
	CredentialDetails *CredentialDetails `json:"credentialDetails" required:"true" validate:"required"`
}

func (r *V1CreateDataSourceRequest) draft() (service.NewDataSource, error) {
	n := service.NewDataSource{Name: r.DataSourceName, Type: r.DataSourceType.Value, SingleSignOn: "None"}
	if on := r.CredentialDetails.UseEndUserOAuth2Credentials; on != nil && *on {
		n.SingleSignOn = endUserSignOn
	}
	var err error
	if n.ConnectionDetails, err = textOf(r.ConnectionDetails, "connectionDetails"); err != nil {
		return n, err
	}
	n.Credentials, err = r.CredentialDetails.forAll()
	return n, err
}

// forAll makes them the credentials of every member.
func (d *CredentialDetails) forAll() (map[gateway.ID]service.CredentialInput, error) {
	input, err := d.input()
	return map[gateway.ID]service.CredentialInput{"": input}, err
}

// CreateV1DataSource registers a data source.
//
//	@Summary	Create a data source (v1.0)
//	@Tags		v1.0
//	@Accept		json
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string						true	"cluster id"	Format(uuid)
//	@Param		body	body		V1CreateDataSourceRequest	true	"the data source"
//	@Success	201		{object}	V1DataSourceEntity
//	@Failure	400,401,403,404,408,409,413	{object}	ErrorResponse
//	@Router		/v1.0/myorg/gateways/{cluster}/datasources [post]
func (h *Handlers) CreateV1DataSource(c echo.Context) error {
	var r V1CreateDataSourceRequest
	if err := rest.Decode(c, &r); err != nil {
		return err
	}
	n, err := r.draft()
	if err != nil {
		return err
	}
	id, err := rest.ID(c, rest.ParamCluster)
	if err != nil {
		return err
	}
	d, err := h.Service.DataSources.Create(c.Request().Context(), rest.Caller(c), id, n)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, h.v1Entity(&service.DataSourceView{DataSource: d}))
}

func (h *Handlers) v1Entity(v *service.DataSourceView) V1DataSourceEntity {
	return V1DataSourceEntity{h.v1Context("gatewayDatasources/$entity"), v1DataSource(v)}
}

// GetV1DataSource answers one data source.
//
//	@Summary	Get a data source (v1.0)
//	@Tags		v1.0
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster		path		string	true	"cluster id"		Format(uuid)
//	@Param		dataSource	path		string	true	"data source id"	Format(uuid)
//	@Success	200			{object}	V1DataSourceEntity
//	@Failure	401,404		{object}	ErrorResponse
//	@Router		/v1.0/myorg/gateways/{cluster}/datasources/{dataSource} [get]
func (h *Handlers) GetV1DataSource(c echo.Context) error {
	clusterID, id, err := sourceIDs(c)
	if err != nil {
		return err
	}
	view, err := h.Service.DataSources.Get(c.Request().Context(), clusterID, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, h.v1Entity(&view))
}

// V1UpdateDataSourceRequest replaces the credentials, which is all that v1.0 changes; useEndUserOAuth2Credentials stays as it is where it is not
// given.
type V1UpdateDataSourceRequest struct {
	CredentialDetails *CredentialDetails `json:"credentialDetails" required:"true" validate:"required"`
}

// UpdateV1DataSource replaces a data source's credentials.
//
//	@Summary	Replace the credentials of a data source (v1.0)
//	@Tags		v1.0
//	@Accept		json
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster		path	string						true	"cluster id"		Format(uuid)
//	@Param		dataSource	path	string						true	"data source id"	Format(uuid)
//	@Param		body		body	V1UpdateDataSourceRequest	true	"the credentials"
//	@Success	200
//	@Failure	400,401,403,404,408,413	{object}	ErrorResponse
//	@Router		/v1.0/myorg/gateways/{cluster}/datasources/{dataSource} [patch]
func (h *Handlers) UpdateV1DataSource(c echo.Context) error {
	var r V1UpdateDataSourceRequest
	if err := rest.Decode(c, &r); err != nil {
		return err
	}
	entries, err := r.CredentialDetails.forAll()
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
	patch := service.DataSourcePatch{Credentials: entries, SingleSignOn: r.CredentialDetails.signOn(view.SingleSignOn)}
	if err := h.Service.DataSources.Update(c.Request().Context(), rest.Caller(c), clusterID, id, patch); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}

// signOn is the single sign-on that the switch asks for; nil is what it was. Off says nothing of one that v1.0 has no word for.
func (d *CredentialDetails) signOn(was string) *string {
	on, none, endUser := d.UseEndUserOAuth2Credentials, "None", endUserSignOn
	switch {
	case on == nil || !*on && was != endUserSignOn:
		return nil
	case *on:
		return &endUser
	}
	return &none
}

// DeleteV1DataSource removes a data source.
//
//	@Summary	Delete a data source (v1.0)
//	@Tags		v1.0
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster		path	string	true	"cluster id"		Format(uuid)
//	@Param		dataSource	path	string	true	"data source id"	Format(uuid)
//	@Success	200
//	@Failure	401,403,404	{object}	ErrorResponse
//	@Router		/v1.0/myorg/gateways/{cluster}/datasources/{dataSource} [delete]
func (h *Handlers) DeleteV1DataSource(c echo.Context) error { return h.DeleteDataSource(c) }
