package main

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// unreadControl has the kernel end every connection of a listener whose peer takes nothing of what was sent to it for so long (RFC 5482,
// TCP_USER_TIMEOUT): it holds for every route and for HTTP/1.1 and HTTP/2 alike, and costs a request nothing. Connections inherit it.
func unreadControl(limit time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(limit.Milliseconds()))
		})
		if err != nil {
			return err
		}
		return failed
	}
}
