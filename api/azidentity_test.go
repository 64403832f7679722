package api_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"comporta/persistence"
)

// azureScopes are what scripts ask Microsoft's login for.
var azureScopes = []string{"https://api.fabric.microsoft.com/.default", "https://analysis.windows.net/powerbi/api/.default"}

// Microsoft's own credential class takes our address for its authority, and what it gets opens the Fabric surface: the address is all that
// an existing program changes.
func TestAzidentityLogsInHere(t *testing.T) {
	w := newSecureWorld(t)
	cluster := field(w.must(201, "POST", "/gatewayClusters", map[string]any{"name": "mine", "recoveryKey": recoveryKey}, nil), "clusterId")
	credential := w.azure(w.tenantID(), w.adminSecret)
	for _, scope := range azureScopes {
		token, err := credential.GetToken(context.Background(), policy.TokenRequestOptions{Scopes: []string{scope}})
		if err != nil {
			t.Fatalf("%s: %v", scope, err)
		}
		if life := time.Until(token.ExpiresOn); life < 55*time.Minute || life > 65*time.Minute {
			t.Errorf("%s: the token lives for %v", scope, life)
		}
		as := *w
		as.token = token.Token
		var list struct{ Value []struct{ ID string } }
		as.must(200, "GET", "//v1/gateways", nil, &list)
		if len(list.Value) != 1 || list.Value[0].ID != cluster {
			t.Errorf("%s: the token's bearer sees %v", scope, list)
		}
	}
}

// R40: a wrong secret fails at the login and says so, also in the platform's own words.
func TestR40AzidentityTellsAWrongSecretAtTheLogin(t *testing.T) {
	w := newSecureWorld(t)
	_, err := w.azure(w.tenantID(), "not the secret of this app").GetToken(context.Background(), policy.TokenRequestOptions{Scopes: azureScopes[:1]})
	var failed *azidentity.AuthenticationFailedError
	if !errors.As(err, &failed) || failed.RawResponse == nil || failed.RawResponse.StatusCode != 401 || !strings.Contains(err.Error(), "invalid_client") {
		t.Errorf("got %v", err)
	}
}

// Scripts carry the tenant that they know, a domain name too; there is one tenant here, and it answers to any.
func TestAzidentityMayNameAnyTenant(t *testing.T) {
	w := newSecureWorld(t)
	for _, tenant := range []string{"11111111-2222-3333-4444-555555555555", "contoso.onmicrosoft.com", "Organizations"} {
		if _, err := w.azure(tenant, w.adminSecret).GetToken(context.Background(), policy.TokenRequestOptions{Scopes: azureScopes[:1]}); err != nil {
			t.Errorf("%s: %v", tenant, err)
		}
	}
}

func (w *world) tenantID() string {
	w.t.Helper()
	p, err := w.service.Tenant.Policy(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return p.TenantID.String()
}

func (w *world) azure(tenant, secret string) azcore.TokenCredential {
	w.t.Helper()
	c, err := azidentity.NewClientSecretCredential(tenant, w.adminID, secret, &azidentity.ClientSecretCredentialOptions{
		ClientOptions:            azcore.ClientOptions{Cloud: cloud.Configuration{ActiveDirectoryAuthorityHost: w.url}, Transport: w.client, Retry: policy.RetryOptions{MaxRetries: -1}},
		DisableInstanceDiscovery: true,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// newSecureWorld is a world behind TLS, with a certificate of an authority that only its own client trusts.
func newSecureWorld(t *testing.T) *world {
	t.Helper()
	authority, key := newCertificate(t, &x509.Certificate{Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, nil)
	leaf, leafKey := newCertificate(t, &x509.Certificate{Subject: pkix.Name{CommonName: "comporta"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, authority, key)
	listener := httptest.NewUnstartedServer(nil)
	listener.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Raw}, PrivateKey: leafKey}}}
	trusted := x509.NewCertPool()
	trusted.AddCert(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}
	t.Cleanup(transport.CloseIdleConnections)
	return newWorldBehind(t, listener, &http.Client{Transport: transport}, persistence.Config{DataDir: t.TempDir()})
}

// newCertificate makes a certificate and its key; without a parent it signs itself.
func newCertificate(t *testing.T, template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if parent == nil {
		parent, parentKey = template, key
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made, key
}
