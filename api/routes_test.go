package api_test

import (
	"fmt"
	"strings"
	"testing"
)

// Every route declares what it takes; only what must be public is.
func TestEveryRouteDeclaresItsPermission(t *testing.T) {
	w := newWorld(t)
	seen := map[string]bool{}
	for _, r := range w.api.Routes() {
		key := strings.ToLower(r.Method + " " + r.Path)
		if seen[key] {
			t.Errorf("%s stands in the table twice", key)
		}
		seen[key] = true
		if r.Public == (r.Action != "") {
			t.Errorf("%s: public is %v and the action %q; a route is either public or has an action", key, r.Public, r.Action)
		}
		if r.Style == nil || r.Handler == nil {
			t.Errorf("%s has no style or handler", key)
		}
		if r.Public && (strings.HasPrefix(r.Path, "/v1") || strings.HasPrefix(r.Path, "/v2")) {
			t.Errorf("%s is public", key)
		}
	}
	for _, route := range w.api.Registered() {
		if !seen[strings.ToLower(route)] {
			t.Errorf("%s is registered outside the table", route)
		}
	}
}

// No route that is not public answers without a token, or with one that is none.
func TestNoRouteAnswersWithoutAToken(t *testing.T) {
	w := newWorld(t)
	for _, token := range []string{"", "rubbish"} {
		w.token = token
		for _, r := range w.api.Routes() {
			if r.Public {
				continue
			}
			path := "//" + strings.TrimPrefix(r.Path, "/")
			for strings.Contains(path, "{") {
				path = path[:strings.Index(path, "{")] + "11111111-1111-1111-1111-111111111111" + path[strings.Index(path, "}")+1:]
			}
			resp := w.send(r.Method, path, nil)
			if resp.StatusCode != 401 || resp.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s with %q: %d", r.Method, r.Path, token, resp.StatusCode)
			}
		}
	}
}

func TestPathsHaveManyForms(t *testing.T) {
	w := newWorld(t)
	w.joined()
	upper := strings.ToUpper(w.cluster)
	for _, path := range []string{"/gatewayClusters/" + w.cluster, "/gatewayclusters/" + upper, "/GATEWAYCLUSTERS/" + w.cluster + "/", "/gatewayClusters(" + w.cluster + ")",
		"/gatewayClusters({" + upper + "})", "/me/gatewayClusters('" + w.cluster + "')", "/gatewayClusters(" + w.cluster + ")/memberGateways(" + w.cluster + ")",
		"/gatewayClusters?$expand=MEMBERGATEWAYS,permissions,dataSources&$skip=0", "/me/gatewayClusters?%24top=5"} {
		if text := w.must(200, "GET", path, nil, nil); !strings.Contains(text, w.cluster) {
			t.Errorf("%s: %s", path, text)
		}
	}
}

// Escaped letters in a path are those letters, on the way to the route and in what it is asked for.
func TestEscapedLettersInAPath(t *testing.T) {
	w := newWorld(t)
	w.joined()
	for _, path := range []string{"/%76%31/gateways/" + w.cluster, "/v1/%67ateways/" + w.cluster, "/v2.0/my%6frg/gatewayClusters/%" + fmt.Sprintf("%x", w.cluster[0]) + w.cluster[1:]} {
		if got := w.raw("GET", path, w.token); got.status != 200 || !strings.Contains(got.text, w.cluster) {
			t.Errorf("%s: %d %s", path, got.status, got.text)
		}
	}
}

// HEAD is GET without the body: the same status and the same kind of content.
func TestHeadIsGetWithoutABody(t *testing.T) {
	w := newWorld(t)
	w.joined()
	for _, path := range []string{"/v2.0/myorg/gatewayClusters", "/v2.0/myorg/gatewayClusters/" + w.cluster, "/v1/gateways", "/healthz", "/openapi.json", "/v1/gateways/11111111-1111-1111-1111-111111111111"} {
		get, head := w.raw("GET", path, w.token), w.raw("HEAD", path, w.token)
		if get.status != head.status || get.header.Get("Content-Type") != head.header.Get("Content-Type") || head.text != "" {
			t.Errorf("%s: GET %d %s, HEAD %d %s %q", path, get.status, get.header.Get("Content-Type"), head.status, head.header.Get("Content-Type"), head.text)
		}
	}
	if got := w.raw("HEAD", "/v2.0/myorg/gatewayClusters", ""); got.status != 401 {
		t.Errorf("HEAD without a token: %d", got.status)
	}
}

// One answer per kind of call, with the names and types that clients read.
func TestTheShapesThatClientsRead(t *testing.T) {
	w := newWorld(t)
	w.joined()
	source := w.source("db")
	cluster := w.must(200, "GET", "/gatewayClusters/"+w.cluster, nil, nil)
	for _, part := range []string{`"@odata.context":"` + w.url, `"options":{"CloudDatasourceRefresh":true,"CustomConnectors":false}`, `"staticCapabilities":0`,
		`"loadBalancingSettings":"{\"selector\":0}"`, `"status":"Live"`, `"state":"Enabled"`, `"version":"1.2.3"`, `\"gatewayMachine\":\"box\"`, `\"gatewayContactInformation\":[]`,
		`"type":"Resource"`, `"role":"Admin"`, `"isPrimary":true`, `"exponent":"AQAB"`, `"dataSourceIds":["` + source + `"]`} {
		if !strings.Contains(cluster, part) {
			t.Errorf("the cluster lacks %s:\n%s", part, cluster)
		}
	}
	if list := w.must(200, "GET", "/gatewayClusters", nil, nil); !strings.Contains(list, `"permissions":[],"memberGateways":[]`) {
		t.Errorf("without $expand the lists are empty and there: %s", list)
	}
	stranger := w.as("stranger")
	stranger.fails(403, "InsufficientPrivileges", "GET", "/gatewayClusters", nil)
	if list := stranger.must(200, "GET", "/me/gatewayClusters", nil, nil); !strings.Contains(list, `"value":[]`) {
		t.Errorf("a stranger sees %s", list)
	}
	stranger.fails(404, "PowerBIEntityNotFound", "GET", "/gatewayClusters/"+w.cluster, nil)
	stranger.fails(404, "PowerBIEntityNotFound", "GET", "/gatewayClusters/11111111-1111-1111-1111-111111111111", nil)
	status := w.must(200, "GET", "/gatewayClusters/"+w.cluster+"/status", nil, nil)
	if !strings.Contains(status, `"clusterStatus":"Live"`) || !strings.Contains(status, `"memberGatewayErrorMessages":[]`) {
		t.Errorf("status: %s", status)
	}
	if text := w.must(200, "GET", "/gatewayClusters/"+w.cluster+"/datasources/"+source+"/status", nil, nil); text != "" {
		t.Errorf("the status of a good data source has a body: %q", text)
	}
}

// Get, change, patch: what is sent back unchanged does no harm, and what is not sent stays.
func TestGetChangePatch(t *testing.T) {
	w := newWorld(t)
	w.joined()
	path := "/gatewayClusters/" + w.cluster
	var whole map[string]any
	w.must(200, "GET", path, nil, &whole)
	whole["description"], whole["concurrentOperationLimit"] = "changed", 7
	w.must(200, "PATCH", path, whole, &whole)
	if whole["description"] != "changed" || whole["concurrentOperationLimit"] != 7.0 {
		t.Errorf("got %v", whole)
	}
	w.must(200, "PATCH", path, map[string]any{"name": nil, "description": nil, "loadBalancingSelectorType": "random"}, &whole)
	if whole["description"] != "changed" || whole["loadBalancingSelectorType"] != "Random" {
		t.Errorf("null changed something: %v", whole)
	}
	var member map[string]any
	w.must(200, "GET", path+"/memberGateways/"+w.cluster, nil, &member)
	member["name"] = "renamed"
	w.must(200, "PATCH", path+"/memberGateways/"+w.cluster, member, &member)
	w.must(200, "PATCH", path+"/memberGateways/"+w.cluster, map[string]any{"enabled": false}, &member)
	if member["name"] != "renamed" || member["state"] != "Disabled" || member["status"] != "Live" {
		t.Errorf("got %v", member)
	}
	w.fails(503, "DMTS_GatewayIsDisabled", "POST", path+"/dispatch", map[string]any{"datasourceId": w.source("x"), "query": map[string]any{"text": ""}})
}

func TestTooManyRequestsOfOneCaller(t *testing.T) {
	w := newWorld(t, limitRate)
	for range 50 {
		resp := w.send("GET", "/gatewayRegions", nil)
		if resp.StatusCode == 429 {
			if after := resp.Header.Get("Retry-After"); after != "1" && after != "2" {
				t.Errorf("Retry-After is %q", after)
			}
			return
		}
	}
	t.Error("fifty requests at once are within one per second")
}
