// Package issuer verifies access tokens of outside issuers: OpenID Connect providers that the operator has named, with their keys read by
// discovery.
package issuer

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

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
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}

// Set is the issuers that are trusted.
type Set struct{ issuers map[string]*issuer }

// New makes the set. Nothing is read before the first token comes, so a service starts while an issuer is down.
func New(issuers []Config, now func() time.Time, log *slog.Logger) *Set {
	s := &Set{map[string]*issuer{}}
	for _, cfg := range issuers {
		s.issuers[cfg.URL] = &issuer{cfg: cfg, now: now, log: log, client: newClient(now)}
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
	verifier, err := i.verifier(ctx)
	if err != nil {
		return "", time.Time{}, gateway.Wrap(gateway.CodeUnavailable, err, "The issuer of the access token cannot be asked for its keys; try again in a moment.")
	}
	token, err := verifier.Verify(ctx, bearer)
	if err != nil {
		return "", time.Time{}, gateway.Wrap(gateway.CodeUnauthorized, err, "The access token is not a good one of its issuer, or is not for this service.")
	}
	return i.read(token)
}

// issuer is one provider with its keys, read anew from time to time.
type issuer struct {
	cfg    Config
	now    func() time.Time
	log    *slog.Logger
	client *http.Client
	keys   atomic.Pointer[keys]
	// reading is held by whoever reads the provider's documents; failed and its time are guarded by it.
	reading  sync.Mutex
	failed   error
	failedAt time.Time
}

type keys struct {
	verifier *oidc.IDTokenVerifier
	readAt   time.Time
}

// verifier returns the provider's keys. Old ones serve while somebody reads new ones.
func (i *issuer) verifier(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	known := i.keys.Load()
	switch age := i.age(known); {
	case age < keep:
		return known.verifier, nil
	case age < patience:
		if i.reading.TryLock() {
			go func() {
				defer i.reading.Unlock()
				_, _ = i.discover(context.WithoutCancel(ctx))
			}()
		}
		return known.verifier, nil
	}
	i.reading.Lock()
	defer i.reading.Unlock()
	if known = i.keys.Load(); i.age(known) < keep {
		return known.verifier, nil
	}
	return i.discover(ctx)
}

func (i *issuer) age(k *keys) time.Duration {
	if k == nil {
		return patience
	}
	return i.now().Sub(k.readAt)
}

// discover reads the provider's documents. reading is held.
func (i *issuer) discover(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	now := i.now()
	if i.failed != nil && now.Sub(i.failedAt) < retry {
		return nil, i.failed
	}
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, i.client), i.cfg.URL)
	if i.failed = err; err != nil {
		i.failedAt = now
		i.log.Warn("the issuer's discovery document cannot be read", "issuer", i.cfg.URL, "error", err)
		return nil, err
	}
	// Expiry is checked here, with the leeway of the contract.
	verifier := provider.VerifierContext(oidc.ClientContext(ctx, i.client), &oidc.Config{ClientID: i.cfg.Audience, SupportedSigningAlgs: algorithms, SkipExpiryCheck: true})
	i.keys.Store(&keys{verifier, now})
	return verifier, nil
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
