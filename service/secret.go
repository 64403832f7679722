package service

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"

	"comporta/persistence"
	"comporta/service/gateway"
	"comporta/service/recovery"
)

// defaultSecretCost is the price of checking a client secret. Source: OWASP's password storage cheat sheet (Argon2id, 19 MiB, two passes).
var defaultSecretCost = recovery.Cost{Time: 2, Memory: 19 << 10, Threads: 1}

const (
	secretSize = 32
	// minSecret is how many characters a secret that a person chose must have.
	minSecret = 16
	maxSecret = 512
)

// newSecret makes a client secret: 256 random bits as text.
func newSecret(random io.Reader) (string, error) {
	var raw [32]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return "", fmt.Errorf("make a secret: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw[:]), nil
}

// hashSecret encodes an Argon2id hash with a salt of its own.
func (c *core) hashSecret(secret string) (string, error) {
	var salt [16]byte
	if _, err := io.ReadFull(c.Random, salt[:]); err != nil {
		return "", fmt.Errorf("make a salt: %w", err)
	}
	return saltedHash(secret, salt[:], c.SecretCost), nil
}

// saltedHash is in PHC's form: what it cost to make stands beside it.
func saltedHash(secret string, salt []byte, cost recovery.Cost) string {
	b64 := base64.RawStdEncoding
	sum := argon2.IDKey([]byte(secret), salt, cost.Time, cost.Memory, cost.Threads, secretSize)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, cost.Memory, cost.Time, cost.Threads, b64.EncodeToString(salt), b64.EncodeToString(sum))
}

// sameSecret compares in constant time, at the cost that the hash was made at: when today's cost is another, older secrets still match.
func sameSecret(hash, secret string) bool {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 {
		return false
	}
	var cost recovery.Cost
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &cost.Memory, &cost.Time, &cost.Threads); err != nil || cost.Time == 0 || cost.Threads == 0 {
		return false
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false
	}
	return subtle.ConstantTimeCompare([]byte(saltedHash(secret, salt, cost)), []byte(hash)) == 1
}

// authenticateClient finds the principal whose id and secret these are.
func (a *Access) authenticateClient(ctx context.Context, clientID, secret string) (*gateway.Principal, error) {
	wrong := gateway.Errorf(gateway.CodeInvalidClient, "Invalid client credentials: no enabled application has this client id and secret.")
	id, ok := gateway.ParseID(clientID)
	if !ok || secret == "" || len(secret) > maxSecret {
		return nil, wrong
	}
	var p gateway.Principal
	var secrets []gateway.Secret
	err := a.Store.View(ctx, func(r persistence.Reader) (err error) {
		if p, err = r.Principal(ctx, id); err == nil {
			secrets, err = r.Secrets(ctx, id)
		}
		return err
	})
	if err != nil && !gateway.IsCode(err, gateway.CodeNotFound) {
		return nil, err
	}
	match, err := a.anyMatches(ctx, secrets, secret)
	if err != nil {
		return nil, err
	}
	if !match || p.Disabled {
		return nil, wrong
	}
	return &p, nil
}

// anyMatches compares with every live secret; a few computations at a time, because each takes memory.
func (a *Access) anyMatches(ctx context.Context, secrets []gateway.Secret, secret string) (bool, error) {
	select {
	case a.hashing <- struct{}{}:
		defer func() { <-a.hashing }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	live := liveSecrets(secrets, a.Now())
	if len(live) == 0 {
		_ = saltedHash(secret, make([]byte, 16), a.SecretCost) // the answer takes as long as for a client that exists
		return false, nil
	}
	match := false
	for _, s := range live {
		match = sameSecret(s.Hash, secret) || match
	}
	return match, nil
}

func liveSecrets(secrets []gateway.Secret, now time.Time) []gateway.Secret {
	var live []gateway.Secret
	for _, s := range secrets {
		if s.ExpiresAt.IsZero() || now.Before(s.ExpiresAt) {
			live = append(live, s)
		}
	}
	return live
}
