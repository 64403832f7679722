// Command convert makes openapi.json (OpenAPI 3) from swagger.json (Swagger 2.0), both in the folder it runs in.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"unicode"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "convert:", err)
		os.Exit(1)
	}
}

func run() error {
	text, err := os.ReadFile("swagger.json")
	if err != nil {
		return err
	}
	var v2 openapi2.T
	if err := json.Unmarshal(text, &v2); err != nil {
		return fmt.Errorf("read swagger.json: %w", err)
	}
	v3, err := openapi2conv.ToV3(&v2)
	if err != nil {
		return fmt.Errorf("convert: %w", err)
	}
	v3.Servers = openapi3.Servers{{URL: "/"}}
	markNullable(v3)
	nameOperations(v3)
	if err := v3.Validate(context.Background()); err != nil {
		return fmt.Errorf("the converted document is not valid: %w", err)
	}
	raw, err := json.Marshal(v3)
	if err != nil {
		return err
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, raw, "", "    "); err != nil {
		return err
	}
	pretty.WriteByte('\n')
	return os.WriteFile("openapi.json", pretty.Bytes(), 0o644)
}

// markNullable turns Swagger 2.0's x-nullable into OpenAPI 3's nullable. A field that is a reference is wrapped, because nothing may stand
// beside a $ref.
func markNullable(doc *openapi3.T) {
	for _, ref := range doc.Components.Schemas {
		for property, p := range ref.Value.Properties {
			if v, ok := p.Extensions["x-nullable"].(bool); ok && v && p.Ref != "" {
				ref.Value.Properties[property] = &openapi3.SchemaRef{Value: &openapi3.Schema{Nullable: true, AllOf: openapi3.SchemaRefs{{Ref: p.Ref, Value: p.Value}}}}
				continue
			}
			if p.Value == nil {
				continue
			}
			if v, ok := p.Value.Extensions["x-nullable"].(bool); ok && v {
				p.Value.Nullable = true
				delete(p.Value.Extensions, "x-nullable")
			}
		}
	}
}

// nameOperations gives every operation an id, which generators of clients make method names of: the method and the words of the path.
func nameOperations(doc *openapi3.T) {
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.OperationID == "" {
				operation.OperationID = operationID(method, path)
			}
		}
	}
}

func operationID(method, path string) string {
	id := strings.ToLower(method)
	for segment := range strings.SplitSeq(path, "/") {
		by := ""
		if strings.HasPrefix(segment, "{") {
			by = "By"
		}
		words := strings.FieldsFunc(segment, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		for i, word := range words {
			words[i] = strings.ToUpper(word[:1]) + word[1:]
		}
		id += by + strings.Join(words, "")
	}
	return id
}
