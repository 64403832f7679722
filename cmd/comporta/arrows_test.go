package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// room is what one room may import: rooms of the project (with everything below a name that ends in /) and libraries. The standard
// library is free but for what never lists.
type room struct {
	arrows    []string
	libraries []string
	never     []string
}

// everywhere may be imported from all rooms.
const everywhere = "service/gateway"

// rooms are the arrows of the architecture page. What is not here is forbidden. service/member needs recovery because a machine that joins
// unseals the cluster's key by itself.
var rooms = map[string]room{
	"cmd": {arrows: []string{"api/", "openapi/", "service/", "persistence/"},
		libraries: []string{"github.com/alecthomas/kong", "golang.org/x/sys", "golang.org/x/term", "github.com/google/uuid", "github.com/prometheus/client_golang"}},
	"api":                {arrows: []string{"api/", "service", "openapi"}, libraries: []string{"github.com/labstack/echo/v4", "golang.org/x/time"}, never: []string{"database/sql"}},
	"openapi":            {arrows: nil, libraries: []string{"github.com/swaggo/files/v2"}},
	"openapi/convert":    {arrows: nil, libraries: []string{"github.com/getkin/kin-openapi"}},
	"service":            {arrows: []string{"persistence", "service/routing", "service/recovery"}, libraries: []string{"github.com/golang-jwt/jwt/v5", "golang.org/x/crypto", "golang.org/x/text"}, never: []string{"net/http", "database/sql"}},
	"service/gateway":    {},
	"service/routing":    {never: []string{"net/http", "database/sql", "log/slog", "sync"}},
	"service/recovery":   {libraries: []string{"golang.org/x/crypto"}, never: []string{"net/http", "database/sql"}},
	"service/credential": {libraries: []string{"golang.org/x/crypto"}, never: []string{"net/http", "database/sql"}},
	"service/issuer":     {libraries: []string{"github.com/coreos/go-oidc/v3", "github.com/go-jose/go-jose/v4", "golang.org/x/sync"}, never: []string{"database/sql"}},
	"service/tunnel":     {libraries: []string{"golang.org/x/sys"}, never: []string{"database/sql"}},
	"service/connector":  {libraries: []string{"github.com/go-sql-driver/mysql", "github.com/jackc/pgx/v5", "github.com/mattn/go-sqlite3", "github.com/microsoft/go-mssqldb"}},
	"service/member":     {arrows: []string{"service/tunnel", "service/connector", "service/credential", "service/recovery"}, libraries: []string{"github.com/gofrs/flock", "github.com/shirou/gopsutil/v3"}, never: []string{"database/sql"}},
	"persistence":        {libraries: []string{"github.com/gofrs/flock", "github.com/jackc/pgx/v5", "github.com/mattn/go-sqlite3", "github.com/pressly/goose/v3"}, never: []string{"net/http"}},
}

// goPackage is what go list says of a package. Imports are those of the product's files, not of its tests.
type goPackage struct {
	Dir, ImportPath string
	Standard        bool
	GoFiles         []string
	Imports         []string
}

// packages lists the project's packages: those that the program is made of, or all.
func packages(t *testing.T, args ...string) []goPackage {
	t.Helper()
	list := exec.Command("go", append([]string{"list", "-json=Dir,ImportPath,Standard,GoFiles,Imports"}, args...)...)
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var found []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(p.ImportPath, "comporta/") {
			found = append(found, p)
		}
	}
}

// roomOf finds the room with the longest name that the package stands in or under.
func roomOf(path string) (string, bool) {
	for name := path; name != "."; name = filepath.Dir(name) {
		if _, ok := rooms[name]; ok {
			return name, true
		}
	}
	return "", false
}

func TestImportsFollowTheArrows(t *testing.T) {
	for _, p := range append(packages(t, "-deps", "./cmd/comporta"), packages(t, "./openapi/...")...) {
		path := strings.TrimPrefix(p.ImportPath, "comporta/")
		name, ok := roomOf(path)
		if !ok {
			t.Errorf("%s stands in no room of the architecture", path)
			continue
		}
		for _, imported := range p.Imports {
			if problem := rooms[name].refuses(path, imported); problem != "" {
				t.Errorf("%s imports %s: %s", path, imported, problem)
			}
		}
	}
}

// refuses says why a package of the room may not import something; "" when it may.
func (r room) refuses(path, imported string) string {
	if own, ok := strings.CutPrefix(imported, "comporta/"); ok {
		if own == everywhere || slices.ContainsFunc(r.arrows, func(a string) bool {
			return own == strings.TrimSuffix(a, "/") || strings.HasSuffix(a, "/") && strings.HasPrefix(own, a)
		}) {
			return ""
		}
		return "there is no such arrow"
	}
	if strings.Contains(strings.Split(imported, "/")[0], ".") {
		if slices.ContainsFunc(r.libraries, func(l string) bool { return imported == l || strings.HasPrefix(imported, l+"/") }) {
			return ""
		}
		return "this library has another room"
	}
	if slices.Contains(r.never, imported) {
		return "never here"
	}
	return ""
}

// TestArrowsRefuse shows that the walk can fail.
func TestArrowsRefuse(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"api/powerbi", "comporta/persistence"}, {"api", "comporta/service/tunnel"}, {"service", "comporta/api"}, {"service", "net/http"},
		{"service/member", "comporta/service"}, {"persistence", "comporta/service"}, {"service/gateway", "github.com/google/uuid"},
		{"service/tunnel", "github.com/labstack/echo/v4"}, {"service/routing", "log/slog"},
	} {
		name, _ := roomOf(c.from)
		if rooms[name].refuses(c.from, c.to) == "" {
			t.Errorf("%s may import %s", c.from, c.to)
		}
	}
}

// Time, randomness and ids come in through constructors: outside cmd nobody asks the clock or makes a random number.
func TestTimeAndChanceComeIn(t *testing.T) {
	sources := []string{"crypto/rand", "math/rand", "math/rand/v2", "github.com/google/uuid"}
	for _, p := range packages(t, "-deps", "./cmd/comporta") {
		if strings.HasPrefix(p.ImportPath, "comporta/cmd/") {
			continue
		}
		for _, imported := range p.Imports {
			if slices.Contains(sources, imported) {
				t.Errorf("%s imports %s", p.ImportPath, imported)
			}
		}
		for _, file := range p.GoFiles {
			if line := asksTheClock(t, filepath.Join(p.Dir, file)); line > 0 {
				t.Errorf("%s/%s:%d asks the clock", p.ImportPath, file, line)
			}
		}
	}
}

// asksTheClock finds the first use of time.Now, time.Since or time.Until in a file; 0 for none.
func asksTheClock(t *testing.T, path string) int {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	line := 0
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok || line > 0 {
			return line == 0
		}
		if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && (s.Sel.Name == "Now" || s.Sel.Name == "Since" || s.Sel.Name == "Until") {
			line = files.Position(s.Pos()).Line
		}
		return true
	})
	return line
}
