//go:build !linux

package tunnel

import (
	"net"
	"time"
)

// writePiece is how much is written at once, so little that it is seen on a slow line whether what is sent moves.
func writePiece(net.Conn) int { return smallPiece }

// tune does nothing where the kernel has no such settings.
func tune(net.Conn) {}

// confirmed knows nothing here.
func confirmed(net.Conn) uint64 { return 0 }

// roundTrip is not known either.
func roundTrip(net.Conn) time.Duration { return 0 }
