package tunnel

import "time"

// Whether a connection lives is told by its bytes and not by HTTP/2's pings: on a slow line a ping, or the answer to one, waits behind all that
// was sent before it, for longer than a dead peer may stay unnoticed. What moves is alive. The pings of net/http see to it that a
// living peer has something to say.

// pingEvery is how long a connection may be silent before it is pinged, and how much longer before it is given up, unless a setting says otherwise.
const pingEvery = 5 * time.Second

// pingPatience is how long net/http waits for the answer to a ping: without bounds of its own, because silence ends the connection long before.
const pingPatience = time.Hour

// quietSpells is how many spells in a row, of equal length, something must have waited in vain. Spells are counted because a clock would
// also count the time in which the machine itself stood still.
const quietSpells = 4

// waiting is a Read or a Write, as it was found one spell ago.
type waiting struct {
	seen, moved uint64
	spells      int
}

// tooLong is asked once in a spell. count is odd while something waits, and another number for each that does; moved changes with what it has
// achieved meanwhile.
func (w *waiting) tooLong(count, moved uint64) bool {
	if count%2 == 0 || count != w.seen || moved != w.moved {
		w.seen, w.moved, w.spells = count, moved, 0
		return false
	}
	w.spells++
	return w.spells >= quietSpells
}

// watch closes the connection when nothing arrives, or nothing of what is to be sent leaves, for limit or a quarter more, and says so. It
// returns when the connection is closed.
func (c *conn) watch(limit time.Duration, tell func(what string)) {
	spell := time.NewTicker(max(limit/quietSpells, time.Millisecond))
	defer spell.Stop()
	var reads, writes waiting
	for {
		select {
		case <-c.done:
			return
		case <-spell.C:
		}
		silent, stuck := reads.tooLong(c.reads.Load(), 0), writes.tooLong(c.writes.Load(), confirmed(bare(c.Conn)))
		switch {
		case silent:
			tell("nothing arrives")
		case stuck:
			tell("nothing can be sent")
		default:
			continue
		}
		c.Close()
		return
	}
}
