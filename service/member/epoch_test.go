package member

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestEpochsGrowWithEveryStart(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Unix(1_700_000_000, 0)
	last := int64(0)
	for _, step := range []time.Duration{0, time.Second, 0, -5 * time.Minute, time.Hour} {
		now = now.Add(step)
		epoch, err := NextEpoch(dir, now)
		if err != nil || epoch <= last || epoch < now.UnixNano() {
			t.Fatalf("after a step of %s: %d follows %d, %v", step, epoch, last, err)
		}
		last = epoch
	}
	if last != now.UnixNano() {
		t.Error("the epoch is not the time any more")
	}
	for _, text := range []string{"", "no number", "9223372036854775807", "-1"} {
		if err := os.WriteFile(filepath.Join(dir, epochFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if epoch, err := NextEpoch(dir, now); err != nil || epoch != now.UnixNano() {
			t.Errorf("after %q: %d, %v", text, epoch, err)
		}
	}
	if epoch, err := NextEpoch(filepath.Join(dir, "gone"), now); err == nil || epoch != now.UnixNano() {
		t.Errorf("a folder that is not there: %d, %v", epoch, err)
	}
}
