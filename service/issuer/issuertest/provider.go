// Package issuertest is an OpenID Connect provider for tests: it serves its documents over HTTP and signs whatever it is told to.
package issuertest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// Provider is one issuer.
type Provider struct {
	URL string
	// KeyReads counts how often the key set was asked for, Reads how often the discovery document.
	KeyReads, Reads atomic.Int64
	// Down makes it answer 503, KeysDown only when it is asked for its keys.
	Down, KeysDown atomic.Bool

	t    testing.TB
	mu   sync.Mutex
	keys map[string]crypto.Signer
}

// New starts a provider without a key.
func New(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{t: t, keys: map[string]crypto.Signer{}}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	p.URL = s.URL
	return p
}

// RSA adds an RSA key.
func (p *Provider) RSA(kid string) *rsa.PrivateKey {
	p.t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		p.t.Fatal(err)
	}
	p.put(kid, key)
	return key
}

// EC adds a P-256 key.
func (p *Provider) EC(kid string) *ecdsa.PrivateKey {
	p.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	p.put(kid, key)
	return key
}

func (p *Provider) put(kid string, key crypto.Signer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys[kid] = key
}

// Withdraw takes a key out of the key set.
func (p *Provider) Withdraw(kid string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.keys, kid)
}

// Sign makes a token; the method must suit the key.
func Sign(t testing.TB, method jwt.SigningMethod, kid string, key any, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(method, claims)
	token.Header["kid"] = kid
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// ServeHTTP implements http.Handler.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.Down.Load() || p.KeysDown.Load() && r.URL.Path == "/keys" {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		p.Reads.Add(1)
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": p.URL, "jwks_uri": p.URL + "/keys", "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
			"id_token_signing_alg_values_supported": []string{"RS256", "ES256"}})
	case "/keys":
		p.KeyReads.Add(1)
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": p.set()})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (p *Provider) set() []map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	set := []map[string]string{}
	for kid, key := range p.keys {
		switch k := key.(type) {
		case *rsa.PrivateKey:
			set = append(set, map[string]string{"kty": "RSA", "kid": kid, "use": "sig", "n": raw(k.N.Bytes()), "e": raw(big.NewInt(int64(k.E)).Bytes())})
		case *ecdsa.PrivateKey:
			point, err := k.PublicKey.Bytes() // 0x04, x, y
			if err != nil {
				p.t.Error(err)
				continue
			}
			set = append(set, map[string]string{"kty": "EC", "crv": "P-256", "kid": kid, "use": "sig", "x": raw(point[1:33]), "y": raw(point[33:])})
		}
	}
	return set
}

func raw(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
