package tunnel

import (
	"sync"
	"time"

	"comporta/service/gateway"
)

// maxNonces bounds each of the two halves of the nonce memory; more tokens than that in a minute are not accepted.
const maxNonces = 100_000

// nonces remembers the tokens used within their lifetime, so that none is used twice. Only nonces of verified tokens get in, so a
// stranger cannot fill it. It has two halves; the older is dropped when the younger is old enough for all its tokens to have expired. That
// is a matter of the wall clock, which tokens are judged by: while it is set back, they become valid once more and are kept for longer.
type nonces struct {
	mu       sync.Mutex
	young    map[string]struct{}
	old      map[string]struct{}
	rotateAt time.Time
}

// use reports whether the nonce is new; room is false when the memory is full.
func (n *nonces) use(member gateway.ID, nonce string, now time.Time) (fresh, room bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now = now.Round(0)
	keep := tokenLifetime + tokenLeeway
	stepped := n.rotateAt.Sub(now) > keep
	if n.young == nil || !now.Before(n.rotateAt) || stepped && len(n.young) >= maxNonces { // the last: better than to let nobody in for a year
		n.old, n.young, n.rotateAt = n.young, make(map[string]struct{}), now.Add(keep)
	}
	key := string(member) + nonce
	if _, seen := n.young[key]; seen {
		return false, true
	}
	if _, seen := n.old[key]; seen {
		return false, true
	}
	if len(n.young) >= maxNonces {
		return false, false
	}
	n.young[key] = struct{}{}
	return true, true
}
