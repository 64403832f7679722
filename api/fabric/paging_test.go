package fabric_test

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"comporta/api"
	"comporta/service/gateway"
)

// Links lead where the operator says that the service stands, also below a path that a proxy takes off; else where the client found it.
func TestLinksLeadToTheAddressOfTheService(t *testing.T) {
	w := newWorld(t)
	id := w.cluster("Lisbon")
	for i := range 100 {
		w.cluster(fmt.Sprintf("cluster %d", i))
	}
	const chosen = "https://gateway.example/comporta"
	for given, want := range map[bool]string{true: chosen, false: "https://proxy.example"} {
		handler := api.New(api.Config{Service: w.service, PublicURL: chosen, PublicURLGiven: given, Log: slog.New(slog.DiscardHandler),
			NewID: func() gateway.ID { return gateway.ID(uuid.NewString()) }, Now: time.Now}).Handler()
		call := func(method, path, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, "http://inside:8085"+path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+w.token)
			r.Header.Set("X-Forwarded-Proto", "https")
			r.Header.Set("X-Forwarded-Host", "proxy.example")
			a := httptest.NewRecorder()
			handler.ServeHTTP(a, r)
			return a
		}
		other, _ := w.as(fmt.Sprintf("other-%t", given))
		roles := "/v1/gateways/" + id + "/roleassignments"
		made := call("POST", roles, `{"principal":{"id":"`+other.String()+`","type":"ServicePrincipal"},"role":"Admin"}`)
		if at := made.Header().Get("Location"); made.Code != 201 || at != want+roles+"/"+other.String() {
			t.Errorf("given %t: %d, Location is %q", given, made.Code, at)
		}
		page := decoded(t, call("GET", "/v1/gateways", ""))
		if at, _ := page["continuationUri"].(string); !strings.HasPrefix(at, want+"/v1/gateways?continuationToken=") {
			t.Errorf("given %t: continuationUri is %q", given, at)
		}
	}
}
