package fabric_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"comporta/service"
	"comporta/service/gateway"
)

func (w *world) caller() *gateway.Caller { return &gateway.Caller{ID: w.admin, TenantAdmin: true} }

// keys are the property names of an answer, sorted.
func keys(v map[string]any) string { return strings.Join(slices.Sorted(maps.Keys(v)), " ") }

// fails makes a call that has to fail with this status and code, in the flat form.
func (w *world) fails(token, method, path, body string, status int, code string) map[string]any {
	w.t.Helper()
	v, header := w.call(token, method, path, body, status)
	if v["errorCode"] != code || header.Get("x-ms-public-api-error-code") != code || v["requestId"] != header.Get("RequestId") || v["message"] == "" || v["isRetriable"] == nil {
		w.t.Errorf("%s %s: %v, want the flat error %s", method, path, v, code)
	}
	return v
}

func (w *world) member(cluster, name string) string {
	w.t.Helper()
	i, err := w.service.Members.Add(context.Background(), w.caller(), gateway.ID(cluster), service.NewMember{Name: name, RecoveryKey: "correct horse battery"})
	must(w.t, err)
	return i.MemberID.String()
}

const goldenGateway = "allowCloudConnectionRefresh allowCustomConnectors displayName id loadBalancingSetting numberOfMemberGateways publicKey type version"

func TestR19R22Gateway(t *testing.T) {
	w := newWorld(t)
	id := w.cluster("Lisbon")
	one := "/v1/gateways/" + id
	v, _ := w.call(w.token, "GET", "/v1/gateways/", "", 200)
	if keys(v) != "value" || keys(v["value"].([]any)[0].(map[string]any)) != goldenGateway {
		t.Errorf("list: %v", v)
	}
	v, _ = w.call(w.token, "GET", one, "", 200)
	if v["type"] != "OnPremises" || v["id"] != id || v["version"] != "1.0" || v["numberOfMemberGateways"] != 1.0 || v["loadBalancingSetting"] != "Failover" {
		t.Errorf("gateway: %v", v)
	}
	whole := `{"id":"x","publicKey":{"exponent":"a","modulus":"b"},"version":"9","numberOfMemberGateways":7,"type":"OnPremises","displayName":"Évora","loadBalancingSetting":"distributeEvenly","allowCloudConnectionRefresh":false,"allowCustomConnectors":true}`
	v, _ = w.call(w.token, "PATCH", one, whole, 200)
	if v["displayName"] != "Évora" || v["loadBalancingSetting"] != "DistributeEvenly" || v["allowCloudConnectionRefresh"] != false || v["allowCustomConnectors"] != true || v["id"] != id {
		t.Errorf("patched: %v", v)
	}
	w.fails(w.token, "PATCH", one, `{"displayName":"x"}`, 400, "InvalidInput")
	w.fails(w.token, "PATCH", one, `{"type":"VirtualNetwork"}`, 400, "UnsupportedGatewayType")
	w.fails(w.token, "PATCH", one, `{"type":"OnPremises","surprise":1}`, 400, "InvalidInput")
	w.fails(w.token, "POST", one+"/restart", "", 400, "UnsupportedGatewayType")
	w.fails(w.token, "POST", one+"/shutdown", "", 400, "UnsupportedGatewayType")
	w.fails(w.token, "POST", "/v1/gateways", `{"type":"VirtualNetwork","displayName":"x","capacityId":"y"}`, 400, "UnsupportedGatewayType")
	w.fails(w.token, "GET", "/v1/operations/"+uuid.NewString(), "", 404, "EntityNotFound")
	w.fails(w.token, "GET", "/v1/nothing", "", 404, "EndpointNotFound")
	if v, _ := w.call(w.token, "DELETE", one, "", 200); v != nil {
		t.Errorf("DELETE answers a body: %v", v)
	}
	w.fails(w.token, "DELETE", one, "", 404, "EntityNotFound")
}

func TestR49DuplicateName(t *testing.T) {
	w := newWorld(t)
	w.cluster("Lisbon")
	one := "/v1/gateways/" + w.cluster("Porto")
	v := w.fails(w.token, "PATCH", one, `{"type":"OnPremises","displayName":"lisbon"}`, 409, "DuplicateGatewayName")
	if v["isRetriable"] != false {
		t.Errorf("retriable: %v", v)
	}
	w.call(w.token, "PATCH", one, `{"type":"OnPremises","displayName":"Porto"}`, 200)
}

func TestLeastLoadedSurvivesWholeObject(t *testing.T) {
	w := newWorld(t)
	id, mode := w.cluster("Lisbon"), gateway.LeastLoaded
	must(t, w.service.Clusters.Update(context.Background(), w.caller(), gateway.ID(id), service.ClusterPatch{Mode: &mode}))
	w.call(w.token, "PATCH", "/v1/gateways/"+id, `{"type":"OnPremises","loadBalancingSetting":"DistributeEvenly"}`, 200)
	v, err := w.service.Clusters.Get(context.Background(), w.caller(), gateway.ID(id))
	must(t, err)
	if v.Mode != mode {
		t.Errorf("mode is %s", v.Mode)
	}
}

func TestR66R67Members(t *testing.T) {
	w := newWorld(t)
	id := w.cluster("Lisbon")
	second := w.member(id, "second")
	one := "/v1/gateways/" + id
	v, _ := w.call(w.token, "GET", one+"/members", "", 200)
	first := v["value"].([]any)[0].(map[string]any)
	if len(v["value"].([]any)) != 2 || first["id"] != id || keys(first) != "displayName enabled id publicKey version" {
		t.Errorf("members: %v", v)
	}
	v, _ = w.call(w.token, "PATCH", one+"/members/"+second, `{"displayName":"zweite","enabled":false}`, 200)
	if v["displayName"] != "zweite" || v["enabled"] != false {
		t.Errorf("patched member: %v", v)
	}
	v, _ = w.call(w.token, "POST", one+"/checkStatus", "", 200)
	detail := v["errorDetails"].([]any)[0].(map[string]any)
	if v["status"] != "Online" || v["gatewayVersion"] != "1.0" || v["gatewayUpgradeState"] != "UpToDate" || detail["errorCode"] != "DMTS_GatewayIsDisabled" || detail["message"] != "Gateway is disabled" ||
		detail["relatedResource"].(map[string]any)["resourceId"] != second || detail["relatedResource"].(map[string]any)["resourceType"] != "Gateway" {
		t.Errorf("status: %v", v)
	}
	if v, _ = w.call(w.token, "POST", one+"/members/"+id+"/checkStatus", "", 200); v["status"] != "Online" || v["errorDetails"] != nil {
		t.Errorf("member status: %v", v)
	}
	w.tunnels.away = gateway.ID(id)
	v, _ = w.call(w.token, "POST", one+"/members/"+id+"/checkStatus", "", 200)
	if v["status"] != "Offline" || v["errorDetails"].([]any)[0].(map[string]any)["errorCode"] != "DM_GWPipeline_Client_GatewayUnreachable" {
		t.Errorf("offline member: %v", v)
	}
	w.fails(w.token, "DELETE", one+"/members/"+id, "", 409, "CannotDeletePrimaryGatewayIfClusterMemberExists")
	w.call(w.token, "DELETE", one+"/members/"+second, "", 200)
	w.fails(w.token, "DELETE", one+"/members/"+second, "", 404, "EntityNotFound")
	w.call(w.token, "DELETE", one+"/members/"+id, "", 200)
	w.fails(w.token, "GET", one, "", 404, "EntityNotFound")
}

func TestGatewayRoles(t *testing.T) {
	w := newWorld(t)
	other, token := w.as("other")
	one := "/v1/gateways/" + w.cluster("Lisbon")
	roles := one + "/roleAssignments"
	w.fails(token, "GET", one, "", 404, "EntityNotFound")
	body := `{"principal":{"id":"` + other.String() + `","type":"ServicePrincipal"},"role":"ConnectionCreatorWithResharing"}`
	v, header := w.call(w.token, "POST", roles, body, 201)
	if v["id"] != other.String() || v["role"] != "ConnectionCreatorWithResharing" || keys(v["principal"].(map[string]any)) != "displayName id type" || !strings.HasSuffix(header.Get("Location"), strings.ToLower(roles)+"/"+other.String()) {
		t.Errorf("created: %v %v", v, header)
	}
	v, _ = w.call(token, "GET", roles, "", 200)
	if len(v["value"].([]any)) != 2 {
		t.Errorf("list: %v", v)
	}
	w.fails(token, "PATCH", one, `{"type":"OnPremises"}`, 403, "InsufficientPermissionsToManageGateway")
	w.fails(token, "DELETE", roles+"/"+other.String(), "", 403, "InsufficientPermissionsToManageGateway")
	w.fails(w.token, "POST", roles, `{"role":"Admin"}`, 400, "InvalidInput")
	w.fails(w.token, "POST", roles, strings.Replace(body, "ServicePrincipal", "ServicePrincipalProfile", 1), 400, "InvalidInput")
	if v, _ = w.call(w.token, "PATCH", roles+"/"+other.String(), `{"role":"ConnectionCreator"}`, 200); v["role"] != "ConnectionCreator" {
		t.Errorf("patched: %v", v)
	}
	w.call(w.token, "DELETE", roles+"/"+other.String(), "", 200)
	w.fails(w.token, "GET", roles+"/"+other.String(), "", 404, "EntityNotFound")
	w.fails(token, "GET", one, "", 404, "EntityNotFound")
}

// TestPaging follows the pages while a cluster of the first page goes away: each of the others comes once.
func TestPaging(t *testing.T) {
	w := newWorld(t)
	const count = 101
	ids := map[string]bool{}
	for i := range count {
		ids[w.cluster(fmt.Sprintf("cluster %d", i))] = true
	}
	r := httptest.NewRequest("GET", "http://proxy.example/v1/gateways", nil)
	r.Header.Set("Authorization", "Bearer "+w.token)
	r.Header.Set("X-Forwarded-Proto", "https")
	a := httptest.NewRecorder()
	w.handler.ServeHTTP(a, r)
	page := decoded(t, a)
	first := page["value"].([]any)
	token, _ := page["continuationToken"].(string)
	if uri := "https://proxy.example/v1/gateways?continuationToken=" + token; len(first) != 100 || page["continuationUri"] != uri {
		t.Fatalf("first page: %d, %v, want %v", len(first), page["continuationUri"], uri)
	}
	w.call(w.token, "DELETE", "/v1/gateways/"+first[3].(map[string]any)["id"].(string), "", 200)
	last, _ := w.call(w.token, "GET", "/v1/gateways?continuationToken="+token, "", 200)
	if keys(last) != "value" {
		t.Errorf("last page: %v", last)
	}
	for _, g := range append(first, last["value"].([]any)...) {
		id := g.(map[string]any)["id"].(string)
		if !ids[id] {
			t.Errorf("%s stands twice", id)
		}
		delete(ids, id)
	}
	if len(ids) != 0 {
		t.Errorf("missing: %v", ids)
	}
	w.fails(w.token, "GET", "/v1/gateways?continuationToken=garbled", "", 400, "InvalidContinuationToken")
	of := "/v1/gateways/" + first[0].(map[string]any)["id"].(string)
	for _, other := range []string{"/v1/connections", of + "/roleAssignments"} {
		w.fails(w.token, "GET", other+"?continuationToken="+token, "", 400, "InvalidContinuationToken")
	}
}

func decoded(t *testing.T, a *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	if a.Code != http.StatusOK {
		t.Fatalf("%d: %s", a.Code, a.Body)
	}
	var v map[string]any
	must(t, json.Unmarshal(a.Body.Bytes(), &v))
	return v
}
