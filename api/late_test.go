package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"comporta/api"
)

// begin sends a request's header, waits until the service asks for the body, and returns what sends it and reads the answer's status.
func (w *world) begin(method, path, body string) (finish func() int) {
	w.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "%s /v2.0/myorg%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n",
		method, path, w.token, len(body))
	reader := bufio.NewReader(conn)
	// Asked for only by a handler, behind the check of the caller's rights.
	if resp, err := http.ReadResponse(reader, nil); err != nil || resp.StatusCode != http.StatusContinue {
		w.t.Fatal(resp, err)
	}
	return func() int {
		_, _ = io.WriteString(conn, body)
		resp, err := http.ReadResponse(reader, nil)
		if err != nil {
			w.t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
}

// A request whose body is held back must not keep a right that was taken away meanwhile: one after the other, it would keep it for ever.
func TestARightIsAskedAgainWhenTheBodyComesLate(t *testing.T) {
	var ahead atomic.Int64
	w := newWorld(t, func(c *api.Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	var c struct{ ID string }
	w.must(201, "POST", "/gatewayClusters", map[string]any{"name": "x", "recoveryKey": recoveryKey}, &c)
	permissions := "/gatewayClusters/" + c.ID + "/permissions"
	mallory, eve, good := w.as("mallory"), w.as("eve"), w.as("good")
	w.must(200, "PATCH", "/principals/"+mallory.adminID, map[string]any{"tenantAdmin": true}, nil)
	for _, who := range []*world{eve, good} {
		w.must(200, "POST", permissions, map[string]any{"id": who.adminID, "role": "Admin"}, nil)
	}
	disabled := mallory.begin("POST", "/principals", `{"principalType":"App","displayName":"back door","tenantAdmin":true}`)
	removed := eve.begin("POST", permissions, fmt.Sprintf(`{"id":%q,"role":"Admin"}`, eve.adminID))
	kept := good.begin("PATCH", "/gatewayClusters/"+c.ID, `{"description":"late"}`)
	w.must(200, "PATCH", "/principals/"+mallory.adminID, map[string]any{"disabled": true}, nil)
	w.must(200, "DELETE", permissions+"/"+eve.adminID, nil, nil)
	ahead.Store(int64(time.Second))
	for name, test := range map[string]struct {
		finish func() int
		want   int
	}{"disabled": {disabled, 401}, "role taken away": {removed, 404}, "as before": {kept, 200}} {
		if got := test.finish(); got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
}
