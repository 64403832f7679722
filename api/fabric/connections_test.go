package fabric_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"comporta/service/gateway"
)

const goldenConnection = "connectionDetails connectionRecency connectivityType credentialDetails displayName gatewayId id privacyLevel"

// connectionBody is a request as Fabric's clients send it, with an entry for each of these members.
func connectionBody(cluster, name string, members ...string) string {
	var values []string
	for _, m := range members {
		values = append(values, fmt.Sprintf(`{"gatewayId":%q,"encryptedCredentials":"envelope"}`, m))
	}
	return fmt.Sprintf(`{"connectivityType":"OnPremisesGateway","gatewayId":%q,"displayName":%q,"privacyLevel":"Organizational",
"connectionDetails":{"type":"SQL","creationMethod":"SQL","parameters":[{"dataType":"Text","name":"database","value":"d"},{"dataType":"Text","name":"server","value":"s"}]},
"credentialDetails":{"singleSignOnType":"MicrosoftEntraID","connectionEncryption":"NotEncrypted","skipTestConnection":false,"credentials":{"credentialType":"Basic","values":[%s]}}}`,
		cluster, name, strings.Join(values, ","))
}

func TestR22R52R54Connection(t *testing.T) {
	w := newWorld(t)
	id := w.cluster("Lisbon")
	second := w.member(id, "second")
	v, header := w.call(w.token, "POST", "/v1/connections", connectionBody(id, "sales", id, second), 201)
	one := "/v1/connections/" + v["id"].(string)
	details, credentials := v["connectionDetails"].(map[string]any), v["credentialDetails"].(map[string]any)
	if keys(v) != goldenConnection || v["gatewayId"] != id || details["type"] != "SQL" || details["path"] != "s;d" || credentials["singleSignOnType"] != "MicrosoftEntraID" ||
		credentials["connectionEncryption"] != "NotEncrypted" || keys(credentials) != "connectionEncryption credentialType singleSignOnType skipTestConnection" || !strings.HasSuffix(header.Get("Location"), one) {
		t.Errorf("created: %v %v", v, header)
	}
	// The same thing, seen by the Power BI surface.
	seen, _ := w.call(w.token, "GET", "/v2.0/myorg/gatewayClusters/"+id+"/datasources/"+v["id"].(string), "", 200)
	if seen["connectionDetails"] != `{"server":"s","database":"d"}` || seen["datasourceType"] != "Sql" || seen["singleSignOnType"] != "AzureActiveDirectory" {
		t.Errorf("on v2: %v", seen)
	}
	w.fails(w.token, "POST", "/v1/connections", connectionBody(id, "Sales", second), 409, "DuplicateConnectionName")
	w.call(w.token, "POST", "/v1/connections", connectionBody(id, "one member is enough", second), 201)
	w.fails(w.token, "POST", "/v1/connections", connectionBody(id, "x", uuid.NewString()), 400, "InvalidCredentialDetails")
	w.fails(w.token, "POST", "/v1/connections", connectionBody(uuid.NewString(), "x", id), 404, "EntityNotFound")
	w.fails(w.token, "POST", "/v1/connections", strings.Replace(connectionBody(id, "x", id), `"SQL"`, `"Oracle"`, 1), 400, "InvalidConnectionDetails")
	w.fails(w.token, "POST", "/v1/connections", strings.Replace(connectionBody(id, "x", id), `"values":`, `"username":"u","password":"hunter2","values":`, 1), 400, "InvalidCredentialDetails")
	plain := w.fails(w.token, "POST", "/v1/connections", strings.Replace(connectionBody(id, "x"), `"values":[]`, `"username":"u","password":"hunter2"`, 1), 400, "InvalidCredentialDetails")
	if !strings.Contains(plain["message"].(string), "plain text") || strings.Contains(fmt.Sprint(plain), "hunter2") {
		t.Errorf("plain text: %v", plain)
	}

	whole, _ := json.Marshal(v)
	if v, _ = w.call(w.token, "PATCH", one, strings.Replace(string(whole), `"sales"`, `"sales 2"`, 1), 200); v["displayName"] != "sales 2" || v["privacyLevel"] != "Organizational" {
		t.Errorf("patched with the whole object: %v", v)
	}
	immutable := w.fails(w.token, "PATCH", one, `{"connectivityType":"OnPremisesGateway","gatewayId":"`+uuid.NewString()+`"}`, 400, "InvalidInput")
	if !strings.Contains(immutable["message"].(string), "immutable") {
		t.Errorf("immutable: %v", immutable)
	}
	w.fails(w.token, "PATCH", one, `{"displayName":"x"}`, 400, "InvalidInput")
	w.fails(w.token, "PATCH", one, `{"connectivityType":"OnPremisesGateway","privacyLevel":"Public"}`, 400, "InvalidInput")
	update := `{"connectivityType":"OnPremisesGateway","privacyLevel":"Public","credentialDetails":{"credentials":{"credentialType":"Windows","values":[{"gatewayId":"` + id + `","encryptedCredentials":"new"}]}}}`
	if v, _ = w.call(w.token, "PATCH", one, update, 200); v["privacyLevel"] != "Public" || v["credentialDetails"].(map[string]any)["credentialType"] != "Windows" ||
		v["credentialDetails"].(map[string]any)["connectionEncryption"] != "NotEncrypted" {
		t.Errorf("credentials updated: %v", v)
	}
	if v, _ := w.call(w.token, "DELETE", one, "", 200); v != nil {
		t.Errorf("DELETE answers a body: %v", v)
	}
	w.fails(w.token, "GET", one, "", 404, "EntityNotFound")
}

// Names of connection details are taken in any letter case, and custom connectors have names of their own.
func TestAConnectionsPathIsFoundUnderEveryName(t *testing.T) {
	w := newWorld(t)
	id := w.cluster("Lisbon")
	for i, c := range [][3]string{{"PostgreSql", `{"Server":"s","DATABASE":"d"}`, "s;d"}, {"Extension", `{"extensionDataSourceKind":"SQLite","extensionDataSourcePath":"/x.db"}`, "/x.db"}} {
		text, _ := json.Marshal(c[1])
		body := fmt.Sprintf(`{"datasourceType":%q,"datasourceName":"s%d","connectionDetails":%s,"credentialDetails":{"credentialType":"Basic","credentials":"envelope"}}`, c[0], i, text)
		made, _ := w.call(w.token, "POST", "/v2.0/myorg/gatewayClusters/"+id+"/datasources", body, 201)
		v, _ := w.call(w.token, "GET", "/v1/connections/"+made["id"].(string), "", 200)
		if path := v["connectionDetails"].(map[string]any)["path"]; path != c[2] {
			t.Errorf("%s: path %v", c[1], path)
		}
	}
}

func TestR63ConnectionTest(t *testing.T) {
	w := newWorld(t)
	id := w.cluster("Lisbon")
	v, _ := w.call(w.token, "POST", "/v1/connections", connectionBody(id, "sales", id), 201)
	test := "/v1/connections/" + v["id"].(string) + "/testConnection"
	if v, _ = w.call(w.token, "POST", test, "", 200); v["status"] != "Online" || keys(v) != "status" {
		t.Errorf("good: %v", v)
	}
	for want, failure := range map[string]*gateway.Error{
		"IncorrectCredentials":                        gateway.Errorf(gateway.CodeDataSourceCredentials, "wrong password"),
		"DM_GWPipeline_Gateway_DataSourceAccessError": gateway.Errorf(gateway.CodeDataSourceAccess, "no route"),
	} {
		w.tunnels.fail = failure
		v, _ = w.call(w.token, "POST", test, "", 200)
		if first := v["errors"].([]any)[0].(map[string]any); v["status"] != "Offline" || first["errorCode"] != want {
			t.Errorf("failed: %v, want %s", v, want)
		}
	}
	w.tunnels.fail, w.tunnels.online = nil, false
	if v, _ = w.call(w.token, "POST", test, "", 200); v["errors"].([]any)[0].(map[string]any)["errorCode"] != "DM_GWPipeline_Client_GatewayUnreachable" {
		t.Errorf("unreachable: %v", v)
	}
	w.fails(w.token, "POST", "/v1/connections/"+uuid.NewString()+"/testConnection", "", 404, "EntityNotFound")
}

// TestConnectionAccess is who may do what to a connection, by the role on it; "none" has no role anywhere.
func TestConnectionAccess(t *testing.T) {
	w := newWorld(t)
	id := w.cluster("Lisbon")
	v, _ := w.call(w.token, "POST", "/v1/connections", connectionBody(id, "sales", id), 201)
	one := "/v1/connections/" + v["id"].(string)
	calls := []struct{ method, path, body string }{
		{"GET", "", ""}, {"POST", "/testConnection", ""}, {"GET", "/roleAssignments", ""},
		{"PATCH", "", `{"connectivityType":"OnPremisesGateway","displayName":"sales"}`}, {"DELETE", "/roleAssignments/" + uuid.NewString(), ""},
	}
	for role, want := range map[string][]int{
		"none": {404, 404, 404, 404, 404}, "User": {200, 200, 200, 403, 403}, "UserWithReshare": {200, 200, 200, 403, 403}, "Owner": {200, 200, 200, 200, 404},
	} {
		who, token := w.as(role)
		listed := 0
		if role != "none" {
			listed = 1
			v, header := w.call(w.token, "POST", one+"/roleAssignments", `{"principal":{"id":"`+who.String()+`","type":"ServicePrincipal"},"role":"`+role+`"}`, 201)
			if v["role"] != role || v["id"] != who.String() || header.Get("Location") == "" {
				t.Errorf("role made: %v", v)
			}
		}
		for i, c := range calls {
			v, _ := w.call(token, c.method, one+c.path, c.body, want[i])
			if want[i] == 403 && v["errorCode"] != "InsufficientPermissionsToManageConnection" {
				t.Errorf("%s: %v", role, v)
			}
		}
		if v, _ := w.call(token, "GET", "/v1/connections", "", 200); len(v["value"].([]any)) != listed {
			t.Errorf("%s sees %v", role, v)
		}
		if role == "User" {
			v, _ := w.call(w.token, "PATCH", one+"/roleAssignments/"+who.String(), `{"role":"UserWithReshare"}`, 200)
			if v["role"] != "UserWithReshare" {
				t.Errorf("role changed: %v", v)
			}
			w.call(w.token, "DELETE", one+"/roleAssignments/"+who.String(), "", 200)
			w.fails(token, "GET", one, "", 404, "EntityNotFound")
		}
	}
	_, token := w.as("stranger")
	w.fails(token, "POST", "/v1/connections", connectionBody(id, "x", id), 404, "EntityNotFound")
}

func TestConnectionPagesAndTypes(t *testing.T) {
	w := newWorld(t)
	id := w.cluster("Lisbon")
	for i := range 101 {
		w.call(w.token, "POST", "/v1/connections", connectionBody(id, fmt.Sprint("c", i), id), 201)
	}
	v, _ := w.call(w.token, "GET", "/v1/connections", "", 200)
	token, _ := v["continuationToken"].(string)
	last, _ := w.call(w.token, "GET", "/v1/connections?continuationToken="+token, "", 200)
	if len(v["value"].([]any)) != 100 || len(last["value"].([]any)) != 1 || last["value"].([]any)[0].(map[string]any)["displayName"] != "c100" || keys(last) != "value" {
		t.Errorf("pages: %d, %v", len(v["value"].([]any)), last)
	}
	w.fails(w.token, "GET", "/v1/connections?continuationToken=LDEsMTAwMDAwLDA", "", 400, "InvalidContinuationToken")
	v, _ = w.call(w.token, "GET", "/v1/connections/supportedConnectionTypes?gatewayId="+id, "", 200)
	if first := v["value"].([]any)[0].(map[string]any); len(v["value"].([]any)) != len(gateway.ServedTypes) || first["type"] != "SQL" {
		t.Errorf("types: %v", v)
	}
	w.fails(w.token, "GET", "/v1/connections/supportedConnectionTypes?gatewayId="+uuid.NewString(), "", 404, "EntityNotFound")
}

// Every word for single sign-on that Fabric has comes back as it was sent, and the Power BI surface takes what it shows.
func TestSingleSignOnWordsOnBothSurfaces(t *testing.T) {
	w := newWorld(t)
	id := w.cluster("Lisbon")
	for sent, on2 := range map[string]string{"None": "None", "Kerberos": "Kerberos", "MicrosoftEntraID": "AzureActiveDirectory", "SecurityAssertionMarkupLanguage": "SAML",
		"KerberosDirectQueryAndRefresh": "KerberosDirectQueryAndRefresh"} {
		v, _ := w.call(w.token, "POST", "/v1/connections", strings.Replace(connectionBody(id, sent, id), "MicrosoftEntraID", sent, 1), 201)
		if got := v["credentialDetails"].(map[string]any)["singleSignOnType"]; got != sent {
			t.Errorf("sent %s, shown %v", sent, got)
		}
		source := "/v2.0/myorg/gatewayClusters/" + id + "/datasources/" + v["id"].(string)
		if seen, _ := w.call(w.token, "GET", source, "", 200); seen["singleSignOnType"] != on2 {
			t.Errorf("sent %s, v2.0 shows %v", sent, seen["singleSignOnType"])
		}
		w.call(w.token, "PATCH", source, `{"singleSignOnType":"`+on2+`"}`, 200)
	}
	w.fails(w.token, "POST", "/v1/connections", strings.Replace(connectionBody(id, "x", id), "MicrosoftEntraID", "Telepathy", 1), 400, "InvalidInput")
}
