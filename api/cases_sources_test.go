package api_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"comporta/service/gateway"
	"comporta/service/member"
)

// Both rights are stored and read back under the word that was sent; the error for another lists only words that can be sent.
func TestR36RightsComeBackUnderTheirOwnWord(t *testing.T) {
	w := newWorld(t)
	w.cluster = w.newCluster("mine")
	one := "/gatewayClusters/" + w.cluster + "/datasources"
	users := one + "/" + field(w.must(201, "POST", one, fileSource("db"), nil), "id") + "/users"
	for _, right := range []string{"Read", "ReadOverrideEffectiveIdentity"} {
		user := w.as(right).adminID
		w.must(200, "POST", users, map[string]any{"identifier": user, "datasourceAccessRight": right}, nil)
		if _, mine, _ := strings.Cut(w.must(200, "GET", users, nil, nil), user); field(mine, "datasourceAccessRight") != right {
			t.Errorf("%s came back in %s", right, mine)
		}
	}
	refused := w.must(400, "POST", users, map[string]any{"identifier": w.adminID, "datasourceAccessRight": "Impersonate"}, nil)
	if !strings.Contains(refused, "ReadOverrideEffectiveIdentity") || strings.Contains(strings.Replace(refused, `\"Impersonate\" is`, "", 1), "Impersonate") {
		t.Errorf("refused with %s", refused)
	}
}

// connectionDetails are a text; an object is taken and kept as its text. An unknown gateway is a 404, by which a sample knows a cloud one.
func TestR24WhatTheSamplesSend(t *testing.T) {
	w := newWorld(t)
	w.cluster = w.newCluster("mine")
	one := "/gatewayClusters/" + w.cluster + "/datasources"
	for i, details := range []any{`{"server":"a","database":"b"}`, json.RawMessage(`{ "server" : "a", "database": "b" }`)} {
		body := map[string]any{"datasourceType": "Sql", "datasourceName": string(rune('a' + i)), "connectionDetails": details, "credentialDetails": w.credentials()}
		if made := w.must(201, "POST", one, body, nil); !strings.Contains(made, `"connectionDetails":"{\"server\":\"a\",\"database\":\"b\"}"`) {
			t.Errorf("%v: %s", details, made)
		}
	}
	w.fails(400, "InvalidInput", "POST", one, map[string]any{"datasourceType": "Sql", "datasourceName": "x", "connectionDetails": 7, "credentialDetails": w.credentials()})
	w.fails(404, "PowerBIEntityNotFound", "GET", "//v1.0/myorg/gateways/"+newID().String(), nil)
}

// An envelope of the wrong form is refused when it is sent; one of the right form for another key when a member opens it. Neither is a 500.
func TestR50AnEnvelopeOfTheWrongFormIsRefused(t *testing.T) {
	w := newWorld(t)
	w.joined()
	one, file := "/gatewayClusters/"+w.cluster+"/datasources", fileSource("db")
	good := w.credentials()["credentials"].(string)
	for name, envelope := range map[string]string{"plain text": `{"credentialData":[]}`, "not base64": "§§", "half a block": good[:100], "a block and a bit": good[:350], "cut short": good[:len(good)-8],
		"empty": "", "bytes of no form": base64.StdEncoding.EncodeToString(make([]byte, 300))} {
		file["credentialDetails"] = map[string]any{"credentialType": "Basic", "credentials": envelope, "encryptionAlgorithm": "RSA-OAEP"}
		text := w.must(400, "POST", one, file, nil)
		if !strings.Contains(text, "InvalidCredentialDetails") || len(envelope) > 20 && strings.Contains(text, envelope) {
			t.Errorf("%s: %s", name, text)
		}
	}
	// The envelope for another key has the right form, and no member here can open it.
	foreign, source := newRoles(newWorld(t)).sealed, w.source("other key")
	w.must(200, "PATCH", one+"/"+source+"/credentials", map[string]any{"credentialDetails": foreign}, nil)
	w.fails(400, "DM_GWPipeline_Gateway_InvalidConnectionCredentials", "GET", one+"/"+source+"/status", nil)
	w.must(200, "PATCH", one+"/"+source+"/credentials", map[string]any{"credentialDetails": w.credentials()}, nil)
	w.must(200, "GET", one+"/"+source+"/status", nil, nil)
}

// The members of a cluster share one key, so that one entry is enough, whoever serves, and a member that joins later serves too.
func TestR52OneEntryServesEveryMember(t *testing.T) {
	w := newWorld(t)
	w.joined()
	source, first, envelope := w.source("db"), w.cluster, w.credentials()
	one := "/gatewayClusters/" + first
	w.must(200, "PATCH", one+"/datasources/"+source+"/credentials", map[string]any{"credentialDetails": map[string]any{first: envelope}}, nil)
	w.join(member.JoinRequest{ClusterID: gateway.ID(first), Name: "two"})
	w.must(200, "PATCH", one+"/memberGateways/"+first, map[string]any{"enabled": false}, nil)
	resp := w.send("POST", one+"/dispatch", map[string]any{"datasourceId": source, "query": map[string]any{"text": ""}})
	if resp.StatusCode != 200 || resp.Header.Get("X-Gateway-Member-Name") != "two" {
		t.Errorf("the member that joined later: %d %s", resp.StatusCode, resp.Header.Get("X-Gateway-Member-Name"))
	}
	text := w.must(400, "PATCH", one+"/datasources/"+source+"/credentials", map[string]any{"credentialDetails": map[string]any{newID().String(): envelope}}, nil)
	if !strings.Contains(text, "InvalidCredentialDetails") || !strings.Contains(text, "not a member") {
		t.Errorf("an entry for no member: %s", text)
	}
}

// Only words of the documents go out as kinds of gateway, whatever clients may have sent.
func TestR56OnlyKnownKindsGoOut(t *testing.T) {
	w := newWorld(t)
	id := w.newCluster("mine")
	for path, want := range map[string]string{"//v1/gateways": "OnPremises", "/gatewayClusters?$expand=memberGateways": "Resource", "//v1.0/myorg/gateways": "Resource",
		"//unifiedgateway/gatewayclusters/" + id: "Resource"} {
		text := w.must(200, "GET", path, nil, nil)
		if n := strings.Count(text, `"type":"`+want+`"`); n == 0 || n != strings.Count(text, `"type":"`) {
			t.Errorf("%s: %s", path, text)
		}
	}
	for _, kind := range []string{"StreamingVirtualNetwork", "VirtualNetwork", "OnPremises", "Quantum"} {
		w.must(400, "POST", "//v1/gateways", map[string]any{"type": kind, "displayName": "x"}, nil)
	}
}

// statusError is where clients dig for the reason why a data source fails.
type statusError struct {
	Error struct {
		Code string
		PBI  struct {
			Code    string
			Details []statusDetail
		} `json:"pbi.error"`
	}
}

type statusDetail struct {
	Code   string
	Detail struct{ Value string }
}

// Empty 200 for a good data source; 400 with the driver's own words for another.
func TestR58StatusIsEmptyOrSaysWhy(t *testing.T) {
	w := newWorld(t)
	w.joined()
	one, good := "/gatewayClusters/"+w.cluster+"/datasources", w.source("good")
	bad := field(w.must(201, "POST", one, map[string]any{"datasourceType": "PostgreSql", "datasourceName": "bad", "connectionDetails": `{"server":"127.0.0.1:1","database":"b"}`,
		"credentialDetails": w.credentials()}, nil), "id")
	for _, surface := range []string{one, "//v1.0/myorg/gateways/" + w.cluster + "/datasources"} {
		if text := w.must(200, "GET", surface+"/"+good+"/status", nil, nil); text != "" {
			t.Errorf("good: %q", text)
		}
		var failed statusError
		w.must(400, "GET", surface+"/"+bad+"/status", nil, &failed)
		e := failed.Error
		i := slices.IndexFunc(e.PBI.Details, func(d statusDetail) bool { return d.Code == "DM_ErrorDetailNameCode_UnderlyingErrorMessage" })
		if e.Code != "DM_GWPipeline_Gateway_DataSourceAccessError" || e.PBI.Code != e.Code || i < 0 || !strings.Contains(e.PBI.Details[i].Detail.Value, "refused") {
			t.Errorf("bad: %+v", e)
		}
	}
}

// A property that is not known or is missing is 400 naming it, on every route that takes a body; never a 200 that changed nothing.
func TestR60EveryWrongPropertyIsNamed(t *testing.T) {
	r := newRoles(newWorld(t))
	_, lines := parseRights(t)
	required, checked, named := requiredProperties(t), 0, 0
	for i := range lines {
		l := &lines[i]
		body, ok := r.body(l, &r.live).(map[string]any)
		if !ok || l.open || strings.Contains(l.path, "/me/") {
			continue
		}
		checked++
		unknown := maps.Clone(body)
		unknown["gatewayObjectIdd"] = "x"
		r.refusedNaming(l, unknown, "gatewayObjectIdd")
		for _, property := range required[l.String()] {
			named++
			without := maps.Clone(body)
			delete(without, property)
			r.refusedNaming(l, without, property)
		}
	}
	if checked < 25 || named < 35 {
		t.Errorf("only %d routes take a body, and only %d properties are needed", checked, named)
	}
}

// refusedNaming sends a body as somebody who may send it.
func (r *roles) refusedNaming(l *rightsLine, body map[string]any, property string) {
	r.t.Helper()
	as := *r.world
	if as.token = r.tokens["admin"]; l.want["admin"] >= 300 {
		as.token = r.token
	}
	if text := as.must(400, l.method, "/"+r.live.fill(l.path), body, nil); !strings.Contains(text, property) {
		r.t.Errorf("%s does not name %s: %s", l, property, text)
	}
}

// requiredProperties is what the published description says that each route's body must have.
func requiredProperties(t *testing.T) map[string][]string {
	t.Helper()
	doc, _ := document(t)
	required := map[string][]string{}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.RequestBody == nil {
				continue
			}
			if body := operation.RequestBody.Value.Content["application/json"]; body != nil {
				required[method+" "+path] = body.Schema.Value.Required
			}
		}
	}
	return required
}

// Who has no role sees nothing and is told nothing; with the role the same token works at once, on every surface.
func TestR61TheSameTokenWorksOnceTheRoleIsGiven(t *testing.T) {
	w := newWorld(t)
	w.cluster = w.newCluster("mine")
	app := w.as("pipeline")
	paths := []string{"/me/gatewayClusters", "//v1.0/myorg/gateways", "//v1/gateways"}
	for _, list := range paths {
		if text := app.must(200, "GET", list, nil, nil); !strings.Contains(text, `"value":[]`) {
			t.Errorf("%s before: %s", list, text)
		}
	}
	for _, one := range []string{"/gatewayClusters/", "//v1.0/myorg/gateways/", "//v1/gateways/", "//unifiedgateway/gatewayclusters/"} {
		app.must(404, "GET", one+w.cluster, nil, nil)
		paths = append(paths, one+w.cluster)
	}
	w.must(200, "POST", "/gatewayClusters/"+w.cluster+"/permissions", map[string]any{"id": app.adminID, "role": "Admin"}, nil)
	for _, path := range paths {
		if text := app.must(200, "GET", path, nil, nil); !strings.Contains(text, w.cluster) {
			t.Errorf("%s after: %s", path, text)
		}
	}
	w.must(200, "DELETE", "/gatewayClusters/"+w.cluster+"/permissions/"+app.adminID, nil, nil)
	app.must(404, "GET", "/gatewayClusters/"+w.cluster, nil, nil)
}

// anyQuery asks a file for all it has.
func anyQuery(source string) map[string]any {
	return map[string]any{"datasourceId": source, "query": map[string]any{"text": ""}}
}

// A cluster that nobody can reach is not a cluster that is not there.
func TestR63UnreachableIsNotUnknown(t *testing.T) {
	w := newWorld(t)
	w.cluster = w.newCluster("down")
	one := "/gatewayClusters/" + w.cluster
	source := field(w.must(201, "POST", one+"/datasources", fileSource("db"), nil), "id")
	if text := w.must(503, "POST", one+"/dispatch", anyQuery(source), nil); !strings.Contains(text, "DM_GWPipeline_Client_GatewayUnreachable") || !strings.Contains(text, w.cluster) {
		t.Errorf("unreachable: %s", text)
	}
	w.fails(404, "PowerBIEntityNotFound", "POST", "/gatewayClusters/"+newID().String()+"/dispatch", anyQuery(source))
	if text := w.must(404, "GET", "//v1/gateways/"+newID().String(), nil, nil); field(text, "errorCode") != "EntityNotFound" {
		t.Errorf("unknown on Fabric: %s", text)
	}
}

// The id in the request decides, not the order of a list: no other cluster serves it.
func TestR64TheClusterThatIsNamedServes(t *testing.T) {
	w := newWorld(t)
	w.joined()
	first, source := w.cluster, w.source("db")
	w.join(member.JoinRequest{NewCluster: "AAA first by name", Name: "other"})
	resp := w.send("POST", "/gatewayClusters/"+first+"/dispatch", anyQuery(source))
	if resp.StatusCode != 200 || resp.Header.Get("X-Gateway-Member-Id") != first {
		t.Errorf("served by %s with %d", resp.Header.Get("X-Gateway-Member-Id"), resp.StatusCode)
	}
	w.fails(404, "PowerBIEntityNotFound", "POST", "/gatewayClusters/"+w.cluster+"/dispatch", anyQuery(source))
}

// A new recovery key takes the current one. Members that are joined go on working, and who joins from then on needs the new one.
func TestR71ANewRecoveryKeyCutsNobodyOff(t *testing.T) {
	w := newWorld(t)
	w.joined()
	source, one := w.source("db"), "/gatewayClusters/"+w.cluster
	change := func(from, to string) map[string]any {
		return map[string]any{"currentRecoveryKey": from, "newRecoveryKey": to}
	}
	w.fails(403, "InvalidRecoveryKey", "POST", one+"/recoveryKey", change("not "+recoveryKey, "a new long key"))
	w.must(200, "POST", one+"/recoveryKey", change(recoveryKey, "a new long key"), nil)
	w.must(200, "POST", one+"/dispatch", anyQuery(source), nil)
	w.fails(403, "InvalidRecoveryKey", "POST", one+"/memberGateways", map[string]any{"name": "m", "recoveryKey": recoveryKey})
	w.must(201, "POST", one+"/memberGateways", map[string]any{"name": "m", "recoveryKey": "a new long key"}, nil)
}

// Whoever registered a machine may go: it stays and works. The orphaned cluster is shown, and a TenantAdmin can make himself its Admin.
func TestR83TheMachineOutlivesWhoRegisteredIt(t *testing.T) {
	w := newWorld(t)
	var made struct{ ID, ClientSecret string }
	w.must(201, "POST", "/principals", map[string]any{"principalType": "App", "displayName": "installer"}, &made)
	installer := *w
	installer.adminID, installer.adminSecret, installer.token = made.ID, made.ClientSecret, w.login(made.ID, made.ClientSecret)
	installer.joined()
	source, one := installer.source("db"), "/gatewayClusters/"+installer.cluster
	w.must(200, "DELETE", "/principals/"+made.ID, nil, nil)
	installer.must(401, "GET", "/me/gatewayClusters", nil, nil)
	if c := w.clusterOf(installer.cluster); len(c.Permissions) != 0 || c.MemberGateways[0].Status != "Live" {
		t.Errorf("orphaned: %+v", c)
	}
	w.fails(403, "InsufficientPrivileges", "POST", one+"/dispatch", anyQuery(source))
	w.must(200, "POST", one+"/permissions", map[string]any{"id": w.adminID, "role": "Admin"}, nil)
	w.must(200, "POST", one+"/dispatch", anyQuery(source), nil)
}
