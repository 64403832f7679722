package rest

import (
	"net/url"

	"github.com/labstack/echo/v4"

	"comporta/service"
	"comporta/service/gateway"
)

// Style writes errors the way one surface does.
type Style interface {
	Error(c echo.Context, e *gateway.Error) error
}

// Route is one line of the route table. Authentication and permission are done from it, never in a handler.
type Route struct {
	Method, Path string
	// Action is what the caller must be allowed to do to the entities that the path names by {cluster} and {dataSource}, or by
	// {connection}. It is "" for a public route only.
	Action service.Action
	// Public routes need no token.
	Public  bool
	Style   Style
	Handler echo.HandlerFunc
	// Hidden routes are aliases that the API description leaves out.
	Hidden bool
	// Streams is for an answer that may take long to be read and has a limit of its own.
	Streams bool
}

// Names of path parameters that the permission check reads.
const (
	ParamCluster    = "cluster"
	ParamDataSource = "dataSource"
	ParamMember     = "member"
	// ParamConnection names a data source without its cluster.
	ParamConnection = "connection"
)

const (
	callerKey  = "comporta.caller"
	clusterKey = "comporta.connection.cluster"
)

// call is who calls, and how to ask once more whether he may.
type call struct {
	caller *gateway.Caller
	again  func() error
}

// SetCaller keeps who calls with the request. again is asked when the body has come in; what it answers then counts.
func SetCaller(c echo.Context, caller *gateway.Caller, again func() error) {
	c.Set(callerKey, &call{caller, again})
}

// Caller is who calls. On a public route it names nobody and carries the request id only.
func Caller(c echo.Context) *gateway.Caller {
	if call, ok := c.Get(callerKey).(*call); ok {
		return call.caller
	}
	return &gateway.Caller{RequestID: RequestID(c), From: c.RealIP()}
}

func stillPermitted(c echo.Context) error {
	if call, ok := c.Get(callerKey).(*call); ok {
		return call.again()
	}
	return nil
}

// SetConnectionCluster keeps the cluster of the connection that the path names, which the permission check found.
func SetConnectionCluster(c echo.Context, cluster gateway.ID) { c.Set(clusterKey, cluster) }

// ConnectionCluster is the cluster of the connection that the path names.
func ConnectionCluster(c echo.Context) gateway.ID {
	cluster, _ := c.Get(clusterKey).(gateway.ID)
	return cluster
}

// RequestID is the id of this request, which every answer carries.
func RequestID(c echo.Context) string { return c.Response().Header().Get("RequestId") }

// ID reads a path parameter as an id. What is no GUID names nothing that exists, so it is the zero-effort form of "not found".
func ID(c echo.Context, name string) (gateway.ID, error) {
	id, ok := gateway.ParseID(Param(c, name))
	if !ok {
		return "", gateway.Errorf(gateway.CodeNotFound, "%q is not an id (a GUID).", Param(c, name))
	}
	return id, nil
}

// Param reads a path parameter, unescaped. It comes escaped only where the path holds something that must be: unescaping twice would make another
// address of one that holds a %.
func Param(c echo.Context, name string) string {
	text := c.Param(name)
	if c.Request().URL.RawPath == "" {
		return text
	}
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}
