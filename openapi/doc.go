// Package openapi holds the generated description of the API, in Swagger 2.0 and OpenAPI 3, and Swagger UI, which shows it.
//
// swagger.json comes from the comments of the handlers, openapi.json is converted from it; both are committed, never edited, and CI
// fails when `go generate ./openapi` changes them.
package openapi

//go:generate go tool swag init --quiet --dir ../api,../service/gateway --generalInfo doc.go --output . --outputTypes json
//go:generate go run ./convert

import (
	"embed"
	"io/fs"

	swaggerFiles "github.com/swaggo/files/v2"
)

// Swagger2 is the description in Swagger 2.0.
//
//go:embed swagger.json
var Swagger2 []byte

// OpenAPI3 is the description in OpenAPI 3.
//
//go:embed openapi.json
var OpenAPI3 []byte

//go:embed ui
var own embed.FS

// UI is Swagger UI: the project's own page and start script over the distribution's files.
var UI fs.FS = layered{}

// layered finds a file in the folder ui first and in the distribution otherwise.
type layered struct{}

// Open implements fs.FS.
func (layered) Open(name string) (fs.File, error) {
	if f, err := own.Open("ui/" + name); err == nil {
		return f, nil
	}
	return swaggerFiles.FS.Open(name)
}
