package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
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
	text, err := ReadBody(c, MaxBody)
	if err != nil {
		return err
	}
	return Unmarshal(text, to, readOnly...)
}

// Unmarshal is Decode for a text.
func Unmarshal(text []byte, to any, readOnly ...string) error {
	// RFC 8259 section 8.1 lets a reader pass over a byte order mark; Windows tools write one.
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
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
	shape := shapeOf(to.Type())
	given := make([]bool, len(shape.fields))
	var passed []string
	err := eachProperty(text, path, func(name []byte, value json.RawMessage) error {
		i := shape.find(name)
		if i < 0 {
			return passOver(shape, &passed, string(name), path, readOnly)
		}
		if given[i] {
			return givenTwice(path, string(name))
		}
		if string(value) == "null" {
			return nil
		}
		given[i] = true
		return assign(value, to.FieldByIndex(shape.fields[i].index), join(path, shape.named(i, name)))
	})
	if err != nil {
		return err
	}
	for i, f := range shape.fields {
		if f.required && !given[i] {
			return gateway.Errorf(gateway.CodeInvalid, "The property %s is missing.", join(path, f.name))
		}
	}
	return nil
}

// passOver takes a property that is no field: one that clients send back as they read it, once.
func passOver(shape *shape, passed *[]string, name, path string, readOnly []string) error {
	if !slices.ContainsFunc(readOnly, func(r string) bool { return strings.EqualFold(r, name) }) {
		return gateway.Errorf(gateway.CodeInvalid, "The property %s is not known here. Known are: %s.", join(path, name), shape.names())
	}
	folded := strings.ToLower(name)
	if slices.Contains(*passed, folded) {
		return givenTwice(path, name)
	}
	*passed = append(*passed, folded)
	return nil
}

func givenTwice(path, name string) error {
	return gateway.Errorf(gateway.CodeInvalid, "The property %s is given twice.", join(path, name))
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
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

var (
	rawType   = reflect.TypeFor[json.RawMessage]()
	bytesType = reflect.TypeFor[[]byte]()
)

func assign(value json.RawMessage, to reflect.Value, path string) error {
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		return assign(value, to.Elem(), path)
	}
	if w, ok := to.Addr().Interface().(Word); ok {
		return word(value, w, path)
	}
	switch to.Type() {
	case rawType:
		to.SetBytes(slices.Clone(value))
		return nil
	case bytesType:
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
	if simple(value, to) {
		return nil
	}
	return plain(value, to, path, words[to.Kind()])
}

var words = map[reflect.Kind]string{reflect.String: "a text", reflect.Bool: "true or false", reflect.Int: "a whole number", reflect.Int64: "a whole number"}

// simple sets the commonest values without the reflective decoder, and leaves to it whatever it is not sure of.
func simple(value json.RawMessage, to reflect.Value) bool {
	switch to := to.Addr().Interface().(type) {
	case *string:
		if value[0] == '"' {
			text, err := unquote(value)
			*to = text
			return err == nil
		}
	case *bool:
		*to = value[0] == 't'
		return value[0] == 't' || value[0] == 'f'
	case *int:
		n, ok := whole(value)
		*to = int(n)
		return ok
	case *int64:
		n, ok := whole(value)
		*to = n
		return ok
	}
	return false
}

// maxExact is below which a float64 holds every whole number.
const maxExact = 1 << 53

// whole reads a whole number. 5.0 and 5e0 are ones too: many languages know one type of number only, and write it like that.
func whole(value []byte) (int64, bool) {
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return n, true
	}
	if value[0] == '"' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= maxExact {
		return 0, false
	}
	return int64(f), true
}

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
	text, number := "", false
	switch value[0] {
	case '"':
		var err error
		if text, err = unquote(value); err != nil {
			return wrongType(path, "a text")
		}
	case '{', '[', 't', 'f':
		return wrongType(path, "a word")
	default:
		text, number = string(value), true
		if n, ok := whole(value); ok {
			text = strconv.FormatInt(n, 10)
		}
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
	if !eachItem(value, func(item json.RawMessage) { items = append(items, item) }) {
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
	return eachProperty(value, path, func(text []byte, item json.RawMessage) error {
		name := string(text)
		key := reflect.ValueOf(name).Convert(to.Type().Key())
		if to.MapIndex(key).IsValid() {
			return givenTwice(path, name)
		}
		element := reflect.New(to.Type().Elem()).Elem()
		if err := assign(item, element, join(path, name)); err != nil {
			return err
		}
		to.SetMapIndex(key, element)
		return nil
	})
}
