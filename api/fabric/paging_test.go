package fabric

import (
	"testing"
	"time"

	"comporta/service"
)

// FuzzToken: what is taken as a token is one that encodeToken makes.
func FuzzToken(f *testing.F) {
	f.Add(encodeToken(service.After{At: time.Unix(1, 5000), ID: "00000000-0000-0000-0000-000000000001"}))
	f.Add("LDEsMTAwMDAwLDA")
	f.Add("garbled%")
	f.Fuzz(func(t *testing.T, token string) {
		a, err := decodeToken(token)
		if err == nil && token != "" && encodeToken(a) != token {
			t.Errorf("%q was taken as %v", token, a)
		}
	})
}
