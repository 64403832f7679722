package issuer

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"comporta/service/gateway"
	"comporta/service/issuer/issuertest"
)

const (
	audience = "api://comporta"
	someone  = "0d9f1a52-6f0e-4e34-9c3c-0a8f6a5f7b11"
)

// clock can be moved.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) forward(d time.Duration) { c.ahead.Add(int64(d)) }

// trust makes a set that trusts the provider.
func trust(p *issuertest.Provider) (*Set, *clock) {
	c := &clock{}
	return New([]Config{{URL: p.URL, Audience: audience}}, c.now, slog.New(slog.DiscardHandler)), c
}

func claims(p *issuertest.Provider, change ...func(jwt.MapClaims)) jwt.MapClaims {
	c := jwt.MapClaims{"iss": p.URL, "aud": audience, "oid": someone, "sub": "subject", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	for _, f := range change {
		f(c)
	}
	return c
}

func set(name string, v any) func(jwt.MapClaims) { return func(c jwt.MapClaims) { c[name] = v } }
func drop(name string) func(jwt.MapClaims)       { return func(c jwt.MapClaims) { delete(c, name) } }

// code verifies and answers the code of the error, "" when the token is good for someone.
func code(t *testing.T, s *Set, p *issuertest.Provider, token string) gateway.Code {
	t.Helper()
	id, expires, err := s.Verify(t.Context(), p.URL, token)
	if err != nil {
		return gateway.AsError(err).Code
	}
	if id != someone || expires.Before(time.Now().Add(-2*time.Minute)) {
		t.Errorf("the token speaks of %s until %s", id, expires)
	}
	return ""
}

func TestTokensOfATrustedIssuer(t *testing.T) {
	p := issuertest.New(t)
	one, two := p.RSA("one"), p.EC("two")
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public := x509.MarshalPKCS1PublicKey(&one.PublicKey)
	s, _ := trust(p)
	for _, c := range []struct {
		name  string
		token string
		want  gateway.Code
	}{
		{"RS256", issuertest.Sign(t, jwt.SigningMethodRS256, "one", one, claims(p)), ""},
		{"PS256", issuertest.Sign(t, jwt.SigningMethodPS256, "one", one, claims(p)), ""},
		{"ES256", issuertest.Sign(t, jwt.SigningMethodES256, "two", two, claims(p)), ""},
		{"one of several audiences", issuertest.Sign(t, jwt.SigningMethodRS256, "one", one, claims(p, set("aud", []string{"x", audience}))), ""},
		{"sub where there is no oid", issuertest.Sign(t, jwt.SigningMethodRS256, "one", one, claims(p, drop("oid"), set("sub", strings.ToUpper(someone)))), ""},
		{"a minute's leeway", issuertest.Sign(t, jwt.SigningMethodRS256, "one", one, claims(p, set("exp", time.Now().Add(-30*time.Second).Unix()))), ""},
		{"expired", issuertest.Sign(t, jwt.SigningMethodRS256, "one", one, claims(p, set("exp", time.Now().Add(-2*time.Minute).Unix()))), gateway.CodeTokenExpired},
		{"not yet", issuertest.Sign(t, jwt.SigningMethodRS256, "one", one, claims(p, set("nbf", time.Now().Add(2*time.Minute).Unix()))), gateway.CodeUnauthorized},
		{"for ever", issuertest.Sign(t, jwt.SigningMethodRS256, "one", one, claims(p, drop("exp"))), gateway.CodeUnauthorized},
		{"for another service", issuertest.Sign(t, jwt.SigningMethodRS256, "one", one, claims(p, set("aud", "api://other"))), gateway.CodeUnauthorized},
		{"of another issuer", issuertest.Sign(t, jwt.SigningMethodRS256, "one", one, claims(p, set("iss", "https://other"))), gateway.CodeUnauthorized},
		{"of nobody", issuertest.Sign(t, jwt.SigningMethodRS256, "one", one, claims(p, drop("oid"))), gateway.CodeUnauthorized},
		{"with another key", issuertest.Sign(t, jwt.SigningMethodRS256, "one", stranger, claims(p)), gateway.CodeUnauthorized},
		{"with the public key as a shared secret", issuertest.Sign(t, jwt.SigningMethodHS256, "one", public, claims(p)), gateway.CodeUnauthorized},
		{"unsigned", issuertest.Sign(t, jwt.SigningMethodNone, "one", jwt.UnsafeAllowNoneSignatureType, claims(p)), gateway.CodeUnauthorized},
		{"garbage", "a.b.c", gateway.CodeUnauthorized},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := code(t, s, p, c.token); got != c.want {
				t.Errorf("code %q, want %q", got, c.want)
			}
		})
	}
}

func TestAnIssuerThatIsNotTrusted(t *testing.T) {
	p, other := issuertest.New(t), issuertest.New(t)
	key := other.RSA("one")
	s, _ := trust(p)
	if s.Trusts(other.URL) || !s.Trusts(p.URL) {
		t.Error("the wrong issuer is trusted")
	}
	if got := code(t, s, other, issuertest.Sign(t, jwt.SigningMethodRS256, "one", key, claims(other))); got != gateway.CodeUnauthorized {
		t.Errorf("code %q", got)
	}
	if n := other.Reads.Load() + other.KeyReads.Load(); n != 0 {
		t.Errorf("an issuer that is not trusted was asked %d times", n)
	}
}

func TestKeysRotateWithoutARestart(t *testing.T) {
	p := issuertest.New(t)
	old := issuertest.Sign(t, jwt.SigningMethodRS256, "old", p.RSA("old"), claims(p))
	s, clock := trust(p)
	if got := code(t, s, p, old); got != "" {
		t.Fatalf("the first key: %s", got)
	}
	renewed := issuertest.Sign(t, jwt.SigningMethodRS256, "new", p.RSA("new"), claims(p))
	if got := code(t, s, p, renewed); got != "" {
		t.Fatalf("a new key: %s", got)
	}
	p.Withdraw("old")
	clock.forward(keep + time.Second)
	deadline := time.Now().Add(30 * time.Second)
	for code(t, s, p, old) == "" { // the old set serves until the new one is there
		if time.Now().After(deadline) {
			t.Fatal("a withdrawn key is good for ever")
		}
	}
	if got := code(t, s, p, renewed); got != "" {
		t.Errorf("the remaining key: %s", got)
	}
}

// Anybody can send tokens with unknown keys; the provider must not be asked for each.
func TestUnknownKeysDoNotFloodTheProvider(t *testing.T) {
	p := issuertest.New(t)
	key := p.RSA("one")
	s, clock := trust(p)
	good := issuertest.Sign(t, jwt.SigningMethodRS256, "one", key, claims(p))
	if got := code(t, s, p, good); got != "" {
		t.Fatal(got)
	}
	bad := issuertest.Sign(t, jwt.SigningMethodRS256, "unknown", key, claims(p))
	for range 200 {
		if got := code(t, s, p, bad); got != gateway.CodeUnauthorized {
			t.Fatalf("a token with an unknown key: %q", got)
		}
	}
	if n := p.KeyReads.Load(); n > asksAtOnce {
		t.Errorf("the keys were asked for %d times", n)
	}
	if got := code(t, s, p, good); got != "" {
		t.Errorf("a known key meanwhile: %s", got)
	}
	renewed := issuertest.Sign(t, jwt.SigningMethodRS256, "new", p.RSA("new"), claims(p))
	clock.forward(askPause)
	if got := code(t, s, p, renewed); got != "" {
		t.Errorf("a new key after a pause: %s", got)
	}
}

func TestAnIssuerThatIsDown(t *testing.T) {
	p := issuertest.New(t)
	token := issuertest.Sign(t, jwt.SigningMethodRS256, "one", p.RSA("one"), claims(p))
	p.Down.Store(true)
	s, clock := trust(p)
	if got := code(t, s, p, token); got != gateway.CodeUnavailable {
		t.Errorf("while it is down: %q", got)
	}
	p.Down.Store(false)
	clock.forward(retry)
	if got := code(t, s, p, token); got != "" {
		t.Errorf("when it is back: %q", got)
	}
	p.Down.Store(true)
	clock.forward(keep + time.Second)
	if got := code(t, s, p, token); got != "" {
		t.Errorf("known keys while it is down again: %q", got)
	}
}

// A provider that sends us elsewhere, or speaks in another's name, is not followed.
func TestDiscoveryIsNotLedAstray(t *testing.T) {
	good := issuertest.New(t)
	good.RSA("one")
	for name, handler := range map[string]http.HandlerFunc{
		"redirection": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, good.URL+r.URL.Path, http.StatusFound)
		},
		"another's name": good.ServeHTTP,
		"no end": func(w http.ResponseWriter, r *http.Request) {
			for chunk := []byte(strings.Repeat(" ", 1<<16)); ; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(handler)
			defer server.Close()
			s := New([]Config{{URL: server.URL, Audience: audience}}, time.Now, slog.New(slog.DiscardHandler))
			if _, _, err := s.Verify(context.Background(), server.URL, "a.b.c"); !gateway.IsCode(err, gateway.CodeUnavailable) {
				t.Errorf("answer %v", err)
			}
		})
	}
}
