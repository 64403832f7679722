package api_test

import (
	"strings"
	"testing"
)

// Data sources are in a cluster's answer for who asks for them, as far as he may see them.
func TestR16DatasourcesOfAClusterAreExpanded(t *testing.T) {
	w := newWorld(t)
	w.joined()
	source := w.source("expanded")
	for _, path := range []string{"/gatewayClusters", "/me/gatewayClusters", "/gatewayClusters/" + w.cluster} {
		if text := w.must(200, "GET", path, nil, nil); !strings.Contains(text, `"datasources":[]`) {
			t.Errorf("%s: %s", path, text)
		}
		if text := w.must(200, "GET", path+"?$expand=datasources,permissions", nil, nil); !strings.Contains(text, `"datasourceName":"expanded"`) || !strings.Contains(text, `"datasources":[{"id":"`+source) {
			t.Errorf("%s expanded: %s", path, text)
		}
	}
	var is map[string]any
	w.must(200, "GET", "/gatewayClusters/"+w.cluster+"?$expand=datasources", nil, &is)
	w.must(200, "PATCH", "/gatewayClusters/"+w.cluster, is, nil)
}

// What cannot be changed is refused when it is sent as something else, and taken when it is sent back as it is.
func TestR54WhatCannotBeChangedIsRefused(t *testing.T) {
	w := newWorld(t)
	w.joined()
	one := "/gatewayClusters/" + w.cluster + "/datasources/" + w.source("fixed")
	var is map[string]any
	w.must(200, "GET", one, nil, &is)
	w.must(200, "PATCH", one, is, nil)
	for property, value := range map[string]any{"gatewayId": newID(), "clusterId": newID(), "id": newID(), "datasourceType": "Folder"} {
		was := is[property]
		is[property] = value
		if text := w.must(400, "PATCH", one, is, nil); !strings.Contains(text, property) {
			t.Errorf("%s: %s", property, text)
		}
		is[property] = was
	}
}

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
