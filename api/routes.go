package api

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"comporta/api/fabric"
	"comporta/api/oauth"
	"comporta/api/powerbi"
	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// swaggerPath is where Swagger UI stands.
const swaggerPath = "/swagger/"

// tunnelPath is where members dial in.
const tunnelPath = "/tunnel"

// table is the one route table: every route of every surface, with the permission that it takes.
func (s *Server) table() []rest.Route {
	routes := s.oauthRoutes()
	routes = append(routes, s.plainRoutes()...)
	routes = append(routes, s.powerbiRoutes()...)
	routes = append(routes, s.v1Routes()...)
	routes = append(routes, s.unifiedRoutes()...)
	routes = append(routes, s.fabricRoutes()...)
	return withHead(append(routes, s.connectionRoutes()...))
}

// withHead gives every route that is read a twin for HEAD, whose answer is the same without its body: net/http leaves that out. The tunnel
// is a GET only by its name.
func withHead(routes []rest.Route) []rest.Route {
	for _, r := range routes {
		if r.Method == http.MethodGet && r.Path != tunnelPath {
			r.Method, r.Hidden = http.MethodHead, true
			routes = append(routes, r)
		}
	}
	return routes
}

// styleOf picks the form of an error for a path that is no route.
func styleOf(path string) rest.Style {
	if strings.Contains(path, "oauth2/") {
		return oauth.Style{}
	}
	if strings.HasPrefix(path, "/v1/") {
		return fabric.Style{}
	}
	return powerbi.Style{}
}

func (s *Server) oauthRoutes() []rest.Route {
	h := &oauth.Handlers{Access: s.cfg.Service.Access, PublicURL: s.cfg.PublicURL}
	public := func(method, path string, handler echo.HandlerFunc, hidden bool) rest.Route {
		return rest.Route{Method: method, Path: path, Public: true, Style: oauth.Style{}, Handler: handler, Hidden: hidden}
	}
	return []rest.Route{
		public("POST", "/oauth2/v2.0/token", h.Token, false),
		public("POST", "/{tenant}/oauth2/v2.0/token", h.Token, true),
		public("POST", "/{tenant}/oauth2/token", h.Token, true),
		public("GET", "/.well-known/openid-configuration", h.Configuration, false),
		public("GET", "/{tenant}/.well-known/openid-configuration", h.Configuration, true),
		public("GET", "/{tenant}/v2.0/.well-known/openid-configuration", h.Configuration, true),
		public("GET", "/common/discovery/instance", h.InstanceDiscovery, true),
		public("GET", "/.well-known/jwks.json", h.Keys, false),
		public("GET", "/{tenant}/discovery/v2.0/keys", h.Keys, true),
	}
}

// plainRoutes are the pages and probes around the surfaces.
func (s *Server) plainRoutes() []rest.Route {
	public := func(path string, handler echo.HandlerFunc, hidden bool) rest.Route {
		return rest.Route{Method: "GET", Path: path, Public: true, Style: powerbi.Style{}, Handler: handler, Hidden: hidden}
	}
	routes := []rest.Route{
		public("/", s.home, true),
		public("/healthz", s.health, false),
		public("/readyz", s.ready, false),
		public("/openapi.json", s.openapi3, true),
		public("/swagger.json", s.swagger2, true),
		public("/swagger", s.toSwaggerUI, true),
		public(swaggerPath+"*", s.swaggerUI, true),
	}
	if s.cfg.Tunnel != nil {
		routes = append(routes, public(tunnelPath, echo.WrapHandler(s.cfg.Tunnel), true))
	}
	return routes
}

// routesIn makes the lines of one surface.
func routesIn(style rest.Style) func(method, path string, action service.Action, handler echo.HandlerFunc) rest.Route {
	return func(method, path string, action service.Action, handler echo.HandlerFunc) rest.Route {
		return rest.Route{Method: method, Path: path, Action: action, Style: style, Handler: handler}
	}
}

// streams marks a route whose answer may take long to be read.
func streams(r rest.Route) rest.Route {
	r.Streams = true
	return r
}

// Where the Power BI surface stands: the organisation's scope and the caller's own.
const (
	organization = "/v2.0/myorg"
	individual   = "/v2.0/myorg/me"
)

func (s *Server) powerbiRoutes() []rest.Route {
	h := &powerbi.Handlers{Service: s.cfg.Service, PublicURL: s.cfg.PublicURL, Now: s.cfg.Now}
	route := routesIn(powerbi.Style{})
	const clusters, one = "/gatewayClusters", "/gatewayClusters/{cluster}"
	const members, member = one + "/memberGateways", one + "/memberGateways/{member}"
	const sources, source = one + "/datasources", one + "/datasources/{dataSource}"
	both := []rest.Route{
		route("POST", clusters, service.Install, h.CreateCluster),
		route("GET", one, service.SeeCluster, h.GetCluster),
		route("PATCH", one, service.ManageCluster, h.UpdateCluster),
		route("DELETE", one, service.ManageCluster, h.DeleteCluster),
		route("GET", one+"/status", service.SeeCluster, h.GetStatus),
		route("POST", one+"/recoveryKey", service.ManageCluster, h.ChangeRecoveryKey),
		route("GET", one+"/permissions", service.SeePermissions, h.ListPermissions),
		route("POST", one+"/permissions", service.ManageCluster, h.PutPermission),
		route("DELETE", one+"/permissions/{principal}", service.ManageCluster, h.DeletePermission),

		route("GET", members, service.SeeCluster, h.ListMembers),
		route("POST", members, service.Install, h.AddMember),
		route("GET", member, service.SeeCluster, h.GetMember),
		route("PATCH", member, service.ManageCluster, h.UpdateMember),
		route("DELETE", member, service.ManageCluster, h.RemoveMember),
		route("POST", member+"/promote", service.ManageCluster, h.PromoteMember),
		route("GET", member+"/load", service.SeeCluster, h.ListLoad),

		route("GET", sources, service.SeeCluster, h.ListDataSources),
		route("POST", sources, service.CreateDataSource, h.CreateDataSource),
		route("GET", source, service.SeeDataSource, h.GetDataSource),
		route("PATCH", source, service.ManageDataSource, h.UpdateDataSource),
		route("DELETE", source, service.ManageDataSource, h.DeleteDataSource),
		route("GET", source+"/status", service.UseDataSource, h.GetDataSourceStatus),
		route("PATCH", source+"/credentials", service.ManageDataSource, h.UpdateCredentials),
		route("GET", source+"/users", service.SeeDataSource, h.ListDataSourceUsers),
		route("POST", source+"/users", service.ManageDataSource, h.PutDataSourceUser),
		route("DELETE", source+"/users/{user}", service.ManageDataSource, h.DeleteDataSourceUser),

		// The data source stands in the body; the dispatcher asks for UseDataSource itself.
		streams(route("POST", one+"/dispatch", service.SeeCluster, h.Dispatch)),
		route("POST", one+"/route", service.SeeCluster, h.Route),
		route("GET", one+"/dispatchRecords", service.ManageCluster, h.ListRecords),

		route("GET", "/gatewayPolicy", service.Administer, h.GetPolicy),
		route("POST", "/gatewayPolicy", service.Administer, h.SetPolicy),
		route("GET", "/gatewayInstallers", service.Administer, h.ListInstallers),
		route("POST", "/gatewayInstallers", service.Administer, h.ChangeInstallers),
		route("GET", "/gatewayRegions", service.ListOwn, h.ListRegions),
		route("GET", "/principals", service.Administer, h.ListPrincipals),
		route("POST", "/principals", service.Administer, h.CreatePrincipal),
		route("GET", "/principals/{principal}", service.Administer, h.GetPrincipal),
		route("PATCH", "/principals/{principal}", service.Administer, h.UpdatePrincipal),
		route("DELETE", "/principals/{principal}", service.Administer, h.DeletePrincipal),
		route("GET", "/principals/{principal}/secrets", service.Administer, h.ListSecrets),
		route("POST", "/principals/{principal}/secrets", service.Administer, h.AddSecret),
		route("DELETE", "/principals/{principal}/secrets/{secret}", service.Administer, h.RemoveSecret),
		route("GET", "/auditEvents", service.Administer, h.ListAudit),
	}
	routes := []rest.Route{
		route("GET", organization+clusters, service.ListAll, h.ListAllClusters),
		{Method: "GET", Path: individual + clusters, Action: service.ListOwn, Style: powerbi.Style{}, Handler: h.ListOwnClusters, Hidden: true},
		{Method: "POST", Path: "/enrolment/begin", Public: true, Style: powerbi.Style{}, Handler: h.BeginEnrolment},
		{Method: "POST", Path: "/enrolment/complete", Public: true, Style: powerbi.Style{}, Handler: h.CompleteEnrolment},
	}
	for _, r := range both {
		mine := r
		r.Path, mine.Path, mine.Hidden = organization+r.Path, individual+r.Path, true
		routes = append(routes, r, mine)
	}
	return routes
}

// v1Routes are the older paths of the Power BI surface.
func (s *Server) v1Routes() []rest.Route {
	h := &powerbi.Handlers{Service: s.cfg.Service, PublicURL: s.cfg.PublicURL, Now: s.cfg.Now}
	const clusters, one = "/v1.0/myorg/gateways", "/v1.0/myorg/gateways/{cluster}"
	const sources, source = one + "/datasources", one + "/datasources/{dataSource}"
	route := routesIn(powerbi.Style{})
	return []rest.Route{
		route("GET", clusters, service.ListOwn, h.ListV1Gateways),
		route("GET", one, service.SeeCluster, h.GetV1Gateway),
		route("GET", sources, service.SeeCluster, h.ListV1DataSources),
		route("POST", sources, service.CreateDataSource, h.CreateV1DataSource),
		route("GET", source, service.SeeDataSource, h.GetV1DataSource),
		route("PATCH", source, service.ManageDataSource, h.UpdateV1DataSource),
		route("DELETE", source, service.ManageDataSource, h.DeleteV1DataSource),
		route("GET", source+"/status", service.UseDataSource, h.GetV1DataSourceStatus),
		route("GET", source+"/users", service.SeeDataSource, h.ListV1Users),
		route("POST", source+"/users", service.ManageDataSource, h.PutV1User),
		route("DELETE", source+"/users/{user}", service.ManageDataSource, h.DeleteV1User),
	}
}

// unifiedRoutes are the oldest surface, which OnPremisesDataGatewayHAMgmt speaks.
func (s *Server) unifiedRoutes() []rest.Route {
	h := &powerbi.Handlers{Service: s.cfg.Service, PublicURL: s.cfg.PublicURL, Now: s.cfg.Now}
	const clusters, one = "/unifiedgateway/gatewayclusters", "/unifiedgateway/gatewayclusters/{cluster}"
	const member = one + "/gateways/{member}"
	route := routesIn(powerbi.Style{})
	return []rest.Route{
		route("GET", clusters, service.ListOwn, h.ListUnifiedClusters),
		route("GET", one, service.SeeCluster, h.GetUnifiedCluster),
		route("PATCH", one, service.ManageCluster, h.UpdateUnifiedCluster),
		route("PATCH", member, service.ManageCluster, h.UpdateUnifiedGateway),
		route("DELETE", member, service.ManageCluster, h.RemoveUnifiedGateway),
		route("GET", member+"/status", service.SeeCluster, h.GetUnifiedStatus),
	}
}

// fabric are the handlers of the Fabric surface.
func (s *Server) fabric() *fabric.Handlers {
	h := &fabric.Handlers{Service: s.cfg.Service}
	if s.cfg.PublicURLGiven {
		h.PublicURL = s.cfg.PublicURL
	}
	return h
}

// fabricRoutes are the Fabric surface.
func (s *Server) fabricRoutes() []rest.Route {
	h := s.fabric()
	const clusters, one = "/v1/gateways", "/v1/gateways/{cluster}"
	const member, role = one + "/members/{member}", one + "/roleAssignments/{principal}"
	route := routesIn(fabric.Style{Resource: fabric.Gateways})
	return []rest.Route{
		route("GET", clusters, service.ListOwn, h.ListGateways),
		route("POST", clusters, service.Install, h.CreateGateway),
		route("GET", one, service.SeeCluster, h.GetGateway),
		route("PATCH", one, service.ManageCluster, h.UpdateGateway),
		route("DELETE", one, service.ManageCluster, h.DeleteGateway),
		route("POST", one+"/checkStatus", service.SeeCluster, h.CheckGateway),
		route("POST", one+"/restart", service.ManageCluster, h.RestartGateway),
		route("POST", one+"/shutdown", service.ManageCluster, h.ShutdownGateway),
		route("GET", one+"/members", service.SeeCluster, h.ListMembers),
		route("PATCH", member, service.ManageCluster, h.UpdateMember),
		route("DELETE", member, service.ManageCluster, h.RemoveMember),
		route("POST", member+"/checkStatus", service.SeeCluster, h.CheckMember),
		route("GET", one+"/roleAssignments", service.SeePermissions, h.ListGatewayRoles),
		route("POST", one+"/roleAssignments", service.ManageCluster, h.AddGatewayRole),
		route("GET", role, service.SeePermissions, h.GetGatewayRole),
		route("PATCH", role, service.ManageCluster, h.UpdateGatewayRole),
		route("DELETE", role, service.ManageCluster, h.DeleteGatewayRole),
		route("GET", "/v1/operations/{operation}", service.ListOwn, h.GetOperation),
		route("GET", "/v1/operations/{operation}/result", service.ListOwn, h.GetOperation),
	}
}

// connectionRoutes are the connections of the Fabric surface.
func (s *Server) connectionRoutes() []rest.Route {
	h := s.fabric()
	const all, one, role = "/v1/connections", "/v1/connections/{connection}", "/v1/connections/{connection}/roleAssignments/{principal}"
	route := routesIn(fabric.Style{Resource: fabric.Connections})
	return []rest.Route{
		route("GET", all, service.ListOwn, h.ListConnections),
		// The gateway stands in the body; the handler asks for CreateDataSource on it.
		route("POST", all, service.ListOwn, h.CreateConnection),
		route("GET", all+"/supportedConnectionTypes", service.ListOwn, h.ListConnectionTypes),
		route("GET", one, service.SeeDataSource, h.GetConnection),
		route("PATCH", one, service.ManageDataSource, h.UpdateConnection),
		route("DELETE", one, service.ManageDataSource, h.DeleteConnection),
		route("POST", one+"/testConnection", service.UseDataSource, h.TestConnection),
		route("GET", one+"/roleAssignments", service.SeeDataSource, h.ListConnectionRoles),
		route("POST", one+"/roleAssignments", service.ManageDataSource, h.AddConnectionRole),
		route("GET", role, service.SeeDataSource, h.GetConnectionRole),
		route("PATCH", role, service.ManageDataSource, h.UpdateConnectionRole),
		route("DELETE", role, service.ManageDataSource, h.DeleteConnectionRole),
	}
}

// home leads a person to what there is.
func (s *Server) home(c echo.Context) error {
	return c.HTML(http.StatusOK, `<!doctype html><html lang="en"><meta charset="utf-8"><title>Comporta</title><body><h1>Comporta</h1>
<p>On-premises data gateway clusters.</p><ul><li><a href="/swagger/">Try the API</a></li><li><a href="/openapi.json">OpenAPI 3 description</a></li>
<li><a href="/readyz">Is it ready?</a></li></ul></body></html>`)
}

// health answers that the process lives.
//
//	@Summary	The process lives
//	@Tags		health
//	@Produce	plain
//	@Success	200	{string}	string	"ok"
//	@Router		/healthz [get]
func (s *Server) health(c echo.Context) error { return c.String(http.StatusOK, "ok\n") }

// ready answers that the database answers and migrations are done.
//
//	@Summary	The database answers
//	@Tags		health
//	@Produce	plain,json
//	@Success	200	{string}	string	"ready"
//	@Failure	503	{object}	powerbi.ErrorResponse
//	@Router		/readyz [get]
func (s *Server) ready(c echo.Context) error {
	if s.cfg.Ready != nil {
		if err := s.cfg.Ready(c.Request().Context()); err != nil {
			return gateway.Wrap(gateway.CodeUnavailable, err, "The service is not ready: its database does not answer, or has not the schema of this version.")
		}
	}
	return c.String(http.StatusOK, "ready\n")
}
