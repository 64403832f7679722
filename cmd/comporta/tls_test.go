package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// selfSigned writes a certificate for 127.0.0.1 with this serial number, and its key.
func selfSigned(t *testing.T, dir string, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// Over HTTPS everything works as in clear text: joining, tunnels, dispatch; SIGHUP takes a new certificate, and a bad one changes nothing.
func TestHTTPS(t *testing.T) {
	certs := t.TempDir()
	cert, key := selfSigned(t, certs, 1)
	s := newStory(t, "--tls-cert", cert, "--tls-key", key)
	if !strings.HasPrefix(s.address, "https://") {
		t.Fatalf("listening on %s", s.address)
	}
	h, err := httpClient(cert)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.CloseIdleConnections)
	s.client = newAPIClient(h, s.address, s.id, s.secret)
	join := []string{"member", "join", "--server", s.address, "--state", s.folder("one"), "--name", "one", "--new-cluster", "Story"}
	if p := start(t, s.login(), join...); p.exit() != exitFailure || !strings.Contains(p.stderr.String(), "--ca-file") {
		t.Fatalf("an unknown authority: %s", p.stderr)
	}
	p := start(t, s.login(), append(join, "--ca-file", cert)...)
	found := p.says(`cluster id +(\S+)`)
	clusters, err := s.client.clusters(deadline(t), true)
	if err != nil || len(clusters) != 1 || clusters[0].ID.String() != found[1] {
		t.Fatalf("clusters: %v, %v", clusters, err)
	}
	s.cluster = clusters[0].ID
	s.run("one", s.cluster) // the join remembered the authority
	if err := s.client.waitLive(deadline(t), s.cluster, 1); err != nil {
		t.Fatal(err)
	}
	if got := s.query(s.sqlite("x.db"), `SELECT 'ü'`); len(got.Rows) != 1 || got.Rows[0][0] != "ü" {
		t.Errorf("rows: %v", got.Rows)
	}

	selfSigned(t, certs, 2)
	s.service.signal(syscall.SIGHUP)
	until(t, "the new certificate is in use", func() bool { return serial(t, s.address) == 2 })
	if err := os.WriteFile(key, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.service.signal(syscall.SIGHUP)
	until(t, "the bad key is reported", func() bool { return strings.Contains(s.service.stderr.String(), "the old one stays in use") })
	if n := serial(t, s.address); n != 2 {
		t.Errorf("after a bad key the certificate is %d", n)
	}
}

// serial is the serial number of the certificate that the service shows now.
func serial(t *testing.T, address string) int64 {
	t.Helper()
	c, err := tls.Dial("tcp", strings.TrimPrefix(address, "https://"), &tls.Config{InsecureSkipVerify: true}) // only the number is looked at
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}
