package service

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"comporta/persistence"
	"comporta/service/gateway"
	"comporta/service/recovery"
)

// app makes an application and returns its id and secret.
func (w *world) app(t testing.TB, name string) (gateway.ID, string) {
	t.Helper()
	p, secret, err := w.Tenant.CreatePrincipal(context.Background(), w.admin, NewPrincipal{Kind: gateway.App, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return p.ID, secret
}

func TestATokenSaysWhoCalls(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	id, secret := w.app(t, "pipeline")
	token, err := w.Access.IssueToken(ctx, strings.ToUpper(id.String()), secret)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // verified, then from the cache
		caller, err := w.Access.Authenticate(ctx, token.AccessToken)
		if err != nil || caller.ID != id || caller.Name != "pipeline" || caller.TenantAdmin {
			t.Fatalf("got %+v, %v", caller, err)
		}
	}
}

// The service's clock is set back by five minutes, and the service is started anew, so that no verified token is remembered.
func TestAClockSetBackRefusesNoToken(t *testing.T) {
	w := newWorld(t)
	id, secret := w.app(t, "a")
	token, err := w.Access.IssueToken(t.Context(), id.String(), secret)
	if err != nil {
		t.Fatal(err)
	}
	w.Access.Now = func() time.Time { return time.Now().Add(-5 * time.Minute) }
	if _, err := w.Access.Authenticate(t.Context(), token.AccessToken); err != nil {
		t.Errorf("a token from before the step: %v", err)
	}
	// It is good, although by the clock its principal is not made yet.
	again, err := w.Access.IssueToken(t.Context(), id.String(), secret)
	if err == nil {
		_, err = w.Access.Authenticate(t.Context(), again.AccessToken)
	}
	if err != nil {
		t.Errorf("a token after the step: %v", err)
	}
}

func TestWrongClientCredentialsAreToldApartFromNothingElse(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	id, secret := w.app(t, "a")
	disabled, itsSecret := w.app(t, "b")
	yes := true
	if _, err := w.Tenant.UpdatePrincipal(ctx, w.admin, disabled, PrincipalPatch{Disabled: &yes}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string][2]string{
		"wrong secret": {id.String(), secret + "x"}, "empty secret": {id.String(), ""}, "unknown id": {"11111111-1111-1111-1111-111111111111", secret},
		"no GUID": {"admin", secret}, "disabled": {disabled.String(), itsSecret}, "somebody else's": {id.String(), itsSecret},
	} {
		if _, err := w.Access.IssueToken(ctx, c[0], c[1]); !gateway.IsCode(err, gateway.CodeInvalidClient) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSecretsRotate(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	id, first := w.app(t, "a")
	_, second, err := w.Tenant.AddSecret(ctx, w.admin, id, "second", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{first, second} {
		if _, err := w.Access.IssueToken(ctx, id.String(), secret); err != nil {
			t.Errorf("both secrets should work: %v", err)
		}
	}
	list, err := w.Tenant.Secrets(ctx, id)
	if err != nil || len(list) != 2 || list[0].Hash != "" {
		t.Fatalf("secrets: %+v, %v", list, err)
	}
	if err := w.Tenant.RemoveSecret(ctx, w.admin, id, list[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Access.IssueToken(ctx, id.String(), first); !gateway.IsCode(err, gateway.CodeInvalidClient) {
		t.Errorf("the removed secret: %v", err)
	}
}

// forged returns tokens that look like ours and are not.
func forged(t *testing.T, w *world, good string) map[string]string {
	t.Helper()
	var c claims
	parsed, _, err := jwt.NewParser().ParseUnverified(good, &c)
	if err != nil {
		t.Fatal(err)
	}
	s := w.Access.signer.Load()
	public, err := x509.MarshalPKIXPublicKey(&s.private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(method jwt.SigningMethod, key any, change func(*claims)) string {
		copied := c
		if change != nil {
			change(&copied)
		}
		token := jwt.NewWithClaims(method, copied)
		token.Header["kid"] = parsed.Header["kid"]
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	parts := strings.Split(good, ".")
	return map[string]string{
		"alg none":                   sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil),
		"HS256 with the public key":  sign(jwt.SigningMethodHS256, public, nil),
		"another key":                sign(jwt.SigningMethodRS256, other, nil),
		"RS512 with the right key":   sign(jwt.SigningMethodRS512, s.private, nil),
		"another issuer":             sign(jwt.SigningMethodRS256, s.private, func(c *claims) { c.Issuer = "https://elsewhere" }),
		"another audience":           sign(jwt.SigningMethodRS256, s.private, func(c *claims) { c.Audience = jwt.ClaimStrings{"x"} }),
		"another tenant":             sign(jwt.SigningMethodRS256, s.private, func(c *claims) { c.TenantID = "22222222-2222-2222-2222-222222222222" }),
		"no expiry":                  sign(jwt.SigningMethodRS256, s.private, func(c *claims) { c.ExpiresAt = nil }),
		"not yet":                    sign(jwt.SigningMethodRS256, s.private, func(c *claims) { c.NotBefore = jwt.NewNumericDate(time.Now().Add(time.Hour)) }),
		"unknown principal":          sign(jwt.SigningMethodRS256, s.private, func(c *claims) { c.ObjectID = "33333333-3333-3333-3333-333333333333" }),
		"claims changed":             parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"roles":["TenantAdmin"]}`)) + "." + parts[2],
		"signature cut":              parts[0] + "." + parts[1] + ".",
		"rubbish":                    "not.a.token",
		"empty":                      "",
		"a very long one, of no use": strings.Repeat("a.", 5000),
	}
}

func TestForgedTokensAreRefused(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	id, secret := w.app(t, "a")
	good, err := w.Access.IssueToken(ctx, id.String(), secret)
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range forged(t, w, good.AccessToken) {
		if _, err := w.Access.Authenticate(ctx, token); !gateway.IsCode(err, gateway.CodeUnauthorized) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnExpiredTokenSaysSo(t *testing.T) {
	var ahead atomic.Int64
	w := newWorld(t, func(c *Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		c.TokenLifetime = 10 * time.Minute
	})
	ctx := context.Background()
	id, secret := w.app(t, "a")
	cached, _ := w.Access.IssueToken(ctx, id.String(), secret)
	fresh, _ := w.Access.IssueToken(ctx, id.String(), secret)
	if _, err := w.Access.Authenticate(ctx, cached.AccessToken); err != nil {
		t.Fatal(err)
	}
	ahead.Store(int64(10*time.Minute + leeway/2))
	if _, err := w.Access.Authenticate(ctx, cached.AccessToken); err != nil {
		t.Errorf("within the leeway: %v", err)
	}
	ahead.Store(int64(10*time.Minute + leeway + time.Second))
	for name, token := range map[string]string{"cached": cached.AccessToken, "never seen": fresh.AccessToken} {
		if _, err := w.Access.Authenticate(ctx, token); !gateway.IsCode(err, gateway.CodeTokenExpired) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A session that went on over a night, in which the key was replaced: it must log in again, and not look for what it did wrong.
func TestAnExpiredTokenSaysSoWithoutItsKey(t *testing.T) {
	var ahead atomic.Int64
	w := newWorld(t, func(c *Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	ctx := context.Background()
	id, secret := w.app(t, "a")
	token, _ := w.Access.IssueToken(ctx, id.String(), secret)
	none := map[string]*rsa.PublicKey{}
	w.Access.keys.Store(&none)
	for after, want := range map[time.Duration]gateway.Code{0: gateway.CodeUnauthorized, 8 * time.Hour: gateway.CodeTokenExpired} {
		ahead.Store(int64(after))
		w.Access.keysAsked.Store(w.Access.Now().Unix()) // not to be read from the database again
		if _, err := w.Access.Authenticate(ctx, token.AccessToken); !gateway.IsCode(err, want) {
			t.Errorf("after %s: %v", after, err)
		}
	}
}

func TestDisablingAPrincipalEndsItsTokensAtOnce(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	id, secret := w.app(t, "a")
	token, err := w.Access.IssueToken(ctx, id.String(), secret)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Access.Authenticate(ctx, token.AccessToken); err != nil {
		t.Fatal(err)
	}
	yes := true
	if _, err := w.Tenant.UpdatePrincipal(ctx, w.admin, id, PrincipalPatch{Disabled: &yes}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Access.Authenticate(ctx, token.AccessToken); !gateway.IsCode(err, gateway.CodeUnauthorized) {
		t.Errorf("disabled: %v", err)
	}
}

// Another process of the same database disables a principal and changes a member: this one must learn of it within a second.
func TestChangesOfAnotherReplicaArrive(t *testing.T) {
	var store persistence.Store
	w := newWorld(t, func(c *Config) { store = c.Store })
	ctx := context.Background()
	cluster, members, source := w.cluster(t, 2)
	id, secret := w.app(t, "a")
	token, _ := w.Access.IssueToken(ctx, id.String(), secret)
	if _, err := w.Access.Authenticate(ctx, token.AccessToken); err != nil {
		t.Fatal(err)
	}
	if response, err := w.Dispatcher.Dispatch(ctx, w.admin, query(cluster, source, true)); err != nil {
		t.Fatal(err)
	} else {
		response.Body.Close()
	}
	started := time.Now()
	must(t, store.InTx(ctx, func(tx persistence.Tx) error {
		p, err := tx.Principal(ctx, id)
		if err != nil {
			return err
		}
		p.Disabled = true
		if err := tx.UpdatePrincipal(ctx, p); err != nil {
			return err
		}
		m, err := tx.Member(ctx, members[0])
		if err != nil {
			return err
		}
		m.State = gateway.MemberDisabled
		return tx.UpdateMember(ctx, m)
	}))
	for {
		_, err := w.Access.Authenticate(ctx, token.AccessToken)
		response, dispatchErr := w.Dispatcher.Dispatch(ctx, w.admin, query(cluster, source, true))
		must(t, dispatchErr)
		response.Body.Close()
		if gateway.IsCode(err, gateway.CodeUnauthorized) && response.MemberID == members[1] {
			break
		}
		if time.Since(started) > 10*time.Second {
			t.Fatalf("after ten seconds: token %v, served by the disabled member: %v", err, response.MemberID == members[0])
		}
	}
}

// Right after its clock was set back, this process still takes the token of a replica whose key it has not seen yet.
func TestAClockSetBackHidesNoKeyOfAReplica(t *testing.T) {
	var behind atomic.Int64
	var cfg Config
	w := newWorld(t, func(c *Config) {
		c.Now = func() time.Time { return time.Now().Add(-time.Duration(behind.Load())) }
		cfg = *c
	})
	ctx := context.Background()
	id, secret := w.app(t, "a")
	for _, set := range []time.Duration{0, 5 * time.Minute} {
		behind.Store(int64(set))
		replica := New(cfg)
		if _, err := replica.Tenant.Start(ctx, "", "", ""); err != nil {
			t.Fatal(err)
		}
		token, err := replica.Access.IssueToken(ctx, id.String(), secret)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Access.Authenticate(ctx, token.AccessToken); err != nil {
			t.Errorf("the clock set back by %v: %v", set, err)
		}
	}
}

func TestTheLastAdministratorStays(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	yes, no := true, false
	for name, patch := range map[string]PrincipalPatch{"disabled": {Disabled: &yes}, "demoted": {TenantAdmin: &no}} {
		if _, err := w.Tenant.UpdatePrincipal(ctx, w.admin, w.admin.ID, patch); !gateway.IsCode(err, gateway.CodeConflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := w.Tenant.DeletePrincipal(ctx, w.admin, w.admin.ID); !gateway.IsCode(err, gateway.CodeConflict) {
		t.Errorf("deleted: %v", err)
	}
	if err := w.Tenant.RemoveSecret(ctx, w.admin, w.admin.ID, w.secrets(t, w.admin.ID)[0]); !gateway.IsCode(err, gateway.CodeConflict) {
		t.Errorf("without a secret: %v", err)
	}
	if _, err := w.Tenant.Principal(ctx, w.admin.ID); err != nil || len(w.secrets(t, w.admin.ID)) != 1 {
		t.Errorf("what was refused was done all the same: %v", err)
	}
}

func (w *world) secrets(t *testing.T, id gateway.ID) []gateway.ID {
	t.Helper()
	list, err := w.Tenant.Secrets(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]gateway.ID, len(list))
	for i, s := range list {
		ids[i] = s.ID
	}
	return ids
}

type noTokens struct{}

func (noTokens) Trusts(string) bool { return false }
func (noTokens) Verify(context.Context, string, string) (gateway.ID, time.Time, error) {
	return "", time.Time{}, gateway.Errorf(gateway.CodeUnauthorized, "no")
}

// Whether another principal lets the first administrator go: only one who is enabled, TenantAdmin and able to log in does.
func TestOnlyAnAdministratorWhoCanLogInCounts(t *testing.T) {
	yes, no := true, false
	ctx := context.Background()
	for _, c := range []struct {
		name    string
		kind    gateway.PrincipalKind
		issuers Issuers
		before  func(w *world, id gateway.ID) error
		counts  bool
	}{
		{"an application", gateway.App, nil, nil, true},
		{"a disabled application", gateway.App, nil, func(w *world, id gateway.ID) error {
			_, err := w.Tenant.UpdatePrincipal(ctx, w.admin, id, PrincipalPatch{Disabled: &yes})
			return err
		}, false},
		{"an application without a secret", gateway.App, nil, func(w *world, id gateway.ID) error {
			return w.Tenant.RemoveSecret(ctx, w.admin, id, w.secrets(t, id)[0])
		}, false},
		{"an application whose secret has expired", gateway.App, nil, func(w *world, id gateway.ID) error {
			first := w.secrets(t, id)[0]
			if _, _, err := w.Tenant.AddSecret(ctx, w.admin, id, "short", time.Nanosecond); err != nil {
				return err
			}
			return w.Tenant.RemoveSecret(ctx, w.admin, id, first)
		}, false},
		{"a user without an outside issuer", gateway.User, nil, nil, false},
		{"a user with an outside issuer", gateway.User, noTokens{}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for act, do := range map[string]func(*world) error{
				"disable": func(w *world) error {
					_, err := w.Tenant.UpdatePrincipal(ctx, w.admin, w.admin.ID, PrincipalPatch{Disabled: &yes})
					return err
				},
				"demote": func(w *world) error {
					_, err := w.Tenant.UpdatePrincipal(ctx, w.admin, w.admin.ID, PrincipalPatch{TenantAdmin: &no})
					return err
				},
				"delete": func(w *world) error { return w.Tenant.DeletePrincipal(ctx, w.admin, w.admin.ID) },
				"remove secret": func(w *world) error {
					return w.Tenant.RemoveSecret(ctx, w.admin, w.admin.ID, w.secrets(t, w.admin.ID)[0])
				},
			} {
				w := newWorld(t, func(cfg *Config) { cfg.Issuers = c.issuers })
				p, _, err := w.Tenant.CreatePrincipal(ctx, w.admin, NewPrincipal{Kind: c.kind, Name: "second", TenantAdmin: true})
				if err == nil && c.before != nil {
					err = c.before(w, p.ID)
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := do(w); (err == nil) != c.counts || err != nil && !gateway.IsCode(err, gateway.CodeConflict) {
					t.Errorf("%s: %v", act, err)
				}
			}
		})
	}
}

func TestAGroupIsNoAdministrator(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	yes := true
	if _, _, err := w.Tenant.CreatePrincipal(ctx, w.admin, NewPrincipal{Kind: gateway.Group, Name: "all", TenantAdmin: true}); !gateway.IsCode(err, gateway.CodeConflict) {
		t.Errorf("made: %v", err)
	}
	p, _, err := w.Tenant.CreatePrincipal(ctx, w.admin, NewPrincipal{Kind: gateway.Group, Name: "all"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Tenant.UpdatePrincipal(ctx, w.admin, p.ID, PrincipalPatch{TenantAdmin: &yes}); !gateway.IsCode(err, gateway.CodeConflict) {
		t.Errorf("promoted: %v", err)
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	w := newWorld(b)
	ctx := context.Background()
	id, secret := w.app(b, "a")
	token, err := w.Access.IssueToken(ctx, id.String(), secret)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("cached", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := w.Access.Authenticate(ctx, token.AccessToken); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("verified", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := w.Access.verify(ctx, token.AccessToken); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The tests' secrets are cheap; those of a service are not.
func TestSecretsAreDearByDefault(t *testing.T) {
	c := Config{}
	if withDefaults(&c); c.SecretCost.Memory != 19<<10 || c.SecretCost.Time != 2 {
		t.Errorf("got %+v", c.SecretCost)
	}
}

// A hash says what it cost to make, so that a service whose cost is another one locks nobody out.
func TestSecretsMatchAtTheCostTheyWereMadeAt(t *testing.T) {
	salt := []byte("0123456789abcdef")
	for _, cost := range []recovery.Cost{{Time: 1, Memory: 64, Threads: 1}, {Time: 2, Memory: 128, Threads: 2}} {
		hash := saltedHash("a secret", salt, cost)
		if !sameSecret(hash, "a secret") || sameSecret(hash, "a secreT") {
			t.Errorf("%s: the secret does not match, or another one does", hash)
		}
	}
	good := saltedHash("a secret", salt, recovery.Cost{Time: 1, Memory: 64, Threads: 1})
	for _, bad := range []string{"", good[1:], strings.Replace(good, "t=1", "t=0", 1), strings.Replace(good, "p=1", "p=0", 1), strings.Replace(good, "m=64", "m=x", 1),
		strings.Replace(good, "m=64", "m=72", 1), strings.Replace(good, "argon2id", "argon2i", 1), good + "A"} {
		if sameSecret(bad, "a secret") {
			t.Errorf("%q matches", bad)
		}
	}
}

// heldStore lets one reading stand still after it has read.
type heldStore struct {
	persistence.Store
	held, release chan struct{}
	once          sync.Once
}

func (s *heldStore) View(ctx context.Context, fn func(persistence.Reader) error) error {
	err := s.Store.View(ctx, fn)
	s.once.Do(func() { close(s.held); <-s.release })
	return err
}

// A reading that began before a principal was disabled and ends after it lets nobody in.
func TestAnOlderReadingOfAPrincipalReplacesNoNewerOne(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	id, secret := w.app(t, "robot")
	token, err := w.Access.IssueToken(ctx, id.String(), secret)
	if err != nil {
		t.Fatal(err)
	}
	store := w.Access.Store
	slow := &heldStore{Store: store, held: make(chan struct{}), release: make(chan struct{})}
	w.Access.Store = slow
	w.Access.principals.Delete(id)
	late := make(chan error, 1)
	go func() { _, err := w.Access.Authenticate(ctx, token.AccessToken); late <- err }()
	<-slow.held
	disabled, yes := make(chan error, 1), true
	go func() {
		_, err := w.Tenant.UpdatePrincipal(ctx, w.admin, id, PrincipalPatch{Disabled: &yes})
		disabled <- err
	}()
	for now := (gateway.Principal{}); !now.Disabled; {
		if err := store.View(ctx, func(r persistence.Reader) (err error) { now, err = r.Principal(ctx, id); return err }); err != nil {
			t.Fatal(err)
		}
	}
	for known := true; known && len(w.Access.reading(id).turn) == 0; { // without the lock: until the change is known, so that the old reading comes after it
		p, ok := w.Access.principals.Load(id)
		known = !ok || !p.(*gateway.Principal).Disabled
	}
	close(slow.release)
	if err := errors.Join(<-late, <-disabled); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Access.Authenticate(ctx, token.AccessToken); !gateway.IsCode(err, gateway.CodeUnauthorized) {
		t.Errorf("the token of a disabled principal: %v", err)
	}
}
