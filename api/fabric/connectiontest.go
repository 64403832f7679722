package fabric

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
)

// ConnectionStatus is what a test of a connection found. errors are there when it is Offline; details of the driver follow the first one.
type ConnectionStatus struct {
	Status string        `json:"status" enums:"Online,Offline"`
	Errors []ErrorDetail `json:"errors,omitempty"`
}

// TestConnection has a member connect and log in.
//
//	@Summary		Test a connection (Fabric)
//	@Description	200 also when the data source cannot be reached: status says so.
//	@Tags			Fabric connections
//	@Produce		json
//	@Security		oauth2
//	@Param			connection	path		string	true	"connection id"	Format(uuid)
//	@Success		200			{object}	ConnectionStatus
//	@Failure		401,403,404	{object}	ErrorResponse
//	@Router			/v1/connections/{connection}/testConnection [post]
func (h *Handlers) TestConnection(c echo.Context) error {
	cluster, id, err := place(c)
	if err != nil {
		return err
	}
	err = h.Service.Dispatcher.Probe(c.Request().Context(), rest.Caller(c), cluster, id)
	failure := service.ProbeFailure(err)
	if err != nil && failure == nil {
		return err
	}
	status := ConnectionStatus{Status: onlineWord(err == nil)}
	if failure != nil {
		status.Errors = []ErrorDetail{{ErrorCode: Style{Connections}.word(failure.Code), Message: failure.Message}}
		for _, d := range failure.Details {
			status.Errors = append(status.Errors, ErrorDetail{d.Code, d.Message, Style{Gateways}.related(d.ResourceID)})
		}
	}
	return c.JSON(http.StatusOK, status)
}
