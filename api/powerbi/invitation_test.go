package powerbi_test

import "testing"

// What is made is answered with the name that it has, not with the one that was sent: scripts look it up by that name.
func TestAnInvitationShowsTheNameAsItIsStored(t *testing.T) {
	w := newV1World(t)
	const clusters, composed, key = "/v2.0/myorg/gatewayClusters", "Caf\u00e9", `,"recoveryKey":"correct horse battery"`
	post := func(path, name, more string) string {
		t.Helper()
		v, _ := w.call(w.token, "POST", path, `{"name":"`+name+`"`+key+more+`}`, 201)
		return v["name"].(string)
	}
	if name := post(clusters, "  Cafe\u0301 ", ""); name != composed {
		t.Errorf("a new cluster is %q", name)
	}
	if name := post(clusters, "CAFE\u0301", `,"overwriteExistingGateway":true`); name != composed {
		t.Errorf("a cluster taken over is %q", name)
	}
	v, _ := w.call(w.token, "GET", clusters, "", 200)
	members := clusters + "/" + v["value"].([]any)[0].(map[string]any)["id"].(string) + "/memberGateways"
	if name := post(members, " n\u0303ode ", ""); name != "\u00f1ode" {
		t.Errorf("a new member is %q", name)
	}
	if name := post(members, "\u00d1ODE", `,"overwriteExistingGateway":true`); name != "\u00f1ode" {
		t.Errorf("a member taken over is %q", name)
	}
}
