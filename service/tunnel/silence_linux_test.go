package tunnel

import (
	"bytes"
	"net"
	"testing"
	"time"
)

// A connection that brings nothing while its siblings do is given more time when its peer's kernel confirms what is sent: on a full line it only
// loses to them. Without siblings that is no sign, because a process that hangs has a kernel that confirms.
func TestConfirmationsGiveAConnectionTimeBesideItsSiblings(t *testing.T) {
	for name, c := range map[string]struct {
		siblings, confirmed bool
		looks               int
	}{
		"alone":                       {false, false, quietSpells},
		"alone, confirmed":            {false, true, quietSpells},
		"with siblings":               {true, false, siblingSpells},
		"with siblings and confirmed": {true, true, provenSpells},
	} {
		t.Run(name, func(t *testing.T) {
			near := connected(t)
			conn := newConn(near, bytes.NewReader(nil), func() time.Duration { return 0 }, nil)
			conn.reads.Store(1) // somebody reads
			var v vigil
			for i := range c.looks {
				if what := v.look(conn); what != "" {
					t.Fatalf("%s at look %d", what, i)
				}
				if c.siblings {
					conn.pulse.bytes.Add(1)
				}
				if c.confirmed {
					before := conn.ask().confirmed
					if _, err := near.Write([]byte("!")); err != nil {
						t.Fatal(err)
					}
					wait(t, "the confirmation", func() bool { return conn.ask().confirmed > before })
				}
			}
			if what := v.look(conn); what != "nothing arrives" {
				t.Errorf("%q after %d looks", what, c.looks)
			}
		})
	}
}

// connected is one end of a TCP connection whose other end does nothing.
func connected(t *testing.T) net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near
}
