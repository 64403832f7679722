package service

import (
	"fmt"
	"testing"
	"time"
)

func TestTheTokenCacheIsBounded(t *testing.T) {
	var c tokenCache
	now := time.Unix(1000, 0)
	for i := range maxCachedTokens + 10 {
		expires := now.Add(time.Hour)
		if i%2 == 0 {
			expires = now.Add(-time.Second)
		}
		c.put(hashToken(fmt.Sprint(i)), verified{principal: "p", expires: expires}, now)
	}
	if n := c.size.Load(); n > maxCachedTokens || n < maxCachedTokens/2 {
		t.Errorf("%d tokens remain; only the expired half should have gone", n)
	}
	last := fmt.Sprint(maxCachedTokens + 9)
	if v, ok := c.get(hashToken(last)); !ok || v.principal != "p" {
		t.Error("the token put last is gone")
	}
}
