package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"comporta/api"
)

// A caller that stops reading is cut off when his request's time is up, the request ends everywhere, and the record says why.
func TestACallerThatStopsReadingIsCutOff(t *testing.T) {
	w := newWorld(t)
	w.joined()
	body := fmt.Sprintf(`{"datasourceId":%q,"query":{"text":""},"timeoutSeconds":1}`, w.large())
	req, _ := http.NewRequest("POST", w.url+"/v2.0/myorg/gatewayClusters/"+w.cluster+"/dispatch", strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+w.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 300)); err != nil {
		t.Fatal(err)
	}
	w.eventually("its record says that the time was up", func() bool { return strings.Contains(w.outcomes(), `"outcome":"GatewayRequestTimeout"`) })
	w.eventually("nothing runs any more", func() bool { return w.running() == 0 })
	// It is cut, or says in a trailer why it is not whole, when the member was the one that noticed.
	if _, err := io.Copy(io.Discard, resp.Body); err == nil && resp.Trailer.Get("X-Gateway-Error") == "" {
		t.Error("what the caller got looks complete")
	}
}

// A stranger who asks for a large page over HTTP/2 and leaves its window shut holds it no longer than an answer may take.
func TestAnAnswerWhoseWindowStaysShutIsCut(t *testing.T) {
	w := newWorld(t, func(c *api.Config) { c.AnswerTimeout = 200 * time.Millisecond })
	ended := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(answer http.ResponseWriter, req *http.Request) {
		defer close(ended)
		w.api.Handler().ServeHTTP(answer, req)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	client := server.Client()
	client.Transport.(*http.Transport).HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10}
	resp, err := client.Get(server.URL + "/swagger/swagger-ui-bundle.js")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("the answer still waits for its caller")
	}
	if _, err := io.Copy(io.Discard, resp.Body); resp.ProtoMajor != 2 || err == nil {
		t.Errorf("got %s, and the page looks complete", resp.Proto)
	}
}
