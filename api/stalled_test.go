package api_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
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
