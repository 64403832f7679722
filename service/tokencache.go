package service

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"

	"comporta/service/gateway"
)

// maxCachedTokens bounds the memory that verified tokens take.
const maxCachedTokens = 20000

type tokenHash [sha256.Size]byte

// hashToken keys the cache, so that no token stays in memory longer than its request.
func hashToken(bearer string) tokenHash { return sha256.Sum256([]byte(bearer)) }

// verified is what is remembered of a token whose signature was checked.
type verified struct {
	principal gateway.ID
	// issued is when the token was made; zero for one of an outside issuer, which speaks of its own principals.
	issued, expires time.Time
	// until is when the signature must be checked again; zero for never. An outside issuer may withdraw a key.
	until time.Time
	// foreign: the token is of an outside issuer.
	foreign bool
}

// tokenCache remembers verified tokens until they expire. Reading takes no lock.
type tokenCache struct {
	tokens sync.Map // tokenHash -> verified
	size   atomic.Int64
	sweep  sync.Mutex
}

func (c *tokenCache) get(key tokenHash) (verified, bool) {
	v, ok := c.tokens.Load(key)
	if !ok {
		return verified{}, false
	}
	return v.(verified), true
}

func (c *tokenCache) put(key tokenHash, v verified, now time.Time) {
	if _, had := c.tokens.Swap(key, v); !had && c.size.Add(1) > maxCachedTokens {
		c.shrink(now)
	}
}

// shrink drops the expired tokens, and all of them if that does not make room: verifying again costs little.
func (c *tokenCache) shrink(now time.Time) {
	if !c.sweep.TryLock() {
		return
	}
	defer c.sweep.Unlock()
	c.drop(func(v verified) bool { return !now.Before(v.expires) })
	if c.size.Load() > maxCachedTokens {
		c.drop(func(verified) bool { return true })
	}
}

func (c *tokenCache) drop(which func(verified) bool) {
	c.tokens.Range(func(key, v any) bool {
		if which(v.(verified)) {
			if _, had := c.tokens.LoadAndDelete(key); had {
				c.size.Add(-1)
			}
		}
		return true
	})
}
