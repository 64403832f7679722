package service

import (
	"context"
	"io"
	"log/slog"
	"time"

	"comporta/persistence"
	"comporta/service/gateway"
	"comporta/service/recovery"
)

// Tunnels is what the use cases see of the live tunnels; tunnel.Registry satisfies it.
type Tunnels interface {
	// Presence never blocks; an unknown member is offline.
	Presence(member gateway.ID) gateway.Presence
	// Send hands a task to a member. Its error is an *gateway.AttemptError. It counts the request in flight first and then sends it only if
	// wanted says so.
	Send(ctx context.Context, member gateway.ID, task *gateway.Task, chance gateway.Chance, wanted func() bool) (*gateway.Answer, error)
	// Configure tells a member its settings, if it is connected.
	Configure(member gateway.ID, s gateway.MemberSettings)
	// Disconnect closes a member's tunnels; the reason is for its log.
	Disconnect(member gateway.ID, reason string)
}

// Envelopes checks and makes the clients' credential envelopes; the credential package provides them.
type Envelopes interface {
	// CheckForm answers CodeCredentialFormat unless the envelope has the form that a key of this many bytes demands.
	CheckForm(modulusBytes int, envelope string) error
	// SealPlain encrypts a plain-text credential JSON with the cluster's public key.
	SealPlain(modulus, exponent []byte, plain string) (string, error)
}

// Issuers verifies tokens of outside issuers; issuer.Set satisfies it.
type Issuers interface {
	// Trusts says whether tokens that name this issuer are taken at all.
	Trusts(issuer string) bool
	// Verify answers the principal that a token speaks of and when the token ends.
	Verify(ctx context.Context, issuer, bearer string) (gateway.ID, time.Time, error)
}

// Region is a place that a cluster may belong to.
type Region struct {
	Key, Name string
	Home      bool
}

// Config is what the use cases are made of. All fields are needed unless their comment says otherwise.
type Config struct {
	Store     persistence.Store
	Tunnels   Tunnels
	Envelopes Envelopes
	Now       func() time.Time
	NewID     func() gateway.ID
	Random    io.Reader
	// Pick returns a uniform number below n; routing draws with it. It must be safe for many goroutines.
	Pick func(n int) int
	Log  *slog.Logger
	// Issuer is the public address of the service; it goes into the tokens.
	Issuer string
	// Issuers are outside issuers whose tokens are taken too; nil for none.
	Issuers Issuers
	// TokenLifetime is how long an access token is good; 0 means an hour.
	TokenLifetime time.Duration
	// RecoveryCost is the price of one guess at a recovery key; zero means the default.
	RecoveryCost recovery.Cost
	// SecretCost is the price of checking a client secret that is made from now on; zero means the default.
	SecretCost recovery.Cost
	// Regions, home first; empty means one home region called "home".
	Regions []Region
	// AllowPlainCredentials lets clients send credentials in plain text; they are sealed before they are stored.
	AllowPlainCredentials bool
	// MaxTimeout bounds the time a dispatch may ask for; 0 means six hours.
	MaxTimeout time.Duration
	// OnRecord sees each dispatch record when it is written, a second late at most and off the path of the request; nil for nobody.
	OnRecord func(gateway.DispatchRecord)
	// KeepHistory and KeepRows bound dispatch records and load samples; 0 means 30 days and a million rows.
	KeepHistory time.Duration
	KeepRows    int
}

// Service is the whole of the use cases.
type Service struct {
	Access      *Access
	Clusters    *Clusters
	Members     *Members
	DataSources *DataSources
	Tenant      *Tenant
	Dispatcher  *Dispatcher
	History     *History
	directory   *directory
}

// core is what every group of use cases has in common.
type core struct {
	Config
	directory *directory
}

// New puts the use cases together. Start must be called before the first token is issued.
func New(cfg Config) *Service {
	withDefaults(&cfg)
	c := &core{Config: cfg}
	c.directory = newDirectory(cfg.Store, cfg.Tunnels, cfg.Log)
	history := newHistory(c)
	access := newAccess(c)
	guard := newGuard(cfg.Now)
	return &Service{
		Access:      access,
		Clusters:    &Clusters{core: c, guard: guard},
		Members:     &Members{core: c, guard: guard},
		DataSources: &DataSources{core: c},
		Tenant:      &Tenant{core: c, access: access},
		Dispatcher:  &Dispatcher{core: c, access: access, history: history},
		History:     history,
		directory:   c.directory,
	}
}

func withDefaults(cfg *Config) {
	if cfg.TokenLifetime == 0 {
		cfg.TokenLifetime = time.Hour
	}
	if cfg.RecoveryCost == (recovery.Cost{}) {
		cfg.RecoveryCost = recovery.DefaultCost()
	}
	if cfg.SecretCost == (recovery.Cost{}) {
		cfg.SecretCost = defaultSecretCost
	}
	if len(cfg.Regions) == 0 {
		cfg.Regions = []Region{{Key: "home", Name: "Home", Home: true}}
	}
	if cfg.MaxTimeout == 0 {
		cfg.MaxTimeout = 6 * time.Hour
	}
	if cfg.KeepHistory == 0 {
		cfg.KeepHistory = 30 * 24 * time.Hour
	}
	if cfg.KeepRows == 0 {
		cfg.KeepRows = 1_000_000
	}
}

// Run does the upkeep: it follows what other processes change, renews the signing key and writes history in batches.
// It returns when ctx has ended and everything in hand is written.
func (s *Service) Run(ctx context.Context) {
	done := make(chan struct{}, 2)
	go func() { s.directory.follow(ctx, s.Access); done <- struct{}{} }()
	go func() { s.Access.keepSigningKey(ctx); done <- struct{}{} }()
	s.History.run(ctx)
	<-done
	<-done
}

// changed runs a write transaction that touches one cluster and then brings the directory up to date, so that the next request
// already sees the change.
func (c *core) changed(ctx context.Context, cluster gateway.ID, fn func(tx persistence.Tx) error) error {
	if err := c.Store.InTx(ctx, fn); err != nil {
		return err
	}
	// The change is acknowledged only once every reader of this process sees it; a caller that went away must not stop that.
	c.directory.refresh(context.WithoutCancel(ctx), cluster)
	return nil
}
