package tunnel

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// conn is one end of a tunnel's connection after the Upgrade. It gives back first what was read too far during the Upgrade, knows when
// it was last heard from, and tells when it is closed. net/http sees a plain connection, with or without TLS beneath.
type conn struct {
	net.Conn
	reader io.Reader
	clock  func() time.Duration
	// heard is the clock's reading at the last byte that arrived.
	heard atomic.Int64
	once  sync.Once
	done  chan struct{}
}

// newConn wraps c; rest are the bytes read beyond the Upgrade. The clock must not step back.
func newConn(c net.Conn, rest io.Reader, clock func() time.Duration) *conn {
	n := &conn{Conn: c, reader: bufio.NewReaderSize(io.MultiReader(rest, c), 4<<10), clock: clock, done: make(chan struct{})}
	n.heard.Store(int64(clock()))
	return n
}

// Read reads and notes the time.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.reader.Read(p)
	if n > 0 {
		c.heard.Store(int64(c.clock()))
	}
	return n, err
}

// Close closes at once: under TLS without the farewell, which may block for seconds on a dead network. Nothing is lost by that, because
// HTTP/2 marks the end of every answer by itself.
func (c *conn) Close() error {
	var err error
	c.once.Do(func() {
		inner := c.Conn
		if t, ok := inner.(*tls.Conn); ok {
			inner = t.NetConn()
		}
		err = inner.Close()
		close(c.done)
	})
	return err
}
