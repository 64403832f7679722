package api

import (
	"strings"
	"testing"
)

func TestNormalPath(t *testing.T) {
	for path, want := range map[string]string{
		"/": "/", "": "", "//": "/", "/A/B/": "/a/b", "/x(1)": "/x/1", "/x(1)/Y('2')/": "/x/1/y/2", "/x({G})": "/x/{g}", "/x()": "/x", "/(1)": "/(1)", "/x(1": "/x(1", "/x(1)y": "/x(1)y",
		"/swagger/Swagger-UI.css": "/swagger/Swagger-UI.css", "/SWAGGER": "/swagger",
	} {
		if got := normalPath(path); got != want {
			t.Errorf("%q became %q, want %q", path, got, want)
		}
	}
}

func TestWhatNeedNotBeEscapedIsNot(t *testing.T) {
	for path, want := range map[string]string{"/%76%31/a": "/v1/a", "/%56%31": "/V1", "/a%2Fb%2f": "/a%2Fb%2f", "/%e2%82%ac%20": "/%e2%82%ac%20", "/%7E%2d%5F": "/~-_", "/%": "/%", "/%4": "/%4", "/%zz": "/%zz", "/%2576": "/%2576"} {
		if got := unescapeUnreserved(path); got != want {
			t.Errorf("%q became %q, want %q", path, got, want)
		}
	}
}

// A path in its one form stays as it is, and no form leaves the root.
func FuzzNormalPath(f *testing.F) {
	f.Add("/V2.0/myorg/gatewayClusters({id})/Status/")
	f.Add("/x()")
	f.Fuzz(func(t *testing.T, path string) {
		if !strings.HasPrefix(path, "/") {
			return
		}
		once := normalPath(path)
		if !strings.HasPrefix(once, "/") {
			t.Errorf("%q became %q", path, once)
		}
	})
}
