package rest

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzScan: the walk through a JSON text finds what the standard library's decoder finds, in its order.
func FuzzScan(f *testing.F) {
	for _, text := range []string{`{}`, ` { "a" : 1 , "b":[1,{"c":"}"}],"d":"\"]", "e" : null}`, `{"\u0061":"\ud83d\ude00","a\\":{"x":[]}}`, `{"a":-1.5e+10,"b":true,"a":false}`, `[]`, ` [ 1 , "]," , [ [ ] ] , {"a":[1]} ] `, `[null]`, `null`, `"x"`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) || !utf8.Valid(text) {
			return // refused before the walk begins
		}
		compareObject(t, text)
		compareList(t, text)
	})
}

func compareObject(t *testing.T, text []byte) {
	want, isObject := decodedObject(text)
	var got [][2]string
	err := eachProperty(text, "", func(name []byte, value json.RawMessage) error {
		got = append(got, [2]string{string(name), string(value)})
		return nil
	})
	if (err == nil) != isObject {
		t.Fatalf("%q: %v, and it is an object: %v", text, err, isObject)
	}
	compare(t, text, got, want)
}

// decodedObject is the standard library's reading.
func decodedObject(text []byte) (pairs [][2]string, isObject bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		name, _ := d.Token()
		var value json.RawMessage
		d.Decode(&value)
		pairs = append(pairs, [2]string{name.(string), string(value)})
	}
	return pairs, true
}

func compareList(t *testing.T, text []byte) {
	var items []json.RawMessage
	isList := json.Unmarshal(text, &items) == nil
	var want, got [][2]string
	for _, item := range items {
		want = append(want, [2]string{"", string(item)})
	}
	if found := eachItem(text, func(item json.RawMessage) { got = append(got, [2]string{"", string(item)}) }); found != isList {
		t.Fatalf("%q is a list: %v, and was taken for one: %v", text, isList, found)
	}
	compare(t, text, got, want)
}

func compare(t *testing.T, text []byte, got, want [][2]string) {
	if len(got) != len(want) {
		t.Fatalf("%q: found %q, want %q", text, got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%q: found %q, want %q", text, got[i], want[i])
		}
	}
}
