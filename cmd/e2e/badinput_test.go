package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"comporta/service/credential"
)

// Bad input gives what the contract says: a status, a code, and words that help.
func TestBadInput(t *testing.T) {
	name, _ := postgres(t)
	w := serve(t, t.TempDir(), "127.0.0.1:0")
	w.member("one")
	source := w.source("pg", "PostgreSql", `{"server":"127.0.0.1:5432","database":"`+name+`"}`, credential.Basic(name, dbPassword))
	silent := w.source("silent", "PostgreSql", `{"server":"127.0.0.1:1","database":"x"}`, credential.Basic("u", "p"))
	locked := w.source("locked", "PostgreSql", `{"server":"127.0.0.1:5432","database":"nosuchdatabase"}`, credential.Basic(name, dbPassword))
	unknown := "99999999-9999-9999-9999-999999999999"
	cluster := "/gatewayClusters/" + w.cluster
	query := func(id, text string) map[string]any {
		return map[string]any{"datasourceId": id, "query": map[string]any{"text": text}}
	}
	for _, c := range []struct {
		name, method, path string
		body               any
		status             int
		code, words        string
	}{
		{"unknown cluster", "GET", "/gatewayClusters/" + unknown, nil, 404, "PowerBIEntityNotFound", "no such gateway cluster"},
		{"no GUID", "GET", "/gatewayClusters/x", nil, 404, "PowerBIEntityNotFound", "GUID"},
		{"unknown member", "PATCH", cluster + "/memberGateways/" + unknown, map[string]any{"enabled": false}, 404, "PowerBIEntityNotFound", "no such member"},
		{"unknown data source", "POST", cluster + "/dispatch", query(unknown, "select 1"), 404, "PowerBIEntityNotFound", "no such data source"},
		{"unknown path", "GET", "/nothing", nil, 404, "EndpointNotFound", "nothing at this path"},
		{"unknown property", "PATCH", cluster, map[string]any{"nmae": "x"}, 400, "InvalidInput", "nmae"},
		{"missing property", "POST", "/gatewayClusters", map[string]any{"name": "x"}, 400, "InvalidInput", "recoveryKey is missing"},
		{"wrong type", "PATCH", cluster, map[string]any{"name": 5}, 400, "InvalidInput", "name must be a text"},
		{"out of range", "PATCH", cluster, map[string]any{"CPUUtilizationPercentageThreshold": 101}, 400, "InvalidInput", "CPUUtilizationPercentageThreshold is 101; it must be between 0 and 100"},
		{"unknown word", "PATCH", cluster, map[string]any{"loadBalancingSelectorType": "Roundrobin"}, 400, "InvalidInput", "Failover, Random"},
		{"short recovery key", "POST", "/gatewayClusters", map[string]any{"name": "x", "recoveryKey": "1234567"}, 400, "InvalidInput", "at least 8"},
		{"wrong recovery key", "POST", cluster + "/memberGateways", map[string]any{"name": "x", "recoveryKey": "wrong-wrong"}, 403, "InvalidRecoveryKey", "recovery key"},
		{"unsupported type", "POST", cluster + "/datasources", map[string]any{"datasourceType": "Oracle", "datasourceName": "o", "connectionDetails": "{}", "credentialDetails": map[string]any{}}, 400, "UnsupportedDatasourceType", "PostgreSql"},
		{"plain credentials", "POST", cluster + "/datasources", map[string]any{"datasourceType": "PostgreSql", "datasourceName": "o", "connectionDetails": `{"server":"a","database":"b"}`,
			"credentialDetails": map[string]any{"credentialType": "Basic", "credentials": `{"credentialData":[]}`, "encryptionAlgorithm": "None"}}, 400, "InvalidCredentialDetails", "plain text"},
		{"half an envelope", "POST", cluster + "/datasources", map[string]any{"datasourceType": "PostgreSql", "datasourceName": "o", "connectionDetails": `{"server":"a","database":"b"}`,
			"credentialDetails": map[string]any{"credentialType": "Basic", "credentials": "AAAA", "encryptionAlgorithm": "RSA-OAEP"}}, 400, "InvalidCredentialDetails", ""},
		{"syntax error", "POST", cluster + "/dispatch", query(source, "selec 1"), 400, "DM_GWPipeline_Gateway_MashupDataAccessError", `syntax error at or near \"selec\"`},
		{"missing table", "POST", cluster + "/dispatch", query(source, "select * from nosuchtable"), 400, "DM_GWPipeline_Gateway_MashupDataAccessError", "nosuchtable"},
		{"write as read", "POST", cluster + "/dispatch", query(source, "create table x (n int)"), 400, "ReadOnlyViolation", ""},
		{"both query and http", "POST", cluster + "/dispatch", map[string]any{"datasourceId": source, "query": map[string]any{"text": "x"}, "http": map[string]any{"path": "/"}}, 400, "InvalidInput", "either"},
		{"host does not answer", "POST", cluster + "/dispatch", query(silent, "select 1"), 400, "DM_GWPipeline_Gateway_DataSourceAccessError", "refused"},
		{"status of it", "GET", cluster + "/datasources/" + silent + "/status", nil, 400, "DM_GWPipeline_Gateway_DataSourceAccessError", "DM_ErrorDetailNameCode_UnderlyingErrorMessage"},
		{"no such database", "GET", cluster + "/datasources/" + locked + "/status", nil, 400, "DM_GWPipeline_Gateway_DataSourceAccessError", "nosuchdatabase"},
	} {
		status, text, err := w.try(c.method, c.path, c.body)
		var answer struct{ Error struct{ Code string } }
		if err != nil || status != c.status || json.Unmarshal(text, &answer) != nil || answer.Error.Code != c.code || !strings.Contains(string(text), c.words) {
			t.Errorf("%s: got %d %s %v\nwant %d %s with %q", c.name, status, text, err, c.status, c.code, c.words)
		}
	}
	if position := `"code":"Position","detail":{"type":1,"value":"1"}`; true {
		_, text, _ := w.try("POST", cluster+"/dispatch", query(source, "selec 1"))
		if !strings.Contains(string(text), position) {
			t.Errorf("the position of a syntax error: %s lacks %s", text, position)
		}
	}
	w.raw(t)
}

// raw sends what no JSON encoder makes.
func (w *world) raw(t *testing.T) {
	t.Helper()
	for name, c := range map[string]struct {
		body   string
		status int
		words  string
	}{
		"not JSON":      {"{name}", 400, "not JSON"},
		"empty":         {"", 400, "empty"},
		"an array":      {"[]", 400, "must be an object"},
		"two objects":   {"{}{}", 400, "not JSON"},
		"twice":         {`{"name":"a","NAME":"b"}`, 400, "given twice"},
		"not UTF-8":     {"{\"name\":\"\xff\"}", 400, "UTF-8"},
		"too large":     {`{"name":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "larger"},
		"deeply nested": {`{"name":` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + `}`, 400, ""},
	} {
		req, err := http.NewRequest("PATCH", w.url+"/v2.0/myorg/gatewayClusters/"+w.cluster, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+w.token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var text bytes.Buffer
		text.ReadFrom(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status || !strings.Contains(text.String(), c.words) || resp.Header.Get("RequestId") == "" {
			t.Errorf("%s: %d %s", name, resp.StatusCode, text.String())
		}
	}
	resp, err := http.PostForm(w.url+"/oauth2/v2.0/token", url.Values{"grant_type": {"client_credentials"}, "client_id": {w.adminID}, "client_secret": {"wrong"}})
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Error string }
	if json.NewDecoder(resp.Body).Decode(&answer); resp.StatusCode != 401 || answer.Error != "invalid_client" {
		t.Errorf("a wrong secret: %d %s", resp.StatusCode, answer.Error)
	}
	resp.Body.Close()
}

// A join with the wrong recovery key fails in words and leaves no state behind.
func TestAWrongRecoveryKeyOnJoin(t *testing.T) {
	w := serve(t, t.TempDir(), "127.0.0.1:0")
	w.join("one")
	state := t.TempDir() + "/state"
	cmd := exec.Command(binary, "member", "join", "--server", w.url, "--state", state, "--name", "two", "--cluster", w.cluster)
	cmd.Env = append(cmd.Environ(), "COMPORTA_CLIENT_ID="+w.adminID, "COMPORTA_CLIENT_SECRET="+adminSecret, "COMPORTA_RECOVERY_KEY=wrong-wrong")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "recovery key") {
		t.Errorf("%v: %s", err, out)
	}
	if list := exec.Command("ls", state); list.Run() == nil {
		t.Error("a state folder was left behind")
	}
	if n := len(w.members()); n != 1 {
		t.Errorf("the cluster has %d members", n)
	}
}
