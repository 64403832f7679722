package api_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

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

// shutWindow speaks HTTP/2 and lets no byte of an answer's body come.
type shutWindow struct {
	t      testing.TB
	frames *http2.Framer
	ended  chan string
	stream uint32
}

func (w *world) shutWindow() *shutWindow {
	w.t.Helper()
	s := &shutWindow{t: w.t, ended: make(chan string, 1), stream: 1}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(answer http.ResponseWriter, req *http.Request) {
		defer func() { s.ended <- req.URL.Path }()
		w.api.Handler().ServeHTTP(answer, req)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	conn, err := tls.Dial("tcp", server.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) // it is about windows
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close(); server.Close() })
	s.frames = http2.NewFramer(conn, conn)
	_, _ = conn.Write([]byte(http2.ClientPreface))
	_ = s.frames.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	return s
}

// ask sends a request and waits until the server resets its stream, as it does when a write's time is over.
func (s *shutWindow) ask(method, path, token, body string) {
	s.t.Helper()
	var block bytes.Buffer
	fields := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", method}, {":scheme", "https"}, {":authority", "x"}, {":path", path}, {"authorization", "Bearer " + token}, {"content-type", "application/json"}, {"accept", "text/csv"}} {
		_ = fields.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	_ = s.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: s.stream, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: body == ""})
	if body != "" {
		_ = s.frames.WriteData(s.stream, true, []byte(body))
	}
	reset := make(chan error, 1)
	go func() { reset <- s.untilReset(s.stream) }()
	select {
	case err := <-reset:
		if err != nil {
			s.t.Errorf("%s %s: %v", method, path, err)
		}
	case <-time.After(30 * time.Second):
		s.t.Fatalf("%s %s: the answer still waits for its caller", method, path)
	}
	<-s.ended
	s.stream += 2
}

func (s *shutWindow) untilReset(stream uint32) error {
	for {
		frame, err := s.frames.ReadFrame()
		switch f := frame.(type) {
		case nil:
			return err
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = s.frames.WriteSettingsAck()
			}
		case *http2.RSTStreamFrame:
			if f.StreamID == stream {
				return nil
			}
		}
	}
}

// Whoever asks over HTTP/2 and leaves his window shut holds an answer no longer than it may take: a public page, an error, a path that is
// none, and a dispatch with and without a right to it.
func TestAnAnswerWhoseWindowStaysShutIsCut(t *testing.T) {
	w := newWorld(t, func(c *api.Config) { c.AnswerTimeout = 200 * time.Millisecond })
	w.joined()
	dispatch := "/v2.0/myorg/gatewayClusters/" + w.cluster + "/dispatch"
	s := w.shutWindow()
	s.ask("GET", "/swagger/swagger-ui-bundle.js", "", "")
	s.ask("GET", "/healthz", "", "")
	s.ask("GET", "/v1/gateways", "", "")
	s.ask("GET", "/nothing/here", "", "")
	s.ask("PUT", "/healthz", "", "")
	s.ask("POST", dispatch, "", "{}")
	s.ask("POST", dispatch, w.token, "{}")
	s.ask("POST", dispatch, w.token, fmt.Sprintf(`{"datasourceId":%q,"query":{"text":""},"timeoutSeconds":1}`, w.large()))
	s.ask("POST", dispatch, w.token, fmt.Sprintf(`{"datasourceId":%q,"query":{"text":""},"timeoutSeconds":1}`, w.file("small.csv", "a,b\n1,2\n")))
	w.eventually("nothing runs any more", func() bool { return w.running() == 0 })
}
