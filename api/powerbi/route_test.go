package powerbi_test

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"
)

// A client that sends its body in chunks sends an empty one without saying so beforehand.
func TestARouteTakesAnEmptyBodyHoweverItIsSent(t *testing.T) {
	w := newV1World(t)
	path := "/v2.0/myorg/gatewayClusters/" + w.cluster("Lisbon") + "/route"
	for body, want := range map[string]int{"": 200, " \r\n": 200, "{}": 200, `{"readOnly":true}`: 200, "x": 400, `{"unknown":1}`: 400} {
		for _, length := range []int64{-1, int64(len(body))} {
			r := httptest.NewRequest("POST", path, io.NopCloser(strings.NewReader(body)))
			r.ContentLength = length
			r.Header.Set("Authorization", "Bearer "+w.token)
			a := httptest.NewRecorder()
			w.handler.ServeHTTP(a, r)
			if a.Code != want {
				t.Errorf("%q of length %d: %d %s, want %d", body, length, a.Code, a.Body, want)
			}
		}
	}
}
