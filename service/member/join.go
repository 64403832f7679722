package member

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"comporta/service/gateway"
	"comporta/service/recovery"
)

// maxAnswer bounds what the service may answer to a join, in bytes.
const maxAnswer = 1 << 20

// JoinRequest says what to join and with which rights: an enrolment token, or a client id and secret with either NewCluster or ClusterID.
type JoinRequest struct {
	Server, StateDir string
	// Name is the member's name; with NewCluster the member is the cluster's first.
	Name        string
	NewCluster  string
	Description string
	Region      string
	ClusterID   gateway.ID

	ClientID, ClientSecret string
	EnrolmentToken         string
	RecoveryKey            string
	// Overwrite takes over the member of that name with the recovery key, and replaces a state that is in the folder.
	Overwrite bool

	HTTP             *http.Client
	Version, Machine string
	Random           io.Reader
}

// Join makes this machine a member and writes its state folder. A join that fails leaves no state behind.
func Join(ctx context.Context, r JoinRequest) (*State, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	c := &client{http: r.HTTP, server: strings.TrimRight(r.Server, "/")}
	if r.EnrolmentToken == "" {
		if err := c.login(ctx, r.ClientID, r.ClientSecret); err != nil {
			return nil, err
		}
		token, err := c.invite(ctx, r)
		if err != nil {
			return nil, err
		}
		r.EnrolmentToken = token
	}
	s, err := enrol(ctx, c, r)
	if err != nil {
		return nil, err
	}
	return s, s.Save(r.StateDir)
}

func (r *JoinRequest) check() error {
	u, err := url.Parse(r.Server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("the server %q is not an address such as https://gateway.example.com", r.Server)
	}
	if Exists(r.StateDir) && !r.Overwrite {
		return fmt.Errorf("%s already holds a member; choose another --state, or add --overwrite to replace it", r.StateDir)
	}
	if err := recovery.ValidateKey([]byte(r.RecoveryKey)); err != nil {
		return err
	}
	if r.EnrolmentToken != "" {
		return nil
	}
	switch {
	case r.ClientID == "" || r.ClientSecret == "":
		return errors.New("joining takes an enrolment token, or a client id and secret in COMPORTA_CLIENT_ID and COMPORTA_CLIENT_SECRET")
	case (r.NewCluster == "") == (r.ClusterID == ""):
		return errors.New("say either --new-cluster NAME or --cluster ID")
	case r.Name == "":
		return errors.New("say the member's --name")
	}
	return nil
}

// begun is the answer to /enrolment/begin.
type begun struct {
	Salt    []byte `json:"salt"`
	Time    uint32 `json:"time"`
	Memory  uint32 `json:"memory"`
	Threads uint8  `json:"threads"`
}

// completed is the answer to /enrolment/complete.
type completed struct {
	ClusterID   gateway.ID `json:"clusterId"`
	ClusterName string     `json:"clusterName"`
	MemberID    gateway.ID `json:"memberId"`
	MemberName  string     `json:"memberName"`
	Key         struct {
		Modulus  []byte `json:"modulus"`
		Exponent []byte `json:"exponent"`
		begun
		Sealed []byte `json:"sealed"`
	} `json:"key"`
}

func (b begun) key() gateway.ClusterKey {
	return gateway.ClusterKey{Salt: b.Salt, Time: b.Time, Memory: b.Memory, Threads: b.Threads}
}

// enrol proves knowledge of the recovery key without sending it, and unseals the cluster's private key on this machine.
func enrol(ctx context.Context, c *client, r JoinRequest) (*State, error) {
	var b begun
	if err := c.post(ctx, "/enrolment/begin", map[string]any{"enrolmentToken": r.EnrolmentToken}, &b); err != nil {
		return nil, err
	}
	secrets, err := recovery.Derive([]byte(r.RecoveryKey), b.key())
	if err != nil {
		return nil, err
	}
	defer secrets.Wipe()
	public, private, err := ed25519.GenerateKey(r.Random)
	if err != nil {
		return nil, fmt.Errorf("make this machine's key: %w", err)
	}
	var done completed
	err = c.post(ctx, "/enrolment/complete", map[string]any{"enrolmentToken": r.EnrolmentToken, "verifier": secrets.Verifier,
		"publicKey": []byte(public), "version": r.Version, "machine": r.Machine}, &done)
	if err != nil {
		return nil, err
	}
	key := done.Key.key()
	key.Modulus, key.Exponent, key.Sealed = done.Key.Modulus, done.Key.Exponent, done.Key.Sealed
	// The service keeps the verifier's hash to itself; this machine has just proved that it knows the verifier.
	hash := sha256.Sum256(secrets.Verifier)
	key.VerifierHash = hash[:]
	cluster, err := recovery.Open([]byte(r.RecoveryKey), key)
	if err != nil {
		return nil, fmt.Errorf("the cluster's key cannot be unsealed: %w", err)
	}
	return &State{Server: c.server, ClusterID: done.ClusterID, ClusterName: done.ClusterName, MemberID: done.MemberID, MemberName: done.MemberName,
		Key: private, ClusterKey: cluster}, nil
}

// client speaks to the public API.
type client struct {
	http   *http.Client
	server string
	bearer string
}

func (c *client) login(ctx context.Context, id, secret string) error {
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}, "scope": {"api://comporta/.default"}}
	var token struct {
		AccessToken string `json:"access_token"`
	}
	err := c.send(ctx, "/oauth2/v2.0/token", "application/x-www-form-urlencoded", strings.NewReader(form.Encode()), &token)
	c.bearer = token.AccessToken
	return err
}

// invite creates the cluster, or adds a member to one, and returns the enrolment token.
func (c *client) invite(ctx context.Context, r JoinRequest) (string, error) {
	path := "/v2.0/myorg/gatewayClusters"
	body := map[string]any{"name": r.NewCluster, "memberName": r.Name, "recoveryKey": r.RecoveryKey, "overwriteExistingGateway": r.Overwrite}
	if r.Description != "" {
		body["description"] = r.Description
	}
	if r.Region != "" {
		body["region"] = r.Region
	}
	if r.ClusterID != "" {
		path += "/" + r.ClusterID.String() + "/memberGateways"
		body = map[string]any{"name": r.Name, "recoveryKey": r.RecoveryKey, "overwriteExistingGateway": r.Overwrite}
	}
	var answer struct {
		EnrolmentToken string `json:"enrolmentToken"`
	}
	err := c.post(ctx, path, body, &answer)
	return answer.EnrolmentToken, err
}

func (c *client) post(ctx context.Context, path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.send(ctx, path, "application/json", bytes.NewReader(text), answer)
}

func (c *client) send(ctx context.Context, path, contentType string, body io.Reader, answer any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.server+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", contentType)
	if c.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+c.bearer)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return explain(c.server, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return explain(c.server, err)
	}
	if resp.StatusCode >= 300 {
		return refused(resp.StatusCode, text)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("the answer of %s is not a Comporta service's; check the address", c.server)
	}
	return nil
}

// explain adds what to do to what the network said.
func explain(server string, err error) error {
	var unknown x509.UnknownAuthorityError
	var op *net.OpError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("the certificate of %s is signed by an unknown authority; name its certificate with --ca-file", server)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%s cannot be reached: %w; is the service running, and is the address right?", server, op.Err)
	}
	return fmt.Errorf("no answer from %s: %w", server, err)
}

// refused turns the service's error into one that says code, words and what to do.
func refused(status int, text []byte) error {
	var nested struct {
		Error struct {
			Code    gateway.Code `json:"code"`
			Message string       `json:"message"`
		} `json:"error"`
	}
	var flat struct {
		Error       gateway.Code `json:"error"`
		Description string       `json:"error_description"`
	}
	if json.Unmarshal(text, &nested) == nil && nested.Error.Code != "" {
		return &gateway.Error{Code: nested.Error.Code, Message: nested.Error.Message}
	}
	if json.Unmarshal(text, &flat) == nil && flat.Error != "" {
		return &gateway.Error{Code: flat.Error, Message: flat.Description}
	}
	return fmt.Errorf("the service answered %d and no reason; is this a Comporta service?", status)
}
