package api_test

import (
	"crypto"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// ask sends a form to a token endpoint and returns status, header and the decoded answer.
func (w *world) ask(path string, form url.Values, change func(*http.Request)) (int, http.Header, map[string]any) {
	w.t.Helper()
	req, err := http.NewRequest("POST", w.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if change != nil {
		change(req)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	var answer map[string]any
	if err := json.Unmarshal(text, &answer); err != nil {
		w.t.Errorf("%s: %v in %s", path, err, text)
	}
	return resp.StatusCode, resp.Header, answer
}

func TestTheTokenEndpointTakesWhatClientsSend(t *testing.T) {
	w := newWorld(t)
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {w.adminID}, "client_secret": {w.adminSecret}}
	with := func(key, value string) url.Values {
		f := url.Values{key: {value}}
		for k, v := range form {
			if _, ok := f[k]; !ok {
				f[k] = v
			}
		}
		return f
	}
	basic := func(r *http.Request) { r.SetBasicAuth(url.QueryEscape(w.adminID), url.QueryEscape(w.adminSecret)) }
	for name, c := range map[string]struct {
		path   string
		form   url.Values
		change func(*http.Request)
	}{
		"plain":               {"/oauth2/v2.0/token", form, nil},
		"a tenant":            {"/contoso.onmicrosoft.com/oauth2/v2.0/token", form, nil},
		"the older path":      {"/11111111-1111-1111-1111-111111111111/oauth2/token", form, nil},
		"any letter case":     {"/OAuth2/V2.0/Token/", form, nil},
		"a scope":             {"/oauth2/v2.0/token", with("scope", "https://analysis.windows.net/powerbi/api/.default"), nil},
		"a resource":          {"/common/oauth2/token", with("resource", "https://analysis.windows.net/powerbi/api"), nil},
		"HTTP Basic":          {"/oauth2/v2.0/token", url.Values{"grant_type": {"client_credentials"}}, basic},
		"an id in upper case": {"/oauth2/v2.0/token", with("client_id", strings.ToUpper(w.adminID)), nil},
	} {
		status, header, answer := w.ask(c.path, c.form, c.change)
		if status != 200 || answer["token_type"] != "Bearer" || answer["expires_in"] != 3600.0 || answer["ext_expires_in"] != 3600.0 || header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v %v", name, status, header, answer)
			continue
		}
		w.token = answer["access_token"].(string)
		w.must(200, "GET", "/gatewayClusters", nil, nil)
	}
}

func TestTheTokenEndpointRefuses(t *testing.T) {
	w := newWorld(t)
	form := func(grant, id, secret string) url.Values {
		return url.Values{"grant_type": {grant}, "client_id": {id}, "client_secret": {secret}}
	}
	good := form("client_credentials", w.adminID, w.adminSecret)
	for name, c := range map[string]struct {
		status int
		code   string
		path   string
		form   url.Values
		change func(*http.Request)
	}{
		"a wrong secret":        {401, "invalid_client", "", form("client_credentials", w.adminID, "wrong"), nil},
		"an unknown id":         {401, "invalid_client", "", form("client_credentials", "11111111-1111-1111-1111-111111111111", w.adminSecret), nil},
		"no id":                 {401, "invalid_client", "", url.Values{"grant_type": {"client_credentials"}}, nil},
		"another grant":         {400, "unsupported_grant_type", "", form("password", w.adminID, w.adminSecret), nil},
		"no grant":              {400, "unsupported_grant_type", "", url.Values{}, nil},
		"a secret in the query": {400, "invalid_request", "?client_secret=" + w.adminSecret, good, nil},
		"JSON":                  {400, "invalid_request", "", good, func(r *http.Request) { r.Header.Set("Content-Type", "application/json") }},
		"a body too large":      {400, "invalid_request", "", url.Values{"grant_type": {strings.Repeat("x", 65<<10)}}, nil},
	} {
		status, header, answer := w.ask("/oauth2/v2.0/token"+c.path, c.form, c.change)
		if status != c.status || answer["error"] != c.code || answer["error_description"] == "" || header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v, want %d %s", name, status, answer, c.status, c.code)
		}
		if text, _ := json.Marshal(answer); strings.Contains(string(text), w.adminSecret) {
			t.Errorf("%s: the answer holds the secret", name)
		}
		if status == 401 && header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no WWW-Authenticate", name)
		}
	}
}

// signingKey is the public key that the documents lead to, found the way a client finds it.
func (w *world) signingKey(configuration string) (key *rsa.PublicKey, kid string) {
	w.t.Helper()
	var discovery struct {
		Issuer   string
		Endpoint string `json:"token_endpoint"`
		JWKS     string `json:"jwks_uri"`
	}
	w.must(200, "GET", "//"+strings.TrimPrefix(configuration, "/"), nil, &discovery)
	if discovery.Issuer != w.url || !strings.HasPrefix(discovery.Endpoint, w.url+"/") {
		w.t.Errorf("%s: %+v", configuration, discovery)
	}
	var set struct {
		Keys []struct{ Kty, Alg, Use, Kid, N, E string }
	}
	w.must(200, "GET", "/"+strings.TrimPrefix(discovery.JWKS, w.url), nil, &set)
	k := set.Keys[0]
	if len(set.Keys) != 1 || k.Kty != "RSA" || k.Alg != "RS256" || k.Use != "sig" {
		w.t.Errorf("keys: %+v", set)
	}
	n, _ := base64.RawURLEncoding.DecodeString(k.N)
	e, _ := base64.RawURLEncoding.DecodeString(k.E)
	return &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}, k.Kid
}

func TestTheDocumentsLeadToTheKeyThatVerifies(t *testing.T) {
	w := newWorld(t)
	parts := strings.Split(w.token, ".")
	signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	for _, path := range []string{"/.well-known/openid-configuration", "/tenant/v2.0/.well-known/openid-configuration", "/tenant/.well-known/openid-configuration"} {
		key, kid := w.signingKey(path)
		if err := rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], signature); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		header, _ := base64.RawURLEncoding.DecodeString(parts[0])
		if !strings.Contains(string(header), kid) {
			t.Errorf("%s: the token's header %s does not name the key %s", path, header, kid)
		}
	}
	var instance struct {
		Endpoint string `json:"tenant_discovery_endpoint"`
		Metadata []struct{ Aliases []string }
	}
	w.must(200, "GET", "//common/discovery/instance?api-version=1.1", nil, &instance)
	if len(instance.Metadata) != 1 || len(instance.Metadata[0].Aliases) != 1 {
		t.Errorf("instance: %+v", instance)
	}
	w.signingKey(strings.TrimPrefix(instance.Endpoint, w.url))
}

// A token that this service did not sign, or that was changed, is 401 whatever it claims.
func TestForgedTokensGet401(t *testing.T) {
	w := newWorld(t)
	parts := strings.Split(w.token, ".")
	key, kid := w.signingKey("/.well-known/openid-configuration")
	b64 := base64.RawURLEncoding.EncodeToString
	head := func(alg string) string { return b64([]byte(`{"alg":"` + alg + `","kid":"` + kid + `","typ":"JWT"}`)) }
	hs256 := func(secret []byte) string {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(head("HS256") + "." + parts[1]))
		return head("HS256") + "." + parts[1] + "." + b64(mac.Sum(nil))
	}
	claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
	other := b64([]byte(strings.Replace(string(claims), w.url, "http://another.example", 1)))
	for name, token := range map[string]string{
		"alg none":                        head("none") + "." + parts[1] + ".",
		"alg none with the old signature": head("none") + "." + parts[1] + "." + parts[2],
		"alg None":                        head("None") + "." + parts[1] + ".",
		"HS256 with the public key":       hs256(key.N.Bytes()),
		"another issuer":                  parts[0] + "." + other + "." + parts[2],
		"no signature":                    parts[0] + "." + parts[1] + ".",
		"two parts":                       parts[0] + "." + parts[1],
		"rubbish":                         "rubbish",
		"long rubbish":                    strings.Repeat("x.", 4000),
	} {
		w.token = token
		w.fails(401, "InvalidToken", "GET", "/gatewayClusters", nil)
		if t.Failed() {
			t.Fatalf("with %s", name)
		}
	}
}
