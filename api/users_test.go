package api_test

import (
	"strings"
	"testing"
)

// A service principal's profile is not the application that it belongs to: who names one is refused, not given or denied the whole.
func TestAProfileIsNotTakenForItsApplication(t *testing.T) {
	w := newWorld(t)
	w.joined()
	of := w.cluster + "/datasources/" + w.source("shared") + "/users"
	users := "//v1.0/myorg/gateways/" + of
	user := map[string]any{"identifier": w.adminID, "datasourceAccessRight": "Read", "principalType": "App", "profile": map[string]any{"id": w.adminID}}
	w.must(400, "POST", users, user, nil)
	w.must(400, "POST", "/gatewayClusters/"+of, user, nil)
	user["profile"] = nil
	w.must(200, "POST", users, user, nil)
	user["principalType"] = "None"
	w.must(200, "POST", users, user, nil)
	w.must(400, "DELETE", users+"/"+w.adminID+"?profileId="+w.adminID, nil, nil)
	if text := w.must(200, "GET", users, nil, nil); !strings.Contains(text, w.adminID) {
		t.Errorf("the application lost its right: %s", text)
	}
	w.must(200, "DELETE", users+"/"+w.adminID, nil, nil)
	w.must(404, "DELETE", users+"/"+w.adminID, nil, nil)
	w.must(404, "DELETE", users+"/nobody@example.com", nil, nil)
}
