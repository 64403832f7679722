package tunnel

import (
	"io"
	"time"
)

// Pieces of large writes begin with firstPiece and stay between minPiece and frameSize; they grow when one took less than quickPiece, and shrink
// above slowPiece.
const (
	minPiece   = 8 << 10
	firstPiece = 16 << 10
	quickPiece = 20 * time.Millisecond
	slowPiece  = 200 * time.Millisecond
)

// pace says how much of a large write goes out at once, each piece a frame of its own. Between the bytes of a frame nothing else of the tunnel comes
// through, not even the answer to a ping, so pieces that take long make the next ones smaller; large ones spare work on a fast line.
type pace struct{ piece int }

// next is how large the next piece is at most.
func (p *pace) next() int {
	if p.piece == 0 {
		p.piece = firstPiece
	}
	return p.piece
}

// took takes in how long n bytes took. Few say nothing of a fast line: they may wait in the kernel.
func (p *pace) took(n int, d time.Duration) {
	switch {
	case d > slowPiece:
		p.piece = max(min(p.next(), n)/2, minPiece)
	case d < quickPiece && n >= p.next()/2:
		p.piece = min(2*p.piece, frameSize)
	}
}

// write writes b, as long as at least so many bytes are left.
func (p *pace) write(w io.Writer, b []byte, least int, clock func() time.Duration) (written int, err error) {
	for began := clock(); len(b)-written >= least && err == nil; {
		var n int
		n, err = w.Write(b[written:min(written+p.next(), len(b))])
		written += n
		now := clock()
		p.took(n, now-began)
		began = now
	}
	return written, err
}
