package powerbi

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"

	"comporta/service/gateway"
)

// FuzzQuery: whatever stands behind the question mark, it is taken as what it says or refused as invalid.
func FuzzQuery(f *testing.F) {
	for _, query := range []string{"$top=1&$skip=2", "%24top=-1", "$TOP=2147483648", "$top=1&$top=x", "$expand=permissions,,MemberGateways", "$expand=x", "$filter=type%20eq%20'Resource'", "$filter=type+eq+'", "type=Personal",
		"$filter='''", "$filter=type eq 'a' 'b'", "%zz=1", "a;b", "$skip=0x10", "$top=+1", "$top=1e3"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		req := httptest.NewRequest("GET", "/", nil)
		req.URL.RawQuery = query
		c := echo.New().NewContext(req, httptest.NewRecorder())
		page, pageErr := pageOf(c)
		expand, expandErr := expandOf(c, "permissions", "memberGateways")
		kind, kindErr := typeFilter(c)
		for _, err := range []error{pageErr, expandErr, kindErr} {
			if err != nil && !gateway.IsCode(err, gateway.CodeInvalid) {
				t.Errorf("%q: %v", query, err)
			}
		}
		if page.Limit < 0 || page.Skip < 0 || len(expand) > 2 {
			t.Errorf("%q was taken as %+v, %v", query, page, expand)
		}
		if kindErr == nil && kind != "" && kind != gateway.Resource && kind != gateway.Personal && kind != gateway.VirtualNetwork {
			t.Errorf("%q was taken as %q", query, kind)
		}
	})
}

// FuzzCredentialDetails: one for all, or one for each member that is named; never both, and never an entry for nobody.
func FuzzCredentialDetails(f *testing.F) {
	const one = `{"credentialType":"Basic","credentials":"x","encryptionAlgorithm":"RSA-OAEP"}`
	for _, text := range []string{one, `{"00000000-0000-0000-0000-000000000001":` + one + `}`, `{"{00000000-0000-0000-0000-000000000001}":` + one + `,"00000000-0000-0000-0000-000000000001":` + one + `}`,
		`{}`, `null`, `[]`, `"x"`, `{"00000000-0000-0000-0000-000000000001":null}`, `{"00000000-0000-0000-0000-000000000001":` + one + `,"credentialType":"Basic"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return // the whole body was checked before
		}
		entries, _, err := credentials(text, decodeEntry)
		if err != nil {
			if !gateway.IsCode(err, gateway.CodeInvalid) && !gateway.IsCode(err, gateway.CodeCredentialFormat) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if _, forAll := entries[""]; forAll && len(entries) > 1 {
			t.Errorf("%q is both for all and for some: %v", text, entries)
		}
	})
}
