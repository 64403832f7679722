package tunnel

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// line is a response over a line on which a write takes as long as it is told.
type line struct {
	http.ResponseWriter
	takes  time.Duration
	pieces []int
}

func (l *line) Write(p []byte) (int, error) {
	time.Sleep(l.takes) // in the bubble's time
	l.pieces = append(l.pieces, len(p))
	return len(p), nil
}

func (l *line) Flush() {}

// Frames are large on a fast line, and small again once the line is slow: a ping waits for one frame at most.
func TestPiecesFollowTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{}
		started := time.Now()
		o := &output{w: l, clock: func() time.Duration { return time.Since(started) }, begun: true, sent: true}
		o.start(false)
		defer o.stop()
		pieces := func(takes time.Duration, size int) []int {
			l.takes, l.pieces = takes, nil
			if n, err := o.Write(make([]byte, size)); n != size || err != nil {
				t.Fatal(n, err)
			}
			o.timer.Stop()
			if err := o.Flush(); err != nil { // the rest
				t.Fatal(err)
			}
			return l.pieces
		}
		const k = 1 << 10
		for _, c := range []struct {
			takes time.Duration
			size  int
			want  []int
		}{
			{0, 1000 * k, []int{16 * k, 32 * k, 64 * k, 128 * k, 256 * k, 256 * k, 248 * k}},
			{time.Second, 540 * k, []int{256 * k, 128 * k, 64 * k, 32 * k, 16 * k, 8 * k, 8 * k, 8 * k, 8 * k, 8 * k, 4 * k}},
			{100 * time.Millisecond, 40 * k, []int{8 * k, 8 * k, 8 * k, 8 * k, 8 * k}},
			{time.Millisecond, 40 * k, []int{8 * k, 16 * k, 16 * k}},
		} {
			if got := pieces(c.takes, c.size); !slices.Equal(got, c.want) {
				t.Errorf("writes of %s: %v, want %v", c.takes, got, c.want)
			}
		}
	})
}
