//go:build linux

package faults

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificate is what a service on a line is known by: nobody lets a tunnel cross a network in clear text.
type certificate struct {
	cert, key string // files
	trust     *tls.Config
}

// newCertificate makes one for an address, signed by itself, longer valid than any soak lasts.
func newCertificate(dir string, address net.IP) (*certificate, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 1, 0),
		IPAddresses: []net.IP{address}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err1 := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	keyDER, err2 := x509.MarshalPKCS8PrivateKey(private)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	c := &certificate{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem"), trust: &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}}
	c.trust.RootCAs.AppendCertsFromPEM(text)
	return c, errors.Join(os.WriteFile(c.cert, text, 0o600), os.WriteFile(c.key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
}
