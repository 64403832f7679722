package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// rights are a principal's role and right on a data source, as its list of users shows them; "" for none.
func (w *world) rights(source, principal string) (role, right string) {
	w.t.Helper()
	var users struct {
		Value []struct{ Identifier, Role, DatasourceAccessRight string }
	}
	w.must(200, "GET", "/gatewayClusters/"+w.cluster+"/datasources/"+source+"/users", nil, &users)
	for _, u := range users.Value {
		if u.Identifier == principal {
			return u.Role, u.DatasourceAccessRight
		}
	}
	return "", ""
}

// Each surface says a part of what a principal may do. What it does not say stays.
func TestARightThatIsNotNamedStays(t *testing.T) {
	w := newWorld(t)
	w.joined()
	id, bob := w.source("s"), w.as("bob")
	one := "/gatewayClusters/" + w.cluster + "/datasources/" + id
	v1 := "//v1.0/myorg/gateways/" + w.cluster + "/datasources/" + id + "/users"
	fabric := func(role string) map[string]any {
		return map[string]any{"principal": map[string]any{"id": bob.adminID, "type": "ServicePrincipal"}, "role": role}
	}
	for _, step := range []struct {
		path        string
		body        map[string]any
		role, right string
	}{
		{v1, map[string]any{"identifier": bob.adminID, "datasourceAccessRight": "Read"}, "User", "Read"},
		{one + "/users", map[string]any{"identifier": bob.adminID, "datasourceAccessRight": "ReadOverrideEffectiveIdentity", "role": "Owner"}, "Owner", "ReadOverrideEffectiveIdentity"},
		{v1, map[string]any{"identifier": bob.adminID, "datasourceAccessRight": "Read"}, "Owner", "Read"},
		{one + "/users", map[string]any{"identifier": bob.adminID, "datasourceAccessRight": "ReadOverrideEffectiveIdentity"}, "Owner", "ReadOverrideEffectiveIdentity"},
		{"//v1/connections/" + id + "/roleAssignments", fabric("UserWithReshare"), "UserWithReshare", "ReadOverrideEffectiveIdentity"},
		{v1, map[string]any{"identifier": bob.adminID, "datasourceAccessRight": "None"}, "", ""},
		{one + "/users", map[string]any{"identifier": bob.adminID, "datasourceAccessRight": 0}, "", ""},
		{"//v1/connections/" + id + "/roleAssignments", fabric("User"), "User", "Read"},
	} {
		if resp := w.send("POST", step.path, step.body); resp.StatusCode/100 != 2 {
			t.Fatal(step, resp.StatusCode)
		}
		if role, right := w.rights(id, bob.adminID); role != step.role || right != step.right {
			t.Errorf("%v: got %q, %q", step, role, right)
		}
	}
	removed := w.must(200, "GET", "/auditEvents?action=datasource.user.delete", nil, nil)
	if !strings.Contains(removed, "UserWithReshare") {
		t.Errorf("the audit log does not say what was taken away: %s", removed)
	}
}

// None is the word for no access: it must not let anybody in.
func TestNoneTakesAccessAway(t *testing.T) {
	w := newWorld(t)
	w.joined()
	id, bob := w.source("s"), w.as("bob")
	users := "/gatewayClusters/" + w.cluster + "/datasources/" + id + "/users"
	ask := map[string]any{"datasourceId": id, "query": map[string]any{"text": ""}}
	for _, step := range []struct {
		right  string
		status int
	}{{"None", 404}, {"Read", 200}, {"None", 404}} {
		w.must(200, "POST", users, map[string]any{"identifier": bob.adminID, "datasourceAccessRight": step.right}, nil)
		if got := bob.send("POST", "/gatewayClusters/"+w.cluster+"/dispatch", ask).StatusCode; got != step.status {
			t.Errorf("%s: got %d, want %d", step.right, got, step.status)
		}
	}
}

// Fabric has no word for the types that a creator may create.
func TestACreatorsTypesStay(t *testing.T) {
	w := newWorld(t)
	w.joined()
	bob := w.as("bob")
	permissions := "/gatewayClusters/" + w.cluster + "/permissions"
	w.must(200, "POST", permissions, map[string]any{"id": bob.adminID, "role": "ConnectionCreator", "allowedDataSourceTypes": []string{"Sql"}}, nil)
	for role, want := range map[string]bool{"ConnectionCreatorWithResharing": true, "Admin": false} {
		w.must(201, "POST", "//v1/gateways/"+w.cluster+"/roleAssignments",
			map[string]any{"principal": map[string]any{"id": bob.adminID, "type": "ServicePrincipal"}, "role": role}, nil)
		if got := strings.Contains(w.must(200, "GET", permissions, nil, nil), `"allowedDataSourceTypes":["Sql"]`); got != want {
			t.Errorf("%s: a limit of types: %v", role, got)
		}
		w.must(200, "POST", permissions, map[string]any{"id": bob.adminID, "role": "ConnectionCreator", "allowedDataSourceTypes": []string{"Sql"}}, nil)
	}
}

// Who uses one data source learns nothing of the others.
func TestIdsOfHiddenDataSourcesAreNotListed(t *testing.T) {
	w := newWorld(t)
	w.joined()
	mine, secret, bob := w.source("mine"), w.source("secret"), w.as("bob")
	one := "/gatewayClusters/" + w.cluster
	w.must(200, "POST", one+"/datasources/"+mine+"/users", map[string]any{"identifier": bob.adminID, "datasourceAccessRight": "Read"}, nil)
	for _, path := range []string{one, "/me/gatewayClusters", one + "/datasources", "/me/gatewayClusters?$expand=memberGateways,permissions"} {
		if text := bob.must(200, "GET", path, nil, nil); strings.Contains(text, secret) || !strings.Contains(text, mine) {
			t.Errorf("%s: %s", path, text)
		}
		if text := w.must(200, "GET", path, nil, nil); !strings.Contains(text, secret) {
			t.Errorf("%s hides it from the administrator: %s", path, text)
		}
	}
}

// New credentials say nothing of how the data source is spoken to, unless they do.
func TestNewCredentialsKeepWhatTheyDoNotName(t *testing.T) {
	w := newWorld(t)
	w.joined()
	envelope := w.credentials()["credentials"]
	details := map[string]any{"credentialType": "Basic", "credentials": envelope, "encryptedConnection": "NotEncrypted", "privacyLevel": "Private", "skipTestConnection": true}
	var made struct{ ID string }
	w.must(201, "POST", "/gatewayClusters/"+w.cluster+"/datasources", map[string]any{"datasourceName": "pg", "datasourceType": "PostgreSql",
		"connectionDetails": `{"server":"db","database":"d"}`, "credentialDetails": details}, &made)
	for _, step := range []struct {
		change map[string]any
		want   string
	}{
		{map[string]any{"encryptedConnection": nil, "privacyLevel": nil}, "NotEncrypted true Private"},
		{map[string]any{}, "NotEncrypted true Private"},
		{map[string]any{"skipTestConnection": false}, "NotEncrypted false Private"},
		{map[string]any{"encryptedConnection": "Any", "privacyLevel": "None"}, "Any false None"},
	} {
		step.change["credentialType"], step.change["credentials"] = "Basic", envelope
		w.must(200, "PATCH", "/gatewayClusters/"+w.cluster+"/datasources/"+made.ID+"/credentials", map[string]any{"credentialDetails": step.change}, nil)
		var c struct {
			PrivacyLevel      string
			CredentialDetails struct {
				ConnectionEncryption string
				SkipTestConnection   json.RawMessage
			}
		}
		w.must(200, "GET", "//v1/connections/"+made.ID, nil, &c)
		if got := c.CredentialDetails.ConnectionEncryption + " " + string(c.CredentialDetails.SkipTestConnection) + " " + c.PrivacyLevel; got != step.want {
			t.Errorf("%v: got %q, want %q", step.change, got, step.want)
		}
	}
}

// To read, change one thing and write the whole back is how scripts change things. Nothing else may change by it.
func TestWhatIsReadAndWrittenBackStays(t *testing.T) {
	w := newWorld(t)
	w.joined()
	one := "/gatewayClusters/" + w.cluster
	w.must(200, "PATCH", one, map[string]any{"loadBalancingSelectorType": "LeastLoaded"}, nil)
	for _, path := range []string{"//unifiedgateway/gatewayclusters/" + w.cluster, "//v1/gateways/" + w.cluster} {
		var whole map[string]any
		w.must(200, "GET", path, nil, &whole)
		w.must(200, "PATCH", path, whole, nil)
		if !strings.Contains(w.must(200, "GET", one, nil, nil), "LeastLoaded") {
			t.Errorf("%s: LeastLoaded is lost", path)
		}
	}
	w.must(200, "PATCH", "//unifiedgateway/gatewayclusters/"+w.cluster, map[string]any{"loadBalancingSettings": `{"selector":0}`}, nil)
	if !strings.Contains(w.must(200, "GET", one, nil, nil), `"Failover"`) {
		t.Error("a change is passed over")
	}
	var members struct{ Value []map[string]any }
	w.must(200, "GET", one+"/memberGateways", nil, &members)
	m := members.Value[0]
	m["description"] = "rack 4"
	w.must(200, "PATCH", one+"/memberGateways/"+m["id"].(string), m, nil)
	w.must(200, "PATCH", one, map[string]any{"contactInformation": "ops@x.org"}, nil)
	w.must(200, "GET", one+"/memberGateways", nil, &members)
	if annotation := members.Value[0]["annotation"].(string); !strings.Contains(annotation, "ops@x.org") {
		t.Errorf("the cluster's contacts do not show: %s", annotation)
	}
}

func TestAPrincipalMadeAgainIsAnother(t *testing.T) {
	w := newWorld(t)
	bob := w.as("bob")
	w.must(200, "DELETE", "/principals/"+bob.adminID, nil, nil)
	// Tokens count whole seconds: within the second of its making, an older one cannot be told from a newer.
	w.eventually("a second has passed", func() bool {
		w.must(201, "POST", "/principals", map[string]any{"id": bob.adminID, "principalType": "App", "displayName": "bob", "tenantAdmin": true}, nil)
		if bob.send("GET", "/principals", nil).StatusCode == http.StatusUnauthorized {
			return true
		}
		w.must(200, "DELETE", "/principals/"+bob.adminID, nil, nil)
		return false
	})
}

func TestOptionsThatChangeAListAreNotPassedOver(t *testing.T) {
	w := newWorld(t)
	w.fails(400, "InvalidInput", "GET", "/gatewayClusters?$filter=name%20eq%20'nobody'", nil)
	w.fails(400, "InvalidInput", "GET", "/me/gatewayClusters?$OrderBy=name", nil)
	w.must(200, "GET", "/gatewayClusters?$select=id", nil, nil)
}

func TestAQueueTimeoutOutOfRangeIsRefused(t *testing.T) {
	w := newWorld(t)
	id := w.newCluster("x")
	for _, seconds := range []any{100000, 18446744074, -1, -18446744074} {
		if got := w.send("PATCH", "/gatewayClusters/"+id, map[string]any{"queueTimeoutSeconds": seconds}).StatusCode; got != 400 {
			t.Errorf("%v: got %d", seconds, got)
		}
	}
}
