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

// longestPause is the longest time after which TCP sends again what was lost, in milliseconds (since Linux 6.15; it is two minutes else). On a full
// line one connection may lose for long to its sibling, and must go on trying.
const longestPause = 5000

// tune readies a connection for slow lines: little waits in the kernel, and what is lost is sent again at even intervals, at least when only a few
// packets are on their way, and not ever more seldom. What is none of the kernel's stays as it is.
func tune(c net.Conn) {
	control(c, func(fd int) {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, mostUnsent)
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_THIN_LINEAR_TIMEOUTS, 1)
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_RTO_MAX_MS, longestPause)
	})
}

// ask asks the kernel what it knows of the connection.
func ask(c net.Conn) (known told) {
	control(c, func(fd int) {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			return
		}
		// What it lately took and four times how much that varied is what TCP itself waits for (RFC 6298), without its longer and longer waits
		// for a peer that is gone.
		known = told{confirmed: info.Bytes_acked, packets: uint64(info.Segs_in), roundTrip: time.Duration(info.Rtt+4*info.Rttvar) * time.Microsecond}
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
