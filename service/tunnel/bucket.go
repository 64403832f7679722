package tunnel

import (
	"sync"
	"time"
)

// bucket is a token bucket: burst at once, then rate per second.
type bucket struct {
	mu          sync.Mutex
	rate, burst float64
	filled      float64
	at          time.Time
}

func newBucket(rate, burst int) *bucket {
	return &bucket{rate: float64(rate), burst: float64(burst), filled: float64(burst)}
}

// take takes one token, or says after how long one will be there.
func (b *bucket) take(now time.Time) (wait time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if passed := now.Sub(b.at).Seconds(); passed > 0 && !b.at.IsZero() {
		b.filled = min(b.burst, b.filled+passed*b.rate)
	}
	b.at = now
	if b.filled < 1 {
		return time.Duration((1 - b.filled) / b.rate * float64(time.Second)), false
	}
	b.filled--
	return 0, true
}
