package api_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"comporta/persistence"
	"comporta/service/gateway"
)

const coreSettings = `<configuration><applicationSettings><Microsoft.PowerBI.DataMovement.Pipeline.GatewayCore.GatewayCoreSettings>
<setting name="ConcurrentOperationLimit" serializeAs="String"><value>3</value></setting>
</Microsoft.PowerBI.DataMovement.Pipeline.GatewayCore.GatewayCoreSettings></applicationSettings></configuration>`

// stored reads the limits that are set on the cluster and on its first member.
func (w *world) storedLimits() (cluster, member gateway.Limits) {
	w.t.Helper()
	err := w.store.View(context.Background(), func(r persistence.Reader) error {
		c, err := r.Cluster(context.Background(), gateway.ID(w.cluster))
		if err != nil {
			return err
		}
		m, err := r.Member(context.Background(), gateway.ID(w.cluster))
		cluster, member = c.Limits, m.Limits
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return cluster, member
}

// The member's own file says 3. Whoever reads the cluster or the member, changes its description and writes it back has set no limit.
func TestGetChangePatchSetsNoLimits(t *testing.T) {
	w := newWorld(t)
	w.configFile = filepath.Join(t.TempDir(), "core.config")
	if err := os.WriteFile(w.configFile, []byte(coreSettings), 0o600); err != nil {
		t.Fatal(err)
	}
	w.joined()
	const limit = "concurrentOperationLimit"
	cluster := "/gatewayClusters/" + w.cluster
	member := cluster + "/memberGateways/" + w.cluster
	effective := func() any {
		var m map[string]any
		w.must(200, "GET", member, nil, &m)
		return m[limit]
	}
	w.eventually("the limit of the file", func() bool { return effective() == 3.0 })
	for _, path := range []string{cluster, member} {
		var whole map[string]any
		w.must(200, "GET", path, nil, &whole)
		whole["description"] = "changed"
		w.must(200, "PATCH", path, whole, nil)
		if c, m := w.storedLimits(); c != (gateway.Limits{}) || m != (gateway.Limits{}) || effective() != 3.0 {
			t.Fatalf("%s: the cluster's limits are %+v, the member's %+v, %v is in force", path, c, m, effective())
		}
		// What was changed counts, and stays when the whole is sent back once more; a reset takes it away again.
		whole[limit] = 7
		w.must(200, "PATCH", path, whole, nil)
		w.must(200, "PATCH", path, whole, nil)
		if c, m := w.storedLimits(); (c.Concurrency == nil) == (m.Concurrency == nil) {
			t.Fatalf("%s: a changed limit: %+v, %+v", path, c, m)
		}
		w.must(200, "GET", path, nil, &whole)
		whole["resetLimits"] = true
		w.must(200, "PATCH", path, whole, nil)
		if c, m := w.storedLimits(); c != (gateway.Limits{}) || m != (gateway.Limits{}) {
			t.Errorf("%s: after a reset the cluster's limits are %+v, the member's %+v", path, c, m)
		}
		w.eventually("the limit of the file again", func() bool { return effective() == 3.0 })
	}
	// Without the rest of the object a limit is meant, also one that is in force already.
	w.must(200, "PATCH", member, map[string]any{limit: 3}, nil)
	w.must(200, "PATCH", cluster, map[string]any{limit: 40}, nil)
	if c, m := w.storedLimits(); c.Concurrency == nil || *c.Concurrency != 40 || m.Concurrency == nil || *m.Concurrency != 3 {
		t.Errorf("limits that were set by themselves: %+v, %+v", c, m)
	}
}
