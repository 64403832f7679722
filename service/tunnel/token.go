package tunnel

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"comporta/service/gateway"
)

// A tunnel token proves that whoever dials holds the member's key: base64url(claims) "." base64url(signature). The format is our own
// because it has one algorithm, one audience and nothing to negotiate; golang-jwt lives in another room.
const (
	tokenLifetime = 60 * time.Second
	// tokenLeeway is how far ahead a token's time of issue may lie; a member whose clock is further off learns the service's time.
	tokenLeeway = 10 * time.Second
	// tokenAudience binds a token to this purpose. It is a fixed word and not the service's address, because a member may know the
	// service by another name than the service itself (proxies, several addresses).
	tokenAudience = "comporta-tunnel"
	// tokenDomain keeps a signature made here from being a signature of anything else.
	tokenDomain   = "comporta tunnel token v1\n"
	maxTokenBytes = 4 << 10
	// MaxSlots is how many tunnels a member may hold at once: slots 0 to MaxSlots-1.
	MaxSlots = 8
)

// claims are what a member says of itself when it dials.
type claims struct {
	Member   gateway.ID `json:"member"`
	Audience string     `json:"aud"`
	// IssuedAt and ExpiresAt are Unix seconds by the service's clock, as far as the member knows it.
	IssuedAt  int64  `json:"iat"`
	ExpiresAt int64  `json:"exp"`
	Nonce     string `json:"nonce"`
	// Epoch grows with every start of the member's process; Slot numbers its tunnels.
	Epoch int64 `json:"epoch"`
	Slot  int   `json:"slot"`
	// Moving: the slot's present tunnel is alive and finishes its requests.
	Moving  bool   `json:"moving,omitempty"`
	Version string `json:"version,omitempty"`
	Machine string `json:"machine,omitempty"`
}

// token is a tunnel token taken apart but not yet believed.
type token struct {
	claims
	payload, signature []byte
}

func signToken(key ed25519.PrivateKey, c claims) string {
	payload, _ := json.Marshal(c) // cannot fail: strings and numbers only
	signature := ed25519.Sign(key, append([]byte(tokenDomain), payload...))
	return base64.RawURLEncoding.EncodeToString(payload) + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// parseToken takes a token apart. ok is false when its form is wrong; what it says is still to be verified.
func parseToken(text string) (t token, ok bool) {
	if len(text) > maxTokenBytes {
		return t, false
	}
	first, second, found := strings.Cut(text, ".")
	if !found {
		return t, false
	}
	strict := base64.RawURLEncoding.Strict()
	payload, err1 := strict.DecodeString(first)
	signature, err2 := strict.DecodeString(second)
	if err1 != nil || err2 != nil || len(signature) != ed25519.SignatureSize {
		return t, false
	}
	if err := gateway.DecodeStrict(bytes.NewReader(payload), &t.claims); err != nil {
		return t, false
	}
	t.payload, t.signature = payload, signature
	return t, t.wellFormed()
}

func (t *token) wellFormed() bool {
	id, ok := gateway.ParseID(string(t.Member))
	return ok && id == t.Member && t.Audience == tokenAudience && t.Slot >= 0 && t.Slot < MaxSlots &&
		len(t.Nonce) >= 1 && len(t.Nonce) <= 100 && len(t.Version) <= 100 && len(t.Machine) <= 300 &&
		t.ExpiresAt > t.IssuedAt && t.ExpiresAt-t.IssuedAt <= int64(tokenLifetime/time.Second)
}

// verify checks signature and time. A good signature with a wrong time, early or late, is CodeTokenExpired, on which a member corrects its clock.
func (t *token) verify(key ed25519.PublicKey, now time.Time) *gateway.Error {
	if len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, append([]byte(tokenDomain), t.payload...), t.signature) {
		return gateway.Errorf(gateway.CodeUnauthorized, "The tunnel token is not signed with this member's key. If another machine took over the member, stop this one.")
	}
	if now.Unix() >= t.ExpiresAt || now.Add(tokenLeeway).Unix() < t.IssuedAt {
		return gateway.Errorf(gateway.CodeTokenExpired, "The tunnel token is not valid at this time. The Date header tells the service's clock.")
	}
	return nil
}
