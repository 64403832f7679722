package tunnel

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"comporta/service/gateway"
)

func testKey() ed25519.PrivateKey { return ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", 32))) }

func goodClaims(now time.Time) claims {
	return claims{Member: memberID, Audience: tokenAudience, IssuedAt: now.Unix(), ExpiresAt: now.Unix() + 60, Nonce: "n", Epoch: 1, Slot: 1}
}

func TestTokenTimes(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	key := testKey()
	for _, c := range []struct {
		name  string
		shift time.Duration
		code  gateway.Code
	}{
		{"now", 0, ""}, {"almost over", 59 * time.Second, ""}, {"over", 60 * time.Second, gateway.CodeTokenExpired},
		{"a little early", -10 * time.Second, ""}, {"early", -11 * time.Second, gateway.CodeTokenExpired},
	} {
		tok, ok := parseToken(signToken(key, goodClaims(now)))
		if !ok {
			t.Fatal("not parsed")
		}
		err := tok.verify(key.Public().(ed25519.PublicKey), now.Add(c.shift))
		if (err == nil) != (c.code == "") || err != nil && err.Code != c.code {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestTokensThatAreNotBelieved(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	key := testKey()
	for name, change := range map[string]func(*claims){
		"audience":  func(c *claims) { c.Audience = "other" },
		"member":    func(c *claims) { c.Member = "x" },
		"upper id":  func(c *claims) { c.Member = "AAAAAAAA-2222-3333-4444-555555555555" },
		"lifetime":  func(c *claims) { c.ExpiresAt++ },
		"backwards": func(c *claims) { c.ExpiresAt = c.IssuedAt },
		"slot":      func(c *claims) { c.Slot = MaxSlots },
		"no nonce":  func(c *claims) { c.Nonce = "" },
		"long":      func(c *claims) { c.Machine = strings.Repeat("x", maxTokenBytes) },
	} {
		c := goodClaims(now)
		change(&c)
		if _, ok := parseToken(signToken(key, c)); ok {
			t.Errorf("%s: accepted", name)
		}
	}
	good := signToken(key, goodClaims(now))
	payload, signature, _ := strings.Cut(good, ".")
	unknown := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`))
	for _, text := range []string{"", ".", payload, payload + ".", "." + signature, good + "=", good + ".x", unknown + "." + signature} {
		if _, ok := parseToken(text); ok {
			t.Errorf("%q: accepted", text)
		}
	}
	// The right form with a signature over something else: without the domain, or of other claims.
	raw, _ := base64.RawURLEncoding.DecodeString(payload)
	other := goodClaims(now)
	other.Slot = 2
	_, otherSignature, _ := strings.Cut(signToken(key, other), ".")
	for _, s := range []string{base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, raw)), otherSignature} {
		tok, ok := parseToken(payload + "." + s)
		if err := tok.verify(key.Public().(ed25519.PublicKey), now); !ok || err == nil || err.Code != gateway.CodeUnauthorized {
			t.Error(ok, err)
		}
	}
	tok, _ := parseToken(good)
	if err := tok.verify(nil, now); err == nil {
		t.Error("a member without a key was believed")
	}
}

func TestNonceIsUsedOnce(t *testing.T) {
	t.Parallel()
	var n nonces
	now := time.Unix(1_700_000_000, 0)
	for i := range 200 { // a token every second, each tried again at once and at the end of its life
		at := now.Add(time.Duration(i) * time.Second)
		name := fmt.Sprint(i)
		if fresh, room := n.use(memberID, name, at); !fresh || !room {
			t.Fatal("a new nonce was refused")
		}
		for back := 0; back <= min(i, 69); back += 23 {
			if fresh, _ := n.use(memberID, fmt.Sprint(i-back), at); fresh {
				t.Fatalf("nonce %d was used again %d s later", i-back, back)
			}
		}
	}
	if fresh, _ := n.use("another", "5", now); !fresh {
		t.Fatal("nonces of different members are different")
	}
	for i := range maxNonces {
		n.use(memberID, fmt.Sprint("fill", i), now.Add(200*time.Second))
	}
	if _, room := n.use(memberID, "one more", now.Add(200*time.Second)); room {
		t.Fatal("the memory has no bound")
	}
}

// After a step back of the clock a token that was used becomes valid once more, when the clock comes by its time again.
func TestNonceIsUsedOnceWhileTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	var n nonces
	used := time.Now() // with a monotonic reading, which tokens know nothing of
	n.use(memberID, "used", used)
	for i := range 320 {
		at := used.Add(time.Duration(i-300) * time.Second)
		if fresh, room := n.use(memberID, fmt.Sprint(i), at); !fresh || !room {
			t.Fatal("the clock stepping back does harm")
		}
		if fresh, _ := n.use(memberID, "used", at); fresh {
			t.Fatalf("a nonce was used again %s after its token was used", at.Sub(used))
		}
	}
	for i := range 2 * maxNonces {
		if _, room := n.use(memberID, fmt.Sprint("fill", i), used.Add(-365*24*time.Hour)); !room {
			if i < maxNonces {
				t.Fatal("a large step back keeps everybody out")
			}
			return
		}
	}
	t.Fatal("the memory has no bound")
}

func FuzzParseToken(f *testing.F) {
	key := testKey()
	now := time.Unix(1_700_000_000, 0)
	good := signToken(key, goodClaims(now))
	f.Add(good)
	f.Add("a.b")
	f.Fuzz(func(t *testing.T, text string) {
		tok, ok := parseToken(text)
		if ok && tok.verify(key.Public().(ed25519.PublicKey), now) == nil && text != good {
			t.Fatalf("a token that nobody signed was believed: %q", text)
		}
	})
}
