package powerbi_test

import (
	"encoding/json"
	"testing"
)

// What the administrator wants and what the machine says are two things: written back, the one must not become the other.
func TestAMachineThatGoesDownIsNotSetToDrain(t *testing.T) {
	w := newV1World(t)
	id := w.cluster("Lisbon")
	path := "/v2.0/myorg/gatewayClusters/" + id + "/memberGateways/" + id
	w.tunnels.draining = true
	m, _ := w.call(w.token, "GET", path, "", 200)
	if m["draining"] != false || m["machineDraining"] != true {
		t.Errorf("going down: %v, %v", m["draining"], m["machineDraining"])
	}
	m["description"] = "rack 4"
	text, _ := json.Marshal(m)
	w.call(w.token, "PATCH", path, string(text), 200)
	w.tunnels.draining = false
	if m, _ = w.call(w.token, "GET", path, "", 200); m["draining"] != false || m["machineDraining"] != false || m["description"] != "rack 4" {
		t.Errorf("back again: %v, %v, %v", m["draining"], m["machineDraining"], m["description"])
	}
}
