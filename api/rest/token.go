package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"comporta/service"
	"comporta/service/gateway"
)

// Token is a continuation token: the place after which the next page of a list begins. A place, not a count: inserts and deletes neither
// double nor hide an entry. It is good for the list that gave it and no other; to clients it is opaque.
func Token(list string, a service.After) string {
	return base64.RawURLEncoding.EncodeToString([]byte(a.At.UTC().Format(time.RFC3339Nano) + " " + a.ID.String() + " " + mark(list)))
}

// ReadToken is its reverse; "" is the place before the first entry, anything else that is no token of this list is CodeContinuationToken.
func ReadToken(list, token string) (service.After, error) {
	if token == "" {
		return service.After{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	at, rest, _ := strings.Cut(string(raw), " ")
	id, _, _ := strings.Cut(rest, " ")
	moment, timeErr := time.Parse(time.RFC3339Nano, at)
	known, ok := gateway.ParseID(id)
	a := service.After{At: moment.UTC(), ID: known}
	if err != nil || timeErr != nil || !ok || Token(list, a) != token {
		return service.After{}, gateway.Errorf(gateway.CodeContinuationToken, "The continuation token is not one that this list gave with this filter. Begin the list again without a token.")
	}
	return a, nil
}

// mark is short for a list; it keeps clients from mistakes, not from forging a place in a list that they may read anyway.
func mark(list string) string {
	sum := sha256.Sum256([]byte(list))
	return hex.EncodeToString(sum[:6])
}

// ListName names the list that a request asks for: its route and the ids in its path, however they are written.
func ListName(c echo.Context) string {
	name := c.Path()
	for _, param := range c.ParamNames() {
		text := Param(c, param)
		if id, ok := gateway.ParseID(text); ok {
			text = id.String()
		}
		name += fmt.Sprintf(" %q", text)
	}
	return name
}
