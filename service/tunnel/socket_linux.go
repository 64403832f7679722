package tunnel

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// mostUnsent is how much the kernel may hold of what a connection has not sent yet. The kernel makes its buffers large on a fast line, up to
// megabytes, and when the line turns slow, everything that is sent waits for them: half a minute at 256 kbit/s. What is on its way and not
// confirmed is not counted, so a fast line stays fast.
const mostUnsent = 32 << 10

// tune readies a connection for slow lines: little waits in the kernel, and a packet that is lost is sent again at even intervals when only few
// are on their way, and not ever more seldom. What is none of the kernel's stays as it is.
func tune(c net.Conn) {
	control(c, func(fd int) {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, mostUnsent)
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_THIN_LINEAR_TIMEOUTS, 1)
	})
}

// confirmed is how many bytes the peer has confirmed to have received so far; 0 when that is not known.
func confirmed(c net.Conn) uint64 { return info(c).Bytes_acked }

// roundTrip is within what time the peer confirms what is sent: what it lately took and four times how much that varied, which is what TCP itself
// waits for (RFC 6298), without its longer and longer waits for a peer that is gone. 0 when it is not known.
func roundTrip(c net.Conn) time.Duration {
	known := info(c)
	return time.Duration(known.Rtt+4*known.Rttvar) * time.Microsecond
}

// info is what the kernel knows of the connection; zero when it says nothing.
func info(c net.Conn) (known unix.TCPInfo) {
	control(c, func(fd int) {
		if i, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			known = *i
		}
	})
	return known
}

// control runs f with the connection's descriptor.
func control(c net.Conn, f func(fd int)) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := s.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { f(int(fd)) })
	}
}
