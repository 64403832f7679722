package tunnel

import (
	"sync/atomic"
	"time"
)

// Whether a connection lives is told by its bytes and not by HTTP/2's pings: on a slow line a ping, or the answer to one, waits behind all that
// was sent before it, for longer than a dead peer may stay unnoticed. What moves is alive. The pings of net/http see to it that a
// living peer has something to say.

// pingEvery is how long a connection may be silent before it is pinged, and how much longer before it is given up, unless a setting says otherwise.
const pingEvery = 5 * time.Second

// pingPatience is how long net/http waits for the answer to a ping: silence ends a dead connection long before, and a living one may take its time.
const pingPatience = 2 * time.Minute

// quietSpells is how many spells in a row, of equal length, something must have waited in vain, and siblingSpells how many while other tunnels
// of the member hear something: then the line lives and the peer too, and what is silent is one connection. On a line that drops packets for
// want of room, TCP leaves one alone for longer and longer, up to 14 s after the third loss. While packets come in on it all the same, if only
// confirmations, it loses to its siblings and is not dead, and provenSpells bound its silence: a proxy in between also confirms, whatever the
// peer does. Spells are counted because a clock would also count the time in which the machine itself stood still.
const (
	quietSpells   = 4
	siblingSpells = 2 * quietSpells
	provenSpells  = 6 * quietSpells
)

// Pulse is what the tunnels of one member have in common: what arrived over all of them. The zero value is ready for use.
type Pulse struct{ bytes atomic.Uint64 }

// waiting is a Read or a Write, as it was found one spell ago.
type waiting struct {
	seen, moved uint64
	spells      int
}

// spell is asked once in a spell, and returns for how many the same has waited in vain. count is odd while something waits, and another number
// for each that does; moved changes with what it has achieved meanwhile.
func (w *waiting) spell(count, moved uint64) int {
	if count%2 == 0 || count != w.seen || moved != w.moved {
		w.seen, w.moved, w.spells = count, moved, 0
	} else {
		w.spells++
	}
	return w.spells
}

// vigil is what is remembered of a connection from one spell to the next.
type vigil struct{ reads, writes, others, packets waiting }

// look is done once in a spell, and returns what has been waited for in vain for too long; "" when all is well.
func (v *vigil) look(c *conn) string {
	known := c.ask()
	silent, stuck := v.reads.spell(c.reads.Load(), 0), v.writes.spell(c.writes.Load(), known.confirmed)
	mostSilent, mostStuck := quietSpells, quietSpells
	packets := v.packets.spell(1, known.packets)
	if v.others.spell(1, c.pulse.bytes.Load()-c.own.Load()) < quietSpells {
		mostSilent, mostStuck = siblingSpells, siblingSpells
		if packets < siblingSpells {
			mostSilent = provenSpells
		}
	}
	switch {
	case silent >= mostSilent:
		return "nothing arrives"
	case stuck >= mostStuck:
		return "nothing can be sent"
	}
	return ""
}

// watch closes the connection when nothing arrives, or nothing of what is to be sent leaves, for limit or a quarter more, and says so: for
// longer while the others live. It returns when the connection is closed.
func (c *conn) watch(limit time.Duration, tell func(what string)) {
	spell := time.NewTicker(max(limit/quietSpells, time.Millisecond))
	defer spell.Stop()
	for v := (vigil{}); ; {
		select {
		case <-c.done:
			return
		case <-spell.C:
		}
		if what := v.look(c); what != "" {
			tell(what)
			c.Close()
			return
		}
	}
}
