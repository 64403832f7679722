package service

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"comporta/service/gateway"
)

// FuzzAuthenticate: of all texts only the one that was issued is a token, to the letter; every other is refused as a token, never as a
// fault of ours.
func FuzzAuthenticate(f *testing.F) {
	w := newWorld(f)
	ctx := context.Background()
	app, secret, err := w.Tenant.CreatePrincipal(ctx, w.admin, NewPrincipal{Kind: gateway.App, Name: "app"})
	if err != nil {
		f.Fatal(err)
	}
	issued, err := w.Access.IssueToken(ctx, app.ID.String(), secret)
	if err != nil {
		f.Fatal(err)
	}
	good := issued.AccessToken
	for _, token := range append(hostile(f, w, good), good, "", ".", "..", "a.b.c", good+".", good+"=", good+"\n", strings.Repeat("A", 100_000), strings.ToUpper(good)) {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		caller, err := w.Access.Authenticate(ctx, token)
		switch {
		case err == nil && token != good:
			t.Fatalf("%q was taken for a token of %s", token, caller.ID)
		case err != nil && token == good:
			t.Fatal(err)
		case err != nil && !gateway.IsCode(err, gateway.CodeUnauthorized) && !gateway.IsCode(err, gateway.CodeTokenExpired):
			t.Fatalf("%q: %v", token, err)
		}
	})
}

// hostile are tokens as an attacker makes them out of a good one: other algorithms, other claims, the public key as a shared secret.
func hostile(f *testing.F, w *world, good string) []string {
	parts := strings.Split(good, ".")
	public, err := x509.MarshalPKIXPublicKey(&w.Access.signer.Load().private.PublicKey)
	if err != nil {
		f.Fatal(err)
	}
	kid := w.Access.signer.Load().kid
	claimed := jwt.MapClaims{}
	if body, err := base64.RawURLEncoding.DecodeString(parts[1]); err != nil || json.Unmarshal(body, &claimed) != nil {
		f.Fatal("the token has no claims")
	}
	header := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	list := []string{
		header(`{"alg":"none","typ":"JWT"}`) + "." + parts[1] + ".",
		header(`{"alg":"None","kid":"`+kid+`"}`) + "." + parts[1] + "." + parts[2],
		header(`{"alg":"RS512","kid":"`+kid+`"}`) + "." + parts[1] + "." + parts[2],
		header(`{"alg":"RS256","kid":null}`) + "." + parts[1] + "." + parts[2],
		header(`{"alg":"RS256","kid":["`+kid+`"]}`) + "." + parts[1] + "." + parts[2],
		header(`{"alg":"RS256","kid":"../../etc/passwd"}`) + "." + parts[1] + "." + parts[2],
		header(`{"alg":"RS256","kid":"' OR 1=1 --\u0000"}`) + "." + parts[1] + "." + parts[2],
		header(`{"alg":"RS256","jwk":{"kty":"RSA","n":"AQAB","e":"AQAB"},"kid":"`+kid+`"}`) + "." + parts[1] + "." + parts[2],
		parts[0] + "." + parts[1] + ".", parts[0] + ".." + parts[2], parts[0] + "." + parts[1] + "." + swapLast(parts[2]), parts[0] + "\n." + parts[1] + "." + parts[2],
	}
	for _, secret := range [][]byte{public, nil, {}} {
		t := jwt.NewWithClaims(jwt.SigningMethodHS256, claimed)
		t.Header["kid"] = kid
		if text, err := t.SignedString(secret); err == nil {
			list = append(list, text)
		}
	}
	claimed["roles"], claimed["exp"] = []string{"TenantAdmin"}, time.Now().Add(1000*time.Hour).Unix()
	if text, err := json.Marshal(claimed); err == nil {
		list = append(list, parts[0]+"."+header(string(text))+"."+parts[2])
	}
	return list
}

// swapLast changes bits of the last letter that base64 does not need.
func swapLast(text string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(letters, text[len(text)-1])
	return text[:len(text)-1] + string(letters[last^1])
}
