package gateway

import (
	"errors"
	"fmt"
	"time"
)

// Code names one kind of failure. Codes are part of the product's surface: they never change their meaning.
type Code string

// The codes that services, stores and members speak. Each surface maps them to a status and words in one table.
const (
	// What was asked for is not there, or the caller may not know that it is.
	CodeNotFound Code = "EntityNotFound"
	// The caller sees the entity but may not do this to it.
	CodeForbidden Code = "InsufficientPrivileges"
	// The request is malformed: not JSON, a wrong type, an unknown or missing property, a value out of range.
	CodeInvalid Code = "InvalidInput"
	// The request body is larger than the surface takes.
	CodeTooLarge Code = "RequestTooLarge"
	// No token, or one that cannot be verified.
	CodeUnauthorized Code = "InvalidToken"
	// A token that was good once.
	CodeTokenExpired Code = "TokenExpired"
	// The OAuth client id or secret is wrong.
	CodeInvalidClient Code = "invalid_client"
	// The entity was changed by somebody else, or its state does not allow this.
	CodeConflict Code = "Conflict"
	// Too many requests of one caller, or too many wrong recovery keys.
	CodeTooManyRequests Code = "TooManyRequests"
	// Something broke inside; the message says nothing of it.
	CodeInternal Code = "InternalServerError"
	// The service cannot do this now (shutting down, database gone); trying again may help.
	CodeUnavailable Code = "ServiceUnavailable"
	// The product does not do this.
	CodeNotSupported Code = "FeatureNotAvailable"

	CodeDuplicateClusterName    Code = "DuplicateGatewayName"
	CodeDuplicateMemberName     Code = "DuplicateGatewayMemberName"
	CodeDuplicateDataSourceName Code = "DMTS_DuplicateDataSourceNameError"
	CodeDuplicatePrincipal      Code = "DuplicatePrincipal"
	CodePrincipalNotFound       Code = "PrincipalNotFound"
	CodeTooManyMembers          Code = "GatewayMemberLimitExceeded"
	CodeTooManyDataSources      Code = "GatewayDatasourceLimitExceeded"
	CodePrimaryHasMembers       Code = "CannotDeletePrimaryGatewayIfClusterMemberExists"
	CodeInstallRestricted       Code = "GatewayInstallRestricted"
	CodeRecoveryKeyWrong        Code = "InvalidRecoveryKey"
	CodeRecoveryKeyLocked       Code = "RecoveryKeyLocked"
	CodeEnrolmentInvalid        Code = "InvalidEnrolmentToken"
	CodeUnsupportedDataSource   Code = "UnsupportedDatasourceType"
	CodeCredentialFormat        Code = "InvalidCredentialDetails"
	CodeContinuationToken       Code = "InvalidContinuationToken"

	// Nobody is online in the cluster, or the one that was asked is not.
	CodeUnreachable Code = "DM_GWPipeline_Client_GatewayUnreachable"
	// Every member is disabled.
	CodeDisabled Code = "DMTS_GatewayIsDisabled"
	// The member is going down on purpose.
	CodeDraining Code = "GatewayIsDraining"
	// Every available member is at or over a limit.
	CodeCPULimit         Code = "GatewayCpuLimitExceeded"
	CodeMemoryLimit      Code = "GatewayMemoryLimitExceeded"
	CodeConcurrencyLimit Code = "GatewayConcurrencyLimitExceeded"
	// The request ran out of its own time and was cancelled on the member; what it wrote until then was taken back.
	CodeTimeout Code = "GatewayRequestTimeout"
	// The caller went away before the answer was complete. Nobody gets this code; it stands in the records.
	CodeClientGone Code = "ClientClosedRequest"
	// The tunnel broke after the member had admitted a request that may write, or its time ended when the data source may have done it: it ran
	// once or not at all.
	CodeOutcomeUnknown Code = "GatewayRequestOutcomeUnknown"
	// The tunnel broke while the answer was on its way.
	CodeBroken Code = "GatewayAnswerBroken"

	// The data source could not be reached or refused to log in.
	CodeDataSourceAccess Code = "DM_GWPipeline_Gateway_DataSourceAccessError"
	// The credentials stored for the data source cannot be opened or used.
	CodeDataSourceCredentials Code = "DM_GWPipeline_Gateway_InvalidConnectionCredentials"
	// The data source understood the request and refused it: syntax error, missing table, no right.
	CodeQuery Code = "DM_GWPipeline_Gateway_MashupDataAccessError"
	// The request would write and was sent as read-only.
	CodeReadOnly Code = "ReadOnlyViolation"
	// The member's own configuration forbids it (a folder or address outside what is allowed).
	CodeNotAllowedHere Code = "GatewayMemberPolicyViolation"
)

// Names of the details that a data source failure carries, as the Power BI surface spells them.
const (
	DetailUnderlyingCode    = "DM_ErrorDetailNameCode_UnderlyingErrorCode"
	DetailUnderlyingMessage = "DM_ErrorDetailNameCode_UnderlyingErrorMessage"
	DetailUnderlyingHResult = "DM_ErrorDetailNameCode_UnderlyingHResult"
	DetailUnderlyingNative  = "DM_ErrorDetailNameCode_UnderlyingNativeErrorCode"
	DetailPosition          = "Position"
)

// Detail is one named fact about a failure, safe to show to the caller.
type Detail struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// ResourceID is the entity that the detail speaks of (a member, mostly); "" when it is the request itself.
	ResourceID ID `json:"resourceId,omitempty"`
}

// Error is the one error type that crosses room borders.
// Message and Details are safe to show to the caller; Cause is for the log only.
type Error struct {
	Code    Code
	Message string
	Details []Detail
	// Resource is the entity that the error is about, if there is one.
	Resource ID
	// RetryAfter says when trying again makes sense; 0 when it is not known.
	RetryAfter time.Duration
	// Elsewhere: a member could not reach the data source, and nothing was changed there; another member may fare better.
	Elsewhere bool
	Cause     error
}

// Error returns code and message, and the cause for logs.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an Error with a message for the caller.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap makes an Error whose cause goes to the log and whose message goes to the caller.
func Wrap(code Code, cause error, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Cause: cause}
}

// AsError returns err as an *Error. An error of another type becomes CodeInternal with err as its cause, so that nothing of the
// inside is shown by accident. nil stays nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Wrap(CodeInternal, err, "Something went wrong inside the service. Quote the request id to its administrator.")
}

// IsCode reports whether err is an *Error with this code.
func IsCode(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// With returns e with one more detail. It changes e, so use it only on an error just made.
func (e *Error) With(code, message string) *Error {
	e.Details = append(e.Details, Detail{Code: code, Message: message})
	return e
}

// About returns e with its resource set. It changes e, so use it only on an error just made.
func (e *Error) About(id ID) *Error {
	e.Resource = id
	return e
}
