package api_test

import (
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

//go:embed testdata/cases.txt
var casesText string

// Every line of testdata/cases.txt is true: the test that it names for a case of the field stands where the line says.
func TestEveryCaseHasItsTest(t *testing.T) {
	files := map[string]string{}
	for _, line := range strings.Split(casesText, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		where, name := words[1], words[2]
		if _, read := files[where]; !read {
			files[where] = testsIn(t, where)
		}
		found := strings.Contains(files[where], "func "+name+"(")
		if where == "powershell/tests" {
			found = regexp.MustCompile(`It '[^']*\b` + name + `\b`).MatchString(files[where])
		}
		if !found {
			t.Errorf("%s: there is no %s in %s", words[0], name, where)
		}
	}
}

// testsIn is the text of all tests of a room.
func testsIn(t *testing.T, where string) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range []string{"*_test.go", "*.Tests.ps1"} {
		found, err := filepath.Glob(filepath.Join("..", where, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	return all.String()
}

// clusterJSON is what the tests of cases read of a cluster.
type clusterJSON struct {
	ID, Name, Region string
	Permissions      []struct{ ID, Role string }
	MemberGateways   []struct{ ID, Name, Status, State, Annotation string }
}

func (w *world) newCluster(name string) string {
	w.t.Helper()
	return field(w.must(201, "POST", "/gatewayClusters", map[string]any{"name": name, "recoveryKey": recoveryKey}, nil), "clusterId")
}

func (w *world) clusterOf(id string) (c clusterJSON) {
	w.t.Helper()
	w.must(200, "GET", "/gatewayClusters/"+id, nil, &c)
	return c
}

// The annotation of every member is a JSON text with the machine's name, also while there is no machine yet; readers pipe it into a parser.
func TestR01AnnotationsCanAlwaysBeParsed(t *testing.T) {
	w := newWorld(t)
	w.joined()
	w.must(201, "POST", "/gatewayClusters/"+w.cluster+"/memberGateways", map[string]any{"name": "no machine yet", "recoveryKey": recoveryKey}, nil)
	for i, m := range w.clusterOf(w.cluster).MemberGateways {
		var a struct {
			GatewayMachine            *string
			GatewayContactInformation []string
		}
		if err := json.Unmarshal([]byte(m.Annotation), &a); err != nil || a.GatewayMachine == nil || a.GatewayContactInformation == nil || (*a.GatewayMachine == "box") != (i == 0) {
			t.Errorf("%s: %v in %s", m.Name, err, m.Annotation)
		}
	}
}

// What the administrator wants and what the tunnel shows are two things.
func TestR03StateIsNotStatus(t *testing.T) {
	w := newWorld(t)
	w.joined()
	one := "/gatewayClusters/" + w.cluster
	w.must(201, "POST", one+"/memberGateways", map[string]any{"name": "down", "recoveryKey": recoveryKey}, nil)
	w.must(200, "PATCH", one+"/memberGateways/"+w.cluster, map[string]any{"enabled": false}, nil)
	members := w.clusterOf(w.cluster).MemberGateways
	if up, down := members[0], members[1]; up.State != "Disabled" || up.Status != "Live" || down.State != "Enabled" || down.Status != "Unreachable" || up.ID != w.cluster {
		t.Errorf("got %+v", members)
	}
}

// A dead cluster is called None, and what is wrong with its members is plain text.
func TestR04ADeadClusterIsCalledNone(t *testing.T) {
	w := newWorld(t)
	var status struct {
		ClusterStatus              string
		MemberGatewayErrorMessages []string
	}
	w.must(200, "GET", "/gatewayClusters/"+w.newCluster("dead")+"/status", nil, &status)
	if status.ClusterStatus != "None" || len(status.MemberGatewayErrorMessages) != 1 || !strings.Contains(status.MemberGatewayErrorMessages[0], "DM_GWPipeline_Client_GatewayUnreachable") {
		t.Errorf("got %+v", status)
	}
}

// regionsJSON is the list of regions.
type regionsJSON struct {
	Value []struct {
		RegionKey              string
		IsDefaultPowerBIRegion bool
	}
}

// Names have parentheses in them, the default region may be named, and a new administrator is seen on the very next reading.
func TestR05NamesRegionsAndNewAdministrators(t *testing.T) {
	w := newWorld(t)
	var regions regionsJSON
	w.must(200, "GET", "/gatewayRegions", nil, &regions)
	name, home := "gateway (Lisboa) – é", regions.Value[0]
	id := field(w.must(201, "POST", "/gatewayClusters", map[string]any{"name": name, "recoveryKey": recoveryKey, "region": strings.ToUpper(home.RegionKey), "overwriteExistingGateway": true}, nil), "gatewayObjectId")
	admin := w.as("admin").adminID
	w.must(200, "POST", "/gatewayClusters/"+id+"/permissions", map[string]any{"id": admin, "role": "Admin", "allowedDataSourceTypes": nil}, nil)
	c := w.clusterOf(id)
	if c.Name != name || c.Region != home.RegionKey || !home.IsDefaultPowerBIRegion || !slices.ContainsFunc(c.Permissions, func(p struct{ ID, Role string }) bool { return p.ID == admin && p.Role == "Admin" }) {
		t.Errorf("got %+v", c)
	}
}

// Doing it twice is harmless, and the words that are read are those that scripts compare with.
func TestR07InstallersAndPolicyTwice(t *testing.T) {
	w := newWorld(t)
	who := w.as("installer").adminID
	for range 2 {
		w.must(200, "POST", "/gatewayInstallers", map[string]any{"ids": []string{who}, "operation": "Add", "gatewayType": "Resource"}, nil)
		w.must(200, "POST", "/gatewayPolicy", map[string]any{"resourceGatewayInstallPolicy": "Restricted"}, nil)
	}
	if list := w.must(200, "GET", "/gatewayInstallers?$filter=type%20eq%20'Resource'", nil, nil); strings.Count(list, who) != 1 {
		t.Errorf("installers: %s", list)
	}
	if policy := w.must(200, "GET", "/gatewayPolicy", nil, nil); field(policy, "policy") != "EnterpriseInstallRestricted" {
		t.Errorf("policy: %s", policy)
	}
	for range 2 {
		w.must(200, "POST", "/gatewayInstallers", map[string]any{"ids": []string{who}, "operation": "Remove", "gatewayType": "Resource"}, nil)
	}
}

// An id that is nobody's is told as that, not as a fault of the call.
func TestR08AnIDThatIsNobodysIsNamed(t *testing.T) {
	w := newWorld(t)
	one, nobody := "/gatewayClusters/"+w.newCluster("mine"), newID().String()
	source := field(w.must(201, "POST", one+"/datasources", fileSource("db"), nil), "id")
	w.fails(400, "PrincipalNotFound", "POST", one+"/permissions", map[string]any{"id": nobody, "role": "Admin"})
	w.fails(400, "PrincipalNotFound", "POST", one+"/datasources/"+source+"/users", map[string]any{"identifier": nobody, "datasourceAccessRight": "Read"})
}

// The organisation's list has what the administrator has no role in, with empty lists for an orphan; his own lists do not. What is not
// there is told in JSON.
func TestR13TheTenantsListHasOrphans(t *testing.T) {
	w := newWorld(t)
	id := w.newCluster("orphan")
	w.must(200, "DELETE", "/gatewayClusters/"+id+"/permissions/"+w.adminID, nil, nil)
	if all := w.must(200, "GET", "/gatewayClusters?$expand=permissions,memberGateways", nil, nil); !strings.Contains(all, id) || !strings.Contains(all, `"permissions":[]`) {
		t.Errorf("organisation: %s", all)
	}
	for _, own := range []string{"/me/gatewayClusters", "//v1.0/myorg/gateways", "//v1/gateways"} {
		if list := w.must(200, "GET", own, nil, nil); strings.Contains(list, id) || !strings.Contains(list, `"value":[]`) {
			t.Errorf("%s: %s", own, list)
		}
	}
	w.fails(404, "EndpointNotFound", "GET", "/gatewayClusterDatasources", nil)
}

// Readers take these for granted: null would break them.
func TestR14ListsAndOptionsAreNeverNull(t *testing.T) {
	w := newWorld(t)
	w.newCluster("mine")
	for _, path := range []string{"/gatewayClusters", "/me/GatewayClusters?$expand=memberGateways", "/me/gatewayclusters?$expand=permissions"} {
		list := w.must(200, "GET", path, nil, nil)
		for _, part := range []string{`"memberGateways":[`, `"permissions":[`, `"options":{"CloudDatasourceRefresh":`, `"CustomConnectors":`} {
			if !strings.Contains(list, part) {
				t.Errorf("%s lacks %s: %s", path, part, list)
			}
		}
	}
}

// The removed client of 2019 goes on working: both kinds of keys, null for unchanged, numbers for types, nothing in answers without content.
func TestR18TheOldClientsShapes(t *testing.T) {
	w := newWorld(t)
	id := w.newCluster("old")
	second := field(w.must(201, "POST", "/gatewayClusters/"+id+"/memberGateways", map[string]any{"name": "second", "recoveryKey": recoveryKey}, nil), "memberGatewayId")
	w.must(200, "PATCH", "/gatewayclusters("+id+")", map[string]any{"name": nil, "department": "IT", "description": nil, "contactInformation": nil, "allowCloudDatasourceRefresh": nil,
		"allowCustomConnectors": nil, "loadBalancingSelectorType": nil}, nil)
	user := w.as("user").adminID
	if text := w.must(200, "POST", "/me/gatewayClusters/"+id+"/permissions", map[string]any{"id": user, "allowedDataSourceTypes": []int{0, 12}, "role": "ConnectionCreator"}, nil); text != "" {
		t.Errorf("giving a role answers %q", text)
	}
	if c := w.must(200, "GET", "/me/gatewayclusters({"+strings.ToUpper(id)+"})?$expand=permissions", nil, nil); field(c, "department") != "IT" || field(c, "name") != "old" || !strings.Contains(c, `["Sql","PostgreSql"]`) {
		t.Errorf("got %s", c)
	}
	for _, gone := range []string{"/gatewayclusters(" + id + ")/memberGateways(" + second + ")", "/gatewayClusters/" + id + "/permissions/" + user, "/gatewayclusters(" + id + ")"} {
		if text := w.must(200, "DELETE", gone, nil, nil); text != "" {
			t.Errorf("DELETE %s answers %q", gone, text)
		}
	}
}

// By name means: read the list, take the first, read it by id; twice the same.
func TestR21ByNameThenByID(t *testing.T) {
	w := newWorld(t)
	w.newCluster("first")
	id := w.newCluster("Second")
	first := w.must(200, "GET", "//v1/gateways", nil, nil)
	if first != w.must(200, "GET", "//v1/gateways", nil, nil) || strings.Count(first, `"displayName":"`) != 2 || !strings.Contains(first, `"displayName":"Second"`) {
		t.Errorf("list: %s", first)
	}
	one := w.must(200, "GET", "//v1/gateways/"+id, nil, nil)
	for _, part := range []string{`"type":"OnPremises"`, `"loadBalancingSetting":"Failover"`, `"numberOfMemberGateways":1`, `"allowCloudConnectionRefresh":true`, `"exponent":"AQAB"`} {
		if !strings.Contains(one, part) {
			t.Errorf("lacks %s: %s", part, one)
		}
	}
	if text := w.must(404, "GET", "//v1/gateways/"+newID().String(), nil, nil); field(text, "errorCode") != "EntityNotFound" {
		t.Errorf("unknown: %s", text)
	}
}

// The wrong prefix is a clean 404, so that a script falls back to the right one, where creating answers 201 with an id.
func TestR28TheWrongPrefixIsAClean404(t *testing.T) {
	w := newWorld(t)
	id := w.newCluster("mine")
	w.fails(404, "EndpointNotFound", "GET", "//v1.0/myorg/gatewayClusters", nil)
	w.fails(404, "EndpointNotFound", "POST", "//v1.0/myorg/gatewayClusters/"+id+"/datasources", map[string]any{})
	body := map[string]any{"dataSourceType": "File", "dataSourceName": "db", "connectionDetails": `{"path":"/x"}`, "credentialDetails": map[string]any{"credentialType": "Anonymous"}}
	if made := w.must(201, "POST", "//v1.0/myorg/gateways/"+id+"/datasources", body, nil); field(made, "id") == "" {
		t.Errorf("created: %s", made)
	}
}

// The order is that of creation, types may be words or numbers, and an Admin has them all.
func TestR35OrderAndAllowLists(t *testing.T) {
	w := newWorld(t)
	var made []string
	for _, name := range []string{"z", "a", "m"} {
		made = append(made, w.newCluster(name))
	}
	for range 2 {
		if got := whole("/gatewayClusters")(w); !slices.Equal(got, made) {
			t.Errorf("the order is %v, want %v", got, made)
		}
	}
	user, permissions := w.as("user").adminID, "/gatewayClusters/"+made[0]+"/permissions"
	for _, types := range []any{[]any{"Sql", 12}, []any{"sql", "PostgreSql"}, []any{0, "POSTGRESQL"}} {
		w.must(200, "POST", permissions, map[string]any{"id": user, "role": "ConnectionCreator", "allowedDataSourceTypes": types}, nil)
		if list := w.must(200, "GET", permissions, nil, nil); !strings.Contains(list, `"allowedDataSourceTypes":["Sql","PostgreSql"]`) {
			t.Errorf("%v came back as %s", types, list)
		}
	}
	w.must(200, "POST", permissions, map[string]any{"id": user, "role": "ConnectionCreator", "allowedDataSourceTypes": nil}, nil)
	if list := w.must(200, "GET", permissions, nil, nil); strings.Contains(list, `["Sql"`) {
		t.Errorf("null is not all: %s", list)
	}
	w.fails(400, "InvalidInput", "POST", permissions, map[string]any{"id": user, "role": "Admin", "allowedDataSourceTypes": []string{"Sql"}})
}

// Taking over an existing name keeps its id, with its own recovery key; without the switch, the key or the right nothing changes.
func TestR37OverwritingTakesTheClusterOver(t *testing.T) {
	w := newWorld(t)
	id := w.newCluster("taken")
	w.fails(409, "DuplicateGatewayName", "POST", "/gatewayClusters", map[string]any{"name": "Taken", "recoveryKey": recoveryKey})
	before := w.must(200, "GET", "/gatewayClusters/"+id, nil, nil)
	w.fails(403, "InvalidRecoveryKey", "POST", "/gatewayClusters", map[string]any{"name": "taken", "recoveryKey": "not " + recoveryKey, "overwriteExistingGateway": true})
	w.as("stranger").fails(409, "DuplicateGatewayName", "POST", "/gatewayClusters", map[string]any{"name": "taken", "recoveryKey": recoveryKey, "overwriteExistingGateway": true})
	if w.must(200, "GET", "/gatewayClusters/"+id, nil, nil) != before {
		t.Error("a refused try changed the cluster")
	}
	again := w.must(201, "POST", "/gatewayClusters", map[string]any{"name": "TAKEN", "recoveryKey": recoveryKey, "overwriteExistingGateway": true}, nil)
	if field(again, "clusterId") != id || field(again, "enrolmentToken") == "" {
		t.Errorf("taken over as %s", again)
	}
}

// A loop over the regions finds every cluster once, and each says its own.
func TestR42EveryClusterHasARegion(t *testing.T) {
	w := newWorld(t)
	id := w.newCluster("mine")
	var regions regionsJSON
	w.must(200, "GET", "/gatewayRegions", nil, &regions)
	var list struct{ Value []clusterJSON }
	w.must(200, "GET", "/gatewayClusters", nil, &list)
	if len(list.Value) != 1 || list.Value[0].ID != id || len(regions.Value) != 1 || list.Value[0].Region != regions.Value[0].RegionKey {
		t.Errorf("clusters %+v in regions %+v", list, regions)
	}
	w.fails(400, "InvalidInput", "POST", "/gatewayClusters", map[string]any{"name": "x", "recoveryKey": recoveryKey, "region": "nowhere"})
}

// Ids come in any form and go out in lower case.
func TestR47IDsGoOutInLowerCase(t *testing.T) {
	w := newWorld(t)
	id := w.newCluster("mine")
	upper, user := strings.ToUpper(id), w.as("user").adminID
	source := field(w.must(201, "POST", "/gatewayClusters/{"+upper+"}/datasources", fileSource("db"), nil), "id")
	w.must(200, "POST", "/gatewayClusters/"+upper+"/permissions", map[string]any{"id": "{" + strings.ToUpper(user) + "}", "role": "ConnectionCreator"}, nil)
	guid := regexp.MustCompile(`(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	for _, path := range []string{"/gatewayClusters/", "//v1/gateways/", "//v1.0/myorg/gateways/", "//unifiedgateway/gatewayclusters/"} {
		text := w.must(200, "GET", path+upper, nil, nil)
		found := guid.FindAllString(text, -1)
		if !slices.Contains(found, id) || slices.ContainsFunc(found, func(id string) bool { return id != strings.ToLower(id) }) {
			t.Errorf("%s shows %v", path, found)
		}
	}
	if text := w.must(200, "GET", "/gatewayClusters("+upper+")/datasources('"+strings.ToUpper(source)+"')", nil, nil); field(text, "id") != source {
		t.Errorf("data source: %s", text)
	}
}
