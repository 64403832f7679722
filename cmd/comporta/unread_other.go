//go:build !linux

package main

import (
	"syscall"
	"time"
)

// unreadControl does nothing where the kernel has no such limit: only the end of a dispatch's time cuts a caller who does not read.
func unreadControl(time.Duration) func(network, address string, c syscall.RawConn) error { return nil }
