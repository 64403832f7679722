package fabric

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service/gateway"
)

// ErrorResponse is the flat error of this surface. Scripts read errorCode; isRetriable says whether the same request may succeed later.
type ErrorResponse struct {
	ErrorCode       string           `json:"errorCode" example:"EntityNotFound"`
	Message         string           `json:"message"`
	RequestID       string           `json:"requestId" format:"uuid"`
	IsRetriable     bool             `json:"isRetriable"`
	MoreDetails     []ErrorDetail    `json:"moreDetails,omitempty"`
	RelatedResource *RelatedResource `json:"relatedResource,omitempty"`
}

// ErrorDetail is one more fact: a driver's code and message, or a member and why it did not take the request.
type ErrorDetail struct {
	ErrorCode       string           `json:"errorCode"`
	Message         string           `json:"message"`
	RelatedResource *RelatedResource `json:"relatedResource,omitempty"`
}

// RelatedResource is what an error is about.
type RelatedResource struct {
	ResourceID   gateway.ID `json:"resourceId"`
	ResourceType string     `json:"resourceType" enums:"Gateway,Connection"`
}

// The kinds of resource that errors speak of.
const (
	Gateways    = "Gateway"
	Connections = "Connection"
)

// codes are the domain codes that have another word on this surface.
var codes = map[gateway.Code]string{
	gateway.CodeNotSupported:            "UnsupportedGatewayType",
	gateway.CodeDuplicateDataSourceName: "DuplicateConnectionName",
	gateway.CodeUnsupportedDataSource:   "InvalidConnectionDetails",
	gateway.CodeCredentialFormat:        "InvalidCredentialDetails",
	gateway.CodeDataSourceCredentials:   "IncorrectCredentials",
}

// Style writes flat errors. Resource is the kind of thing that its routes are about.
type Style struct{ Resource string }

// Error implements rest.Style.
func (s Style) Error(c echo.Context, e *gateway.Error) error {
	code, status := s.word(e.Code), rest.Status(e.Code)
	if e.Code == gateway.CodeNotSupported {
		status = http.StatusBadRequest // it is the request that names the wrong kind of gateway
	}
	c.Response().Header().Set("x-ms-public-api-error-code", code)
	answer := ErrorResponse{ErrorCode: code, Message: e.Message, RequestID: rest.RequestID(c), IsRetriable: retriable(status), RelatedResource: s.related(e.Resource)}
	for _, d := range e.Details {
		answer.MoreDetails = append(answer.MoreDetails, ErrorDetail{d.Code, d.Message, Style{Gateways}.related(d.ResourceID)})
	}
	return c.JSON(status, answer)
}

func (s Style) word(code gateway.Code) string {
	if code == gateway.CodeForbidden && s.Resource != "" {
		return "InsufficientPermissionsToManage" + s.Resource
	}
	if w, ok := codes[code]; ok {
		return w
	}
	return string(code)
}

func (s Style) related(id gateway.ID) *RelatedResource {
	if id == "" || s.Resource == "" {
		return nil
	}
	return &RelatedResource{id, s.Resource}
}

func retriable(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}
