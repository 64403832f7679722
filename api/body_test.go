package api_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"comporta/api"
	"comporta/persistence"
)

const shortBody = 400 * time.Millisecond

func shortBodies(c *api.Config) { c.BodyTimeout = shortBody }

// half sends a request whose body never comes in whole, and says what came back, after how long, and whether the connection was closed then.
func (w *world) half(method, path, header, body string) (status int, took time.Duration, closed bool) {
	w.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	started := time.Now()
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n%s\r\n%s", method, path, header, body)
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return 0, time.Since(started), true
	}
	if _, err := io.ReadAll(resp.Body); err != nil {
		w.t.Errorf("%s %s: the answer is not whole: %v", method, path, err)
	}
	took = time.Since(started)
	_, err = r.ReadByte()
	return resp.StatusCode, took, err == io.EOF
}

// A body that does not come holds up no answer that needs none, and nothing for ever.
func TestABodyThatDoesNotCome(t *testing.T) {
	w := newWorld(t, shortBodies)
	token := "Authorization: Bearer " + w.token + "\r\n"
	const length, chunked, expect = "Content-Length: 100\r\n", "Transfer-Encoding: chunked\r\n", "Content-Length: 100\r\nExpect: 100-continue\r\n"
	const clusters = "/v2.0/myorg/gatewayClusters"
	for _, c := range []struct {
		name, method, path, header, body string
		status                           int
		// waits: the answer takes the time that a body has.
		waits bool
	}{
		{"no token", "POST", clusters, length, `{"a"`, 401, false},
		{"no token, chunked", "POST", clusters, chunked, "4\r\n{\"a\"\r\n", 401, false},
		{"no token, body on demand", "POST", clusters, expect, "", 401, false},
		{"no token, nothing of the body", "POST", clusters, length, "", 401, false},
		{"no token, a GET with a body", "GET", clusters, length, "abcd", 401, false},
		{"no such path", "POST", "/nothing", token + length, `{"a"`, 404, false},
		{"no such path on Fabric", "POST", "/v1/nothing", token + length, `{"a"`, 404, false},
		{"no such cluster", "PATCH", clusters + "/11111111-1111-1111-1111-111111111111", token + length, `{"a"`, 404, false},
		{"too large", "POST", clusters, token + "Content-Length: 2000000\r\n", `{"a"`, 413, false},
		{"too large a form", "POST", "/oauth2/v2.0/token", "Content-Length: 200000\r\n", "gran", 400, false},
		{"with a token", "POST", clusters, token + length, `{"a"`, 408, true},
		{"with a token, chunked", "POST", clusters, token + chunked, "4\r\n{\"a\"\r\n", 408, true},
		{"a form", "POST", "/oauth2/v2.0/token", length, "gran", 408, true},
		{"an enrolment", "POST", "/enrolment/begin", length, `{"a"`, 408, true},
		{"a GET with a body", "GET", "/v2.0/myorg/gatewayRegions", token + length, "abcd", 200, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			status, took, closed := w.half(c.method, c.path, c.header, c.body)
			if status != c.status || !closed {
				t.Errorf("status %d, want %d; closed %v", status, c.status, closed)
			}
			if waited := took >= shortBody; waited != c.waits || took > shortBody+5*time.Second {
				t.Errorf("the answer took %v", took)
			}
		})
	}
}

// A body that comes slowly gets the time it needs; one that stops does not.
func TestABodyThatCreepsIn(t *testing.T) {
	w := newWorld(t, shortBodies)
	for name, framing := range map[string]string{"with its length": "Content-Length: 100000\r\n", "chunked": "Transfer-Encoding: chunked\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(30 * time.Second))
			began, tick := time.Now(), time.NewTicker(shortBody)
			defer tick.Stop()
			fmt.Fprintf(conn, "POST /v2.0/myorg/gatewayClusters HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\n", w.token, framing)
			head, piece, foot := "", strings.Repeat(" ", 10_000), ""
			if name == "chunked" {
				head, foot = "2710\r\n", "\r\n"
			}
			for range 9 {
				fmt.Fprint(conn, head+piece+foot)
				if <-tick.C; time.Since(began) > 4*shortBody {
					break
				}
			}
			fmt.Fprint(conn, head+"nonsense") // and here it stops
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || resp.StatusCode != 408 {
				t.Fatalf("%v, %v after %v", resp, err, time.Since(began))
			}
			if took := time.Since(began); took < 4*shortBody || took > 25*time.Second {
				t.Errorf("it was given up after %v", took)
			}
		})
	}
}

// Who is refused while he still sends much can read why: a connection that is reset may take the answer with it.
func TestARefusalReachesWhoStillSends(t *testing.T) {
	w := newWorld(t)
	for token, want := range map[string]int{"": 401, w.token: 413} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		const size = 5_000_000
		go func() { // not all of it is taken
			_, _ = fmt.Fprintf(conn, "POST /v2.0/myorg/gatewayClusters HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", token, size, strings.Repeat("x", size))
		}()
		r := bufio.NewReader(conn)
		resp, err := http.ReadResponse(r, nil)
		if err != nil || resp.StatusCode != want {
			t.Fatalf("%v, %v; want %d", resp, err, want)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Errorf("%d: %v", want, err)
		}
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("%d: the connection ended with %v", want, err)
		}
	}
}

// A refused request whose body is there leaves the connection usable, small or not.
func TestARefusalKeepsTheConnection(t *testing.T) {
	w := newWorld(t)
	for _, size := range []int{10, 3000, 100_000} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		r := bufio.NewReader(conn)
		for range 3 {
			fmt.Fprintf(conn, "POST /v2.0/myorg/gatewayClusters HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", size, strings.Repeat("x", size))
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			if resp.StatusCode != 401 || resp.Close {
				t.Errorf("%d bytes: %d, closes %v", size, resp.StatusCode, resp.Close)
			}
		}
	}
}

func TestABodyThatDoesNotComeOverHTTP2(t *testing.T) {
	listener := httptest.NewUnstartedServer(nil)
	listener.EnableHTTP2, listener.TLS = true, &tls.Config{}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	w := newWorldBehind(t, listener, client, persistence.Config{DataDir: t.TempDir()}, shortBodies)
	for token, want := range map[string]int{"": 401, w.token: 408} {
		body, sends := io.Pipe()
		go sends.Write([]byte(`{"a"`))
		req, _ := http.NewRequest("POST", w.url+"/v2.0/myorg/gatewayClusters", body)
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != want || resp.ProtoMajor != 2 {
			t.Errorf("%d over %s, want %d over HTTP/2", resp.StatusCode, resp.Proto, want)
		}
		resp.Body.Close()
		sends.Close()
	}
}

// The time that a body has does not bound the dispatch that it asks for, and a caller who goes away is noticed after it as before.
func TestADispatchOutlivesTheTimeOfItsBody(t *testing.T) {
	w := newWorld(t, shortBodies)
	late, left := make(chan struct{}, 1), make(chan struct{}, 1)
	slow := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(2 * shortBody): // a body would be late by now
		case <-r.Context().Done():
			t.Error("the dispatch was cut when its body's time was over")
			return
		}
		if r.URL.Path != "/held" {
			io.WriteString(rw, "slow and whole")
			return
		}
		late <- struct{}{}
		<-r.Context().Done()
		left <- struct{}{}
	}))
	defer slow.Close()
	w.joined()
	var made struct{ ID string }
	w.must(201, "POST", "/gatewayClusters/"+w.cluster+"/datasources", map[string]any{"datasourceType": "Web", "datasourceName": "slow",
		"connectionDetails": fmt.Sprintf(`{"url":%q}`, slow.URL+"/"), "credentialDetails": w.credentials()}, &made)
	ask := fmt.Sprintf(`{"datasourceId":%q,"http":{"method":"GET","path":"held"}}`, made.ID)
	if text := w.must(200, "POST", "/gatewayClusters/"+w.cluster+"/dispatch", map[string]any{"datasourceId": made.ID, "http": map[string]any{"method": "GET", "path": "/"}}, nil); !strings.Contains(text, "slow and whole") {
		t.Errorf("got %s", text)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST /v2.0/myorg/gatewayClusters/%s/dispatch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", w.cluster, w.token, len(ask), ask)
	<-late
	conn.Close()
	select {
	case <-left:
	case <-time.After(10 * time.Second):
		t.Error("the caller went away and the request ran on")
	}
}
