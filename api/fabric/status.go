package fabric

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"comporta/service"
)

// GatewayStatus is how a gateway or one member is now. Online says that its tunnel is there; errorDetails list each member that is disabled
// or cannot be reached, also while the gateway as a whole is Online.
type GatewayStatus struct {
	Status              string        `json:"status" enums:"Online,Offline"`
	GatewayVersion      string        `json:"gatewayVersion,omitempty"`
	GatewayUpgradeState string        `json:"gatewayUpgradeState" enums:"UpToDate,NewVersionAvailable,Unknown"`
	ErrorDetails        []ErrorDetail `json:"errorDetails,omitempty"`
}

func statusOf(online bool, version string, mixed bool, problems []service.MemberProblem) GatewayStatus {
	s := GatewayStatus{Status: onlineWord(online), GatewayVersion: version, GatewayUpgradeState: "UpToDate"}
	switch {
	case version == "":
		s.GatewayUpgradeState = "Unknown"
	case mixed:
		s.GatewayUpgradeState = "NewVersionAvailable"
	}
	for _, p := range problems {
		s.ErrorDetails = append(s.ErrorDetails, ErrorDetail{string(p.Code), p.Message, Style{Gateways}.related(p.MemberID)})
	}
	return s
}

func onlineWord(online bool) string {
	if online {
		return "Online"
	}
	return "Offline"
}

// CheckGateway answers how a gateway is now.
//
//	@Summary	Status of a gateway (Fabric)
//	@Tags		Fabric gateways
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string	true	"gateway id"	Format(uuid)
//	@Success	200		{object}	GatewayStatus
//	@Failure	401,404	{object}	ErrorResponse
//	@Router		/v1/gateways/{cluster}/checkStatus [post]
func (h *Handlers) CheckGateway(c echo.Context) error {
	id, err := gatewayID(c)
	if err != nil {
		return err
	}
	s, err := h.Service.Clusters.Status(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, statusOf(s.Online, s.Version, s.MixedVersions, s.Problems))
}

// CheckMember answers how one member is now.
//
//	@Summary	Status of a member of a gateway (Fabric)
//	@Tags		Fabric gateways
//	@Produce	json
//	@Security	oauth2
//	@Param		cluster	path		string	true	"gateway id"	Format(uuid)
//	@Param		member	path		string	true	"member id"		Format(uuid)
//	@Success	200		{object}	GatewayStatus
//	@Failure	401,404	{object}	ErrorResponse
//	@Router		/v1/gateways/{cluster}/members/{member}/checkStatus [post]
func (h *Handlers) CheckMember(c echo.Context) error {
	clusterID, id, err := memberIDs(c)
	if err != nil {
		return err
	}
	m, err := h.Service.Members.Get(c.Request().Context(), clusterID, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, statusOf(m.Presence.Online, m.CurrentVersion(), false, h.Service.Members.Problems(&m)))
}
