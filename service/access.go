package service

import (
	"context"
	"crypto/rsa"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"comporta/persistence"
	"comporta/service/gateway"
)

// Audience is the audience of every access token. Requests may ask for any scope; what they get is a token for this service.
const Audience = "api://comporta"

// leeway is how far the clocks of this service's replicas may differ.
const leeway = time.Minute

// backdate is how long before its making a token is good, so that a service clock that is set back refuses no token just issued.
const backdate = 5 * time.Minute

// Access knows who calls: it issues and verifies tokens and keeps the principals' state at hand.
type Access struct {
	*core
	tenant     atomic.Pointer[gateway.ID]
	signer     atomic.Pointer[signer]
	keys       atomic.Pointer[map[string]*rsa.PublicKey]
	keysAsked  atomic.Int64 // unix seconds of the last reading of keys for an unknown kid
	tokens     tokenCache
	principals sync.Map // gateway.ID -> *gateway.Principal
	// readings are held while a principal is read and kept, each for a part of the principals.
	readings [64]reading
	// hashing bounds how many Argon2id computations run at once: each takes memory.
	hashing chan struct{}
}

func newAccess(c *core) *Access {
	a := &Access{core: c, hashing: make(chan struct{}, 2)}
	for i := range a.readings {
		a.readings[i].turn = make(chan struct{}, 1)
	}
	return a
}

// Token is an access token as the token endpoint hands it out.
type Token struct {
	AccessToken string
	ExpiresIn   time.Duration
}

// claims are what an access token of ours says.
type claims struct {
	jwt.RegisteredClaims
	ObjectID string   `json:"oid"`
	TenantID string   `json:"tid"`
	AppID    string   `json:"appid,omitempty"`
	Name     string   `json:"name,omitempty"`
	Roles    []string `json:"roles,omitempty"`
}

// TenantID is the id of the one tenant of this service.
func (a *Access) TenantID() gateway.ID {
	if id := a.tenant.Load(); id != nil {
		return *id
	}
	return ""
}

// IssueToken checks an application's id and secret (grant client_credentials) and makes a token for it.
// A wrong id, a wrong secret and a disabled application get the same CodeInvalidClient.
func (a *Access) IssueToken(ctx context.Context, clientID, secret string) (Token, error) {
	p, err := a.authenticateClient(ctx, clientID, secret)
	if err != nil {
		return Token{}, err
	}
	s := a.signer.Load()
	if s == nil {
		return Token{}, gateway.Errorf(gateway.CodeUnavailable, "The service is starting; try again in a moment.")
	}
	now, issued := a.Now(), a.Now()
	if p.CreatedAt.After(issued) { // the clock was set back since: no token is older than its principal
		issued = p.CreatedAt
	}
	c := claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: a.Issuer, Subject: p.ID.String(), Audience: jwt.ClaimStrings{Audience}, ID: a.NewID().String(),
			IssuedAt: jwt.NewNumericDate(issued), NotBefore: jwt.NewNumericDate(now.Add(-backdate)), ExpiresAt: jwt.NewNumericDate(now.Add(a.TokenLifetime)),
		},
		ObjectID: p.ID.String(), AppID: p.ID.String(), TenantID: a.TenantID().String(), Name: p.Name,
	}
	if p.TenantAdmin {
		c.Roles = []string{"TenantAdmin"}
	}
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, c)
	token.Header["kid"] = s.kid
	text, err := token.SignedString(s.private)
	if err != nil {
		return Token{}, err
	}
	return Token{AccessToken: text, ExpiresIn: a.TokenLifetime}, nil
}

// Authenticate says who stands behind a bearer token. CodeTokenExpired for one that was good once, CodeUnauthorized for any other
// that is not good now, one of a disabled or deleted principal included.
func (a *Access) Authenticate(ctx context.Context, bearer string) (gateway.Caller, error) {
	now := a.Now()
	key := hashToken(bearer)
	known, ok := a.tokens.get(key)
	if !ok || !known.until.IsZero() && now.After(known.until) {
		var err error
		if known, err = a.verify(ctx, bearer); err != nil {
			return gateway.Caller{}, err
		}
		a.tokens.put(key, known, now)
	}
	if !now.Before(known.expires.Add(leeway)) {
		return gateway.Caller{}, errExpired()
	}
	p, err := a.principal(ctx, known.principal)
	if err != nil && !gateway.IsCode(err, gateway.CodeNotFound) {
		return gateway.Caller{}, err
	}
	if err != nil && known.foreign {
		return gateway.Caller{}, gateway.Errorf(gateway.CodeUnauthorized, "The access token is good, but its principal %s is not known here. A TenantAdmin can create it under this id.", known.principal)
	}
	// One that was made again under the id of a deleted one is another principal. Tokens count whole seconds.
	if err != nil || p.Disabled || !known.foreign && known.issued.Before(p.CreatedAt.Truncate(time.Second)) {
		return gateway.Caller{}, errNoPrincipal()
	}
	return gateway.Caller{ID: p.ID, TenantID: a.TenantID(), Name: p.Name, TenantAdmin: p.TenantAdmin}, nil
}

// again looks once more at who was authenticated a while ago.
func (a *Access) again(ctx context.Context, caller *gateway.Caller) (*gateway.Caller, error) {
	p, err := a.principal(ctx, caller.ID)
	if err != nil && !gateway.IsCode(err, gateway.CodeNotFound) {
		return nil, err
	}
	if err != nil || p.Disabled {
		return nil, errNoPrincipal()
	}
	now := *caller
	now.TenantAdmin = p.TenantAdmin
	return &now, nil
}

func errNoPrincipal() *gateway.Error {
	return gateway.Errorf(gateway.CodeUnauthorized, "The principal of this token is disabled or was deleted.")
}

// verify checks signature, algorithm, issuer, audience and time.
func (a *Access) verify(ctx context.Context, bearer string) (verified, error) {
	if issuer := a.outsideIssuer(bearer); issuer != "" {
		return a.verifyOutside(ctx, issuer, bearer)
	}
	var c claims
	// A token is what was issued, to the letter: base64 would pass over line breaks, and over bits that its last letter does not need.
	if strings.ContainsAny(bearer, "\r\n") {
		return verified{}, gateway.Errorf(gateway.CodeUnauthorized, "The access token holds a line break.")
	}
	parser := jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}), jwt.WithIssuer(a.Issuer), jwt.WithAudience(Audience),
		jwt.WithExpirationRequired(), jwt.WithLeeway(leeway), jwt.WithStrictDecoding(), jwt.WithTimeFunc(a.Now))
	_, err := parser.ParseWithClaims(bearer, &c, func(t *jwt.Token) (any, error) {
		kid, _ := t.Header["kid"].(string)
		return a.verificationKey(ctx, kid)
	})
	if errors.Is(err, jwt.ErrTokenExpired) && !errors.Is(err, jwt.ErrTokenSignatureInvalid) || errors.Is(err, jwt.ErrTokenUnverifiable) && a.isOldOne(bearer) {
		return verified{}, errExpired()
	}
	if err != nil {
		return verified{}, gateway.Wrap(gateway.CodeUnauthorized, err, "The access token is not one of this service, or was changed on the way.")
	}
	id, ok := gateway.ParseID(c.ObjectID)
	if !ok || c.TenantID != a.TenantID().String() {
		return verified{}, gateway.Errorf(gateway.CodeUnauthorized, "The access token belongs to another tenant.")
	}
	return verified{principal: id, issued: c.issued(), expires: c.ExpiresAt.Time}, nil
}

func (c *claims) issued() time.Time {
	if c.IssuedAt == nil {
		return time.Time{}
	}
	return c.IssuedAt.Time
}

// isOldOne says whether a token that cannot be verified says of itself that it was ours and has expired. Its key may be gone by then. Whoever
// made it up learns nothing by the other word.
func (a *Access) isOldOne(bearer string) bool {
	var c claims
	_, _, err := jwt.NewParser(jwt.WithStrictDecoding()).ParseUnverified(bearer, &c)
	return err == nil && c.Issuer == a.Issuer && slices.Contains(c.Audience, Audience) && c.TenantID == a.TenantID().String() &&
		c.ExpiresAt != nil && !a.Now().Before(c.ExpiresAt.Add(leeway))
}

// recheck is how long the signature of an outside issuer's token counts as checked.
const recheck = 5 * time.Minute

// outsideIssuer reads whom a token names as its issuer, before anything of it is proved; "" when that is nobody trusted outside.
func (a *Access) outsideIssuer(bearer string) string {
	if a.Issuers == nil {
		return ""
	}
	var c jwt.RegisteredClaims
	if _, _, err := jwt.NewParser().ParseUnverified(bearer, &c); err != nil || c.Issuer == a.Issuer || !a.Issuers.Trusts(c.Issuer) {
		return ""
	}
	return c.Issuer
}

func (a *Access) verifyOutside(ctx context.Context, issuer, bearer string) (verified, error) {
	id, expires, err := a.Issuers.Verify(ctx, issuer, bearer)
	return verified{principal: id, expires: expires, until: a.Now().Add(recheck), foreign: true}, err
}

func errExpired() *gateway.Error {
	return gateway.Errorf(gateway.CodeTokenExpired, "Access token has expired, resubmit with a new access token.")
}

// principal returns a principal from memory, or reads it once.
func (a *Access) principal(ctx context.Context, id gateway.ID) (*gateway.Principal, error) {
	if p, ok := a.principals.Load(id); ok {
		return p.(*gateway.Principal), nil
	}
	return a.readPrincipal(ctx, id)
}

// reading is the turn to read a principal. Once a change could not be read, overtaken grows: who is at it must not keep what he has read.
type reading struct {
	turn      chan struct{}
	overtaken atomic.Int64
}

func (a *Access) reading(id gateway.ID) *reading {
	return &a.readings[crc32.ChecksumIEEE([]byte(id))%uint32(len(a.readings))]
}

// forgetPrincipal has a principal read again by who asks next.
func (a *Access) forgetPrincipal(id gateway.ID) {
	a.reading(id).overtaken.Add(1)
	a.principals.Delete(id)
}

// readPrincipal reads a principal anew, after a change or for the first time. One is read at a time, so that an older reading never replaces a
// newer one: whoever was disabled meanwhile would be let in for good.
func (a *Access) readPrincipal(ctx context.Context, id gateway.ID) (*gateway.Principal, error) {
	turn := a.reading(id)
	select {
	case turn.turn <- struct{}{}:
		defer func() { <-turn.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var p gateway.Principal
	overtaken := turn.overtaken.Load()
	err := a.Store.View(ctx, func(r persistence.Reader) (err error) {
		p, err = r.Principal(ctx, id)
		return err
	})
	if err != nil {
		a.principals.Delete(id)
		return nil, err
	}
	if a.principals.Store(id, &p); turn.overtaken.Load() != overtaken {
		a.principals.Delete(id)
	}
	return &p, nil
}

// catchUp takes in what other processes changed of principals.
func (a *Access) catchUp(ctx context.Context, since int64) (int64, error) {
	var changed []gateway.Principal
	newest := since
	err := a.Store.View(ctx, func(r persistence.Reader) (err error) {
		changed, newest, err = r.PrincipalChanges(ctx, since)
		return err
	})
	if err != nil {
		return since, err
	}
	for _, p := range changed {
		if _, known := a.principals.Load(p.ID); known {
			if _, err := a.readPrincipal(ctx, p.ID); err != nil && !gateway.IsCode(err, gateway.CodeNotFound) {
				return since, err
			}
		}
	}
	return newest, nil
}
