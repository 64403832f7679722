package rest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
)

// A path parameter is unescaped once, however much of its path the client escaped.
func TestAPathParameterIsUnescapedOnce(t *testing.T) {
	for path, want := range map[string]string{
		"/users/ana@example.org": "ana@example.org", "/users/ana%40example.org": "ana@example.org", "/users/a%2541b@example.org": "a%41b@example.org",
		"/users/a%2541b%40example.org": "a%41b@example.org", "/users/a%2Fb": "a/b", "/users/a+b": "a+b", "/users/100%25": "100%",
	} {
		got := ""
		e := echo.New()
		e.GET("/users/:user", func(c echo.Context) error {
			got = Param(c, "user")
			return c.NoContent(http.StatusOK)
		})
		if e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
