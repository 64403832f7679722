package api

import (
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/openapi"
	"comporta/service/gateway"
)

// openapi3 answers the description in OpenAPI 3.
func (s *Server) openapi3(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/json", openapi.OpenAPI3)
}

// swagger2 answers the description in Swagger 2.0.
func (s *Server) swagger2(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/json", openapi.Swagger2)
}

func (s *Server) toSwaggerUI(c echo.Context) error {
	return c.Redirect(http.StatusMovedPermanently, swaggerPath)
}

// contentPolicy lets the page load and call this service only. Swagger UI sets styles by script.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"

// swaggerUI answers the page where a person can authorise and try each call.
func (s *Server) swaggerUI(c echo.Context) error {
	name := strings.TrimPrefix(c.Request().URL.Path, swaggerPath)
	if name == "" {
		name = "index.html"
	}
	text, err := fs.ReadFile(openapi.UI, name)
	if err != nil {
		return gateway.Errorf(rest.CodeEndpointNotFound, "Swagger UI has no such file.")
	}
	h := c.Response().Header()
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	return c.Blob(http.StatusOK, mime.TypeByExtension(path.Ext(name)), text)
}
