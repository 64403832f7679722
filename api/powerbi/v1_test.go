package powerbi_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"comporta/api"
	"comporta/persistence"
	"comporta/service"
	"comporta/service/gateway"
	"comporta/service/recovery"
)

// v1World is the HTTP server over the real use cases on SQLite. The tunnels are scripted: what a probe finds out is what is tested.
type v1World struct {
	t       *testing.T
	service *service.Service
	handler http.Handler
	token   string
	admin   gateway.ID
	tunnels *tunnels
}

type tunnels struct {
	online, draining bool
	fail             *gateway.Error
}

func (f *tunnels) Presence(gateway.ID) gateway.Presence {
	return gateway.Presence{Online: f.online, Draining: f.draining, Version: "1.0"}
}
func (f *tunnels) Configure(gateway.ID, gateway.MemberSettings) {}
func (f *tunnels) Disconnect(gateway.ID, string)                {}
func (f *tunnels) Send(context.Context, gateway.ID, *gateway.Task, gateway.Chance, func() bool) (*gateway.Answer, error) {
	if f.fail != nil {
		return nil, &gateway.AttemptError{Phase: gateway.PhaseAnswered, Err: f.fail}
	}
	return &gateway.Answer{Body: io.NopCloser(strings.NewReader("{}")), Length: 2, Summary: func() gateway.Summary { return gateway.Summary{} }}, nil
}

type anyEnvelope struct{}

func (anyEnvelope) CheckForm(int, string) error                         { return nil }
func (anyEnvelope) SealPlain(_, _ []byte, plain string) (string, error) { return "sealed", nil }

func newV1World(t *testing.T) *v1World {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	store, err := persistence.Open(context.Background(), persistence.Config{DataDir: t.TempDir(), Now: time.Now, Log: quiet})
	must(t, err)
	newID := func() gateway.ID { return gateway.ID(uuid.NewString()) }
	f := &tunnels{online: true}
	s := service.New(service.Config{Store: store, Tunnels: f, Envelopes: anyEnvelope{}, Now: time.Now, NewID: newID, Random: rand.Reader, Pick: mathrand.IntN,
		Log: quiet, Issuer: "http://test", RecoveryCost: recovery.Cost{Time: 1, Memory: 64, Threads: 1},
		SecretCost: recovery.Cost{Time: 1, Memory: 64, Threads: 1}})
	first, err := s.Tenant.Start(context.Background(), "", "", "")
	must(t, err)
	running, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() { s.Run(running); close(stopped) }()
	t.Cleanup(func() { stop(); <-stopped; store.Close() })
	server := api.New(api.Config{Service: s, PublicURL: "http://test", Log: quiet, NewID: newID, Now: time.Now})
	w := &v1World{t: t, service: s, handler: server.Handler(), admin: first.ID, tunnels: f}
	w.token = w.tokenOf(first.ID, first.Secret)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *v1World) tokenOf(id gateway.ID, secret string) string {
	w.t.Helper()
	token, err := w.service.Access.IssueToken(context.Background(), id.String(), secret)
	must(w.t, err)
	return token.AccessToken
}

// as makes a principal and returns its id and token.
func (w *v1World) as(name string) (gateway.ID, string) {
	w.t.Helper()
	caller := &gateway.Caller{ID: w.admin, TenantAdmin: true}
	p, secret, err := w.service.Tenant.CreatePrincipal(context.Background(), caller, service.NewPrincipal{Kind: gateway.App, Name: name, Email: name + "@example.org"})
	must(w.t, err)
	return p.ID, w.tokenOf(p.ID, secret)
}

func (w *v1World) call(token, method, path, body string, want int) (map[string]any, http.Header) {
	w.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	a := httptest.NewRecorder()
	w.handler.ServeHTTP(a, r)
	if a.Code != want {
		w.t.Fatalf("%s %s: %d, want %d: %s", method, path, a.Code, want, a.Body)
	}
	if a.Body.Len() == 0 {
		return nil, a.Header()
	}
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader(a.Body.Bytes()))
	must(w.t, d.Decode(&v))
	return v, a.Header()
}

func (w *v1World) cluster(name string) string {
	w.t.Helper()
	i, err := w.service.Clusters.Create(context.Background(), &gateway.Caller{ID: w.admin, TenantAdmin: true}, service.NewCluster{Name: name, RecoveryKey: "correct horse battery"})
	must(w.t, err)
	return i.ClusterID.String()
}

const v1Credentials = `"credentialDetails":{"credentialType":"Basic","credentials":"envelope","encryptedConnection":"Encrypted","encryptionAlgorithm":"RSA-OAEP","privacyLevel":"None"}`

func v1Source(name string) string {
	return `{"dataSourceType":"Sql","dataSourceName":"` + name + `","connectionDetails":"{\"server\":\"s\",\"database\":\"d\"}",` + v1Credentials + `}`
}

func errorCode(v map[string]any) string {
	e, _ := v["error"].(map[string]any)
	code, _ := e["code"].(string)
	return code
}

func TestR16R43V1Gateways(t *testing.T) {
	w := newV1World(t)
	_, stranger := w.as("stranger")
	id := w.cluster("Lisbon")
	v, _ := w.call(stranger, "GET", "/v1.0/myorg/gateways", "", 200)
	if list, ok := v["value"].([]any); !ok || len(list) != 0 {
		t.Fatalf("a stranger sees %v, want an empty list", v)
	}
	v, _ = w.call(w.token, "GET", "/v1.0/myorg/Gateways/", "", 200)
	first := v["value"].([]any)[0].(map[string]any)
	if first["id"] != id || first["gatewayId"] != 0.0 || first["name"] != "Lisbon" || first["type"] != "Resource" || first["gatewayStatus"] != "Live" {
		t.Errorf("list shows %v", first)
	}
	var annotation struct {
		Contact []string `json:"gatewayContactInformation"`
	}
	must(t, json.Unmarshal([]byte(first["gatewayAnnotation"].(string)), &annotation))
	if annotation.Contact == nil {
		t.Error("gatewayContactInformation is not a list")
	}
	w.call(w.token, "GET", "/v1.0/myorg/gateways("+strings.ToUpper(id)+")", "", 200)
	v, _ = w.call(stranger, "GET", "/v1.0/myorg/gateways/"+id, "", 404)
	if errorCode(v) != "PowerBIEntityNotFound" {
		t.Errorf("hidden: %v", v)
	}
	v, _ = w.call(w.token, "GET", "/v1.0/myorg/gatewayClusters", "", 404) // R28
	if errorCode(v) != "EndpointNotFound" {
		t.Errorf("R28: %v", v)
	}
}

func TestR25V1DataSources(t *testing.T) {
	w := newV1World(t)
	reader, readerToken := w.as("reader")
	base := "/v1.0/myorg/gateways/" + w.cluster("Porto") + "/datasources"
	v, _ := w.call(w.token, "POST", base, v1Source("sales"), 201)
	if v["datasourceName"] != "sales" || v["datasourceType"] != "Sql" || v["connectionDetails"] != `{"server":"s","database":"d"}` || v["credentialType"] != "Basic" {
		t.Errorf("created: %v", v)
	}
	one := base + "/" + v["id"].(string)
	w.call(w.token, "POST", base, v1Source("SALES"), 409)
	w.call(w.token, "POST", base, `{"dataSourceName":"x"}`, 400)
	if v, _ := w.call(w.token, "GET", base, "", 200); len(v["value"].([]any)) != 1 {
		t.Errorf("list: %v", v)
	}
	if v, _ := w.call(w.token, "PATCH", one, `{`+v1Credentials+`}`, 200); v != nil {
		t.Errorf("PATCH answers a body: %v", v)
	}
	w.call(readerToken, "GET", one, "", 404)
	w.call(w.token, "POST", one+"/users", `{"datasourceAccessRight":"Read"}`, 400)
	for _, who := range []string{`"emailAddress":"reader@example.org"`, `"identifier":"reader@example.org"`, `"identifier":"` + reader.String() + `"`} {
		w.call(w.token, "POST", one+"/users", `{"datasourceAccessRight":"Read",`+who+`}`, 200)
		v, _ = w.call(readerToken, "GET", one+"/users", "", 200)
		if users := v["value"].([]any); len(users) != 2 || users[1].(map[string]any)["emailAddress"] != "reader@example.org" {
			t.Errorf("users after %s: %v", who, v)
		}
		w.call(readerToken, "DELETE", one+"/users/reader@example.org", "", 403)
		w.call(w.token, "DELETE", one+"/users/Reader@Example.org", "", 200)
	}
	w.call(w.token, "POST", one+"/users", `{"datasourceAccessRight":1,"identifier":"`+reader.String()+`"}`, 200)
	w.call(w.token, "DELETE", one+"/users/"+reader.String(), "", 200)
	if v, _ := w.call(w.token, "DELETE", one, "", 200); v != nil {
		t.Errorf("DELETE answers a body: %v", v)
	}
	w.call(w.token, "GET", one, "", 404)
}

func TestR58V1Status(t *testing.T) {
	w := newV1World(t)
	base := "/v1.0/myorg/gateways/" + w.cluster("Faro") + "/datasources"
	v, _ := w.call(w.token, "POST", base, v1Source("sales"), 201)
	status := base + "/" + v["id"].(string) + "/status"
	if v, _ := w.call(w.token, "GET", status, "", 200); v != nil {
		t.Errorf("a good status has a body: %v", v)
	}
	w.tunnels.fail = gateway.Errorf(gateway.CodeDataSourceAccess, "no login").With(gateway.DetailUnderlyingMessage, "Login failed")
	v, header := w.call(w.token, "GET", status, "", 400)
	details := v["error"].(map[string]any)["pbi.error"].(map[string]any)["details"].([]any)[0].(map[string]any)
	if errorCode(v) != string(gateway.CodeDataSourceAccess) || details["code"] != gateway.DetailUnderlyingMessage || details["detail"].(map[string]any)["value"] != "Login failed" ||
		header.Get("X-PowerBI-Error-Info") != errorCode(v) {
		t.Errorf("failed status: %v %v", v, header)
	}
	w.tunnels.fail, w.tunnels.online = nil, false
	if v, _ := w.call(w.token, "GET", status, "", 400); errorCode(v) != string(gateway.CodeUnreachable) {
		t.Errorf("unreachable: %v", v)
	}
	w.call(w.token, "GET", base+"/"+uuid.NewString()+"/status", "", 404)
}

// What v1.0 calls useEndUserOAuth2Credentials is changed by PATCH as it is set by POST; left out it stays, and so does a sign-on that v1.0 has no
// word for.
func TestV1ChangesTheUseOfTheEndUsersCredentials(t *testing.T) {
	w := newV1World(t)
	cluster := w.cluster("Lisbon")
	base := "/v1.0/myorg/gateways/" + cluster + "/datasources"
	v, _ := w.call(w.token, "POST", base, v1Source("sales"), 201)
	one, v2 := base+"/"+v["id"].(string), "/v2.0/myorg/gatewayClusters/"+cluster+"/datasources/"+v["id"].(string)
	for _, step := range [][2]string{{`"useEndUserOAuth2Credentials":true`, "AzureActiveDirectory"}, {`"privacyLevel":"None"`, "AzureActiveDirectory"},
		{`"useEndUserOAuth2Credentials":false`, "None"}, {"Kerberos", "Kerberos"}, {`"useEndUserOAuth2Credentials":false`, "Kerberos"}, {`"useEndUserOAuth2Credentials":null`, "Kerberos"}} {
		if step[0] == step[1] {
			w.call(w.token, "PATCH", v2, `{"singleSignOnType":"`+step[0]+`"}`, 200)
		} else {
			w.call(w.token, "PATCH", one, `{"credentialDetails":{"credentialType":"Basic","credentials":"e",`+step[0]+`}}`, 200)
		}
		shown, _ := w.call(w.token, "GET", v2, "", 200)
		old, _ := w.call(w.token, "GET", one, "", 200)
		if on := old["credentialDetails"].(map[string]any)["useEndUserOAuth2Credentials"]; shown["singleSignOnType"] != step[1] || on != (step[1] == "AzureActiveDirectory") {
			t.Errorf("after %s: %v, on v1.0 %v, want %s", step[0], shown["singleSignOnType"], on, step[1])
		}
	}
}

// On v2.0 the same switch asks for the same single sign-on, unless singleSignOnType says which; there it is what says that there is none.
func TestTheEndUsersCredentialsAreASingleSignOnOnV2Too(t *testing.T) {
	w := newV1World(t)
	base := "/v2.0/myorg/gatewayClusters/" + w.cluster("Lisbon") + "/datasources"
	const on, off = `"credentialDetails":{"credentialType":"Basic","credentials":"e","useEndUserOAuth2Credentials":true}`, `"credentialDetails":{"credentialType":"Basic","credentials":"e","useEndUserOAuth2Credentials":false}`
	created := func(name, more string) map[string]any {
		v, _ := w.call(w.token, "POST", base, `{"datasourceType":"Sql","datasourceName":"`+name+`","connectionDetails":"{\"server\":\"s\",\"database\":\"d\"}",`+more+`}`, 201)
		return v
	}
	if v := created("a", on); v["singleSignOnType"] != "AzureActiveDirectory" {
		t.Errorf("made: %v", v)
	}
	if v := created("b", on+`,"singleSignOnType":"SAML"`); v["singleSignOnType"] != "SAML" {
		t.Errorf("made with another one: %v", v)
	}
	if v := created("none", on+`,"singleSignOnType":"None"`); v["singleSignOnType"] != "None" {
		t.Errorf("made without one: %v", v)
	}
	one := base + "/" + created("c", off)["id"].(string)
	for _, step := range [][3]string{{"/credentials", on, "AzureActiveDirectory"}, {"/credentials", off, "AzureActiveDirectory"}, {"", `"singleSignOnType":"None",` + on, "None"}, {"", on, "AzureActiveDirectory"}} {
		w.call(w.token, "PATCH", one+step[0], `{`+step[1]+`}`, 200)
		if v, _ := w.call(w.token, "GET", one, "", 200); v["singleSignOnType"] != step[2] {
			t.Errorf("after PATCH %s %s: %v", step[0], step[1], v["singleSignOnType"])
		}
	}
}
