package api_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"comporta/openapi"
	"comporta/persistence"
	"comporta/service/gateway"
	"comporta/service/recovery"
)

// document is the served description, as something that answers can be checked against.
func document(t testing.TB) (*openapi3.T, routers.Router) {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(openapi.OpenAPI3)
	if err != nil {
		t.Fatal(err)
	}
	doc.Servers = nil
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return doc, router
}

// The table and the document name the same routes.
func TestTheDocumentNamesEveryRouteAndNoOther(t *testing.T) {
	w := newWorld(t)
	doc, _ := document(t)
	documented := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			documented[method+" "+path] = true
		}
	}
	for _, r := range w.api.Routes() {
		key := r.Method + " " + r.Path
		if !r.Hidden && !documented[key] {
			t.Errorf("%s is not documented", key)
		}
		delete(documented, key)
	}
	for key := range documented {
		t.Errorf("%s is documented and is no route", key)
	}
}

// checker sends requests and checks each answer against the document.
type checker struct {
	*world
	router routers.Router
	driven map[string]bool
	// lastOne is the principal made last.
	lastOne string
	golden  *transcript
}

// drive sends one request, checks the answer's shape, and returns the body.
func (c *checker) drive(status int, method, path string, body any) string {
	c.t.Helper()
	return c.check(status, method, path, c.send(method, path, body))
}

// check compares an answer with the document, and returns its body.
func (c *checker) check(status int, method, path string, resp *http.Response) string {
	c.t.Helper()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		c.t.Errorf("%s %s: %d %s %v, want %d", method, path, resp.StatusCode, text, err, status)
		return string(text)
	}
	req := resp.Request
	req.URL.Scheme, req.URL.Host = "", ""
	route, params, err := c.router.FindRoute(req)
	if err != nil {
		c.t.Errorf("%s %s is not in the document: %v", method, path, err)
		return string(text)
	}
	c.driven[method+" "+route.Path] = true
	c.golden.add(method, route.Path, status, text)
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route, Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}},
		Status:                 resp.StatusCode, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(text)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	if err := openapi3filter.ValidateResponse(context.Background(), input); err != nil {
		c.t.Errorf("%s %s: the answer is not what the document says: %v\n%s", method, path, err, text)
	}
	return string(text)
}

// field reads a property of a JSON answer without caring for the rest.
func field(text, name string) string {
	_, after, _ := strings.Cut(text, `"`+name+`":"`)
	value, _, _ := strings.Cut(after, `"`)
	return value
}

// Every documented route is driven once, with success where there is one, and its answer checked against the document and the golden
// answers in testdata/golden.
func TestEveryDocumentedRouteAnswersAsDocumented(t *testing.T) {
	onBothStores(t, func(t *testing.T, state persistence.Config) { driveTheDocument(newWorldOn(t, state)) })
}

func driveTheDocument(w *world) {
	t := w.t
	doc, router := document(t)
	c := &checker{world: w, router: router, driven: map[string]bool{}, golden: newTranscript(w.url, "http://service", w.folder, "FOLDER")}
	w.joined()
	c.tokens()
	c.tenant()
	c.clusters()
	c.dataSources()
	c.v1()
	c.unified()
	c.fabric()
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			if key := method + " " + path; !c.driven[key] {
				t.Errorf("%s was not driven", key)
			}
		}
	}
	c.golden.compare(t)
}

// The 408 of a body that does not come is the same for all; TestABodyThatDoesNotCome shows it.
func TestEveryRouteThatTakesABodySaysHowItIsRefused(t *testing.T) {
	doc, _ := document(t)
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			refusals := []int{400, 408, 413}
			if strings.HasSuffix(path, "/token") {
				refusals = []int{400, 408} // see oauth.Style
			}
			for _, status := range refusals {
				if o.RequestBody != nil && o.Responses.Status(status) == nil {
					t.Errorf("%s %s takes a body and does not say %d", method, path, status)
				}
			}
		}
	}
}

// tokens asks for a token as a form does, rightly and wrongly.
func (c *checker) tokens() {
	for _, try := range []struct {
		secret string
		status int
	}{{c.adminSecret, 200}, {"wrong", 401}} {
		resp, err := c.client.PostForm(c.url+"/oauth2/v2.0/token", url.Values{"grant_type": {"client_credentials"}, "client_id": {c.adminID}, "client_secret": {try.secret}})
		if err != nil {
			c.t.Fatal(err)
		}
		defer resp.Body.Close()
		c.check(try.status, "POST", "/oauth2/v2.0/token", resp)
	}
}

// enrol takes both steps of a machine that becomes a member.
func (c *checker) enrol(token string) {
	var b struct {
		Salt         []byte
		Time, Memory uint32
		Threads      uint8
	}
	if err := json.Unmarshal([]byte(c.drive(200, "POST", "//enrolment/begin", map[string]any{"enrolmentToken": token})), &b); err != nil {
		c.t.Fatal(err)
	}
	secrets, err := recovery.Derive([]byte(recoveryKey), gateway.ClusterKey{Salt: b.Salt, Time: b.Time, Memory: b.Memory, Threads: b.Threads})
	if err != nil {
		c.t.Fatal(err)
	}
	proof := map[string]any{"enrolmentToken": token, "verifier": secrets.Verifier, "publicKey": make([]byte, ed25519.PublicKeySize), "version": "1.2.3", "machine": "box"}
	c.drive(200, "POST", "//enrolment/complete", proof)
	c.drive(401, "POST", "//enrolment/complete", proof)
}

func (c *checker) tenant() {
	c.drive(200, "GET", "//healthz", nil)
	c.drive(200, "GET", "//readyz", nil)
	c.drive(200, "GET", "//.well-known/openid-configuration", nil)
	c.drive(200, "GET", "//.well-known/jwks.json", nil)
	c.drive(200, "GET", "/gatewayPolicy", nil)
	c.drive(200, "POST", "/gatewayPolicy", map[string]any{"resourceGatewayInstallPolicy": "Open"})
	c.drive(200, "GET", "/gatewayRegions", nil)
	app := field(c.drive(201, "POST", "/principals", map[string]any{"principalType": "App", "displayName": "app", "emailAddress": "a@example.com"}), "id")
	c.drive(200, "GET", "/principals", nil)
	c.drive(200, "GET", "/principals/"+app, nil)
	c.drive(200, "PATCH", "/principals/"+app, map[string]any{"displayName": "renamed"})
	secret := field(c.drive(201, "POST", "/principals/"+app+"/secrets", map[string]any{"label": "second", "lifetimeDays": 30}), "id")
	c.drive(200, "GET", "/principals/"+app+"/secrets", nil)
	c.drive(200, "DELETE", "/principals/"+app+"/secrets/"+secret, nil)
	c.drive(200, "POST", "/gatewayInstallers", map[string]any{"ids": []string{app}, "operation": "Add", "gatewayType": "Resource"})
	c.drive(200, "GET", "/gatewayInstallers?%24filter=type%20eq%20'Resource'", nil)
	c.drive(200, "DELETE", "/principals/"+app, nil)
	c.drive(200, "GET", "/auditEvents", nil)
}

func (c *checker) clusters() {
	made := c.drive(201, "POST", "/gatewayClusters", map[string]any{"name": "second", "recoveryKey": recoveryKey})
	id := field(made, "clusterId")
	c.enrol(field(made, "enrolmentToken"))
	one := "/gatewayClusters/" + id
	c.drive(200, "GET", "/gatewayClusters?$expand=permissions,memberGateways", nil)
	c.drive(200, "GET", one, nil)
	c.drive(200, "GET", one+"/status", nil)
	c.drive(200, "PATCH", one, map[string]any{"description": "x"})
	c.drive(200, "POST", one+"/recoveryKey", map[string]any{"currentRecoveryKey": recoveryKey, "newRecoveryKey": "another long key"})
	user := field(c.drive(201, "POST", "/principals", map[string]any{"principalType": "User", "displayName": "user", "emailAddress": "u@example.com"}), "id")
	c.drive(200, "POST", one+"/permissions", map[string]any{"id": user, "role": "ConnectionCreator", "allowedDataSourceTypes": []any{"Sql", 12}})
	c.drive(200, "GET", one+"/permissions", nil)
	c.drive(200, "DELETE", one+"/permissions/"+user, nil)
	member := field(c.drive(201, "POST", one+"/memberGateways", map[string]any{"name": "m2", "recoveryKey": "another long key"}), "memberGatewayId")
	c.drive(200, "GET", one+"/memberGateways", nil)
	c.drive(200, "GET", one+"/memberGateways/"+member, nil)
	c.drive(200, "PATCH", one+"/memberGateways/"+member, map[string]any{"enabled": false})
	c.drive(200, "GET", one+"/memberGateways/"+member+"/load", nil)
	c.drive(200, "POST", one+"/memberGateways/"+member+"/promote", nil)
	c.drive(200, "DELETE", one+"/memberGateways/"+id, nil)
	c.drive(200, "DELETE", one, nil)
	c.drive(404, "GET", one, nil)
}

func (c *checker) dataSources() {
	one := "/gatewayClusters/" + c.cluster
	id := c.source("db")
	c.drive(201, "POST", one+"/datasources", map[string]any{"datasourceType": "PostgreSql", "datasourceName": "pg", "connectionDetails": `{"server":"a","database":"b"}`,
		"credentialDetails": map[string]any{c.cluster: c.credentials()}})
	source := one + "/datasources/" + id
	c.drive(200, "GET", one+"/datasources?$expand=users", nil)
	c.drive(200, "GET", source, nil)
	c.drive(200, "GET", source+"/status", nil)
	c.drive(200, "PATCH", source, map[string]any{"datasourceName": "renamed"})
	c.drive(200, "PATCH", source+"/credentials", map[string]any{"credentialDetails": c.credentials()})
	c.drive(200, "POST", source+"/users", map[string]any{"datasourceAccessRight": "ReadOverrideEffectiveIdentity", "emailAddress": "U@example.com"})
	c.drive(200, "GET", source+"/users", nil)
	c.drive(200, "DELETE", source+"/users/u@example.com", nil)
	c.drive(200, "POST", one+"/dispatch", map[string]any{"datasourceId": id, "query": map[string]any{"text": ""}})
	c.drive(200, "POST", one+"/route", map[string]any{"datasourceId": id})
	c.eventually("the probe and the dispatch are in the records", func() bool {
		return strings.Count(c.must(200, "GET", one+"/dispatchRecords", nil, nil), `"datasourceId":"`+id) == 2
	})
	c.drive(200, "GET", one+"/dispatchRecords", nil)
	c.drive(200, "DELETE", source, nil)
}

// Generators of clients make names of schemas and of the values of enumerations, and of operations.
func TestTheDocumentCanBeMadeAClientOf(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(openapi.OpenAPI3)
	if err != nil {
		t.Fatal(err)
	}
	word := func(name string) string {
		parts := strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '-' || r == '_' })
		for i, part := range parts {
			parts[i] = strings.ToUpper(part[:1]) + part[1:]
		}
		return strings.Join(parts, "")
	}
	taken := map[string]string{}
	for name := range doc.Components.Schemas {
		taken[word(name)] = name
	}
	for name, schema := range doc.Components.Schemas {
		for property, p := range schema.Value.Properties {
			if other := taken[word(name)+word(property)]; p.Value != nil && len(p.Value.Enum) > 0 && other != "" {
				t.Errorf("the values of %s.%s and the schema %s get one name", name, property, other)
			}
		}
	}
	seen := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			if id := operation.OperationID; id == "" || seen[id] {
				t.Errorf("%s %s: id %q", method, path, id)
			}
			seen[operation.OperationID] = true
		}
	}
}
