package member

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"comporta/service/gateway"
)

// maxAnswer bounds what the service may answer to a join, in bytes.
const maxAnswer = 1 << 20

// client speaks to the public API.
type client struct {
	http   *http.Client
	server string
	bearer string
}

// newClient follows no redirects: they would carry secrets to an address that nobody chose.
func newClient(given *http.Client, server *url.URL) *client {
	own := http.Client{Timeout: time.Minute}
	if given != nil {
		own = *given
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client{http: &own, server: strings.TrimRight(server.String(), "/")}
}

func (c *client) login(ctx context.Context, id, secret string) error {
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}, "scope": {"api://comporta/.default"}}
	var token struct {
		AccessToken string `json:"access_token"`
	}
	err := c.send(ctx, "/oauth2/v2.0/token", "application/x-www-form-urlencoded", strings.NewReader(form.Encode()), &token)
	if err == nil && token.AccessToken == "" {
		err = c.stranger()
	}
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
	if r.MustExist { // a service of before does not know it
		body["mustExist"] = true
	}
	var answer struct {
		EnrolmentToken string `json:"enrolmentToken"`
	}
	err := c.post(ctx, path, body, &answer)
	if err == nil && answer.EnrolmentToken == "" {
		err = c.stranger()
	}
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
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return explain(c.server, err)
	}
	switch {
	case len(text) > maxAnswer:
		return c.stranger()
	case resp.StatusCode >= 300:
		return refused(resp, text)
	case json.Unmarshal(text, answer) != nil:
		return c.stranger()
	}
	return nil
}

// stranger is what to say of an answer that no Comporta service gives.
func (c *client) stranger() error {
	return fmt.Errorf("the answer of %s is not a Comporta service's; check the address", c.server)
}

// explain adds what to do to what the network said.
func explain(server string, err error) error {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var op *net.OpError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("the certificate of %s is signed by an unknown authority; name its certificate with --ca-file", server)
	case errors.As(err, &name):
		return fmt.Errorf("the certificate of %s is for another name: %w; use the name that is in it", server, name)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%s cannot be reached: %w; is the service running, and is the address right?", server, op.Err)
	}
	return fmt.Errorf("no answer from %s: %w", server, err)
}

// advice is explain for a tunnel, whose own words are good but for what only a flag can mend.
func advice(server string, err error) error {
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		return explain(server, err)
	}
	return err
}

// hints say what to do about a code that the service answered with.
var hints = map[gateway.Code]string{
	gateway.CodeInvalidClient:        "check COMPORTA_CLIENT_ID and COMPORTA_CLIENT_SECRET",
	gateway.CodeUnauthorized:         "the service does not take its own token; do the clocks agree?",
	gateway.CodeRecoveryKeyWrong:     "it is the key that the cluster was created with, or was changed to",
	gateway.CodeRecoveryKeyLocked:    "wait a minute before the next try",
	gateway.CodeDuplicateMemberName:  "choose another --name, or add --overwrite to take that member over with the recovery key",
	gateway.CodeDuplicateClusterName: "choose another name; or add --overwrite to take its member over that --name names, with its recovery key",
	gateway.CodeInstallRestricted:    "ask a TenantAdmin to add you to the installers",
}

// refused turns the service's error into one that says code, words and what to do.
func refused(resp *http.Response, text []byte) error {
	if to, err := resp.Location(); err == nil && resp.StatusCode < 400 {
		return fmt.Errorf("the service redirects to %s; use its right address", plain(to.Redacted()))
	}
	e := decodeRefusal(text)
	if e == nil {
		return fmt.Errorf("the service answered %d and no reason; is this a Comporta service's address?", resp.StatusCode)
	}
	if hint := hints[e.Code]; hint != "" {
		return fmt.Errorf("%w (%s)", e, hint)
	}
	return e
}

// decodeRefusal reads the API's and the token endpoint's form of an error; nil when it is neither.
func decodeRefusal(text []byte) *gateway.Error {
	var nested struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	var flat struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if json.Unmarshal(text, &nested) == nil && nested.Error.Code != "" {
		return &gateway.Error{Code: gateway.Code(plain(nested.Error.Code)), Message: plain(nested.Error.Message)}
	}
	if json.Unmarshal(text, &flat) == nil && flat.Error != "" {
		return &gateway.Error{Code: gateway.Code(plain(flat.Error)), Message: plain(flat.Description)}
	}
	return nil
}

// plain keeps a text of a stranger short and free of what could play tricks on a terminal.
func plain(text string) string {
	return clip(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text))
}
