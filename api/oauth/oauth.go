// Package oauth is the token endpoint and what clients need to find it: discovery documents and the keys that verify tokens.
//
// There is one tenant, so the tenant in a path is not checked: scripts that name the one they know go on working.
package oauth

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"math/big"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// Handlers are the handlers of this surface.
type Handlers struct {
	Access    *service.Access
	PublicURL string
}

// TokenResponse is a token, RFC 6749 section 5.1 with Microsoft's ext_expires_in.
type TokenResponse struct {
	TokenType    string `json:"token_type" example:"Bearer"`
	ExpiresIn    int    `json:"expires_in" example:"3600"`
	ExtExpiresIn int    `json:"ext_expires_in" example:"3600"`
	AccessToken  string `json:"access_token"`
}

// ErrorResponse is an error, RFC 6749 section 5.2.
type ErrorResponse struct {
	Error       string `json:"error" example:"invalid_client"`
	Description string `json:"error_description"`
}

// Style writes RFC 6749 errors.
type Style struct{}

// Error implements rest.Style.
func (Style) Error(c echo.Context, e *gateway.Error) error {
	word, status := string(e.Code), rest.Status(e.Code)
	switch e.Code {
	case gateway.CodeInvalid, rest.CodeRequestTimeout:
		word = "invalid_request"
	case gateway.CodeTooLarge:
		word, status = "invalid_request", http.StatusBadRequest // RFC 6749 knows no other status for it
	case gateway.CodeInternal:
		word = "server_error"
	case gateway.CodeUnavailable:
		word = "temporarily_unavailable"
	case gateway.CodeInvalidClient:
		c.Response().Header().Set("WWW-Authenticate", `Basic realm="comporta"`)
	}
	noStore(c)
	return c.JSON(status, ErrorResponse{Error: word, Description: e.Message})
}

func noStore(c echo.Context) {
	c.Response().Header().Set("Cache-Control", "no-store")
	c.Response().Header().Set("Pragma", "no-cache")
}

// Token hands out an access token.
//
//	@Summary		Get an access token
//	@Description	Grant client_credentials, with the client id and secret in the form or by HTTP Basic. Any scope is accepted. Also at /{tenant}/oauth2/v2.0/token and /{tenant}/oauth2/token.
//	@Tags			oauth
//	@Accept			x-www-form-urlencoded
//	@Produce		json
//	@Param			grant_type		formData	string	true	"client_credentials"	Enums(client_credentials)
//	@Param			client_id		formData	string	false	"the application's id; not needed with HTTP Basic"
//	@Param			client_secret	formData	string	false	"its secret; not needed with HTTP Basic"
//	@Param			scope			formData	string	false	"any"
//	@Success		200	{object}	TokenResponse
//	@Failure		400	{object}	ErrorResponse
//	@Failure		401	{object}	ErrorResponse
//	@Failure		408	{object}	ErrorResponse
//	@Router			/oauth2/v2.0/token [post]
func (h *Handlers) Token(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	if grant := form.Get("grant_type"); grant != "client_credentials" {
		return gateway.Errorf(rest.CodeUnsupportedGrant, "grant_type must be client_credentials.")
	}
	id, secret := form.Get("client_id"), form.Get("client_secret")
	if user, password, ok := c.Request().BasicAuth(); ok {
		// RFC 6749 section 2.3.1: both are form-encoded inside the header.
		id, secret = unescaped(user), unescaped(password)
	}
	token, err := h.Access.IssueToken(c.Request().Context(), id, secret)
	if err != nil {
		return err
	}
	noStore(c)
	seconds := int(token.ExpiresIn.Seconds())
	return c.JSON(http.StatusOK, TokenResponse{TokenType: "Bearer", ExpiresIn: seconds, ExtExpiresIn: seconds, AccessToken: token.AccessToken})
}

// maxForm is how many bytes the form of a token request may have.
const maxForm = 64 << 10

func readForm(c echo.Context) (url.Values, error) {
	r := c.Request()
	if r.URL.Query().Has("client_secret") {
		return nil, gateway.Errorf(gateway.CodeInvalid, "A secret in the address would end up in logs; send it in the body.")
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/x-www-form-urlencoded" {
		return nil, gateway.Errorf(gateway.CodeInvalid, "Content-Type must be application/x-www-form-urlencoded.")
	}
	text, err := rest.ReadBody(c, maxForm)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(text))
	if err != nil {
		return nil, gateway.Wrap(gateway.CodeInvalid, err, "The form cannot be read.")
	}
	return form, nil
}

func unescaped(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// Discovery is the OpenID configuration document.
type Discovery struct {
	Issuer                string   `json:"issuer"`
	TokenEndpoint         string   `json:"token_endpoint"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	JWKS                  string   `json:"jwks_uri"`
	GrantTypes            []string `json:"grant_types_supported"`
	AuthMethods           []string `json:"token_endpoint_auth_methods_supported"`
	ResponseTypes         []string `json:"response_types_supported"`
	SubjectTypes          []string `json:"subject_types_supported"`
	Algorithms            []string `json:"id_token_signing_alg_values_supported"`
}

// Configuration answers the discovery document.
//
//	@Summary	OpenID configuration
//	@Tags		oauth
//	@Produce	json
//	@Success	200	{object}	Discovery
//	@Router		/.well-known/openid-configuration [get]
func (h *Handlers) Configuration(c echo.Context) error {
	base := h.PublicURL
	if tenant := c.Param("tenant"); tenant != "" {
		base += "/" + url.PathEscape(tenant)
	}
	return c.JSON(http.StatusOK, Discovery{Issuer: h.Access.Issuer, TokenEndpoint: base + "/oauth2/v2.0/token",
		AuthorizationEndpoint: base + "/oauth2/v2.0/authorize", JWKS: h.PublicURL + "/.well-known/jwks.json",
		GrantTypes: []string{"client_credentials"}, AuthMethods: []string{"client_secret_post", "client_secret_basic"},
		ResponseTypes: []string{"token"}, SubjectTypes: []string{"public"}, Algorithms: []string{"RS256"}})
}

// InstanceDiscovery answers MSAL's question whether this authority is a real one.
func (h *Handlers) InstanceDiscovery(c echo.Context) error {
	host := strings.TrimPrefix(strings.TrimPrefix(h.PublicURL, "https://"), "http://")
	return c.JSON(http.StatusOK, map[string]any{
		"tenant_discovery_endpoint": h.PublicURL + "/" + h.Access.TenantID().String() + "/v2.0/.well-known/openid-configuration",
		"api-version":               "1.1",
		"metadata":                  []map[string]any{{"preferred_network": host, "preferred_cache": host, "aliases": []string{host}}},
	})
}

// Key is one key of the JWKS document, RFC 7517.
type Key struct {
	Type string `json:"kty" example:"RSA"`
	Use  string `json:"use" example:"sig"`
	Alg  string `json:"alg" example:"RS256"`
	ID   string `json:"kid"`
	N    string `json:"n"`
	E    string `json:"e"`
}

// KeySet is the JWKS document.
type KeySet struct {
	Keys []Key `json:"keys"`
}

// Keys answers the public keys that verify tokens.
//
//	@Summary	Keys that verify access tokens
//	@Tags		oauth
//	@Produce	json
//	@Success	200	{object}	KeySet
//	@Router		/.well-known/jwks.json [get]
func (h *Handlers) Keys(c echo.Context) error {
	set, err := h.keys(c.Request().Context())
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "public, max-age=60")
	return c.JSON(http.StatusOK, set)
}

func (h *Handlers) keys(ctx context.Context) (KeySet, error) {
	stored, err := h.Access.SigningKeys(ctx)
	set := KeySet{Keys: []Key{}}
	for _, k := range stored {
		parsed, err := x509.ParsePKIXPublicKey(k.PublicKey)
		public, ok := parsed.(*rsa.PublicKey)
		if err != nil || !ok {
			continue
		}
		b64 := base64.RawURLEncoding
		set.Keys = append(set.Keys, Key{Type: "RSA", Use: "sig", Alg: "RS256", ID: k.ID, N: b64.EncodeToString(public.N.Bytes()),
			E: b64.EncodeToString(big.NewInt(int64(public.E)).Bytes())})
	}
	return set, err
}
