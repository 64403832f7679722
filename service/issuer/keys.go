package issuer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/go-jose/go-jose/v4"
)

// keySet is the keys that a provider signs with. go-oidc has one too, which is empty until the first token comes and does not tell a token
// that no key has signed from keys that cannot be had.
type keySet struct {
	url string
	// spare reads them once more when a token names one that is not among them.
	spare  *http.Client
	keys   atomic.Pointer[[]jose.JSONWebKey]
	flight flight
	// failed is why the last reading gave none; it is the flight's.
	failed error
}

// payload returns what a token says when one of the keys has signed it, nil when none has. An error says that the keys cannot be had.
func (k *keySet) payload(ctx context.Context, token *jose.JSONWebSignature) ([]byte, error) {
	known := k.keys.Load()
	if payload := verified(token, *known); payload != nil {
		return payload, nil
	}
	// The provider may have new keys.
	if err := k.flight.start(ctx, func(ctx context.Context) error { return k.renew(ctx, known) }).wait(ctx); err != nil {
		return nil, err
	}
	return verified(token, *k.keys.Load()), nil
}

func verified(token *jose.JSONWebSignature, keys []jose.JSONWebKey) []byte {
	wanted := token.Signatures[0].Header.KeyID
	for i := range keys {
		if wanted != "" && wanted != keys[i].KeyID {
			continue
		}
		if payload, err := token.Verify(&keys[i]); err == nil {
			return payload
		}
	}
	return nil
}

// renew reads the keys, unless somebody has since they were known. One ask too many is no failure while the last reading went well: then
// the keys are what they were a moment ago.
func (k *keySet) renew(ctx context.Context, known *[]jose.JSONWebKey) error {
	if k.keys.Load() != known {
		return nil
	}
	if err := k.read(ctx, k.spare); !errors.Is(err, errBusy) {
		k.failed = err
	}
	return k.failed
}

// read reads the keys. Those of before stay when it fails.
func (k *keySet) read(ctx context.Context, client *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Cache-Control", "no-cache")
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the issuer's keys: %s", answer.Status)
	}
	var document struct{ Keys []json.RawMessage }
	if err := json.NewDecoder(answer.Body).Decode(&document); err != nil {
		return fmt.Errorf("the issuer's keys cannot be read: %w", err)
	}
	if document.Keys == nil {
		return errors.New("the issuer's keys are none")
	}
	keys := usable(document.Keys)
	k.keys.Store(&keys)
	return nil
}

// usable leaves out the keys of kinds that are not known here. Source: RFC 7517, section 5.
func usable(raw []json.RawMessage) []jose.JSONWebKey {
	keys := make([]jose.JSONWebKey, 0, len(raw))
	for _, text := range raw {
		var key jose.JSONWebKey
		if json.Unmarshal(text, &key) == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// question is the keys as one token's verifier sees them. go-oidc hides why they could not be had, so that is kept here.
type question struct {
	keys   *keySet
	failed error
}

var errNotSigned = errors.New("none of the issuer's keys has signed the token")

// VerifySignature implements oidc.KeySet.
func (q *question) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	parsed, err := jose.ParseSigned(token, algorithms)
	if err != nil || len(parsed.Signatures) != 1 {
		return nil, errNotSigned // go-oidc has refused such tokens before
	}
	payload, err := q.keys.payload(ctx, parsed)
	q.failed = err
	if payload == nil && err == nil {
		err = errNotSigned
	}
	return payload, err
}
