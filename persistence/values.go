package persistence

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"comporta/service/gateway"
)

// asJSON is a value that is stored as its JSON text.
type asJSON struct{ value any }

// bind turns the arguments of a statement into what both drivers take. A text that PostgreSQL could not hold is CodeInvalid on both.
func bind(args []any) ([]any, error) {
	out := make([]any, len(args))
	for i, arg := range args {
		v, err := bindOne(arg)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func bindOne(arg any) (any, error) {
	switch v := arg.(type) {
	case time.Time:
		return micros(v), nil
	case time.Duration:
		return int64(v), nil
	case []byte:
		return base64.StdEncoding.EncodeToString(v), nil
	case asJSON:
		text, err := json.Marshal(v.value)
		if err != nil {
			return nil, fmt.Errorf("store a %T: %w", v.value, err)
		}
		return string(text), nil
	}
	if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
		return checkedText(v.String())
	}
	return arg, nil
}

func checkedText(text string) (any, error) {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, gateway.Errorf(gateway.CodeInvalid, "A text holds a NUL character or is not valid UTF-8.")
	}
	return text, nil
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// fold is how names are compared: without letter case.
func fold(name string) string { return strings.ToLower(name) }

// timeInto scans a time, bytesInto bytes (empty ones as nil), jsonInto the value of a JSON text.
type (
	timeInto  struct{ to *time.Time }
	bytesInto struct{ to *[]byte }
	jsonInto  struct{ to any }
)

// Scan takes microseconds.
func (t timeInto) Scan(stored any) error {
	n, ok := stored.(int64)
	if !ok {
		return fmt.Errorf("a time is stored as %T", stored)
	}
	*t.to = time.Time{}
	if n != 0 {
		*t.to = time.UnixMicro(n).UTC()
	}
	return nil
}

// Scan takes base64.
func (b bytesInto) Scan(stored any) error {
	text, err := storedText(stored)
	if err != nil || text == "" {
		*b.to = nil
		return err
	}
	*b.to, err = base64.StdEncoding.DecodeString(text)
	return err
}

// Scan takes JSON.
func (j jsonInto) Scan(stored any) error {
	text, err := storedText(stored)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), j.to)
}

func storedText(stored any) (string, error) {
	switch v := stored.(type) {
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	}
	return "", fmt.Errorf("a text is stored as %T", stored)
}
