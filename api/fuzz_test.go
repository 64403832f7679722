package api_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// asked sends a request straight to the handler. Requests whose address no HTTP server would hand on are left out.
func (w *world) asked(method, target, token, body string) *httptest.ResponseRecorder {
	u, err := url.ParseRequestURI(target)
	if err != nil || !strings.HasPrefix(target, "/") || u.Host != "" {
		return nil
	}
	req := &http.Request{Method: method, URL: u, RequestURI: target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Host: "127.0.0.1", RemoteAddr: "127.0.0.1:1", Header: http.Header{}}
	r := req.WithContext(context.Background())
	r.Body, r.ContentLength = http.NoBody, int64(len(body))
	if body != "" {
		r.Body = httptest.NewRequest("POST", "/", strings.NewReader(body)).Body
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer := httptest.NewRecorder()
	w.api.Handler().ServeHTTP(answer, r)
	return answer
}

// seedRequests gives a fuzz target every route with valid objects and a valid body.
func (r *roles) seedRequests(add func(method, target, body string)) {
	_, lines := parseRights(r.t)
	for i := range lines {
		l := &lines[i]
		body, err := json.Marshal(r.body(l, &r.live))
		if err != nil {
			r.t.Fatal(err)
		}
		add(l.method, r.live.fill(l.path), string(body))
	}
	cluster := r.live.cluster.String()
	for _, target := range []string{"/v2.0/myorg/gatewayClusters({" + strings.ToUpper(cluster) + "})/Status/", "/V1/Gateways('" + cluster + "')", "/v2.0/myorg/gatewayClusters?$top=1&$skip=2&%24expand=permissions,",
		"/v2.0/myorg/gatewayInstallers?$filter=type%20eq%20'Resource'", "/v1/gateways?continuationToken=" + base64.RawURLEncoding.EncodeToString([]byte("2026-01-01T00:00:00Z "+cluster)),
		"/v2.0/myorg/auditEvents?continuationToken=" + base64.RawURLEncoding.EncodeToString([]byte("9223372036854775807,"+cluster)) + "&since=0000-01-01T00:00:00Z&until=9999-12-31T23:59:59Z",
		"/v2.0/myorg/gatewayClusters/" + cluster + "/dispatchRecords?$top=2147483647&since=0001-01-01T00:00:00Z", "/v2.0/myorg/gatewayClusters/%00", "/v2.0/myorg/gatewayClusters/%ff/../x", "//", "/v1/gateways(())",
		"/v2.0/myorg/gatewayClusters/" + cluster + "/datasources/" + cluster + "/users/a%40b%00c"} {
		for _, method := range []string{"GET", "DELETE"} {
			add(method, target, "")
		}
	}
}

// inside are the statuses that say "we broke".
func inside(status int) bool { return status == 500 || status == 502 || status < 200 || status > 599 }

// Whatever is asked without a good token, only what is public is answered, and nothing breaks inside.
func FuzzStranger(f *testing.F) {
	r := newRoles(newWorld(f))
	r.seedRequests(func(method, target, body string) { f.Add(method, target, "rubbish", body) })
	f.Fuzz(func(t *testing.T, method, target, token, body string) {
		answer := r.asked(method, target, token, body)
		if answer == nil {
			return
		}
		if inside(answer.Code) {
			t.Fatalf("%q %q %q: %d %s", method, target, body, answer.Code, answer.Body)
		}
		if surface := strings.HasPrefix(strings.ToLower(target), "/v") || strings.HasPrefix(strings.ToLower(target), "/unified"); surface && answer.Code < 400 {
			t.Fatalf("%q %q was answered without a token: %d %s", method, target, answer.Code, answer.Body)
		}
	})
}

// Whatever an administrator sends, it is done or refused with an error that has a code and says what is wrong; nothing breaks inside.
func FuzzAdministrator(f *testing.F) {
	r := newRoles(newWorld(f))
	r.seedRequests(func(method, target, body string) { f.Add(method, target, body) })
	f.Fuzz(func(t *testing.T, method, target, body string) {
		if slow := strings.HasSuffix(strings.ToLower(target), "gatewayclusters") && method == "POST"; slow {
			return // a key pair each
		}
		answer := r.asked(method, target, r.token, body)
		if answer == nil {
			return
		}
		if inside(answer.Code) {
			t.Fatalf("%q %q %q: %d %s", method, target, body, answer.Code, answer.Body)
		}
		if answer.Code >= 400 && method != "HEAD" && !errorHasWords(answer.Body.Bytes()) {
			t.Fatalf("%q %q %q: %d without words: %s", method, target, body, answer.Code, answer.Body)
		}
	})
}

// errorHasWords knows the errors of all surfaces.
func errorHasWords(text []byte) bool {
	var nested struct {
		Error struct{ Code string }
	}
	var flat struct {
		ErrorCode, Message string
	}
	var oauth struct {
		Error       string
		Description string `json:"error_description"`
	}
	json.Unmarshal(text, &nested)
	json.Unmarshal(text, &flat)
	json.Unmarshal(text, &oauth)
	return nested.Error.Code != "" || flat.ErrorCode != "" && flat.Message != "" || oauth.Error != "" && oauth.Description != ""
}
