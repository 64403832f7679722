package rest

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"comporta/service/gateway"
)

type colour struct{ value string }

func (c *colour) FromJSON(text string, number bool) error {
	if number {
		c.value = "#" + text
		return nil
	}
	if !strings.EqualFold(text, "red") {
		return gateway.Errorf(gateway.CodeInvalid, "%q is none of red.", text)
	}
	c.value = "red"
	return nil
}

type embedded struct {
	Limit *int `json:"limit"`
}

type thing struct {
	Name   string            `json:"name" required:"true"`
	Note   *string           `json:"note"`
	On     bool              `json:"on"`
	Colour *colour           `json:"colour"`
	Tags   []string          `json:"tags"`
	Map    map[string]string `json:"map"`
	Inner  *struct {
		Values []any `json:"values"`
	} `json:"inner"`
	Raw json.RawMessage `json:"raw"`
	embedded
}

func TestWholeNumbersAndAByteOrderMark(t *testing.T) {
	for text, want := range map[string]int{"5": 5, "5.0": 5, "5.000": 5, "5e0": 5, "0.5e1": 5, "-5.0": -5, "0.0": 0, "9007199254740991.0": 1<<53 - 1} {
		var v thing
		if err := Unmarshal([]byte("\xef\xbb\xbf"+`{"name":"x","limit":`+text+`,"colour":`+text+`}`), &v); err != nil || *v.Limit != want || v.Colour.value != "#"+strconv.Itoa(want) {
			t.Errorf("%s: %+v, %v", text, v, err)
		}
	}
	for _, text := range []string{"5.1", "1e400", "9007199254740993.0", "1e16", `"5.0"`, "true", "[5]"} {
		var v thing
		if err := Unmarshal([]byte(`{"name":"x","limit":`+text+`}`), &v); !gateway.IsCode(err, gateway.CodeInvalid) || !strings.Contains(err.Error(), "limit must be a whole number") {
			t.Errorf("%s was taken as %v: %v", text, v.Limit, err)
		}
	}
	var v thing
	if err := Unmarshal([]byte("{\"name\":\"\xef\xbb\xbfx\"}\xef\xbb\xbf"), &v); err == nil {
		t.Error("a byte order mark at the end was taken")
	}
}

func TestUnmarshalTakes(t *testing.T) {
	var v thing
	text := `{"NAME":"ä","note":null,"On":true,"colour":"RED","tags":["a"],"map":{"k":"v"},"inner":{"values":[9007199254740993,1.10,"x",null]},"raw":{"a":1},"Limit":3,"id":"sent back"}`
	if err := Unmarshal([]byte(text), &v, "id"); err != nil {
		t.Fatal(err)
	}
	if v.Name != "ä" || v.Note != nil || !v.On || v.Colour.value != "red" || v.Tags[0] != "a" || v.Map["k"] != "v" || string(v.Raw) != `{"a":1}` || *v.Limit != 3 {
		t.Errorf("got %+v", v)
	}
	if n, ok := v.Inner.Values[0].(json.Number); !ok || n != "9007199254740993" {
		t.Errorf("a number lost digits: %v", v.Inner.Values[0])
	}
	if n := v.Inner.Values[1].(json.Number); n != "1.10" {
		t.Errorf("a number lost digits: %v", n)
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, words string }{
		"empty":              {"  ", "empty"},
		"not JSON":           {`{"name":}`, "not JSON"},
		"not an object":      {`"x"`, "must be an object"},
		"null":               {`null`, "must be an object"},
		"unknown":            {`{"name":"a","nmae":"b"}`, "nmae is not known here. Known are: name"},
		"unknown inside":     {`{"name":"a","inner":{"value":[]}}`, "inner.value"},
		"missing":            {`{}`, "name is missing"},
		"null where needed":  {`{"name":null}`, "name is missing"},
		"twice":              {`{"name":"a","Name":"b"}`, "given twice"},
		"text for bool":      {`{"name":"a","on":"true"}`, "on must be true or false"},
		"number for text":    {`{"name":1}`, "name must be a text"},
		"fraction for whole": {`{"name":"a","limit":1.5}`, "limit must be a whole number"},
		"huge whole":         {`{"name":"a","limit":99999999999999999999}`, "limit must be a whole number"},
		"unknown word":       {`{"name":"a","colour":"blue"}`, `colour: "blue" is none of red`},
		"object for a word":  {`{"name":"a","colour":{}}`, "colour must be a word"},
		"text for a list":    {`{"name":"a","tags":"a"}`, "tags must be a list"},
		"null in a list":     {`{"name":"a","tags":[null]}`, "tags[0]"},
		"map twice":          {`{"name":"a","map":{"k":"1","k":"2"}}`, "map.k is given twice"},
		"not UTF-8":          {"{\"name\":\"\xff\"}", "UTF-8"},
		"more after":         {`{"name":"a"} x`, "not JSON"},
	} {
		var v thing
		err := Unmarshal([]byte(c.text), &v)
		if !gateway.IsCode(err, gateway.CodeInvalid) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %q", name, err, c.words)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"name":"a","tags":["b"],"inner":{"values":[1]},"colour":3}`))
	f.Add([]byte(`{"name":"a","name":"b"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var v thing
		err := Unmarshal(text, &v, "id")
		if err == nil && (v.Name == "" && !strings.Contains(string(text), `""`)) {
			t.Errorf("a missing name was taken from %q", text)
		}
		if err != nil && gateway.AsError(err).Code != gateway.CodeInvalid {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// Every code of the vocabulary has a status; one that is new and forgotten would be a 500.
func TestEveryCodeHasAStatus(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../service/gateway/error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Names) == 0 || !strings.HasPrefix(spec.Names[0].Name, "Code") {
			return true
		}
		code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := statuses[gateway.Code(code)]; !ok {
			t.Errorf("%s has no status", code)
		}
		n++
		return true
	})
	if n < 40 {
		t.Errorf("only %d codes were found", n)
	}
}

// dispatchBody looks like the request on the hot path.
type dispatchBody struct {
	Source *colour `json:"datasourceId" required:"true"`
	HTTP   *struct {
		Method  string            `json:"method"`
		Path    string            `json:"path"`
		Headers map[string]string `json:"headers"`
	} `json:"http"`
	Seconds  *int  `json:"timeoutSeconds"`
	ReadOnly *bool `json:"readOnly"`
}

var dispatchText = []byte(`{"datasourceId":"red","http":{"method":"GET","path":"/items?top=\u0031"},"timeoutSeconds":30,"readOnly":true}`)

func BenchmarkUnmarshal(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var v dispatchBody
		if err := Unmarshal(dispatchText, &v); err != nil {
			b.Fatal(err)
		}
	}
}

// Decoding costs about one allocation per value, not per field that a type might have.
func TestUnmarshalAllocates(t *testing.T) {
	got := testing.AllocsPerRun(100, func() {
		var v dispatchBody
		if err := Unmarshal(dispatchText, &v); err != nil {
			t.Fatal(err)
		}
	})
	if got > 25 {
		t.Errorf("%v allocations", got)
	}
}
