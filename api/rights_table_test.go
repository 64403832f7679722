package api_test

import (
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"comporta/persistence"
	"comporta/service/tunnel"
)

//go:embed testdata/rights.txt
var rightsText string

// rightsLine is one line of the table: what each caller gets on one route.
type rightsLine struct {
	method, path string
	// open: while the tenant policy is open.
	open bool
	want map[string]int
}

func (l *rightsLine) String() string { return l.method + " " + l.path }

// parseRights reads the table. [/me] in a path stands for two lines, and a line for GET for one for HEAD too.
func parseRights(t testing.TB) (callers []string, lines []rightsLine) {
	t.Helper()
	for _, text := range strings.Split(rightsText, "\n") {
		words := strings.Fields(text)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if words[0] == "METHOD" {
			callers = words[2:]
			continue
		}
		l := rightsLine{method: words[0], open: words[len(words)-1] == "open", want: map[string]int{}}
		if statuses := len(words) - 2; statuses != len(callers) && !(l.open && statuses == len(callers)+1) {
			t.Fatalf("a line of the table has %d statuses for %d callers: %s", statuses, len(callers), text)
		}
		for i, caller := range callers {
			l.want[caller], _ = strconv.Atoi(words[2+i])
		}
		if before, after, both := strings.Cut(words[1], "[/me]"); both {
			l.path = before + "/me" + after
			lines = append(lines, l)
		}
		l.path = strings.Replace(words[1], "[/me]", "", 1)
		lines = append(lines, l)
	}
	for _, l := range lines {
		if l.method == "GET" && l.path != "/tunnel" {
			l.method = "HEAD"
			lines = append(lines, l)
		}
	}
	return callers, lines
}

// The table and the server name the same routes.
func TestTheRightsTableNamesEveryRouteAndNoOther(t *testing.T) {
	w := newWorld(t)
	_, lines := parseRights(t)
	named := map[string]bool{}
	for _, l := range lines {
		key := fmt.Sprintf("%s%t", &l, l.open)
		if named[key] {
			t.Errorf("%s stands in the table twice", &l)
		}
		named[key] = true
	}
	for _, r := range w.api.Routes() {
		key := r.Method + " " + r.Path
		if !named[key+"false"] {
			t.Errorf("%s has no line in testdata/rights.txt", key)
		}
		delete(named, key+"false")
		delete(named, key+"true")
	}
	for key := range named {
		t.Errorf("%s has a line and is no route", key)
	}
}

// Every caller gets on every route what the table says.
func TestWhoMayDoWhat(t *testing.T) {
	onBothStores(t, func(t *testing.T, state persistence.Config) {
		callers, lines := parseRights(t)
		if state.URL != "" { // what differs by store does not differ by scope; SQLite has both
			lines = slices.DeleteFunc(lines, func(l rightsLine) bool { return strings.Contains(l.path, "/me/") })
		}
		r := newRoles(newWorldOn(t, state))
		r.checkNames(callers)
		// Lines that change nothing come first, while lists are short; those with another policy last.
		slices.SortStableFunc(lines, func(a, b rightsLine) int { return order(&a) - order(&b) })
		for i := range lines {
			if l := &lines[i]; l.open {
				r.must(200, "POST", "/gatewayPolicy", map[string]any{"resourceGatewayInstallPolicy": "Open"}, nil)
			}
			r.check(&lines[i], callers)
		}
	})
}

func order(l *rightsLine) int {
	switch {
	case l.open:
		return 2
	case l.needsFresh():
		return 1
	}
	return 0
}

// needsFresh: the request would change what the next one needs.
func (l *rightsLine) needsFresh() bool {
	return l.method != "GET" && l.method != "HEAD" && !slices.ContainsFunc([]string{"/dispatch", "/route", "/checkStatus", "/testConnection"}, func(end string) bool { return strings.HasSuffix(l.path, end) })
}

// check sends the request of one line as every caller, each on objects of its own where it changes something.
func (r *roles) check(l *rightsLine, callers []string) {
	r.t.Helper()
	estates := make([]estate, len(callers))
	for i := range estates {
		estates[i] = r.live
	}
	if l.needsFresh() {
		estates = r.estates(len(callers))
	}
	if strings.HasPrefix(l.path, "/enrolment/") {
		r.invite(estates)
	}
	for i, caller := range callers {
		status, text := r.request(l, &estates[i], r.tokens[caller])
		if status != l.want[caller] {
			r.t.Errorf("%s as %s: %d, the table says %d: %.300s", l, caller, status, l.want[caller], text)
		}
	}
}

// request sends a valid request of this route about these objects.
func (r *roles) request(l *rightsLine, e *estate, token string) (int, string) {
	r.t.Helper()
	as := *r.world
	as.token = token
	var resp *http.Response
	switch {
	case strings.HasSuffix(l.path, "/token"):
		form := "grant_type=client_credentials&client_id=" + r.adminID + "&client_secret=" + r.adminSecret
		resp = as.sendRequest(l.method, r.url+e.fill(l.path), strings.NewReader(form), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
	case l.path == "/tunnel":
		resp = as.sendRequest(l.method, r.url+l.path, nil, http.Header{"Connection": {"Upgrade"}, "Upgrade": {"comporta-tunnel"}, "Comporta-Tunnel-Protocol": {tunnel.Protocol}})
	default:
		resp = as.send(l.method, "/"+e.fill(l.path), r.body(l, e))
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// fill puts ids into a path.
func (e *estate) fill(path string) string {
	who := e.someone.String()
	return strings.NewReplacer("{cluster}", e.cluster.String(), "{member}", e.member.String(), "{dataSource}", e.source.String(), "{connection}", e.source.String(),
		"{principal}", who, "{user}", who, "{secret}", e.secret.String(), "{tenant}", e.tenant.String(), "{operation}", uuid.NewString(), "*", "index.html").Replace(path)
}

// body is a valid body for the route, nil where it takes none.
func (r *roles) body(l *rightsLine, e *estate) any {
	type object = map[string]any
	name := uuid.NewString()
	role := object{"principal": object{"id": r.spare, "type": "ServicePrincipal"}, "role": "User"}
	if strings.Contains(l.path, "/v1/gateways/") {
		role["role"] = "ConnectionCreator"
	}
	_, end, _ := strings.Cut(strings.Replace(strings.TrimPrefix(l.path, "/v2.0/myorg"), "/me/", "/", 1), "/")
	return map[string]any{
		"POST gatewayClusters":    object{"name": name, "recoveryKey": recoveryKey},
		"POST v1/gateways":        object{"type": "VirtualNetwork", "displayName": name},
		"POST enrolment/begin":    object{"enrolmentToken": e.invitation},
		"POST enrolment/complete": object{"enrolmentToken": e.invitation, "verifier": r.verifier, "publicKey": make([]byte, 32)},

		"PATCH gatewayClusters/{cluster}":                                      object{"description": name},
		"POST gatewayClusters/{cluster}/recoveryKey":                           object{"currentRecoveryKey": recoveryKey, "newRecoveryKey": "another " + recoveryKey},
		"POST gatewayClusters/{cluster}/permissions":                           object{"id": r.spare, "role": "ConnectionCreator", "allowedDataSourceTypes": nil},
		"POST gatewayClusters/{cluster}/memberGateways":                        object{"name": name, "recoveryKey": recoveryKey},
		"PATCH gatewayClusters/{cluster}/memberGateways/{member}":              object{"enabled": false},
		"POST gatewayClusters/{cluster}/datasources":                           object{"datasourceType": "File", "datasourceName": name, "connectionDetails": `{"path":"/x"}`, "credentialDetails": r.sealed},
		"PATCH gatewayClusters/{cluster}/datasources/{dataSource}":             object{"datasourceName": name},
		"PATCH gatewayClusters/{cluster}/datasources/{dataSource}/credentials": object{"credentialDetails": r.sealed},
		"POST gatewayClusters/{cluster}/datasources/{dataSource}/users":        object{"datasourceAccessRight": "Read", "identifier": r.spare},
		"POST gatewayClusters/{cluster}/dispatch":                              object{"datasourceId": e.source, "query": object{"text": ""}},
		"POST gatewayClusters/{cluster}/route":                                 object{"datasourceId": e.source},

		"POST gatewayPolicy":                  object{"personalGatewayInstallPolicy": "Open"},
		"POST gatewayInstallers":              object{"ids": []any{r.spare}, "operation": "Add", "gatewayType": "VirtualNetwork"},
		"POST principals":                     object{"principalType": "User", "displayName": name},
		"PATCH principals/{principal}":        object{"displayName": name},
		"POST principals/{principal}/secrets": object{"label": "second"},

		"POST v1.0/myorg/gateways/{cluster}/datasources":                    object{"dataSourceType": "File", "dataSourceName": name, "connectionDetails": `{"path":"/x"}`, "credentialDetails": r.sealed},
		"PATCH v1.0/myorg/gateways/{cluster}/datasources/{dataSource}":      object{"credentialDetails": r.sealed},
		"POST v1.0/myorg/gateways/{cluster}/datasources/{dataSource}/users": object{"datasourceAccessRight": "Read", "identifier": r.spare},

		"PATCH unifiedgateway/gatewayclusters/{cluster}":                   object{"description": name},
		"PATCH unifiedgateway/gatewayclusters/{cluster}/gateways/{member}": object{"clusterMemberStatus": "None"},

		"PATCH v1/gateways/{cluster}":                                   object{"type": "OnPremises", "displayName": name},
		"PATCH v1/gateways/{cluster}/members/{member}":                  object{"enabled": false},
		"POST v1/gateways/{cluster}/roleAssignments":                    role,
		"PATCH v1/gateways/{cluster}/roleAssignments/{principal}":       object{"role": "ConnectionCreatorWithResharing"},
		"PATCH v1/connections/{connection}":                             object{"connectivityType": "OnPremisesGateway", "displayName": name},
		"POST v1/connections/{connection}/roleAssignments":              role,
		"PATCH v1/connections/{connection}/roleAssignments/{principal}": object{"role": "UserWithReshare"},
		"POST v1/connections":                                           r.newConnection(e, name),
	}[l.method+" "+end]
}

// newConnection is a valid Fabric connection.
func (r *roles) newConnection(e *estate, name string) any {
	type object = map[string]any
	return object{"connectivityType": "OnPremisesGateway", "gatewayId": e.cluster, "displayName": name,
		"connectionDetails": object{"type": "File", "creationMethod": "File", "parameters": []any{object{"dataType": "Text", "name": "path", "value": "/x"}}},
		"credentialDetails": object{"singleSignOnType": "None", "connectionEncryption": "NotEncrypted", "credentials": object{"credentialType": "Basic",
			"values": []any{object{"gatewayId": e.cluster, "encryptedCredentials": r.sealed["credentials"]}}}}}
}

// To somebody without a role an id that exists and one that does not are the same, to the last word.
func TestIDsCannotBeProbed(t *testing.T) {
	r := newRoles(newWorld(t))
	_, lines := parseRights(t)
	unknown := estate{cluster: newID(), member: newID(), source: newID(), someone: newID(), secret: newID(), tenant: newID()}
	known := r.estates(1)[0]
	for i := range lines {
		l := &lines[i]
		if l.want["none"] < 400 || l.open {
			continue
		}
		status, text := r.request(l, &known, r.tokens["none"])
		other, otherText := r.request(l, &unknown, r.tokens["none"])
		if status != other || known.withoutIDs(text) != unknown.withoutIDs(otherText) {
			t.Errorf("%s tells ids apart:\n%d %s\n%d %s", l, status, text, other, otherText)
		}
	}
	// An installer may join members to any cluster whose recovery key he has; without the key he learns nothing.
	w := *r.world
	w.token = r.tokens["inst"]
	var answers []string
	for _, e := range []estate{known, unknown} {
		wrong := map[string]any{"name": "m", "recoveryKey": "not " + recoveryKey}
		answers = append(answers, e.withoutIDs(w.must(404, "POST", "/gatewayClusters/"+e.cluster.String()+"/memberGateways", wrong, nil)))
	}
	if answers[0] != answers[1] {
		t.Errorf("a wrong recovery key tells ids apart: %v", answers)
	}
}
