package powerbi

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"comporta/service"
	"comporta/service/gateway"
)

// DataSource is a data source of a cluster. Its credentials are never in an answer.
type DataSource struct {
	ID                     gateway.ID       `json:"id"`
	ClusterID              gateway.ID       `json:"clusterId"`
	GatewayID              gateway.ID       `json:"gatewayId"`
	DatasourceType         string           `json:"datasourceType"`
	DatasourceName         string           `json:"datasourceName"`
	DatasourceAnnotation   string           `json:"datasourceAnnotation"`
	ConnectionDetails      string           `json:"connectionDetails" example:"{\"server\":\"db:5432\",\"database\":\"sales\"}"`
	CredentialType         string           `json:"credentialType"`
	SingleSignOnType       string           `json:"singleSignOnType"`
	OnPremGatewayRequired  bool             `json:"onPremGatewayRequired"`
	CreatedDateTime        time.Time        `json:"createdDateTime"`
	Users                  []DataSourceUser `json:"users"`
	DatasourceErrorDetails []SourceError    `json:"datasourceErrorDetails"`
}

// SourceError is one member's failure with a data source.
type SourceError struct {
	GatewayName  string `json:"gatewayName"`
	ErrorCode    string `json:"errorCode"`
	ErrorMessage string `json:"errorMessage"`
}

// DataSourceEntity is one data source with its context.
type DataSourceEntity struct {
	Context string `json:"@odata.context"`
	DataSource
}

// DataSourceUser is a user of a data source.
type DataSourceUser struct {
	Identifier            string     `json:"identifier"`
	ObjectID              gateway.ID `json:"objectId"`
	PrincipalType         string     `json:"principalType" enums:"User,App,Group"`
	DisplayName           string     `json:"displayName"`
	EmailAddress          string     `json:"emailAddress"`
	DatasourceAccessRight string     `json:"datasourceAccessRight" enums:"None,Read,ReadOverrideEffectiveIdentity"`
	Role                  string     `json:"role" enums:"Owner,UserWithReshare,User"`
}

func dataSource(v *service.DataSourceView) DataSource {
	d := DataSource{ID: v.ID, ClusterID: v.ClusterID, GatewayID: v.ClusterID, DatasourceType: string(v.Type), DatasourceName: v.Name, DatasourceAnnotation: v.Annotation,
		ConnectionDetails: v.ConnectionDetails, CredentialType: v.Credential.Type, SingleSignOnType: v.SingleSignOn, OnPremGatewayRequired: true,
		CreatedDateTime: v.CreatedAt, Users: []DataSourceUser{}, DatasourceErrorDetails: []SourceError{}}
	for _, u := range v.Users {
		d.Users = append(d.Users, DataSourceUser{Identifier: u.PrincipalID.String(), ObjectID: u.PrincipalID, PrincipalType: string(u.Principal.Kind),
			DisplayName: u.Principal.Name, EmailAddress: u.Principal.Email, DatasourceAccessRight: string(u.Right), Role: string(u.Role)})
	}
	return d
}

// CredentialDetails are credentials for one member, or for all: the members of a cluster share one key. In a PATCH, encryption, privacy and
// skipTestConnection stay as they are where they are not given.
type CredentialDetails struct {
	CredentialType *CredentialType `json:"credentialType" required:"true" validate:"required" swaggertype:"string" enums:"Basic,Windows,Anonymous,Key,OAuth2,SAS,ServicePrincipal"`
	// Credentials are the envelope made with the cluster's public key.
	Credentials                 string     `json:"credentials"`
	EncryptedConnection         Encryption `json:"encryptedConnection" swaggertype:"string" enums:"Encrypted,Any,NotEncrypted"`
	EncryptionAlgorithm         string     `json:"encryptionAlgorithm" enums:"RSA-OAEP,None"`
	PrivacyLevel                Privacy    `json:"privacyLevel" swaggertype:"string" enums:"None,Public,Organizational,Private"`
	UseCallerAADIdentity        bool       `json:"useCallerAADIdentity"`
	UseEndUserOAuth2Credentials *bool      `json:"useEndUserOAuth2Credentials"`
	UseCustomOAuthApp           bool       `json:"useCustomOAuthApp"`
	SkipTestConnection          *bool      `json:"skipTestConnection"`
	IsCredentialEncrypted       bool       `json:"isCredentialEncrypted"`
	CredentialSources           []string   `json:"credentialSources"`
}

// input turns them into what the use cases take.
func (d *CredentialDetails) input() (service.CredentialInput, error) {
	algorithm, err := oneOf(d.EncryptionAlgorithm, "RSA-OAEP", "None", "")
	return service.CredentialInput{Type: d.CredentialType.Value, Envelope: d.Credentials, Encryption: d.EncryptedConnection.Value, Privacy: d.PrivacyLevel.Value,
		SkipTest: d.SkipTestConnection, Plain: algorithm == "None"}, err
}

// credentials reads credentialDetails: a map from member id to CredentialDetails, or one CredentialDetails for all. A member that is named
// twice, however its id is written, would have one of its entries lost unseen. endUser says that one of them asks for the end user's own
// credentials, which is a single sign-on.
func credentials(raw json.RawMessage, decode func([]byte, any) error) (byMember map[gateway.ID]service.CredentialInput, endUser bool, err error) {
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(raw, &entries); err != nil {
		return nil, false, gateway.Errorf(gateway.CodeInvalid, "credentialDetails must be an object: credentials by member id, or one for all members.")
	}
	// A map would hide an entry that stands twice, letter by letter.
	var strict struct {
		CredentialDetails map[string]json.RawMessage `json:"credentialDetails"`
	}
	if err := decode([]byte(`{"credentialDetails":`+string(raw)+`}`), &strict); err != nil {
		return nil, false, err
	}
	byMember = map[gateway.ID]service.CredentialInput{}
	for key, entry := range entries {
		id, ok := gateway.ParseID(key)
		if !ok {
			id, entry = "", raw
		}
		var d CredentialDetails
		if err := decode(entry, &d); err != nil {
			return nil, false, err
		}
		input, err := d.input()
		if err != nil {
			return nil, false, err
		}
		if _, twice := byMember[id]; twice {
			return nil, false, gateway.Errorf(gateway.CodeInvalid, "credentialDetails names the member %s twice.", id).About(id)
		}
		byMember[id] = input
		endUser = endUser || d.UseEndUserOAuth2Credentials != nil && *d.UseEndUserOAuth2Credentials
		if id == "" {
			break
		}
	}
	return byMember, endUser, nil
}

// textOf reads a text that some clients send as an object: it is kept as a compact JSON text then.
func textOf(raw json.RawMessage, property string) (string, error) {
	if len(raw) == 0 {
		return "", nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	if strings.HasPrefix(string(raw), "{") {
		var compact bytes.Buffer
		err := json.Compact(&compact, raw)
		return compact.String(), err
	}
	return "", gateway.Errorf(gateway.CodeInvalid, "%s must be a text that holds a JSON object.", property)
}
