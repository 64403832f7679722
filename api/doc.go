// Package api is the HTTP server: the order of the middleware, the one route table, authentication and permission.
//
// A handler reads, decodes, calls and answers; it decides nothing. The surfaces (powerbi, fabric, oauth) bring handlers and wire types;
// routes.go lists every route of all of them with the permission it takes. It imports service, gateway, openapi and echo; never
// persistence, tunnel or connector.
//
//	@title			Comporta
//	@version		1.0
//	@description	On-premises data gateway clusters: clusters, members, data sources, permissions and dispatch. Every path under /v2.0/myorg is also there under /v2.0/myorg/me, where a list holds only what the caller has a role in. Paths match in any letter case, with keys as /x/{id} or /x({id}).
//	@license.name	MIT
//	@BasePath		/
//
//	@securityDefinitions.oauth2.application	oauth2
//	@tokenUrl								/oauth2/v2.0/token
//	@scope.api://comporta/.default			everything that the application may do
package api
