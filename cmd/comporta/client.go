package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"comporta/service/gateway"
)

// maxAnswer bounds what the service may answer to a management call, in bytes.
const maxAnswer = 64 << 20

// apiClient speaks to the public API of a service, as any client does.
type apiClient struct {
	http       *http.Client
	server     string
	id, secret string

	mu     sync.Mutex
	bearer string
	// until is when the bearer token must no longer be used.
	until time.Time
}

func newAPIClient(h *http.Client, server, id, secret string) *apiClient {
	return &apiClient{http: h, server: strings.TrimRight(server, "/"), id: id, secret: secret}
}

// token returns an access token, a new one when the old one is about to end.
func (c *apiClient) token(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bearer != "" && time.Now().Before(c.until) {
		return c.bearer, nil
	}
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {c.id}, "client_secret": {c.secret}, "scope": {"api://comporta/.default"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.server+"/oauth2/v2.0/token", strings.NewReader(form.Encode()))
	if err != nil {
		return "", usagef("the server %q is not an address", c.server)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int    `json:"expires_in"`
	}
	if err := c.exchange(req, &answer); err != nil {
		return "", err
	}
	c.bearer, c.until = answer.AccessToken, time.Now().Add(time.Duration(answer.ExpiresIn)*time.Second*9/10)
	return c.bearer, nil
}

// request makes a request with a token. body nil sends none.
func (c *apiClient) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	bearer, err := c.token(ctx)
	if err != nil {
		return nil, err
	}
	var text io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		text = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.server+path, text)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// call makes one API call. answer nil throws the answer away.
func (c *apiClient) call(ctx context.Context, method, path string, body, answer any) error {
	req, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	return c.exchange(req, answer)
}

func (c *apiClient) exchange(req *http.Request, answer any) error {
	resp, err := c.send(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return fmt.Errorf("the answer of %s broke off: %w", c.server, err)
	}
	if len(text) > maxAnswer {
		return fmt.Errorf("the answer of %s is larger than %d MiB", c.server, maxAnswer>>20)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("the answer of %s is not a Comporta service's; check the address", c.server)
	}
	return nil
}

// send sends a request; an answer that is an error becomes one.
func (c *apiClient) send(req *http.Request) (*http.Response, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		if cause := context.Cause(req.Context()); cause != nil {
			return nil, cause
		}
		if u := req.URL; u.Scheme != "http" && u.Scheme != "https" {
			return nil, usagef("the server %q must begin with http:// or https://", c.server)
		}
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return nil, fmt.Errorf("%s does not answer: %w; is the service running, and is the address right?", c.server, err)
	}
	if resp.StatusCode < 400 {
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return nil, apiError(resp.StatusCode, text)
}

// apiError reads the error of any surface: nested, or flat as the token endpoint has it.
func apiError(status int, text []byte) error {
	var nested struct {
		Error struct {
			Code    gateway.Code `json:"code"`
			Message string       `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(text, &nested) == nil && nested.Error.Code != "" {
		return &gateway.Error{Code: nested.Error.Code, Message: nested.Error.Message}
	}
	var flat struct {
		Error       gateway.Code `json:"error"`
		Description string       `json:"error_description"`
	}
	if json.Unmarshal(text, &flat) == nil && flat.Error != "" {
		return &gateway.Error{Code: flat.Error, Message: flat.Description}
	}
	if strings.Contains(string(text), "HTTP request to an HTTPS server") {
		return errors.New("the service speaks TLS here; its address begins with https://")
	}
	return fmt.Errorf("the service answered %d %s without a reason; is this a Comporta service?", status, http.StatusText(status))
}
