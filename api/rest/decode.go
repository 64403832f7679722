package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"comporta/service/gateway"
)

// MaxBody is how many bytes a request body may have. Source: contract section 3.
const MaxBody = 1 << 20

// Decode reads the request body into *to, a struct: UTF-8 JSON, one object. Property names match in any letter case; an unknown, repeated
// or missing one (tag required:"true") is CodeInvalid naming it, and so is a value of another type. null leaves a field as it is.
// Properties named in readOnly are taken and passed over: clients send back what they read.
func Decode(c echo.Context, to any, readOnly ...string) error {
	text, err := io.ReadAll(http.MaxBytesReader(c.Response(), c.Request().Body, MaxBody))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return gateway.Errorf(gateway.CodeTooLarge, "The request body is larger than %d bytes.", MaxBody)
	}
	if err != nil {
		return gateway.Wrap(gateway.CodeInvalid, err, "The request body could not be read.")
	}
	return Unmarshal(text, to, readOnly...)
}

// Unmarshal is Decode for a text.
func Unmarshal(text []byte, to any, readOnly ...string) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return gateway.Errorf(gateway.CodeInvalid, "The request body is empty; it must be a JSON object.")
	}
	if !utf8.Valid(text) {
		return gateway.Errorf(gateway.CodeInvalid, "The request body is not UTF-8.")
	}
	if !json.Valid(text) {
		var any json.RawMessage
		return gateway.Errorf(gateway.CodeInvalid, "The request body is not JSON: %v.", json.Unmarshal(text, &any))
	}
	return object(text, reflect.ValueOf(to).Elem(), "", readOnly)
}

// object decodes one JSON object into a struct. path names it in messages.
func object(text []byte, to reflect.Value, path string, readOnly []string) error {
	seen := map[string]bool{}
	err := eachProperty(text, path, func(name string, value json.RawMessage) error {
		folded := strings.ToLower(name)
		full := join(path, name)
		if seen[folded] {
			return gateway.Errorf(gateway.CodeInvalid, "The property %s is given twice.", full)
		}
		seen[folded] = true
		field, ok := fieldNamed(to, folded)
		if !ok {
			if slices.ContainsFunc(readOnly, func(r string) bool { return strings.EqualFold(r, name) }) {
				return nil
			}
			return gateway.Errorf(gateway.CodeInvalid, "The property %s is not known here. Known are: %s.", full, strings.Join(fieldNames(to.Type()), ", "))
		}
		if string(value) == "null" {
			seen[folded] = false
			return nil
		}
		return assign(value, field, full)
	})
	if err != nil {
		return err
	}
	return checkRequired(to.Type(), seen, path)
}

func checkRequired(t reflect.Type, seen map[string]bool, path string) error {
	for _, f := range reflect.VisibleFields(t) {
		if name := jsonName(f); f.Tag.Get("required") == "true" && !seen[strings.ToLower(name)] {
			return gateway.Errorf(gateway.CodeInvalid, "The property %s is missing.", join(path, name))
		}
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// fieldNamed finds a field by its folded name, also in embedded structs.
func fieldNamed(v reflect.Value, folded string) (reflect.Value, bool) {
	for _, f := range reflect.VisibleFields(v.Type()) {
		if name := jsonName(f); name != "" && strings.ToLower(name) == folded {
			return v.FieldByIndex(f.Index), true
		}
	}
	return reflect.Value{}, false
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if name := jsonName(f); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// eachProperty walks an object in its order; a map would hide properties given twice.
func eachProperty(text []byte, path string, visit func(string, json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return wrongType(path, "an object")
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := visit(t.(string), value); err != nil {
			return err
		}
	}
	return nil
}

func wrongType(path, want string) error {
	if path == "" {
		path = "The request body"
	} else {
		path = "The property " + path
	}
	return gateway.Errorf(gateway.CodeInvalid, "%s must be %s.", path, want)
}

// Word is a type that reads itself from a JSON value, such as an enumeration: a string or a number.
type Word interface {
	// FromJSON takes a string as it stands, or the digits of a number. Its error is a *gateway.Error without the property's name.
	FromJSON(text string, number bool) error
}

func assign(value json.RawMessage, to reflect.Value, path string) error {
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		return assign(value, to.Elem(), path)
	}
	if w, ok := to.Addr().Interface().(Word); ok {
		return word(value, w, path)
	}
	switch to.Interface().(type) {
	case json.RawMessage:
		to.SetBytes(slices.Clone(value))
		return nil
	case []byte:
		return plain(value, to, path, "a base64 text")
	}
	switch to.Kind() {
	case reflect.Struct:
		return object(value, to, path, nil)
	case reflect.Slice:
		return list(value, to, path)
	case reflect.Map:
		return mapping(value, to, path)
	case reflect.Interface:
		return plain(value, to, path, "a value")
	}
	return plain(value, to, path, words[to.Kind()])
}

var words = map[reflect.Kind]string{reflect.String: "a text", reflect.Bool: "true or false", reflect.Int: "a whole number", reflect.Int64: "a whole number"}

// plain decodes a value of a simple type, keeping numbers exact.
func plain(value json.RawMessage, to reflect.Value, path, want string) error {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if err := d.Decode(to.Addr().Interface()); err != nil {
		return wrongType(path, want)
	}
	return nil
}

func word(value json.RawMessage, to Word, path string) error {
	text, number := string(value), true
	switch value[0] {
	case '"':
		number = false
		if err := json.Unmarshal(value, &text); err != nil {
			return wrongType(path, "a text")
		}
	case '{', '[', 't', 'f':
		return wrongType(path, "a word")
	}
	if err := to.FromJSON(text, number); err != nil {
		e := *gateway.AsError(err)
		e.Message = path + ": " + e.Message
		return &e
	}
	return nil
}

func list(value json.RawMessage, to reflect.Value, path string) error {
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil {
		return wrongType(path, "a list")
	}
	to.Set(reflect.MakeSlice(to.Type(), len(items), len(items)))
	for i, item := range items {
		if string(item) == "null" && to.Type().Elem().Kind() != reflect.Interface {
			return wrongType(fmt.Sprintf("%s[%d]", path, i), "a value, not null")
		}
		if err := assign(item, to.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return nil
}

func mapping(value json.RawMessage, to reflect.Value, path string) error {
	to.Set(reflect.MakeMap(to.Type()))
	return eachProperty(value, path, func(name string, item json.RawMessage) error {
		key := reflect.ValueOf(name).Convert(to.Type().Key())
		if to.MapIndex(key).IsValid() {
			return gateway.Errorf(gateway.CodeInvalid, "The property %s is given twice.", join(path, name))
		}
		element := reflect.New(to.Type().Elem()).Elem()
		if err := assign(item, element, join(path, name)); err != nil {
			return err
		}
		to.SetMapIndex(key, element)
		return nil
	})
}
