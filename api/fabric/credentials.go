package fabric

import (
	"encoding/json"

	"comporta/service"
	"comporta/service/gateway"
)

// CredentialDetailsRequest says how a data source is logged in to. credentials are left out where a whole connection is sent back.
type CredentialDetailsRequest struct {
	SingleSignOnType     string `json:"singleSignOnType" enums:"None,Kerberos,MicrosoftEntraID,SecurityAssertionMarkupLanguage,KerberosDirectQueryAndRefresh"`
	ConnectionEncryption string `json:"connectionEncryption" enums:"Encrypted,Any,NotEncrypted"`
	SkipTestConnection   *bool  `json:"skipTestConnection"`
	// CredentialType stands here in answers only.
	CredentialType string              `json:"credentialType"`
	Credentials    *CredentialsRequest `json:"credentials"`
}

// CredentialsRequest are credentials that were encrypted with the gateway's public key: one entry for each member, or for some of them.
type CredentialsRequest struct {
	CredentialType       string              `json:"credentialType" required:"true" validate:"required" enums:"Basic,Windows,Anonymous,Key,OAuth2,SharedAccessSignature,ServicePrincipal,WindowsWithoutImpersonation"`
	Values               []MemberCredentials `json:"values"`
	EncryptedCredentials string              `json:"encryptedCredentials"`
	// The others are plain text, which is refused unless the operator allows it.
	Username string `json:"username"`
	Password string `json:"password"`
	Key      string `json:"key"`
	Token    string `json:"token"`
}

// MemberCredentials are the credentials for one member.
type MemberCredentials struct {
	// GatewayID is the member's id.
	GatewayID            string `json:"gatewayId" required:"true" validate:"required" format:"uuid"`
	EncryptedCredentials string `json:"encryptedCredentials" required:"true" validate:"required"`
}

// signOn is the single sign-on, "" when none was named.
func (r *CredentialDetailsRequest) signOn() (string, error) {
	if r.SingleSignOnType == "" {
		return "", nil
	}
	return translated("credentialDetails.singleSignOnType", r.SingleSignOnType, signWords)
}

// inputs are the credentials by member; privacy and what else is not named stays as it was before.
func (r *CredentialDetailsRequest) inputs(privacy string) (map[gateway.ID]service.CredentialInput, error) {
	one, err := r.input(privacy)
	if err != nil {
		return nil, err
	}
	if len(r.Credentials.Values) == 0 {
		return map[gateway.ID]service.CredentialInput{"": one}, nil
	}
	all := map[gateway.ID]service.CredentialInput{}
	for _, v := range r.Credentials.Values {
		id, ok := gateway.ParseID(v.GatewayID)
		if _, twice := all[id]; !ok || twice {
			return nil, gateway.Errorf(gateway.CodeCredentialFormat, "credentials.values.gatewayId: %q is not the id of a member, or stands twice.", v.GatewayID)
		}
		one.Envelope = v.EncryptedCredentials
		all[id] = one
	}
	return all, nil
}

func (r *CredentialDetailsRequest) input(privacy string) (service.CredentialInput, error) {
	kind, err := translated("credentialDetails.credentials.credentialType", r.Credentials.CredentialType, credentialWords)
	if err != nil {
		return service.CredentialInput{}, err
	}
	in := service.CredentialInput{Type: kind, Envelope: r.Credentials.EncryptedCredentials, SkipTest: r.SkipTestConnection}
	if r.ConnectionEncryption != "" {
		if in.Encryption, err = oneOf("credentialDetails.connectionEncryption", r.ConnectionEncryption, encryption...); err != nil {
			return in, err
		}
	}
	if privacy != "" {
		if in.Privacy, err = oneOf("privacyLevel", privacy, "None", "Public", "Organizational", "Private"); err != nil {
			return in, err
		}
	}
	return in, r.Credentials.plain(&in)
}

// plain takes credentials in the clear as the text that is sealed, if the operator allows that; the use case refuses it otherwise.
func (r *CredentialsRequest) plain(in *service.CredentialInput) error {
	type pair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	var pairs []pair
	for _, p := range []pair{{"username", r.Username}, {"password", r.Password}, {"key", r.Key}, {"token", r.Token}} {
		if p.Value != "" {
			pairs = append(pairs, p)
		}
	}
	if pairs == nil {
		return nil
	}
	if len(r.Values) > 0 || r.EncryptedCredentials != "" {
		return gateway.Errorf(gateway.CodeCredentialFormat, "credentials holds plain text beside encrypted credentials; send the encrypted ones only.")
	}
	text, err := json.Marshal(map[string]any{"credentialData": pairs})
	in.Plain, in.Envelope = true, string(text)
	return err
}
