// Package fabric is the surface of the Fabric REST API: /v1/gateways…, /v1/connections… and /v1/operations….
//
// Errors are flat ({"errorCode","message","requestId",…}) with the header x-ms-public-api-error-code; lists stand in pages of 100 that
// continuation tokens join; what is not there is left out. A gateway of this surface is a cluster, a connection is a data source: the same
// things that the Power BI surface shows, in other words. Lists hold only what the caller has a role in. It imports rest, service, gateway
// and echo.
package fabric

import "comporta/service"

// Handlers are the handlers of this surface.
type Handlers struct {
	Service *service.Service
	// PublicURL is where links lead, without a slash at the end; "" is the address that the client used.
	PublicURL string
}
