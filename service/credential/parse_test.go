package credential_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"comporta/service/credential"
	"comporta/service/gateway"
)

func TestParseTakes(t *testing.T) {
	for text, want := range map[string]string{
		`{"credentialData":[]}`:                           ``,
		`{"credentialData":""}`:                           ``,
		`{'credentialData':''}`:                           ``,
		" { \"credentialData\" :\r\n[ \t] } ":             ``,
		`{"credentialData":[{"name":"key","value":"v"}]}`: `key=v;`,
		`{"credentialData":[{"value":"v","name":"key"}]}`: `key=v;`,
		`{'credentialData':[{'name':'username','value':'ana'},{'name':'password','value':'b'}]}`: `username=ana;password=b;`,
		`{'credentialData':[{'name':'a','value':"it's"},{"name":"b","value":'say "x"'}]}`:        `a=it's;b=say "x";`,
		`{"credentialData":[{"name":"a","value":"\"\\\/\b\f\n\r\t\u00e4\ud83d\udd11"}]}`:         "a=\"\\/\b\f\n\r\tä🔑;",
		`{'credentialData':[{'name':'a','value':'\'\xe4\u30d1\U0001f511'}]}`:                     "a='äパ🔑;",
		`{"credentialData":[{"name":"Property-x","value":""}]}`:                                  "Property-x=;",
		`{"credentialData":[{"name":"a","value":"パス🔑\u0000"}]}`:                                  "a=パス🔑\x00;",
		"{\"credentialData\":[{\"name\":\"a\",\"value\":\"\x7f\"}]}":                             "a=\x7f;",
	} {
		pairs, err := credential.Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := ""
		for _, p := range pairs {
			got += p.Name + "=" + p.Value + ";"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat(`{"name":"n%d","value":"v"},`, 65), ",")
	numbers := make([]any, 65)
	for i := range numbers {
		numbers[i] = i
	}
	for _, text := range []string{
		``, `{`, `null`, `[]`, `"x"`, `{}`, `{"credentialData"}`, `{"credentialData":}`, `{"credentialData":null}`, `{"credentialData":"x"}`,
		`{"credentialData":{}}`, `{"credentialData":[],}`, `{"credentialData":[]`, `{"credentialData":[]}x`, `{"credentialData":[]}{}`,
		`{"CredentialData":[]}`, `{"credentialData":[],"credentialData":[]}`, `{"credentialData":[],"more":1}`,
		`{"credentialData":[,]}`, `{"credentialData":[{}]}`, `{"credentialData":[{"name":"a"}]}`, `{"credentialData":[{"name":"a","name":"b"}]}`,
		`{"credentialData":[{"name":"a","value":1}]}`, `{"credentialData":[{"name":"a","value":null}]}`, `{"credentialData":[{"name":"a","value":"b",}]}`,
		`{"credentialData":[{"name":"a","value":"b","x":"c"}]}`, `{"credentialData":[{"name":"a","value":"b"},]}`,
		`{"credentialData":[{"name":"a","value":"b"}{"name":"c","value":"d"}]}`,
		`{"credentialData":[{"name":"a","value":"b"},{"name":"a","value":"c"}]}`,
		`{'credentialData":[]}`, `{credentialData:[]}`, `{"credentialData":[{"name":"a","value":"b'}]}`,
		`{"credentialData":[{"name":"a","value":"\q"}]}`, `{"credentialData":[{"name":"a","value":"\u12"}]}`, `{"credentialData":[{"name":"a","value":"\ud83d"}]}`,
		`{"credentialData":[{"name":"a","value":"\udd11\ud83d"}]}`, `{"credentialData":[{"name":"a","value":"\ud83dx"}]}`, `{"credentialData":[{"name":"a","value":"\u+123"}]}`,
		`{"credentialData":[{"name":"a","value":"\U00110000"}]}`, `{"credentialData":[{"name":"a","value":"\U0000d83d"}]}`, `{"credentialData":[{"name":"a","value":"\Uffffffff"}]}`,
		`{"credentialData":[{"name":"a","value":"\`, `{"credentialData":[{"name":"a","value":"\x`, "{\"credentialData\":[{\"name\":\"a\",\"value\":\"\n\"}]}",
		"{\"credentialData\":[{\"name\":\"a\",\"value\":\"\xff\"}]}", "\ufeff{\"credentialData\":[]}",
		`{"credentialData":[` + fmt.Sprintf(many, numbers...) + `]}`,
		document("key", strings.Repeat("k", 64<<10)),
		strings.Repeat(`{"credentialData":[`, 3000),
	} {
		if pairs, err := credential.Parse([]byte(text)); pairs != nil || !gateway.IsCode(err, gateway.CodeCredentialFormat) {
			t.Errorf("%.80s: %v", text, err)
		}
	}
}

// wire is the document as encoding/json sees it: the oracle for everything that is plain JSON.
type wire struct {
	CredentialData []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"credentialData"`
}

func TestParseReadsWhateverJSONWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name, value := rapid.String().Draw(t, "name"), rapid.String().Draw(t, "value")
		text, err := json.Marshal(map[string]any{"credentialData": []map[string]string{{"name": name, "value": value}}})
		if err != nil {
			t.Fatal(err)
		}
		pairs, err := credential.Parse(text)
		if err != nil || len(pairs) != 1 || pairs[0] != (credential.Pair{Name: name, Value: value}) {
			t.Fatalf("%s: %v", text, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{document("username", "ana", "password", password), `{"credentialData":""}`, `{'credentialData':[{'name':'a','value':'\xe4\U0001f511'}]}`,
		`{"credentialData":[{"name":"a","value":"\ud83d\udd11"}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		pairs, err := credential.Parse(text)
		if err != nil {
			if !gateway.IsCode(err, gateway.CodeCredentialFormat) {
				t.Fatal(err)
			}
			return
		}
		var plain wire
		if json.Unmarshal(text, &plain) != nil || len(plain.CredentialData) == 0 {
			return // not plain JSON, or the empty string
		}
		for i, pair := range plain.CredentialData {
			if pairs[i] != (credential.Pair{Name: pair.Name, Value: pair.Value}) {
				t.Fatalf("pair %d is %q, JSON says %q", i, pairs[i].Name, pair.Name)
			}
		}
	})
}
