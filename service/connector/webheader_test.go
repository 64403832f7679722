package connector

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"comporta/service/gateway"
)

// Some servers take the method from a header, so such a header can make a request write that only reads.
func TestReadOnlyWebTakesNoOverridingHeaders(t *testing.T) {
	asked := 0
	here := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer here.Close()
	r := webRig(t, gateway.TypeWeb, here.URL, nil)
	for _, name := range []string{"X-HTTP-Method-Override", "x-http-method", "X-METHOD-OVERRIDE", "X_HTTP_Method_Override", "X-Http_Method-Override"} {
		call := gateway.HTTPCall{Method: "GET", Headers: map[string]string{name: "DELETE"}}
		if _, err := r.call(t.Context(), true, call); !gateway.IsCode(err, gateway.CodeReadOnly) || !strings.Contains(err.Error(), name) || asked != 0 {
			t.Errorf("%s: %v, asked %d times", name, err, asked)
		}
	}
	call := gateway.HTTPCall{Method: "GET", Headers: map[string]string{"X-HTTP-Method": "MERGE", "X-Other": "x"}}
	if _, err := r.call(t.Context(), false, call); err != nil || asked != 1 {
		t.Error("with readOnly false:", err)
	}
}

// Others take the path or the host from one. The registered address is left by no request, whether it reads or writes.
func TestWebTakesNoHeadersThatLeadAway(t *testing.T) {
	var asked []http.Header
	here := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.Header) }))
	defer here.Close()
	r := webRig(t, gateway.TypeWeb, here.URL+"/api/v1", nil)
	for _, name := range []string{"X-Original-URL", "x-rewrite-url", "X_Original_Url", "X-Original-URI", "X-Forwarded-URI", "X-Forwarded-Host", "X-Original-Host", "X-HTTP-Host-Override", "X-Host", "X-Forwarded_Server", "Forwarded"} {
		for _, readOnly := range []bool{true, false} {
			call := gateway.HTTPCall{Method: "GET", Path: "/x", Headers: map[string]string{name: "/admin"}}
			if _, err := r.call(t.Context(), readOnly, call); !gateway.IsCode(err, gateway.CodeNotAllowedHere) || !strings.Contains(err.Error(), name) || len(asked) != 0 {
				t.Errorf("%s, readOnly %v: %v, asked %d times", name, readOnly, err, len(asked))
			}
		}
	}
	call := gateway.HTTPCall{Method: "GET", Headers: map[string]string{"X-Forwarded-For": "10.0.0.1", "X-Forwarded-Proto": "https", "X-Forwarded-Prefix": "/p", "Proxy": "http://evil"}}
	if _, err := r.call(t.Context(), true, call); err != nil || len(asked) != 1 {
		t.Fatalf("the others: %v", err)
	}
	if h := asked[0]; h.Get("X-Forwarded-For") != "10.0.0.1" || h.Get("X-Forwarded-Prefix") != "/p" || h.Get("Proxy") != "" {
		t.Errorf("passed on: %v", h)
	}
}
