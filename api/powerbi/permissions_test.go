package powerbi_test

import (
	"encoding/json"
	"testing"
)

// allowedDataSources is the older name of allowedDataSourceTypes. Passed over, it gave every type to whoever was meant to have one.
func TestTheOlderNameOfAllowedTypesLimitsARole(t *testing.T) {
	w := newV1World(t)
	pipeline, _ := w.as("pipeline")
	permissions := "/v2.0/myorg/gatewayClusters/" + w.cluster("Lisbon") + "/permissions"
	put := func(types string, want int) {
		t.Helper()
		w.call(w.token, "POST", permissions, `{"id":"`+pipeline.String()+`","role":"ConnectionCreator"`+types+`}`, want)
	}
	for types, want := range map[string]string{
		`,"allowedDataSources":["Sql"]`:                                                       `["Sql"]`,
		`,"allowedDataSources":[0,"web"],"allowedDataSourceTypes":["Web","Sql"]`:              `["Web","Sql"]`,
		`,"allowedDataSources":null,"allowedDataSourceTypes":["Web"]`:                         `["Web"]`,
		`,"allowedDataSources":[]`:                                                            `[]`,
		`,"allowedDataSources":null,"allowedDataSourceTypes":null,"principalType":"App"`:      `null`,
		`,"ALLOWEDDATASOURCES":["Sql","Sql"],"allowedDataSourceTypes":["Sql"],"tenantId":"x"`: `["Sql"]`,
	} {
		put(types, 200)
		v, _ := w.call(w.token, "GET", permissions, "", 200)
		shown := v["value"].([]any)[1].(map[string]any)
		for _, name := range []string{"allowedDataSourceTypes", "allowedDataSources"} {
			if now, _ := json.Marshal(shown[name]); string(now) != want {
				t.Errorf("%s: %s is %s, want %s", types, name, now, want)
			}
		}
	}
	put(`,"allowedDataSources":["Sql"],"allowedDataSourceTypes":["Web"]`, 400)
	put(`,"allowedDataSources":["Sql"],"allowedDataSourceTypes":["Sql","Web"]`, 400)
	put(`,"allowedDataSources":[],"allowedDataSourceTypes":["Sql"]`, 400)
	put(`,"allowedDataSources":["Nothing"]`, 400)
	put(`,"allowedDataSources":["Web"],"AllowedDataSourceTypes":null`, 400) // lifted under one name, or limited under the other?
}
