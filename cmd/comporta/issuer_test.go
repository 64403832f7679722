package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"comporta/service/issuer/issuertest"
)

// ask sends a bearer token and answers the status and the error's code and words.
func (s *story) ask(token string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(deadline(s.t), "GET", s.address+"/v2.0/myorg/me/gatewayClusters", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode, all(s.t, resp.Body)
}

func TestTokensOfAnOutsideIssuer(t *testing.T) {
	const audience, someone = "https://comporta.example.com", "0d9f1a52-6f0e-4e34-9c3c-0a8f6a5f7b11"
	p := issuertest.New(t)
	key := p.RSA("one")
	token := issuertest.Sign(t, jwt.SigningMethodRS256, "one", key, jwt.MapClaims{"iss": p.URL, "aud": audience, "oid": someone, "exp": time.Now().Add(time.Hour).Unix()})
	s := newStory(t, "--trust-issuer", p.URL, "--trust-audience", audience)
	if status, answer := s.ask(token); status != http.StatusUnauthorized || !strings.Contains(answer, someone) {
		t.Errorf("a principal that is not known here: %d %s", status, answer)
	}
	if status, out, failure := comporta(t, append(s.login(), "COMPORTA_SERVER="+s.address), "admin", "principals", "create", "Ann", "--kind", "User", "--id", someone); status != exitOK {
		t.Fatalf("create ended with %d: %s%s", status, out, failure)
	}
	if status, answer := s.ask(token); status != http.StatusOK {
		t.Errorf("a known principal: %d %s", status, answer)
	}
	renewed := issuertest.Sign(t, jwt.SigningMethodRS256, "two", p.RSA("two"), jwt.MapClaims{"iss": p.URL, "aud": audience, "oid": someone, "exp": time.Now().Add(time.Hour).Unix()})
	if status, answer := s.ask(renewed); status != http.StatusOK {
		t.Errorf("a token under a new key: %d %s", status, answer)
	}
	if status, answer := s.ask(issuertest.Sign(t, jwt.SigningMethodRS256, "one", key, jwt.MapClaims{"iss": p.URL, "aud": audience, "oid": someone, "exp": 1})); status != http.StatusUnauthorized || !strings.Contains(answer, "TokenExpired") {
		t.Errorf("an expired token: %d %s", status, answer)
	}
	if status, _, failure := comporta(t, append(s.login(), "COMPORTA_SERVER="+s.address), "admin", "principals", "disable", someone); status != exitOK {
		t.Fatalf("disable ended with %d: %s", status, failure)
	}
	until(t, "a disabled principal's token is refused", func() bool { status, _ := s.ask(token); return status == http.StatusUnauthorized })

	strict := newStory(t)
	if status, _ := strict.ask(token); status != http.StatusUnauthorized || p.Reads.Load() > 2 {
		t.Errorf("an issuer that is not configured: %d", status)
	}
}

func TestRegionsOfTheConfiguration(t *testing.T) {
	s := newStory(t, "--region", "we=West Europe", "--region", "ne=North Europe")
	var regions struct {
		Value []struct {
			RegionKey, Region      string
			IsDefaultPowerBIRegion bool
		}
	}
	if err := s.client.call(deadline(t), "GET", "/v2.0/myorg/gatewayRegions", nil, &regions); err != nil {
		t.Fatal(err)
	}
	if r := regions.Value; len(r) != 2 || r[0].RegionKey != "we" || r[0].Region != "West Europe" || !r[0].IsDefaultPowerBIRegion || r[1].RegionKey != "ne" || r[1].IsDefaultPowerBIRegion {
		t.Errorf("regions are %+v", regions.Value)
	}
	body := map[string]any{"name": "North", "recoveryKey": storyRecoveryKey, "region": "NE"}
	var made struct{ ClusterID string }
	if err := s.client.call(deadline(t), "POST", "/v2.0/myorg/gatewayClusters", body, &made); err != nil {
		t.Fatal(err)
	}
	var cluster struct{ Region string }
	if err := s.client.call(deadline(t), "GET", "/v2.0/myorg/gatewayClusters/"+made.ClusterID, nil, &cluster); err != nil || cluster.Region != "ne" {
		t.Errorf("the cluster is in %q: %v", cluster.Region, err)
	}
	body["name"], body["region"] = "South", "se"
	if err := s.client.call(deadline(t), "POST", "/v2.0/myorg/gatewayClusters", body, nil); err == nil || !strings.Contains(err.Error(), "region") || !strings.Contains(err.Error(), "we, ne") {
		t.Errorf("an unknown region: %v", err)
	}
}
