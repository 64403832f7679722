package powerbi_test

import (
	"fmt"
	"strings"
	"testing"
)

// Where the surface gives a word a number, scripts that send numbers are understood on every path.
func TestNumbersOfEnumerationsAreTaken(t *testing.T) {
	w := newV1World(t)
	cluster := w.cluster("Lisbon")
	sources := "/v2.0/myorg/gatewayClusters/" + cluster + "/datasources"
	const server, page = `"{\"server\":\"s\",\"database\":\"d\"}"`, `"{\"url\":\"http://h\"}"`
	n := 0
	details := func(kind, encryption, privacy any) string {
		return fmt.Sprintf(`{"credentialType":%v,"credentials":"e","encryptedConnection":%v,"privacyLevel":%v,"encryptionAlgorithm":"RSA-OAEP"}`, kind, encryption, privacy)
	}
	create := func(kind, encryption, privacy, signOn any, want int) map[string]any {
		t.Helper()
		n++
		v, _ := w.call(w.token, "POST", sources, fmt.Sprintf(`{"datasourceType":8,"datasourceName":"%d","connectionDetails":%s,"singleSignOnType":%v,"credentialDetails":%s}`,
			n, page, signOn, details(kind, encryption, privacy)), want)
		return v
	}
	for number, word := range map[int]string{1: "Windows", 2: "Anonymous", 3: "Basic", 4: "Key"} {
		if v := create(number, 0, 0, 0, 201); v["credentialType"] != word {
			t.Errorf("credentialType %d is %v", number, v["credentialType"])
		}
	}
	for number, word := range []string{"None", "Kerberos", "AzureActiveDirectory", "SAML"} {
		v := create(3, 0, 0, number, 201)
		if v["singleSignOnType"] != word {
			t.Errorf("singleSignOnType %d is %v", number, v["singleSignOnType"])
		}
		one := sources + "/" + v["id"].(string)
		if v, _ = w.call(w.token, "PATCH", one, `{"singleSignOnType":`+fmt.Sprint(3-number)+`}`, 200); v["singleSignOnType"] == word {
			t.Errorf("singleSignOnType stays %v", v["singleSignOnType"])
		}
	}
	levels := []string{"None", "Private", "Organizational", "Public"}
	for encryption, word := range []string{"Encrypted", "Any", "NotEncrypted"} {
		for privacy, level := range levels {
			one := "/v1/connections/" + create(3, encryption, privacy, 0, 201)["id"].(string)
			v, _ := w.call(w.token, "GET", one, "", 200)
			if now := v["credentialDetails"].(map[string]any)["connectionEncryption"]; now != word || v["privacyLevel"] != level {
				t.Errorf("encryptedConnection %d is %v, privacyLevel %d is %v", encryption, now, privacy, v["privacyLevel"])
			}
		}
	}
	for _, wrong := range [][4]any{{0, 0, 0, 0}, {99, 0, 0, 0}, {`"3"`, 0, 0, 0}, {`""`, 0, 0, 0}, {3, 3, 0, 0}, {3, 0, 4, 0}, {3, 0, 0, 4}, {3, 0.5, 0, 0}, {3, -1, 0, 0}, {3, 0, 0, `"x"`}} {
		create(wrong[0], wrong[1], wrong[2], wrong[3], 400)
	}
	if v := create(3, `""`, `""`, `""`, 201); v["singleSignOnType"] != "None" {
		t.Errorf("an empty text says %v", v["singleSignOnType"])
	}
	old := "/v1.0/myorg/gateways/" + cluster + "/datasources"
	v, _ := w.call(w.token, "POST", old, `{"dataSourceType":0,"dataSourceName":"v1","connectionDetails":`+server+`,"credentialDetails":`+details(3, 2, 1)+`}`, 201)
	w.call(w.token, "PATCH", old+"/"+v["id"].(string), `{"credentialDetails":`+details("3.0", 1, 2)+`}`, 200)
}

// Whoever mistypes a data source type learns which there are.
func TestAnUnknownDataSourceTypeNamesTheSupportedOnes(t *testing.T) {
	w := newV1World(t)
	cluster := w.cluster("Lisbon")
	for _, kind := range []string{`"Sqll"`, `"Oracle"`, `99`, `-1`} {
		for path, name := range map[string]string{"/v2.0/myorg/gatewayClusters/": "datasource", "/v1.0/myorg/gateways/": "dataSource"} {
			v, _ := w.call(w.token, "POST", path+cluster+"/datasources", `{"`+name+`Type":`+kind+`,"`+name+`Name":"x","connectionDetails":"{}",`+v1Credentials+`}`, 400)
			if words := fmt.Sprint(v["error"]); !strings.Contains(words, "Sql, PostgreSql, MySql, Extension (kind SQLite), Web, OData, File, Folder") {
				t.Errorf("%s: %s", kind, words)
			}
		}
	}
}
