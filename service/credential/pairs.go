package credential

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"comporta/service/gateway"
)

// Pair is one name and value of credentials, such as username and its value.
type Pair struct{ Name, Value string }

// Pairs are credentials in the order in which they stand in an envelope. They never print themselves.
type Pairs []Pair

// Basic are a user name and a password.
func Basic(username, password string) Pairs {
	return Pairs{{"username", username}, {"password", password}}
}

// Windows are a Windows account (DOMAIN\name or name@domain) and its password.
func Windows(username, password string) Pairs { return Basic(username, password) }

// Key is an account key or an API key.
func Key(key string) Pairs { return Pairs{{"key", key}} }

// OAuth2 is an access token.
func OAuth2(accessToken string) Pairs { return Pairs{{"accessToken", accessToken}} }

// SharedAccessSignature is a SAS token.
func SharedAccessSignature(token string) Pairs { return Pairs{{"token", token}} }

// ServicePrincipal is an application of a tenant and its secret.
func ServicePrincipal(clientID, secret, tenantID string) Pairs {
	return Pairs{{"servicePrincipalClientId", clientID}, {"servicePrincipalSecret", secret}, {"tenantId", tenantID}}
}

// Anonymous is no credentials at all.
func Anonymous() Pairs { return Pairs{} }

// String hides the values.
func (Pairs) String() string { return "[credentials]" }

// GoString hides the values.
func (Pairs) GoString() string { return "[credentials]" }

// MarshalJSON hides the values.
func (Pairs) MarshalJSON() ([]byte, error) { return []byte(`"[credentials]"`), nil }

// Credentials returns the pairs by name.
func (p Pairs) Credentials() gateway.Credentials {
	c := make(gateway.Credentials, len(p))
	for _, pair := range p {
		c[pair.Name] = pair.Value
	}
	return c
}

// plaintext writes the pairs as the JSON text that goes into an envelope. It refuses what would come out changed.
func (p Pairs) plaintext() ([]byte, error) {
	type wire struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	all := make([]wire, len(p))
	for i, pair := range p {
		if !utf8.ValidString(pair.Name) || !utf8.ValidString(pair.Value) {
			return nil, gateway.Errorf(gateway.CodeInvalid, "The credentials are not valid UTF-8.")
		}
		all[i] = wire(pair)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(map[string][]wire{"credentialData": all}); err != nil {
		return nil, gateway.AsError(err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}
