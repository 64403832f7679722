package issuer

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"comporta/service/gateway"
	"comporta/service/issuer/issuertest"
)

// long makes a token that is good for days.
func long(c jwt.MapClaims) { c["exp"] = time.Now().Add(100 * time.Hour).Unix() }

// discovered waits until the provider's documents have been read, or could not be.
func discovered(t *testing.T, s *Set, p *issuertest.Provider) {
	t.Helper()
	i := s.issuers[p.URL]
	_ = i.flight.start(t.Context(), i.discover).wait(t.Context())
}

// Keys that are known stay good while the provider cannot be asked for them, also when only its discovery document can be read; for what is
// not known it has to be asked.
func TestKnownKeysServeWhileNewOnesCannotBeHad(t *testing.T) {
	p := issuertest.New(t)
	key := p.RSA("one")
	good := issuertest.Sign(t, jwt.SigningMethodRS256, "one", key, claims(p, long))
	s, clock := trust(p)
	p.KeysDown.Store(true)
	if got := code(t, s, p, good); got != gateway.CodeUnavailable {
		t.Errorf("no keys yet: %q", got)
	}
	p.KeysDown.Store(false)
	clock.forward(retry)
	if got := code(t, s, p, good); got != "" {
		t.Fatalf("the first key: %q", got)
	}
	p.KeysDown.Store(true)
	renewed := issuertest.Sign(t, jwt.SigningMethodRS256, "new", p.RSA("new"), claims(p, long))
	for range 3 {
		clock.forward(keep + time.Second)
		discovered(t, s, p)
		if got := code(t, s, p, good); got != "" {
			t.Errorf("a known key: %q", got)
		}
		for range asksAtOnce + 2 {
			if got := code(t, s, p, renewed); got != gateway.CodeUnavailable {
				t.Errorf("an unknown key: %q", got)
			}
		}
	}
	if n := p.Reads.Load(); n != 5 {
		t.Errorf("the discovery document was read %d times", n)
	}
	clock.forward(patience)
	if got := code(t, s, p, good); got != gateway.CodeUnavailable {
		t.Errorf("after a day: %q", got)
	}
	p.KeysDown.Store(false)
	clock.forward(retry)
	if got := code(t, s, p, renewed); got != "" {
		t.Errorf("when they are back: %q", got)
	}
}

// A caller who hangs up takes nothing from the others: neither is what he began ended, nor is his end remembered.
func TestACallerWhoHangsUpHarmsNobody(t *testing.T) {
	p := issuertest.New(t)
	key := p.RSA("one")
	asked, let := make(chan struct{}, 8), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-let
		p.ServeHTTP(w, r)
	}))
	defer slow.Close()
	p.URL = slow.URL
	s := New([]Config{{URL: p.URL, Audience: audience}}, time.Now, slog.New(slog.DiscardHandler))
	ctx, hangUp := context.WithCancel(t.Context())
	hung := make(chan error, 1)
	go func() {
		_, _, err := s.Verify(ctx, p.URL, "a.b.c")
		hung <- err
	}()
	<-asked
	hangUp()
	if err := <-hung; !errors.Is(err, context.Canceled) {
		t.Errorf("who hangs up hears %v", err)
	}
	close(let)
	if got := code(t, s, p, issuertest.Sign(t, jwt.SigningMethodRS256, "one", key, claims(p))); got != "" {
		t.Errorf("the next caller hears %q", got)
	}
	if n := p.Reads.Load(); n != 1 {
		t.Errorf("the discovery document was read %d times", n)
	}
}

// Who sends tokens with unknown keys all the time spends the asks, and keeps nobody from reading what is due.
func TestUnknownKeysDoNotKeepFromReadingWhatIsDue(t *testing.T) {
	p := issuertest.New(t)
	key := p.RSA("one")
	s, clock := trust(p)
	good, bad := issuertest.Sign(t, jwt.SigningMethodRS256, "one", key, claims(p, long)), issuertest.Sign(t, jwt.SigningMethodRS256, "unknown", key, claims(p, long))
	for range 2 {
		for range asksAtOnce {
			_ = s.issuers[p.URL].spare.Transport.(*sparing).take()
		}
		if got := code(t, s, p, bad); got != gateway.CodeUnauthorized {
			t.Errorf("a token with an unknown key: %q", got)
		}
		if got := code(t, s, p, good); got != "" {
			t.Errorf("a good token meanwhile: %q", got)
		}
		clock.forward(patience)
	}
}

// A key of a kind that is not known here does not spoil the others, and an answer that is no key set does not take their place.
func TestWhatIsNoKeySet(t *testing.T) {
	for body, want := range map[string]int{
		`{"keys":[]}`: 0, `{"keys":[{"kty":"new"},{"kty":"RSA"},7]}`: 0, `{"keys":[{"kty":"new"},{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`: 1,
		`{}`: -1, `{"keys":null}`: -1, `{"error":"maintenance"}`: -1, `<html>`: -1, ``: -1,
	} {
		here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
		k := &keySet{url: here.URL}
		err := k.read(t.Context(), here.Client())
		if keys := k.keys.Load(); (err != nil) != (want < 0) || want < 0 && keys != nil || want >= 0 && len(*keys) != want {
			t.Errorf("%s: %v, %v", body, keys, err)
		}
		here.Close()
	}
}
