// Package issuer verifies access tokens of outside issuers: OpenID Connect providers that the operator has named, with their keys read by
// discovery.
package issuer

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"comporta/service/gateway"
)

// Config names one issuer.
type Config struct {
	// URL is the issuer exactly as its tokens name it; its discovery document stands below it.
	URL string
	// Audience is what its tokens must be for.
	Audience string
}

// How the provider's documents are kept. A key that the provider has withdrawn is good for no longer than keep after that; a provider that
// cannot be reached is lived without for patience.
const (
	keep     = 10 * time.Minute
	patience = 24 * time.Hour
	// retry is how long after a failed reading the next one waits, so that tokens of a dead issuer cost nothing.
	retry = 5 * time.Second
	// leeway is how far the issuer's clock may differ. Source: contract section 1.
	leeway = time.Minute
)

// algorithms are the asymmetric ones; none and those with a shared secret never count.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA}

// Set is the issuers that are trusted.
type Set struct{ issuers map[string]*issuer }

// New makes the set. Nothing is read before the first token comes, so a service starts while an issuer is down.
func New(issuers []Config, now func() time.Time, log *slog.Logger) *Set {
	s := &Set{map[string]*issuer{}}
	for _, cfg := range issuers {
		s.issuers[cfg.URL] = newIssuer(cfg, now, log)
	}
	return s
}

// Trusts says whether tokens that name this issuer are for Verify.
func (s *Set) Trusts(url string) bool { return s.issuers[url] != nil }

// Verify checks a token of a trusted issuer and answers the principal it speaks of and when it ends. CodeTokenExpired for one that was good
// once, CodeUnavailable when the issuer's keys cannot be had, CodeUnauthorized for any other that is not good.
func (s *Set) Verify(ctx context.Context, url, bearer string) (gateway.ID, time.Time, error) {
	i := s.issuers[url]
	if i == nil {
		return "", time.Time{}, gateway.Errorf(gateway.CodeUnauthorized, "The issuer of the access token is not trusted here.")
	}
	keys, err := i.current(ctx)
	if err != nil {
		return "", time.Time{}, keysMissing(ctx, err)
	}
	asked := &question{keys: keys}
	token, err := oidc.NewVerifier(url, asked, i.rules).Verify(ctx, bearer)
	switch {
	case asked.failed != nil:
		return "", time.Time{}, keysMissing(ctx, asked.failed)
	case err != nil:
		return "", time.Time{}, gateway.Wrap(gateway.CodeUnauthorized, err, "The access token is not a good one of its issuer, or is not for this service.")
	}
	return i.read(token)
}

// keysMissing is no fault of the issuer when whoever waited for its keys hung up.
func keysMissing(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return gateway.Wrap(gateway.CodeUnavailable, cause, "The issuer of the access token cannot be asked for its keys; try again in a moment.")
}

// issuer is one provider with its keys, read anew from time to time.
type issuer struct {
	cfg   Config
	rules *oidc.Config
	now   func() time.Time
	log   *slog.Logger
	// due reads what is due, spare what anybody can make us read.
	due, spare *http.Client
	keys       atomic.Pointer[keys]
	// flight reads the provider's documents; failed and its time are its own.
	flight   flight
	failed   error
	failedAt time.Time
}

type keys struct {
	set    *keySet
	readAt time.Time
}

func newIssuer(cfg Config, now func() time.Time, log *slog.Logger) *issuer {
	// Expiry is checked here, with the leeway of the contract.
	rules := &oidc.Config{ClientID: cfg.Audience, SkipExpiryCheck: true}
	for _, a := range algorithms {
		rules.SupportedSigningAlgs = append(rules.SupportedSigningAlgs, string(a))
	}
	i := &issuer{cfg: cfg, rules: rules, now: now, log: log}
	i.due, i.spare = newClients(now)
	return i
}

// current returns the provider's keys. Old ones serve while new ones are read, and while they cannot be.
func (i *issuer) current(ctx context.Context) (*keySet, error) {
	known := i.keys.Load()
	switch age := i.age(known); {
	case age < keep:
		return known.set, nil
	case age < patience:
		i.flight.start(ctx, i.discover)
		return known.set, nil
	}
	if err := i.flight.start(ctx, i.discover).wait(ctx); err != nil {
		return nil, err
	}
	return i.keys.Load().set, nil
}

func (i *issuer) age(k *keys) time.Duration {
	if k == nil {
		return patience
	}
	return i.now().Sub(k.readAt)
}

// discover reads the provider's documents and keys, unless that was done or failed a moment ago. Its failures are the provider's, never
// those of a caller who went away.
func (i *issuer) discover(ctx context.Context) error {
	now := i.now()
	if i.age(i.keys.Load()) < keep {
		return nil
	}
	if i.failed != nil && now.Sub(i.failedAt) < retry {
		return i.failed
	}
	set, err := i.readKeys(ctx)
	if i.failed = err; err != nil {
		i.failedAt = now
		i.log.Warn("the issuer's discovery document or its keys cannot be read", "issuer", i.cfg.URL, "error", err)
		return err
	}
	i.keys.Store(&keys{set, now})
	return nil
}

// readKeys reads both, so that what is kept can verify from its first token on.
func (i *issuer) readKeys(ctx context.Context) (*keySet, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, i.due), i.cfg.URL)
	if err != nil {
		return nil, err
	}
	var document struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&document); err != nil {
		return nil, err
	}
	set := &keySet{url: document.Keys, spare: i.spare}
	return set, set.read(ctx, i.due)
}

// read checks the times and takes the principal's id: oid, else sub. Source: contract section 1.
func (i *issuer) read(token *oidc.IDToken) (gateway.ID, time.Time, error) {
	var claims struct {
		ObjectID  string   `json:"oid"`
		NotBefore *float64 `json:"nbf"`
	}
	if err := token.Claims(&claims); err != nil {
		return "", time.Time{}, gateway.Wrap(gateway.CodeUnauthorized, err, "The access token's claims cannot be read.")
	}
	now := i.now()
	switch {
	case token.Expiry.Unix() <= 0:
		return "", time.Time{}, gateway.Errorf(gateway.CodeUnauthorized, "The access token never expires; such tokens are not taken.")
	case !now.Before(token.Expiry.Add(leeway)):
		return "", time.Time{}, gateway.Errorf(gateway.CodeTokenExpired, "Access token has expired, resubmit with a new access token.")
	case claims.NotBefore != nil && float64(now.Add(leeway).Unix()) < *claims.NotBefore:
		return "", time.Time{}, gateway.Errorf(gateway.CodeUnauthorized, "The access token is not good yet.")
	}
	id := claims.ObjectID
	if id == "" {
		id = token.Subject
	}
	principal, ok := gateway.ParseID(id)
	if !ok {
		return "", time.Time{}, gateway.Errorf(gateway.CodeUnauthorized, "The access token names its principal by neither an oid nor a sub that is a GUID.")
	}
	return principal, token.Expiry, nil
}
