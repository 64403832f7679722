package main

import (
	"context"
	"crypto/rand"

	"comporta/service"
	"comporta/service/credential"
	"comporta/service/gateway"
	"comporta/service/tunnel"
)

// memberKeys lets the tunnels ask the use cases who a member is. members is set once both exist.
type memberKeys struct{ members *service.Members }

// TunnelKey implements tunnel.Keys.
func (k *memberKeys) TunnelKey(ctx context.Context, member gateway.ID) (tunnel.TunnelAuth, error) {
	key, settings, err := k.members.TunnelKey(ctx, member)
	return tunnel.TunnelAuth{PublicKey: key, Settings: settings}, err
}

// envelopes lets the use cases check and make envelopes.
type envelopes struct{}

// CheckForm implements service.Envelopes.
func (envelopes) CheckForm(modulusBytes int, envelope string) error {
	return credential.CheckForm(modulusBytes, envelope)
}

// SealPlain implements service.Envelopes.
func (envelopes) SealPlain(modulus, exponent []byte, plain string) (string, error) {
	pairs, err := credential.Parse([]byte(plain))
	if err != nil {
		return "", err
	}
	return credential.Seal(credential.Public{Modulus: modulus, Exponent: exponent}, pairs, rand.Reader)
}
