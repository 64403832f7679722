package api_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// A data source moves only with new credentials, on every surface that could move it.
func TestADataSourceMovesWithNewCredentialsOnly(t *testing.T) {
	w := newWorld(t)
	w.cluster = w.newCluster("mine")
	base := "/gatewayClusters/" + w.cluster + "/datasources"
	home, away := `{"server":"db","database":"d"}`, `{"server":"evil","database":"d"}`
	id := field(w.must(201, "POST", base, map[string]any{"datasourceType": "PostgreSql", "datasourceName": "db", "connectionDetails": home, "credentialDetails": w.credentials()}, nil), "id")
	one := base + "/" + id
	for _, details := range []any{away, json.RawMessage(away)} {
		refused := w.must(400, "PATCH", one, map[string]any{"connectionDetails": details}, nil)
		if !strings.Contains(refused, "InvalidCredentialDetails") || !strings.Contains(refused, "credentialDetails") {
			t.Errorf("refused with %s", refused)
		}
	}
	w.must(400, "PATCH", "/me"+one, map[string]any{"connectionDetails": away}, nil)
	w.must(400, "PATCH", one, map[string]any{"connectionDetails": away, "credentialDetails": map[string]any{}}, nil)
	w.must(400, "PATCH", "//v1.0/myorg/gateways/"+w.cluster+"/datasources/"+id, map[string]any{"connectionDetails": away, "credentialDetails": w.credentials()}, nil)
	connection := w.must(200, "GET", "//v1/connections/"+id, nil, nil)
	w.must(200, "PATCH", "//v1/connections/"+id, json.RawMessage(strings.Replace(connection, `"db;d"`, `"evil;d"`, 1)), nil)
	if now := w.must(200, "GET", one, nil, nil); !strings.Contains(now, `\"db\"`) {
		t.Fatalf("it moved: %s", now)
	}
	// Get, change, patch: the details that come back are the same place.
	w.must(200, "PATCH", one, map[string]any{"datasourceName": "renamed", "connectionDetails": home, "credentialDetails": nil}, nil)
	moved := w.must(200, "PATCH", one, map[string]any{"connectionDetails": away, "credentialDetails": map[string]any{w.cluster: w.credentials()}}, nil)
	if !strings.Contains(moved, `\"evil\"`) {
		t.Errorf("not moved: %s", moved)
	}
}

// A member that is named twice would have one of its entries lost unseen.
func TestAMemberNamedTwiceIsRefused(t *testing.T) {
	w := newWorld(t)
	w.cluster = w.newCluster("mine")
	base := "/gatewayClusters/" + w.cluster + "/datasources"
	entry, _ := json.Marshal(w.credentials())
	body := func(keys ...string) json.RawMessage {
		for i, key := range keys {
			keys[i] = `"` + key + `":` + string(entry)
		}
		return json.RawMessage(`{"datasourceType":"PostgreSql","datasourceName":"x","connectionDetails":"{\"server\":\"a\",\"database\":\"b\"}","credentialDetails":{` + strings.Join(keys, ",") + `}}`)
	}
	for _, keys := range [][]string{{w.cluster, strings.ToUpper(w.cluster)}, {w.cluster, w.cluster}, {w.cluster, "{" + w.cluster + "}"}} {
		refused := w.must(400, "POST", base, body(keys...), nil)
		if !strings.Contains(refused, w.cluster) || !strings.Contains(refused, "twice") {
			t.Errorf("refused with %s", refused)
		}
	}
	id := field(w.must(201, "POST", base, body(w.cluster), nil), "id")
	var sent struct {
		Credentials string `json:"credentials"`
	}
	_ = json.Unmarshal(entry, &sent)
	values := []map[string]any{{"gatewayId": w.cluster, "encryptedCredentials": sent.Credentials}, {"gatewayId": strings.ToUpper(w.cluster), "encryptedCredentials": sent.Credentials}}
	refused := w.must(400, "PATCH", "//v1/connections/"+id, map[string]any{"connectivityType": "OnPremisesGateway", "credentialDetails": map[string]any{"credentials": map[string]any{"credentialType": "Basic", "values": values}}}, nil)
	if !strings.Contains(strings.ToLower(refused), w.cluster) || !strings.Contains(refused, "twice") {
		t.Errorf("Fabric: %s", refused)
	}
}
