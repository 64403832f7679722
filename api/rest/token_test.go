package rest

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"comporta/service"
	"comporta/service/gateway"
)

// A token leads on in the list that gave it and in no other.
func TestATokenIsGoodForItsOwnList(t *testing.T) {
	const one, two = "11111111-1111-1111-1111-11111111111a", "22222222-2222-2222-2222-222222222222"
	names := map[string]string{}
	for path, route := range map[string]string{"/v1/gateways": "/v1/gateways", "/v1/connections": "/v1/connections", "/v1/gateways/" + one + "/roleassignments": "/v1/gateways/:cluster/roleassignments",
		"/v1/gateways/" + two + "/roleassignments": "/v1/gateways/:cluster/roleassignments", "/v1/connections/" + one + "/roleassignments": "/v1/connections/:connection/roleassignments"} {
		names[path] = listName(t, route, path)
	}
	if braces := listName(t, "/v1/gateways/:cluster/roleassignments", "/v1/gateways/{"+one+"}/roleassignments"); braces != names["/v1/gateways/"+one+"/roleassignments"] {
		t.Errorf("the same id in braces is another list: %s", braces)
	}
	place := service.After{At: time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.UTC), ID: one}
	for from, name := range names {
		token := Token(name, place)
		for to, other := range names {
			got, err := ReadToken(other, token)
			if from == to && (err != nil || got != place) || from != to && !gateway.IsCode(err, gateway.CodeContinuationToken) {
				t.Errorf("a token of %s on %s: %v, %v", from, to, got, err)
			}
		}
	}
}

func listName(t *testing.T, route, path string) (name string) {
	t.Helper()
	e := echo.New()
	e.GET(route, func(c echo.Context) error { name = ListName(c); return nil })
	e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
	if name == "" {
		t.Fatalf("%s is not %s", path, route)
	}
	return name
}
