package powerbi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// GetV1DataSourceStatus tests a data source.
//
//	@Summary		Test a data source (v1.0)
//	@Description	200 with an empty body when a member connects and logs in; any failure of the test is 400 with the nested error.
//	@Tags			v1.0
//	@Produce		json
//	@Security		oauth2
//	@Param			cluster		path	string	true	"cluster id"		Format(uuid)
//	@Param			dataSource	path	string	true	"data source id"	Format(uuid)
//	@Success		200
//	@Failure		400,401,403,404	{object}	ErrorResponse
//	@Router			/v1.0/myorg/gateways/{cluster}/datasources/{dataSource}/status [get]
func (h *Handlers) GetV1DataSourceStatus(c echo.Context) error {
	clusterID, id, err := sourceIDs(c)
	if err != nil {
		return err
	}
	err = h.Service.Dispatcher.Probe(c.Request().Context(), rest.Caller(c), clusterID, id)
	if failure := service.ProbeFailure(err); failure != nil {
		return failedTest(c, failure)
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}

// failedTest answers 400 whatever failed: clients of v1.0 read the nested error at that status only. The reason keeps its code.
func failedTest(c echo.Context, e *gateway.Error) error {
	rest.CommonHeaders(c, e)
	code := string(e.Code)
	c.Response().Header().Set("X-PowerBI-Error-Info", code)
	body := PBIError{Code: code, Parameters: map[string]string{}, Details: []ErrorDetail{}, ExceptionCulprit: 1}
	for _, d := range e.Details {
		body.Details = append(body.Details, detail(d))
	}
	return c.JSON(http.StatusBadRequest, ErrorResponse{Error: ErrorBody{Code: code, Message: e.Message, PBI: body}})
}
