// Package powerbi is the surface of the Power BI REST API: /v2.0/myorg/gatewayClusters… as the PowerShell module and the admin centre
// speak it, with our extensions.
//
// Errors are nested ({"error":{"code","message","pbi.error"}}), lists stand in an OData envelope. Every path is there with and without
// /me: with it a list holds only what the caller has a role in; without it a list is the whole organisation's and takes a TenantAdmin.
// A call that names an id behaves the same under both. memberGateways and permissions are always lists: a list call fills those
// that $expand names, a call for one cluster fills all.
package powerbi

import (
	"time"

	"comporta/service"
)

// Handlers are the handlers of this surface.
type Handlers struct {
	Service *service.Service
	// PublicURL stands in @odata.context.
	PublicURL string
	Now       func() time.Time
}
