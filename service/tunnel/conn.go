package tunnel

import (
	"bufio"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// conn is one end of a tunnel's connection after the Upgrade. It gives back first what was read too far during the Upgrade, knows when
// it was last heard from, and tells when it is closed. net/http sees a plain connection, with or without TLS beneath. One goroutine at a
// time reads, and one writes.
type conn struct {
	net.Conn
	reader io.Reader
	clock  func() time.Duration
	// pulse is that of the member's tunnels.
	pulse *Pulse
	// own is what of it arrived here.
	own atomic.Uint64
	// heard is the clock's reading at the last byte that arrived.
	heard atomic.Int64
	// reads and writes are odd while a Read or a piece of a Write waits; each ends with another number.
	reads, writes atomic.Uint64
	// counted: the kernel counts what the peer confirms. It belongs to the goroutine that writes.
	counted bool
	once    sync.Once
	done    chan struct{}
}

// newConn wraps c; rest are the bytes read beyond the Upgrade. The clock must not step back. pulse may be nil.
func newConn(c net.Conn, rest io.Reader, clock func() time.Duration, pulse *Pulse) *conn {
	if pulse == nil {
		pulse = new(Pulse)
	}
	tune(bare(c))
	n := &conn{Conn: c, reader: bufio.NewReaderSize(io.MultiReader(rest, c), 4<<10), clock: clock, pulse: pulse, done: make(chan struct{})}
	n.heard.Store(int64(clock()))
	return n
}

// Read reads and notes the time.
func (c *conn) Read(p []byte) (int, error) {
	c.reads.Add(1)
	n, err := c.reader.Read(p)
	c.reads.Add(1)
	if n > 0 {
		c.heard.Store(int64(c.clock()))
		c.own.Add(uint64(n))
		c.pulse.bytes.Add(uint64(n))
	}
	return n, err
}

// smallPiece is so little that it leaves before a slow line is taken for a stuck one. More is written at once where the kernel tells what of it moves;
// Linux before 4.1, sandboxes that are only like Linux, and other systems do not.
const smallPiece = 32 << 10

// Write writes in pieces.
func (c *conn) Write(p []byte) (written int, err error) {
	piece := len(p)
	if piece > smallPiece && !c.counted {
		if c.counted = c.ask().confirmed > 0; !c.counted {
			piece = smallPiece
		}
	}
	for {
		c.writes.Add(1)
		n, err := c.Conn.Write(p[written:min(written+piece, len(p))])
		c.writes.Add(1)
		if written += n; err != nil || written == len(p) {
			return written, err
		}
	}
}

// Close closes at once: under TLS without the farewell, which may block for seconds on a dead network. Nothing is lost by that, because
// HTTP/2 marks the end of every answer by itself.
func (c *conn) Close() error {
	var err error
	c.once.Do(func() {
		err = bare(c.Conn).Close()
		close(c.done)
	})
	return err
}

// told is what the kernel knows of a connection; zero where it says nothing.
type told struct {
	// confirmed is how many bytes the peer's kernel has confirmed to have, packets how many came from it, with bytes or without.
	confirmed, packets uint64
	// roundTrip is within what time it confirms what is sent.
	roundTrip time.Duration
}

// ask asks the kernel.
func (c *conn) ask() told { return ask(bare(c.Conn)) }

// bare is the connection beneath all TLS; through a proxy that is asked over TLS there are two layers of it.
func bare(c net.Conn) net.Conn {
	for {
		layer, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return c
		}
		c = layer.NetConn()
	}
}
