package rest

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"comporta/service/gateway"
)

// statuses maps each code to its HTTP status; the surfaces share it and differ in words and shape only.
var statuses = map[gateway.Code]int{
	gateway.CodeNotFound:        http.StatusNotFound,
	gateway.CodeForbidden:       http.StatusForbidden,
	gateway.CodeInvalid:         http.StatusBadRequest,
	gateway.CodeTooLarge:        http.StatusRequestEntityTooLarge,
	gateway.CodeUnauthorized:    http.StatusUnauthorized,
	gateway.CodeTokenExpired:    http.StatusUnauthorized,
	gateway.CodeInvalidClient:   http.StatusUnauthorized,
	gateway.CodeConflict:        http.StatusConflict,
	gateway.CodeTooManyRequests: http.StatusTooManyRequests,
	gateway.CodeInternal:        http.StatusInternalServerError,
	gateway.CodeUnavailable:     http.StatusServiceUnavailable,
	gateway.CodeNotSupported:    http.StatusNotImplemented,

	gateway.CodeDuplicateClusterName:    http.StatusConflict,
	gateway.CodeDuplicateMemberName:     http.StatusConflict,
	gateway.CodeDuplicateDataSourceName: http.StatusConflict,
	gateway.CodeDuplicatePrincipal:      http.StatusConflict,
	gateway.CodePrincipalNotFound:       http.StatusBadRequest,
	gateway.CodeTooManyMembers:          http.StatusConflict,
	gateway.CodeTooManyDataSources:      http.StatusConflict,
	gateway.CodePrimaryHasMembers:       http.StatusConflict,
	gateway.CodeInstallRestricted:       http.StatusForbidden,
	gateway.CodeRecoveryKeyWrong:        http.StatusForbidden,
	gateway.CodeRecoveryKeyLocked:       http.StatusTooManyRequests,
	gateway.CodeEnrolmentInvalid:        http.StatusUnauthorized,
	gateway.CodeUnsupportedDataSource:   http.StatusBadRequest,
	gateway.CodeCredentialFormat:        http.StatusBadRequest,
	gateway.CodeContinuationToken:       http.StatusBadRequest,

	gateway.CodeUnreachable:      http.StatusServiceUnavailable,
	gateway.CodeDisabled:         http.StatusServiceUnavailable,
	gateway.CodeDraining:         http.StatusServiceUnavailable,
	gateway.CodeCPULimit:         http.StatusTooManyRequests,
	gateway.CodeMemoryLimit:      http.StatusTooManyRequests,
	gateway.CodeConcurrencyLimit: http.StatusTooManyRequests,
	gateway.CodeTimeout:          http.StatusGatewayTimeout,
	gateway.CodeClientGone:       499, // nobody reads it; it stands in the access log
	gateway.CodeOutcomeUnknown:   http.StatusBadGateway,
	gateway.CodeBroken:           http.StatusBadGateway,

	gateway.CodeDataSourceAccess:      http.StatusBadRequest,
	gateway.CodeDataSourceCredentials: http.StatusBadRequest,
	gateway.CodeQuery:                 http.StatusBadRequest,
	gateway.CodeReadOnly:              http.StatusBadRequest,
	gateway.CodeNotAllowedHere:        http.StatusBadRequest,
	CodeEndpointNotFound:              http.StatusNotFound,
	CodeMethodNotAllowed:              http.StatusMethodNotAllowed,
	CodeNotAcceptable:                 http.StatusNotAcceptable,
	CodeRequestTimeout:                http.StatusRequestTimeout,
	CodeUnsupportedGrant:              http.StatusBadRequest,
}

// Codes that only the HTTP layer gives.
const (
	CodeEndpointNotFound gateway.Code = "EndpointNotFound"
	CodeMethodNotAllowed gateway.Code = "MethodNotAllowed"
	CodeNotAcceptable    gateway.Code = "NotAcceptable"
	CodeRequestTimeout   gateway.Code = "RequestTimeout"
	// CodeUnsupportedGrant is a word of RFC 6749.
	CodeUnsupportedGrant gateway.Code = "unsupported_grant_type"
)

// Status is the HTTP status of a code; one that the table lacks is a fault of ours, hence 500.
func Status(code gateway.Code) int {
	if s, ok := statuses[code]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// retryUnavailable is when to try again while the state database cannot be read or written: nobody knows, but at once is of no use.
const retryUnavailable = 5 * time.Second

// CommonHeaders sets what every error answer carries.
func CommonHeaders(c echo.Context, e *gateway.Error) {
	h := c.Response().Header()
	wait := e.RetryAfter
	if wait == 0 && e.Code == gateway.CodeUnavailable {
		wait = retryUnavailable
	}
	if wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(float64(wait)/float64(time.Second)))))
	}
	if Status(e.Code) == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="comporta", error="invalid_token"`)
	}
}
