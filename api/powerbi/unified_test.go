package powerbi_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// unified is the oldest surface's list: a bare array.
func (w *v1World) unified() []map[string]any {
	w.t.Helper()
	r := httptest.NewRequest("GET", "/UnifiedGateway/GatewayClusters", nil)
	r.Header.Set("Authorization", "Bearer "+w.token)
	a := httptest.NewRecorder()
	w.handler.ServeHTTP(a, r)
	var list []map[string]any
	if err := json.Unmarshal(a.Body.Bytes(), &list); err != nil || a.Code != 200 {
		w.t.Fatalf("the list is %d %s: %v", a.Code, a.Body, err)
	}
	return list
}

// nested parses a JSON text inside an object.
func nested(t *testing.T, object map[string]any, name string) map[string]any {
	t.Helper()
	var v map[string]any
	text, _ := object[name].(string)
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s is %v, not a JSON text: %v", name, object[name], err)
	}
	return v
}

func names(object map[string]any, want ...string) (missing []string) {
	for _, name := range want {
		if _, ok := object[name]; !ok {
			missing = append(missing, name)
		}
	}
	return missing
}

func TestR17UnifiedListHasTheOldNames(t *testing.T) {
	w := newV1World(t)
	if list := w.unified(); len(list) != 0 {
		t.Fatalf("no cluster yet, but %v", list)
	}
	id := w.cluster("Lisbon")
	cluster := w.unified()[0]
	if missing := names(cluster, "gatewayId", "objectId", "name", "description", "publicKey", "keyword", "metadata", "loadBalancingSettings", "annotation",
		"versionStatus", "expiryDate", "type", "options", "permission", "gateways"); missing != nil {
		t.Errorf("the cluster lacks %v", missing)
	}
	member := cluster["gateways"].([]any)[0].(map[string]any)
	if missing := names(member, "gatewayId", "gatewayObjectId", "gatewayName", "gatewayAnnotation", "gatewayStatus", "isAnchorGateway", "gatewayClusterStatus",
		"gatewayLoadBalancingSettings", "gatewayStaticCapabilities", "gatewayPublicKey", "gatewayVersion", "gatewayVersionStatus", "expiryDate"); missing != nil {
		t.Errorf("the member lacks %v", missing)
	}
	if cluster["objectId"] != id || member["gatewayObjectId"] != id || member["isAnchorGateway"] != true || member["gatewayClusterStatus"] != "Enabled" {
		t.Errorf("the list shows %v", cluster)
	}
	if selector := nested(t, cluster, "loadBalancingSettings")["selector"]; selector != 0.0 {
		t.Errorf("a new cluster's selector is %v", selector)
	}
	for _, a := range []map[string]any{nested(t, cluster, "annotation"), nested(t, member, "gatewayAnnotation")} {
		if _, ok := a["gatewayContactInformation"].([]any); !ok {
			t.Errorf("contact information is no list: %v", a)
		}
	}
	nested(t, cluster, "publicKey")
}

func TestR17UnifiedClusterChangesOnlyWhatIsGiven(t *testing.T) {
	w := newV1World(t)
	path := "/unifiedgateway/gatewayclusters/" + w.cluster("Lisbon")
	v, _ := w.call(w.token, "PATCH", path, `{"description":"first","loadBalancingSettings":"{\"selector\":1}"}`, 200)
	if v["name"] != "Lisbon" || v["description"] != "first" || nested(t, v, "loadBalancingSettings")["selector"] != 1.0 {
		t.Errorf("after the first change: %v", v)
	}
	v, _ = w.call(w.token, "PATCH", path, `{"description":""}`, 200)
	if v["description"] != "" || nested(t, v, "loadBalancingSettings")["selector"] != 1.0 {
		t.Errorf("an empty text is a value, and the rest stays: %v", v)
	}
	for _, settings := range []string{`{\"selector\":7}`, `{}`} {
		w.call(w.token, "PATCH", path, `{"loadBalancingSettings":"{\"selector\":1}"}`, 200)
		if v, _ = w.call(w.token, "PATCH", path, `{"loadBalancingSettings":"`+settings+`"}`, 200); nested(t, v, "loadBalancingSettings")["selector"] != 0.0 {
			t.Errorf("%s is not Failover: %v", settings, v["loadBalancingSettings"])
		}
	}
	w.call(w.token, "PATCH", path, `{"loadBalancingSettings":{"selector":1}}`, 400)
	w.call(w.token, "PATCH", path, `{"loadBalancingSettings":"x"}`, 400)
	w.call(w.token, "PATCH", path, `{"name":"  "}`, 400)
	whole, err := json.Marshal(v)
	must(t, err)
	w.call(w.token, "PATCH", path, string(whole), 200)
}

func TestR17UnifiedMember(t *testing.T) {
	w := newV1World(t)
	id := w.cluster("Lisbon")
	member := "/unifiedgateway/gatewayclusters/" + id + "/gateways/" + id
	v, _ := w.call(w.token, "PATCH", member, `{"clusterMemberStatus":"None"}`, 200)
	if v["gatewayClusterStatus"] != "None" || v["gatewayName"] != "Lisbon" {
		t.Errorf("disabled: %v", v)
	}
	v, _ = w.call(w.token, "PATCH", member, `{"gatewayAnnotation":"{\"gatewayContactInformation\":[\"ann@example.org\"]}"}`, 200)
	if a := nested(t, v, "gatewayAnnotation"); v["gatewayClusterStatus"] != "None" || a["gatewayContactInformation"].([]any)[0] != "ann@example.org" {
		t.Errorf("a new annotation changed more: %v", v)
	}
	if v, _ = w.call(w.token, "PATCH", member, `{"clusterMemberStatus":"enabled"}`, 200); v["gatewayClusterStatus"] != "Enabled" {
		t.Errorf("enabled: %v", v)
	}
	w.call(w.token, "PATCH", member, `{"gatewayName":" "}`, 400)
	w.call(w.token, "PATCH", member, `{"clusterMemberStatus":"Maybe"}`, 400)
	w.call(w.token, "PATCH", member, `{"gatewayAnnotation":"no JSON"}`, 400)

	if v, _ = w.call(w.token, "GET", member+"/status", "", 200); v["gatewayStatus"] != "Live" || v["gatewayVersion"] != "1.0" || v["gatewayUpgradeState"] != "UpToDate" {
		t.Errorf("status: %v", v)
	}
	w.tunnels.online = false
	if v, _ = w.call(w.token, "GET", member+"/status", "", 400); errorCode(v) != "DM_GWPipeline_Client_GatewayUnreachable" {
		t.Errorf("status of an unreachable member: %v", v)
	}
	w.call(w.token, "GET", strings.Replace(member, "/gateways/"+id, "/gateways/"+uuid.NewString(), 1)+"/status", "", 404)
}

// The help of the older module says that removing a gateway that is not there succeeds.
func TestR17UnifiedRemovalOfAMissingMemberSucceeds(t *testing.T) {
	w := newV1World(t)
	_, stranger := w.as("stranger")
	id := w.cluster("Lisbon")
	gateways := "/unifiedgateway/gatewayclusters/" + id + "/gateways/"
	w.call(w.token, "DELETE", gateways+uuid.NewString(), "", 200)
	w.call(stranger, "DELETE", gateways+id, "", 404)
	w.call(w.token, "DELETE", gateways+id, "", 200)
	if list := w.unified(); len(list) != 0 {
		t.Errorf("the last member is gone and the cluster stays: %v", list)
	}
}
