package tunnel

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"comporta/service/gateway"
)

var update = flag.Bool("update", false, "write testdata/wire.txt anew")

// Service and members are upgraded one after the other, so what goes over a tunnel is not this build's to change. Each value has every
// field set, also those that are added later.
func TestTheWireIsThatOfItsVersion(t *testing.T) {
	const name = "testdata/wire.txt"
	got := wireSamples(t)
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("what goes over the tunnel has changed; a peer of another release would misread it or refuse it. Other frames of the lane: "+
			"raise laneVersion. Another Task, or another way: raise Protocol, or see that an older peer can do without. Then run this test with -update.\ngot\n%s\nwant\n%s", got, want)
	}
}

func wireSamples(t *testing.T) string {
	var task gateway.Task
	fill(reflect.ValueOf(&task).Elem(), new(int64))
	task.HTTP.Headers = map[string]string{"name": "value"} // one, because a map has no order
	code, err := encodeTask(nil, &task)
	if err != nil {
		t.Fatal(err)
	}
	var header gateway.AnswerHeader
	var summary gateway.Summary
	var settings gateway.MemberSettings
	var report reportLine
	var who claims
	n := new(int64)
	for _, v := range []any{&header, &summary, &settings, &report, &who} {
		fill(reflect.ValueOf(v).Elem(), n)
	}
	e := gateway.Errorf(gateway.CodeQuery, "message").With("name", "detail")
	e.Resource, e.RetryAfter, e.Elsewhere = memberID, time.Second, true
	advice := int64(7)
	box := newOutbox()
	box.put(frameWhole, 7, encodeWhole(nil, header, summary), []byte("body"))
	var b strings.Builder
	fmt.Fprintf(&b, "protocol %s, %s %s %s %s\n", Protocol, taskPath, controlPath, lanePath, takePath)
	for _, sample := range []struct {
		name  string
		value any
	}{{"task", task}, {"settings", command{Settings: &settings}}, {"advice", command{ReconnectAfterMillis: &advice}}, {"report", report}, {"claims", who}} {
		text, err := json.Marshal(sample.value)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s\n", sample.name, text)
	}
	fmt.Fprintf(&b, "error %s\nsummary %s\nlane task %q\nlane whole %q\n", encodeError(e), encodeSummary(summary), code, box.take(nil, 2*laneRoom))
	return b.String()
}
