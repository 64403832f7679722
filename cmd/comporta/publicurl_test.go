package main

import (
	"net/http"
	"strings"
	"testing"
)

// --public-url stands in the links of answers; without it they lead to where the client found the service.
func TestLinksLeadToThePublicURL(t *testing.T) {
	for _, flags := range [][]string{{"--public-url", "https://gateway.example/comporta/"}, nil} {
		s := newStory(t, flags...)
		s.join("one")
		other := s.admin(t, nil, "principals", "create", "Other")[0]["id"].(string)
		path := "/v1/gateways/" + s.cluster.String() + "/roleassignments"
		body := map[string]any{"principal": map[string]any{"id": other, "type": "ServicePrincipal"}, "role": "Admin"}
		req, err := s.client.request(t.Context(), http.MethodPost, path, body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.client.send(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		want := s.address
		if flags != nil {
			want = strings.TrimRight(flags[1], "/")
		}
		if at := resp.Header.Get("Location"); at != want+path+"/"+other {
			t.Errorf("%v: Location is %q", flags, at)
		}
	}
}
