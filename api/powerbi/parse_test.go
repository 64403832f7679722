package powerbi

import (
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/labstack/echo/v4"

	"comporta/service/gateway"
)

func TestAcceptChoosesTheFormat(t *testing.T) {
	for accept, want := range map[string]gateway.Format{
		"": gateway.FormatJSON, "*/*": gateway.FormatJSON, "application/json; charset=utf-8": gateway.FormatJSON, "APPLICATION/JSON": gateway.FormatJSON,
		"text/csv": gateway.FormatCSV, "application/x-ndjson": gateway.FormatNDJSON, "text/html, */*;q=0.8": gateway.FormatJSON,
		"application/json;q=0.5, text/csv": gateway.FormatCSV, "application/json;q=0, text/csv;q=0.1": gateway.FormatCSV, "text/html": "", "application/json;q=0": "", "image/*": "",
	} {
		got, err := formatOf(accept)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q %v, want %q", accept, got, err, want)
		}
	}
}

// asked is a context of a GET with this query.
func asked(name, value string) echo.Context {
	req := httptest.NewRequest("GET", "/?"+url.Values{name: {value}}.Encode(), nil)
	return echo.New().NewContext(req, httptest.NewRecorder())
}

func TestTypeFilter(t *testing.T) {
	for filter, want := range map[string]gateway.GatewayType{
		"": "", "type eq 'Resource'": gateway.Resource, "TYPE EQ 'resource'": gateway.Resource, "  type  eq  'Personal' ": gateway.Personal,
		"type eq Resource": "!", "type ne 'Resource'": "!", "name eq 'x'": "!", "type eq 'x'": "!", "type eq '": "!", "type eq 'Resource' or 1 eq 1": "!",
	} {
		got, err := typeFilter(asked("$filter", filter))
		if (err != nil) != (want == "!") || err == nil && got != want {
			t.Errorf("%q: %q %v, want %q", filter, got, err, want)
		}
	}
}

func FuzzTypeFilter(f *testing.F) {
	f.Add("type eq 'Resource'")
	f.Add("type eq '")
	f.Fuzz(func(t *testing.T, filter string) {
		if _, err := typeFilter(asked("$filter", filter)); err != nil && !gateway.IsCode(err, gateway.CodeInvalid) {
			t.Errorf("%q: %v", filter, err)
		}
	})
}

func FuzzAccept(f *testing.F) {
	f.Add("application/json;q=0.5, text/csv")
	f.Add(";;q=NaN,")
	f.Fuzz(func(t *testing.T, accept string) {
		if got, err := formatOf(accept); err == nil && got != gateway.FormatJSON && got != gateway.FormatNDJSON && got != gateway.FormatCSV {
			t.Errorf("%q gave %q", accept, got)
		}
	})
}
