package fabric

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// onPremisesGateway is the one connectivity that there is here.
const onPremisesGateway = "OnPremisesGateway"

// Connection is a data source as this surface shows it. Its credentials are never in an answer.
type Connection struct {
	ID                gateway.ID        `json:"id"`
	DisplayName       string            `json:"displayName"`
	GatewayID         gateway.ID        `json:"gatewayId"`
	ConnectivityType  string            `json:"connectivityType" enums:"OnPremisesGateway"`
	ConnectionDetails ConnectionDetails `json:"connectionDetails"`
	PrivacyLevel      string            `json:"privacyLevel" enums:"None,Public,Organizational,Private"`
	CredentialDetails CredentialDetails `json:"credentialDetails"`
	ConnectionRecency ConnectionRecency `json:"connectionRecency"`
}

// ConnectionDetails says where the data source is; path is such as "server;database".
type ConnectionDetails struct {
	Type string `json:"type"`
	Path string `json:"path"`
}

// CredentialDetails says how the data source is logged in to, without what it is logged in with.
type CredentialDetails struct {
	CredentialType       string `json:"credentialType"`
	SingleSignOnType     string `json:"singleSignOnType"`
	ConnectionEncryption string `json:"connectionEncryption"`
	SkipTestConnection   bool   `json:"skipTestConnection"`
}

// ConnectionRecency says when the connection was made.
type ConnectionRecency struct {
	CreatedDateTime time.Time `json:"createdDateTime"`
}

func connectionOf(v *service.DataSourceView) Connection {
	kind, c := kindOf(v.Type), v.Credential
	signOn := v.SingleSignOn
	if signOn == "" {
		signOn = "None"
	}
	return Connection{ID: v.ID, DisplayName: v.Name, GatewayID: v.ClusterID, ConnectivityType: onPremisesGateway, ConnectionDetails: ConnectionDetails{kind.word, kind.path(v.ConnectionDetails)},
		PrivacyLevel: c.Privacy, CredentialDetails: CredentialDetails{shown(c.Type, credentialWords), shown(signOn, signWords), c.Encryption, c.SkipTest},
		ConnectionRecency: ConnectionRecency{v.CreatedAt}}
}

// place is where the connection of the path stands, as the permission check found it.
func place(c echo.Context) (cluster, id gateway.ID, err error) {
	id, err = rest.ID(c, rest.ParamConnection)
	return rest.ConnectionCluster(c), id, err
}

// ListConnections lists the connections that the caller may see.
//
//	@Summary	List connections (Fabric)
//	@Tags		Fabric connections
//	@Produce	json
//	@Security	oauth2
//	@Param		continuationToken	query		string	false	"from the page before"
//	@Success	200					{object}	Page[Connection]
//	@Failure	400,401,429			{object}	ErrorResponse
//	@Router		/v1/connections [get]
func (h *Handlers) ListConnections(c echo.Context) error {
	after, err := afterOf(c)
	if err != nil {
		return err
	}
	views, err := h.Service.DataSources.ListOwn(c.Request().Context(), rest.Caller(c), after, pageSize+1)
	if err != nil {
		return err
	}
	return paged(c, h, views, connectionOf, func(v *service.DataSourceView) service.After { return service.After{At: v.CreatedAt, ID: v.ID} })
}

// CreateConnectionRequest registers a data source.
type CreateConnectionRequest struct {
	ConnectivityType  string                    `json:"connectivityType" required:"true" validate:"required" enums:"OnPremisesGateway"`
	GatewayID         string                    `json:"gatewayId" required:"true" validate:"required" format:"uuid"`
	DisplayName       string                    `json:"displayName" required:"true" validate:"required"`
	ConnectionDetails *ConnectionDetailsRequest `json:"connectionDetails" required:"true" validate:"required"`
	PrivacyLevel      string                    `json:"privacyLevel" enums:"None,Public,Organizational,Private"`
	CredentialDetails *CredentialDetailsRequest `json:"credentialDetails" required:"true" validate:"required"`
}

func (r *CreateConnectionRequest) draft() (gateway.ID, service.NewDataSource, error) {
	n := service.NewDataSource{Name: r.DisplayName}
	if err := connectivity(r.ConnectivityType); err != nil {
		return "", n, err
	}
	id, ok := gateway.ParseID(r.GatewayID)
	if !ok {
		return "", n, gateway.Errorf(gateway.CodeInvalid, "gatewayId: %q is not an id (a GUID).", r.GatewayID)
	}
	if r.CredentialDetails.Credentials == nil {
		return "", n, gateway.Errorf(gateway.CodeCredentialFormat, "The property credentialDetails.credentials is missing.")
	}
	var err error
	if n.Type, n.ConnectionDetails, err = r.ConnectionDetails.details(); err != nil {
		return "", n, err
	}
	if n.SingleSignOn, err = r.CredentialDetails.signOn(); err != nil {
		return "", n, err
	}
	if n.SingleSignOn == "" {
		n.SingleSignOn = "None"
	}
	n.Credentials, err = r.CredentialDetails.inputs(cmp.Or(r.PrivacyLevel, "Organizational"))
	return id, n, err
}

func connectivity(word string) error {
	known, err := oneOf("connectivityType", word, onPremisesGateway, "ShareableCloud", "PersonalCloud", "OnPremisesGatewayPersonal", "VirtualNetworkGateway", "StreamingVirtualNetworkGateway")
	if err == nil && known != onPremisesGateway {
		return gateway.Errorf(gateway.CodeNotSupported, "Connections of connectivity %s are not served here; %s is.", known, onPremisesGateway)
	}
	return err
}

// CreateConnection registers a data source on a gateway.
//
//	@Summary		Create a connection (Fabric)
//	@Description	credentials.values are keyed by member id; as the members share one key, some of them are enough. The caller becomes Owner. It does not connect; use testConnection for that.
//	@Tags			Fabric connections
//	@Accept			json
//	@Produce		json
//	@Security		oauth2
//	@Param			body	body		CreateConnectionRequest	true	"the connection"
//	@Success		201		{object}	Connection
//	@Failure		400,401,403,404,408,409,413	{object}	ErrorResponse
//	@Router			/v1/connections [post]
func (h *Handlers) CreateConnection(c echo.Context) error {
	var r CreateConnectionRequest
	if err := rest.Decode(c, &r); err != nil {
		return err
	}
	id, n, err := r.draft()
	if err != nil {
		return err
	}
	ctx, caller := c.Request().Context(), rest.Caller(c)
	// The gateway stands in the body, so the permission is asked for here.
	if err := h.Service.Access.Check(ctx, caller, service.CreateDataSource, service.Target{Cluster: id}); err != nil {
		return err
	}
	d, err := h.Service.DataSources.Create(ctx, caller, id, n)
	if err != nil {
		return err
	}
	return h.created(c, d.ID, connectionOf(&service.DataSourceView{DataSource: d}))
}

// GetConnection answers one connection.
//
//	@Summary	Get a connection (Fabric)
//	@Tags		Fabric connections
//	@Produce	json
//	@Security	oauth2
//	@Param		connection	path		string	true	"connection id"	Format(uuid)
//	@Success	200			{object}	Connection
//	@Failure	401,404		{object}	ErrorResponse
//	@Router		/v1/connections/{connection} [get]
func (h *Handlers) GetConnection(c echo.Context) error {
	cluster, id, err := place(c)
	if err != nil {
		return err
	}
	view, err := h.Service.DataSources.Get(c.Request().Context(), cluster, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, connectionOf(&view))
}

// UpdateConnectionRequest changes what is given. gatewayId may be sent back, not changed; privacy and encryption are kept with the
// credentials and change together with them.
type UpdateConnectionRequest struct {
	ConnectivityType  string                    `json:"connectivityType" required:"true" validate:"required" enums:"OnPremisesGateway"`
	GatewayID         *string                   `json:"gatewayId" format:"uuid"`
	DisplayName       *string                   `json:"displayName"`
	PrivacyLevel      string                    `json:"privacyLevel" enums:"None,Public,Organizational,Private"`
	CredentialDetails *CredentialDetailsRequest `json:"credentialDetails"`
}

func (r *UpdateConnectionRequest) patch(now *service.DataSourceView) (service.DataSourcePatch, error) {
	p := service.DataSourcePatch{Name: r.DisplayName}
	if err := connectivity(r.ConnectivityType); err != nil {
		return p, err
	}
	if r.GatewayID != nil {
		if id, _ := gateway.ParseID(*r.GatewayID); id != now.ClusterID {
			return p, gateway.Errorf(gateway.CodeInvalid, "gatewayId is immutable: a connection stays on its gateway. Create another one there.").About(now.ID)
		}
	}
	d := r.CredentialDetails
	if d != nil {
		signOn, err := d.signOn()
		if err != nil {
			return p, err
		}
		if signOn != "" {
			p.SingleSignOn = &signOn
		}
		if d.Credentials != nil {
			p.Credentials, err = d.inputs(r.PrivacyLevel)
			return p, err
		}
	}
	return p, r.unchanged(connectionOf(now))
}

// unchanged sees that what cannot change without new credentials is as it was.
func (r *UpdateConnectionRequest) unchanged(now Connection) error {
	same := func(property, sent, is string) error {
		if sent == "" || strings.EqualFold(sent, is) {
			return nil
		}
		return gateway.Errorf(gateway.CodeInvalid, "%s is kept with the credentials: send credentialDetails.credentials along to change it.", property)
	}
	err := same("privacyLevel", r.PrivacyLevel, now.PrivacyLevel)
	if d := r.CredentialDetails; err == nil && d != nil {
		if err = same("credentialDetails.connectionEncryption", d.ConnectionEncryption, now.CredentialDetails.ConnectionEncryption); err == nil {
			err = same("credentialDetails.credentialType", d.CredentialType, now.CredentialDetails.CredentialType)
		}
		if err == nil && d.SkipTestConnection != nil {
			err = same("credentialDetails.skipTestConnection", strconv.FormatBool(*d.SkipTestConnection), strconv.FormatBool(now.CredentialDetails.SkipTestConnection))
		}
	}
	return err
}

// UpdateConnection changes a connection.
//
//	@Summary	Change a connection (Fabric)
//	@Tags		Fabric connections
//	@Accept		json
//	@Produce	json
//	@Security	oauth2
//	@Param		connection	path		string					true	"connection id"	Format(uuid)
//	@Param		body		body		UpdateConnectionRequest	true	"what changes"
//	@Success	200			{object}	Connection
//	@Failure	400,401,403,404,408,409,413	{object}	ErrorResponse
//	@Router		/v1/connections/{connection} [patch]
func (h *Handlers) UpdateConnection(c echo.Context) error {
	var r UpdateConnectionRequest
	if err := rest.Decode(c, &r, "id", "connectionDetails", "connectionRecency"); err != nil {
		return err
	}
	cluster, id, err := place(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	now, err := h.Service.DataSources.Get(ctx, cluster, id)
	if err != nil {
		return err
	}
	patch, err := r.patch(&now)
	if err != nil {
		return err
	}
	if err := h.Service.DataSources.Update(ctx, rest.Caller(c), cluster, id, patch); err != nil {
		return err
	}
	return h.GetConnection(c)
}

// DeleteConnection removes a connection.
//
//	@Summary	Delete a connection (Fabric)
//	@Tags		Fabric connections
//	@Produce	json
//	@Security	oauth2
//	@Param		connection	path	string	true	"connection id"	Format(uuid)
//	@Success	200
//	@Failure	401,403,404	{object}	ErrorResponse
//	@Router		/v1/connections/{connection} [delete]
func (h *Handlers) DeleteConnection(c echo.Context) error {
	cluster, id, err := place(c)
	if err != nil {
		return err
	}
	if err := h.Service.DataSources.Delete(c.Request().Context(), rest.Caller(c), cluster, id); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}
