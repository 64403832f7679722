package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"

	"comporta/service/credential"
	"comporta/service/gateway"
)

// clustersPath is where clusters live on the surface that this client uses.
const clustersPath = "/v2.0/myorg/gatewayClusters"

// wireCluster is the part of a cluster's answer that this program reads.
type wireCluster struct {
	ID      gateway.ID   `json:"id"`
	Name    string       `json:"name"`
	Status  string       `json:"status"`
	Members []wireMember `json:"memberGateways"`
}

// wireMember is the part of a member's answer that this program reads.
type wireMember struct {
	ID      gateway.ID `json:"id"`
	Name    string     `json:"name"`
	Status  string     `json:"status"`
	State   string     `json:"state"`
	Version string     `json:"version"`
}

// clusters lists the clusters that the caller has a role in, or all of them in organisation scope.
func (c *apiClient) clusters(ctx context.Context, all bool) ([]wireCluster, error) {
	path := "/v2.0/myorg/me/gatewayClusters"
	if all {
		path = clustersPath
	}
	var list struct {
		Value []wireCluster `json:"value"`
	}
	err := c.call(ctx, http.MethodGet, path+"?$expand="+url.QueryEscape("memberGateways"), nil, &list)
	return list.Value, err
}

// cluster reads one cluster with its members.
func (c *apiClient) cluster(ctx context.Context, id gateway.ID) (wireCluster, error) {
	var answer wireCluster
	err := c.call(ctx, http.MethodGet, clusterPath(id)+"?$expand="+url.QueryEscape("memberGateways"), nil, &answer)
	return answer, err
}

func clusterPath(id gateway.ID) string { return clustersPath + "/" + id.String() }

// publicKey reads the key with which credentials for a cluster are encrypted.
func (c *apiClient) publicKey(ctx context.Context, cluster gateway.ID) (credential.Public, error) {
	var answer struct {
		PublicKey struct {
			Modulus  []byte `json:"modulus"`
			Exponent []byte `json:"exponent"`
		} `json:"publicKey"`
	}
	err := c.call(ctx, http.MethodGet, clusterPath(cluster), nil, &answer)
	return credential.Public{Modulus: answer.PublicKey.Modulus, Exponent: answer.PublicKey.Exponent}, err
}

// newSource is a data source to be registered.
type newSource struct {
	Name string
	Type gateway.DataSourceType
	// Details are the connection details, such as server and database.
	Details map[string]string
	// CredentialType is Basic, Windows, Key or Anonymous; Pairs are what goes into the envelope.
	CredentialType string
	Pairs          credential.Pairs
	// Encryption is Encrypted, Any or NotEncrypted.
	Encryption string
}

// sealed encrypts the credentials for a cluster and returns them as the surface wants them: one entry for all members, whoever they are.
func (c *apiClient) sealed(ctx context.Context, cluster gateway.ID, s *newSource) (map[string]any, error) {
	key, err := c.publicKey(ctx, cluster)
	if err != nil {
		return nil, err
	}
	envelope, err := credential.Seal(key, s.Pairs, rand.Reader)
	if err != nil {
		return nil, err
	}
	details := map[string]any{"credentialType": s.CredentialType, "credentials": envelope, "encryptionAlgorithm": "RSA-OAEP"}
	if s.Encryption != "" { // else it stays as it is
		details["encryptedConnection"] = s.Encryption
	}
	return details, nil
}

// addDataSource encrypts the credentials and registers a data source.
func (c *apiClient) addDataSource(ctx context.Context, cluster gateway.ID, s *newSource) (gateway.ID, error) {
	sealed, err := c.sealed(ctx, cluster, s)
	if err != nil {
		return "", err
	}
	sealed["privacyLevel"] = "Organizational"
	details, err := json.Marshal(s.Details)
	if err != nil {
		return "", err
	}
	var made struct {
		ID gateway.ID `json:"id"`
	}
	err = c.call(ctx, http.MethodPost, clusterPath(cluster)+"/datasources", map[string]any{"datasourceName": s.Name, "datasourceType": s.Type,
		"connectionDetails": string(details), "credentialDetails": sealed}, &made)
	return made.ID, err
}

// queryCall is a dispatch of a query.
type queryCall struct {
	DataSource gateway.ID
	Text       string
	Write      bool
	MaxRows    int64
}

func (q *queryCall) body() map[string]any {
	return map[string]any{"datasourceId": q.DataSource, "query": map[string]any{"text": q.Text, "maxRows": q.MaxRows}, "readOnly": !q.Write}
}

// dispatch sends a query; the answer is on its way when it returns, and must be closed.
func (c *apiClient) dispatch(ctx context.Context, cluster gateway.ID, q *queryCall, format gateway.Format) (*http.Response, error) {
	req, err := c.request(ctx, http.MethodPost, clusterPath(cluster)+"/dispatch", q.body())
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", string(format))
	return c.send(req)
}
