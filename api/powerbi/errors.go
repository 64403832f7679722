package powerbi

import (
	"strings"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service/gateway"
)

// ErrorResponse is the nested error of this surface.
type ErrorResponse struct {
	Error ErrorBody `json:"error"`
}

// ErrorBody is its inside. Scripts read code; the outer message is ours, Microsoft's has none.
type ErrorBody struct {
	Code    string   `json:"code" example:"PowerBIEntityNotFound"`
	Message string   `json:"message"`
	PBI     PBIError `json:"pbi.error"`
}

// PBIError repeats the code and carries the details.
type PBIError struct {
	Code             string            `json:"code"`
	Parameters       map[string]string `json:"parameters"`
	Details          []ErrorDetail     `json:"details"`
	ExceptionCulprit int               `json:"exceptionCulprit" example:"1"`
}

// ErrorDetail is one detail: a driver's code and message, or a member and why it did not take the request.
type ErrorDetail struct {
	Code   string      `json:"code"`
	Detail DetailValue `json:"detail"`
}

// DetailValue is the value of a detail; type 1 is text.
type DetailValue struct {
	Type  int    `json:"type" example:"1"`
	Value string `json:"value"`
}

// codes are the domain codes that have another word on this surface.
var codes = map[gateway.Code]string{
	gateway.CodeNotFound: "PowerBIEntityNotFound",
}

// Style writes nested errors.
type Style struct{}

// Error implements rest.Style.
func (Style) Error(c echo.Context, e *gateway.Error) error {
	code := string(e.Code)
	if word, ok := codes[e.Code]; ok {
		code = word
	}
	c.Response().Header().Set("X-PowerBI-Error-Info", code)
	body := PBIError{Code: code, Parameters: map[string]string{}, Details: []ErrorDetail{}, ExceptionCulprit: 1}
	if e.Resource != "" {
		body.Parameters["resourceId"] = e.Resource.String()
	}
	for _, d := range e.Details {
		body.Details = append(body.Details, detail(d))
	}
	return c.JSON(rest.Status(e.Code), ErrorResponse{Error: ErrorBody{Code: code, Message: e.Message, PBI: body}})
}

// detail names the member in the value where it is about one: a name has no place for it.
func detail(d gateway.Detail) ErrorDetail {
	value := d.Message
	if d.ResourceID != "" {
		value = strings.TrimSuffix(d.Message, ".") + " (" + d.ResourceID.String() + ")"
	}
	return ErrorDetail{Code: d.Code, Detail: DetailValue{Type: 1, Value: value}}
}
