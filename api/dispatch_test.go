package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
)

// dispatched is an answer of the dispatch route, read to its end.
type dispatched struct {
	*http.Response
	text string
	err  error
}

// dispatch sends a request to the data source and reads what comes.
func (w *world) dispatch(ctx context.Context, accept string, body map[string]any) dispatched {
	w.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, "POST", w.url+"/v2.0/myorg/gatewayClusters/"+w.cluster+"/dispatch", strings.NewReader(string(text)))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return dispatched{resp, string(got), err}
}

func TestDispatchAnswersInTheFormatThatWasAskedFor(t *testing.T) {
	w := newWorld(t)
	w.joined()
	w.must(200, "PATCH", "/gatewayClusters/"+w.cluster+"/memberGateways/"+w.cluster, map[string]any{"name": "Büro"}, nil)
	source := w.source("db")
	for accept, want := range map[string]string{
		"application/json":     `["1","ä"]`,
		"*/*":                  `["2","b"]`,
		"application/x-ndjson": `{"a":"1","b":"ä"}`,
		"text/csv":             "1,ä",
	} {
		got := w.dispatch(context.Background(), accept, map[string]any{"datasourceId": source, "query": map[string]any{"text": ""}})
		if got.err != nil || got.StatusCode != 200 || !strings.Contains(got.text, want) {
			t.Errorf("%s: %d %q %v", accept, got.StatusCode, got.text, got.err)
		}
		if accept != "*/*" && !strings.HasPrefix(got.Header.Get("Content-Type"), accept) {
			t.Errorf("%s: the type is %q", accept, got.Header.Get("Content-Type"))
		}
		if got.Header.Get("X-Gateway-Member-Id") != w.cluster || got.Header.Get("X-Gateway-Member-Name") != "B%C3%BCro" || got.Header.Get("X-Gateway-Attempts") != "1" || got.Header.Get("RequestId") == "" {
			t.Errorf("%s: headers %v", accept, got.Header)
		}
	}
	got := w.dispatch(context.Background(), "text/html", map[string]any{"datasourceId": source, "query": map[string]any{"text": ""}})
	if got.StatusCode != 406 || !strings.Contains(got.text, `"NotAcceptable"`) {
		t.Errorf("text/html: %d %s", got.StatusCode, got.text)
	}
}

func TestDispatchRefuses(t *testing.T) {
	w := newWorld(t)
	w.joined()
	source := w.source("db")
	path := "/gatewayClusters/" + w.cluster + "/dispatch"
	query := map[string]any{"text": ""}
	for _, c := range []struct {
		status int
		code   string
		body   map[string]any
	}{
		{400, "InvalidInput", map[string]any{"datasourceId": source}},
		{400, "InvalidInput", map[string]any{"query": query}},
		{400, "InvalidInput", map[string]any{"datasourceId": "x", "query": query}},
		{400, "InvalidInput", map[string]any{"datasourceId": source, "http": map[string]any{"path": "/"}}},
		{400, "InvalidInput", map[string]any{"datasourceId": source, "query": query, "timeoutSeconds": 0}},
		{400, "InvalidInput", map[string]any{"datasourceId": source, "query": query, "timeoutSeconds": 1.5}},
		{400, "InvalidInput", map[string]any{"datasourceId": source, "query": map[string]any{"text": "", "maxRows": -1}}},
		{400, "InvalidInput", map[string]any{"datasourceId": source, "query": query, "retry": true}},
		{404, "PowerBIEntityNotFound", map[string]any{"datasourceId": uuid.NewString(), "query": query}},
	} {
		w.fails(c.status, c.code, "POST", path, c.body)
	}
	stranger := w.as("stranger")
	stranger.fails(404, "PowerBIEntityNotFound", "POST", path, map[string]any{"datasourceId": source, "query": query})
	w.must(200, "POST", "/gatewayClusters/"+w.cluster+"/permissions", map[string]any{"id": stranger.adminID, "role": "ConnectionCreator"}, nil)
	stranger.fails(404, "PowerBIEntityNotFound", "POST", path, map[string]any{"datasourceId": source, "query": query})
	stranger.fails(404, "PowerBIEntityNotFound", "POST", "/gatewayClusters/"+w.cluster+"/route", map[string]any{"datasourceId": source})
	w.must(200, "POST", "/gatewayClusters/"+w.cluster+"/datasources/"+source+"/users", map[string]any{"identifier": stranger.adminID, "datasourceAccessRight": "Read", "principalType": "App"}, nil)
	if got := stranger.dispatch(context.Background(), "text/csv", map[string]any{"datasourceId": source, "query": query}); got.StatusCode != 200 {
		t.Errorf("a user of the data source: %d %s", got.StatusCode, got.text)
	}
}

// large registers a file of 80 MB, more than all the windows and buffers on the way hold.
func (w *world) large() string {
	w.t.Helper()
	return w.file("large.csv", "a,b\n"+strings.Repeat("1,abcdefghijklmnopqrstuvwxyz\n", 2_800_000))
}

// file writes a file where members may read it and makes a data source of it.
func (w *world) file(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	var made struct{ ID string }
	w.must(201, "POST", "/gatewayClusters/"+w.cluster+"/datasources", map[string]any{"datasourceType": "File", "datasourceName": name,
		"connectionDetails": fmt.Sprintf(`{"path":%q}`, path), "credentialDetails": w.credentials()}, &made)
	return made.ID
}

// running is how many requests the member says it runs.
func (w *world) running() float64 {
	var m struct{ RunningRequests float64 }
	w.must(200, "GET", "/gatewayClusters/"+w.cluster+"/memberGateways/"+w.cluster, nil, &m)
	return m.RunningRequests
}

// outcomes are the outcomes of the cluster's dispatches so far.
func (w *world) outcomes() string {
	return w.must(200, "GET", "/gatewayClusters/"+w.cluster+"/dispatchRecords", nil, nil)
}

func TestACallerThatGoesAwayEndsItsRequest(t *testing.T) {
	w := newWorld(t)
	w.joined()
	body := fmt.Sprintf(`{"datasourceId":%q,"query":{"text":""}}`, w.large())
	ctx, goAway := context.WithCancel(context.Background())
	defer goAway()
	req, _ := http.NewRequestWithContext(ctx, "POST", w.url+"/v2.0/myorg/gatewayClusters/"+w.cluster+"/dispatch", strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+w.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	w.eventually("the request is counted", func() bool { return w.running() == 1 })
	goAway()
	w.eventually("the request is over", func() bool { return w.running() == 0 })
	w.eventually("its record says so", func() bool { return strings.Contains(w.outcomes(), `"outcome":"ClientClosedRequest"`) })
}

// The member ends a request whose time is up and marks the document, also when its reader was slow.
func TestATimeOutMarksTheDocument(t *testing.T) {
	w := newWorld(t)
	w.joined()
	source := w.large()
	body := fmt.Sprintf(`{"datasourceId":%q,"query":{"text":""},"timeoutSeconds":1}`, source)
	req, _ := http.NewRequest("POST", w.url+"/v2.0/myorg/gatewayClusters/"+w.cluster+"/dispatch", strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Accept", "application/x-ndjson")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(&slowly{resp.Body, time.Now().Add(1200 * time.Millisecond)})
	if err != nil {
		return // it was cut, which is visible too
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if last := lines[len(lines)-1]; !strings.Contains(last, `{"error":`) || !strings.Contains(last, "GatewayRequestTimeout") || !strings.HasPrefix(resp.Trailer.Get("X-Gateway-Error"), "GatewayRequestTimeout: ") {
		t.Errorf("the last line is %q, the trailer %v", last, resp.Trailer)
	}
}

// A shop takes the order and answers too late: whoever heard that it was cancelled would order again.
func TestAnOrderThatIsAnsweredTooLateIsNotToldAsCancelled(t *testing.T) {
	w := newWorld(t)
	var orders atomic.Int64
	shop := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		if r.Method == http.MethodPost {
			orders.Add(1)
		}
		if r.URL.Path == "/orders" {
			<-r.Context().Done()
		}
	}))
	defer shop.Close()
	w.joined()
	var made struct{ ID string }
	w.must(201, "POST", "/gatewayClusters/"+w.cluster+"/datasources", map[string]any{"datasourceType": "Web", "datasourceName": "shop",
		"connectionDetails": fmt.Sprintf(`{"url":%q}`, shop.URL+"/"), "credentialDetails": w.credentials()}, &made)
	ask := func(method string, readOnly bool) map[string]any {
		return map[string]any{"datasourceId": made.ID, "http": map[string]any{"method": method, "path": "/orders", "body": "one"}, "timeoutSeconds": 1, "readOnly": readOnly}
	}
	got := w.dispatch(context.Background(), "application/json", ask("POST", false))
	if got.StatusCode != 502 || !strings.Contains(got.text, `"GatewayRequestOutcomeUnknown"`) || !strings.Contains(got.text, "look before you repeat it") || orders.Load() != 1 {
		t.Errorf("%d orders, and the caller hears %d %s", orders.Load(), got.StatusCode, got.text)
	}
	if got := w.dispatch(context.Background(), "application/json", ask("GET", true)); got.StatusCode != 504 || !strings.Contains(got.text, `"GatewayRequestTimeout"`) {
		t.Errorf("reading: %d %s", got.StatusCode, got.text)
	}
	w.eventually("the records say the same", func() bool {
		said := w.outcomes()
		return strings.Contains(said, `"outcome":"GatewayRequestOutcomeUnknown"`) && strings.Contains(said, `"outcome":"GatewayRequestTimeout"`)
	})
}

// slowly reads byte by byte until a time, so that the answer is not through before its time is up.
type slowly struct {
	reader io.Reader
	until  time.Time
}

func (s *slowly) Read(p []byte) (int, error) {
	if time.Now().Before(s.until) {
		p = p[:1]
	}
	return s.reader.Read(p)
}
