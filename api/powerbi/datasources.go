package powerbi

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// ListDataSources lists the data sources of a cluster that the caller may see.
//
//	@Summary	List data sources
//	@Tags		data sources
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string	true	"cluster id"	Format(uuid)
//	@Param		$expand	query		string	false	"users"
//	@Param		$top	query		int		false	"at most so many"
//	@Param		$skip	query		int		false	"leave out so many"
//	@Success	200		{object}	List[DataSource]
//	@Failure	400,401,404	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayClusters/{cluster}/datasources [get]
func (h *Handlers) ListDataSources(c echo.Context) error {
	expand, err := expandOf(c, "users")
	if err != nil {
		return err
	}
	page, err := pageOf(c)
	if err != nil {
		return err
	}
	id, err := rest.ID(c, rest.ParamCluster)
	if err != nil {
		return err
	}
	views, err := h.Service.DataSources.List(c.Request().Context(), rest.Caller(c), id, page)
	if err != nil {
		return err
	}
	sources := make([]DataSource, len(views))
	for i := range views {
		sources[i] = dataSource(&views[i])
		if !expand["users"] {
			sources[i].Users = []DataSourceUser{}
		}
	}
	return list(c, h, "gatewayClusters/datasources", sources)
}

// CreateDataSourceRequest registers a data source.
type CreateDataSourceRequest struct {
	DatasourceType *SourceType `json:"datasourceType" required:"true" validate:"required" swaggertype:"string" enums:"Sql,PostgreSql,MySql,Extension,Web,OData,File,Folder"`
	DatasourceName string      `json:"datasourceName" required:"true" validate:"required"`
	// ConnectionDetails is the text of a JSON object; an object is taken too. It comes back as it was sent.
	ConnectionDetails json.RawMessage `json:"connectionDetails" required:"true" validate:"required" swaggertype:"string" example:"{\"server\":\"db:5432\",\"database\":\"sales\"}"`
	// CredentialDetails are credentials by member id, or one for all members.
	CredentialDetails           json.RawMessage `json:"credentialDetails" required:"true" validate:"required" swaggertype:"object"`
	SingleSignOnType            *SignOn         `json:"singleSignOnType" swaggertype:"string" enums:"None,Kerberos,AzureActiveDirectory,SAML,KerberosDirectQueryAndRefresh"`
	DatasourceAnnotation        string          `json:"datasourceAnnotation"`
	MashupTestConnectionDetails json.RawMessage `json:"mashupTestConnectionDetails" swaggertype:"object"`
}

// CreateDataSource registers a data source.
//
//	@Summary		Create a data source
//	@Description	The credentials are an envelope made with the cluster's public key, which only members can open. The caller becomes Owner. It does not connect; ask for the status for that.
//	@Tags			data sources
//	@Accept			json
//	@Produce		json
//	@Security		oauth2
//	@Param			cluster	path		string					true	"cluster id"	Format(uuid)
//	@Param			body	body		CreateDataSourceRequest	true	"the data source"
//	@Success		201		{object}	DataSourceEntity
//	@Failure		400,401,403,404,408,409,413	{object}	ErrorResponse
//	@Router			/v2.0/myorg/gatewayClusters/{cluster}/datasources [post]
func (h *Handlers) CreateDataSource(c echo.Context) error {
	var r CreateDataSourceRequest
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
	ctx := c.Request().Context()
	d, err := h.Service.DataSources.Create(ctx, rest.Caller(c), id, n)
	if err != nil {
		return err
	}
	view, err := h.Service.DataSources.Get(ctx, id, d.ID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, DataSourceEntity{h.context("gatewayClusters/datasources/$entity"), dataSource(&view)})
}

func (r *CreateDataSourceRequest) draft() (service.NewDataSource, error) {
	n := service.NewDataSource{Name: r.DatasourceName, Type: r.DatasourceType.Value, Annotation: r.DatasourceAnnotation, SingleSignOn: "None"}
	if r.SingleSignOnType != nil {
		n.SingleSignOn = r.SingleSignOnType.Value
	}
	var err error
	if n.ConnectionDetails, err = textOf(r.ConnectionDetails, "connectionDetails"); err != nil {
		return n, err
	}
	entries, endUser, err := credentials(r.CredentialDetails, decodeEntry)
	if n.Credentials = entries; endUser && r.SingleSignOnType == nil {
		n.SingleSignOn = endUserSignOn
	}
	return n, err
}

func decodeEntry(text []byte, to any) error {
	err := rest.Unmarshal(text, to)
	if e := gateway.AsError(err); e != nil {
		e.Message = "credentialDetails: " + e.Message
		return e
	}
	return nil
}

func sourceIDs(c echo.Context) (cluster, source gateway.ID, err error) {
	if cluster, err = rest.ID(c, rest.ParamCluster); err != nil {
		return "", "", err
	}
	source, err = rest.ID(c, rest.ParamDataSource)
	return cluster, source, err
}

// GetDataSource answers one data source.
//
//	@Summary	Get a data source
//	@Tags		data sources
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster		path		string	true	"cluster id"		Format(uuid)
//	@Param		dataSource	path		string	true	"data source id"	Format(uuid)
//	@Success	200			{object}	DataSourceEntity
//	@Failure	401,404		{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayClusters/{cluster}/datasources/{dataSource} [get]
func (h *Handlers) GetDataSource(c echo.Context) error {
	clusterID, id, err := sourceIDs(c)
	if err != nil {
		return err
	}
	view, err := h.Service.DataSources.Get(c.Request().Context(), clusterID, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, DataSourceEntity{h.context("gatewayClusters/datasources/$entity"), dataSource(&view)})
}

// UpdateDataSourceRequest changes what is given; null and what is left out stay as they are.
type UpdateDataSourceRequest struct {
	DatasourceName       *string `json:"datasourceName"`
	DatasourceAnnotation *string `json:"datasourceAnnotation"`
	SingleSignOnType     *SignOn `json:"singleSignOnType" swaggertype:"string" enums:"None,Kerberos,AzureActiveDirectory,SAML,KerberosDirectQueryAndRefresh"`
	// ConnectionDetails that lead to another place need CredentialDetails beside them.
	ConnectionDetails json.RawMessage `json:"connectionDetails" swaggertype:"string"`
	// CredentialDetails replace the stored credentials; the same forms as on create.
	CredentialDetails json.RawMessage `json:"credentialDetails" swaggertype:"object"`
	// What a get-change-patch sends back and nobody can change.
	ID             *ID         `json:"id" swaggerignore:"true"`
	ClusterID      *ID         `json:"clusterId" swaggerignore:"true"`
	GatewayID      *ID         `json:"gatewayId" swaggerignore:"true"`
	DatasourceType *SourceType `json:"datasourceType" swaggerignore:"true"`
}

// unmoved sees that what cannot be changed is what it is: to pass over it would tell a script that it was done.
func (r *UpdateDataSourceRequest) unmoved(d *service.DataSourceView) error {
	if r.DatasourceType != nil && r.DatasourceType.Value != d.Type {
		return gateway.Errorf(gateway.CodeInvalid, "datasourceType cannot be changed: register another data source.")
	}
	return cmp.Or(same("id", r.ID, d.ID), same("clusterId", r.ClusterID, d.ClusterID), same("gatewayId", r.GatewayID, d.ClusterID))
}

// same sees that an id which cannot be changed is what it is, if it is given.
func same(property string, given *ID, is gateway.ID) error {
	if given == nil || given.Value == is {
		return nil
	}
	return gateway.Errorf(gateway.CodeInvalid, "%s cannot be changed: it is %s.", property, is)
}

func (r *UpdateDataSourceRequest) patch() (service.DataSourcePatch, error) {
	p := service.DataSourcePatch{Name: r.DatasourceName, Annotation: r.DatasourceAnnotation}
	if r.SingleSignOnType != nil {
		p.SingleSignOn = &r.SingleSignOnType.Value
	}
	if r.ConnectionDetails != nil {
		text, err := textOf(r.ConnectionDetails, "connectionDetails")
		if err != nil {
			return p, err
		}
		p.ConnectionDetails = &text
	}
	var err error
	if r.CredentialDetails != nil {
		err = setCredentials(&p, r.CredentialDetails)
	}
	return p, err
}

// setCredentials adds credentials to a change, and the single sign-on that they ask for unless the change names one. Not to ask for it says
// nothing: this surface has singleSignOnType for that.
func setCredentials(p *service.DataSourcePatch, details json.RawMessage) error {
	entries, endUser, err := credentials(details, decodeEntry)
	if p.Credentials = entries; endUser && p.SingleSignOn == nil {
		word := endUserSignOn
		p.SingleSignOn = &word
	}
	return err
}

// dataSourceReadOnly are the properties that a get-change-patch sends back.
var dataSourceReadOnly = []string{"@odata.context", "credentialType", "onPremGatewayRequired", "createdDateTime", "users", "datasourceErrorDetails"}

// UpdateDataSource changes a data source.
//
//	@Summary		Change a data source
//	@Description	connectionDetails that lead to another place (server, database, url, path) need credentialDetails in the same request, unless the credential type is Anonymous: the stored credentials are sent to no other place than the one they were given for.
//	@Tags			data sources
//	@Accept			json
//	@Produce		json
//	@Security		oauth2
//	@Param		cluster		path		string					true	"cluster id"		Format(uuid)
//	@Param		dataSource	path		string					true	"data source id"	Format(uuid)
//	@Param		body		body		UpdateDataSourceRequest	true	"what changes"
//	@Success	200			{object}	DataSourceEntity
//	@Failure	400,401,403,404,408,409,413	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayClusters/{cluster}/datasources/{dataSource} [patch]
func (h *Handlers) UpdateDataSource(c echo.Context) error {
	var r UpdateDataSourceRequest
	if err := rest.Decode(c, &r, dataSourceReadOnly...); err != nil {
		return err
	}
	patch, err := r.patch()
	if err != nil {
		return err
	}
	clusterID, id, err := sourceIDs(c)
	if err != nil {
		return err
	}
	before, err := h.Service.DataSources.Get(c.Request().Context(), clusterID, id)
	if err != nil {
		return err
	}
	if err := r.unmoved(&before); err != nil {
		return err
	}
	if err := h.Service.DataSources.Update(c.Request().Context(), rest.Caller(c), clusterID, id, patch); err != nil {
		return err
	}
	return h.GetDataSource(c)
}

// DeleteDataSource removes a data source.
//
//	@Summary	Delete a data source
//	@Tags		data sources
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster		path	string	true	"cluster id"		Format(uuid)
//	@Param		dataSource	path	string	true	"data source id"	Format(uuid)
//	@Success	200
//	@Failure	401,403,404	{object}	ErrorResponse
//	@Router		/v2.0/myorg/gatewayClusters/{cluster}/datasources/{dataSource} [delete]
func (h *Handlers) DeleteDataSource(c echo.Context) error {
	clusterID, id, err := sourceIDs(c)
	if err != nil {
		return err
	}
	if err := h.Service.DataSources.Delete(c.Request().Context(), rest.Caller(c), clusterID, id); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}

// GetDataSourceStatus tests a data source.
//
//	@Summary		Test a data source
//	@Description	A member connects and logs in. 200 with an empty body when that works; else 400 with the driver's own code and message in the details.
//	@Tags			data sources
//	@Produce		json
//	@Security		oauth2
//	@Param			cluster		path	string	true	"cluster id"		Format(uuid)
//	@Param			dataSource	path	string	true	"data source id"	Format(uuid)
//	@Success		200
//	@Failure		400,401,404,429,503,504	{object}	ErrorResponse
//	@Router			/v2.0/myorg/gatewayClusters/{cluster}/datasources/{dataSource}/status [get]
func (h *Handlers) GetDataSourceStatus(c echo.Context) error {
	clusterID, id, err := sourceIDs(c)
	if err != nil {
		return err
	}
	if err := h.Service.Dispatcher.Probe(c.Request().Context(), rest.Caller(c), clusterID, id); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}

// UpdateCredentialsRequest replaces the credentials.
type UpdateCredentialsRequest struct {
	CredentialDetails json.RawMessage `json:"credentialDetails" required:"true" validate:"required" swaggertype:"object"`
}

// UpdateCredentials replaces a data source's credentials.
//
//	@Summary		Replace the credentials of a data source
//	@Description	Id, users and bindings stay; the next request of every member uses them. Answers a list of members that failed, which is empty.
//	@Tags			data sources
//	@Accept			json
//	@Produce		json
//	@Security		oauth2
//	@Param			cluster		path		string						true	"cluster id"		Format(uuid)
//	@Param			dataSource	path		string						true	"data source id"	Format(uuid)
//	@Param			body		body		UpdateCredentialsRequest	true	"the credentials"
//	@Success		200			{object}	List[SourceError]
//	@Failure		400,401,403,404,408,413	{object}	ErrorResponse
//	@Router			/v2.0/myorg/gatewayClusters/{cluster}/datasources/{dataSource}/credentials [patch]
func (h *Handlers) UpdateCredentials(c echo.Context) error {
	var r UpdateCredentialsRequest
	if err := rest.Decode(c, &r); err != nil {
		return err
	}
	var patch service.DataSourcePatch
	if err := setCredentials(&patch, r.CredentialDetails); err != nil {
		return err
	}
	clusterID, id, err := sourceIDs(c)
	if err != nil {
		return err
	}
	if err := h.Service.DataSources.Update(c.Request().Context(), rest.Caller(c), clusterID, id, patch); err != nil {
		return err
	}
	return list(c, h, "gatewayClusters/datasources/credentials", []SourceError{})
}
