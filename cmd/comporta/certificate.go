package main

import (
	"crypto/tls"
	"fmt"
	"sync/atomic"
)

// certificate is the service's certificate, which can be read again while it is in use.
type certificate struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]
}

func loadCertificate(certFile, keyFile string) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile}
	return c, c.load()
}

// load reads the files. When they are not right, what was in use stays in use.
func (c *certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("the certificate %s and its key cannot be used: %w; both must be PEM files that belong together", c.certFile, err)
	}
	c.current.Store(&pair)
	return nil
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.current.Load(), nil
}
