package service

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"time"

	"comporta/persistence"
	"comporta/service/gateway"
)

// The life of a signing key. Each process makes its own and keeps the private half in memory only; the public half stands in the
// state database for as long as a token that it signed may live, so that every replica verifies the tokens of all.
const (
	signingKeyBits  = 2048
	renewKeyEvery   = time.Minute
	replaceKeyAfter = 24 * time.Hour
	// askKeysEvery bounds how often tokens with an unknown kid make the service look into the database.
	askKeysEvery = 2
)

// signer is the private half in use.
type signer struct {
	kid     string
	private *rsa.PrivateKey
	made    time.Time
}

// newSigner makes a key, publishes its public half and signs with it from now on.
func (a *Access) newSigner(ctx context.Context) error {
	private, err := rsa.GenerateKey(a.Random, signingKeyBits)
	if err != nil {
		return fmt.Errorf("make a signing key: %w", err)
	}
	s := &signer{kid: a.NewID().String(), private: private, made: a.Now()}
	if err := a.publish(ctx, s); err != nil {
		return err
	}
	a.signer.Store(s)
	return a.readKeys(ctx)
}

// publish stores the public half, good for the longest life of a token signed until the next renewal.
func (a *Access) publish(ctx context.Context, s *signer) error {
	public, err := x509.MarshalPKIXPublicKey(&s.private.PublicKey)
	if err != nil {
		return fmt.Errorf("encode a signing key: %w", err)
	}
	return a.Store.InTx(ctx, func(tx persistence.Tx) error {
		expires := tx.Now().Add(a.TokenLifetime + leeway + 10*renewKeyEvery)
		return tx.PutSigningKey(ctx, gateway.SigningKey{ID: s.kid, PublicKey: public, CreatedAt: s.made, ExpiresAt: expires})
	})
}

// keepSigningKey renews the key's expiry and replaces it once a day, until ctx ends.
func (a *Access) keepSigningKey(ctx context.Context) {
	tick := time.NewTicker(renewKeyEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s := a.signer.Load()
		var err error
		if s == nil || a.Now().Sub(s.made) > replaceKeyAfter {
			err = a.newSigner(ctx)
		} else {
			err = a.publish(ctx, s)
		}
		if err != nil && ctx.Err() == nil {
			a.Log.Error("renewing the signing key failed; it is tried again in a minute", "error", err)
		}
	}
}

// SigningKeys lists the public keys that verify tokens now, for the JWKS document.
func (a *Access) SigningKeys(ctx context.Context) ([]gateway.SigningKey, error) {
	var keys []gateway.SigningKey
	err := a.Store.View(ctx, func(r persistence.Reader) (err error) {
		keys, err = r.SigningKeys(ctx, a.Now())
		return err
	})
	return keys, err
}

func (a *Access) readKeys(ctx context.Context) error {
	stored, err := a.SigningKeys(ctx)
	if err != nil {
		return err
	}
	keys := make(map[string]*rsa.PublicKey, len(stored))
	for _, k := range stored {
		parsed, err := x509.ParsePKIXPublicKey(k.PublicKey)
		if public, ok := parsed.(*rsa.PublicKey); ok && err == nil {
			keys[k.ID] = public
		}
	}
	a.keys.Store(&keys)
	return nil
}

// verificationKey finds a key by its kid; one that a replica made a moment ago is looked up in the database, but not at any price.
func (a *Access) verificationKey(ctx context.Context, kid string) (*rsa.PublicKey, error) {
	if keys := a.keys.Load(); keys != nil {
		if k, ok := (*keys)[kid]; ok {
			return k, nil
		}
	}
	now, last := a.Now().Unix(), a.keysAsked.Load()
	// A clock that was set back does not make it wait until the time of before.
	if (now-last >= askKeysEvery || now < last) && a.keysAsked.CompareAndSwap(last, now) {
		if err := a.readKeys(ctx); err != nil {
			return nil, err
		}
		if k, ok := (*a.keys.Load())[kid]; ok {
			return k, nil
		}
	}
	return nil, fmt.Errorf("no signing key %q", kid)
}
