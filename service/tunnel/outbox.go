package tunnel

import (
	"encoding/binary"
	"io"
	"runtime"
	"sync"
	"time"
)

// lanePiece is how much of what waits goes out at once, in either direction: words overtake between two pieces.
const lanePiece = 32 << 10

// longWait is how much may wait before a whole answer without a word ahead of it: that it was admitted.
const longWait = 2 * lanePiece

// slowWrite is how long a piece takes on a line on which a whole answer may come too late as a sign of life.
const slowWrite = 50 * time.Millisecond

// overtakes holds for what a member says in a few bytes and somebody waits for: on a slow line it does not wait behind whole answers.
func overtakes(kind byte) bool {
	return kind == frameAlive || kind == frameStream || kind == frameError || kind == frameBroken
}

// outbox gathers frames while the ones before them are being written, so that as many as come together cost one write.
type outbox struct {
	mu   sync.Mutex
	more sync.Cond // there is something to take, or it is closed
	room sync.Cond // something was taken, or it is closed
	// words are the frames that overtake the others, frames those; taken of them is given out already.
	words, frames []byte
	taken         int
	// slow: a piece took longer than slowWrite, and none since was large and quick.
	slow   bool
	closed bool
	// batch is what Read is giving out, given how much of it is out.
	batch []byte
	given int
}

func newOutbox() *outbox {
	b := &outbox{}
	b.more.L, b.room.L = &b.mu, &b.mu
	return b
}

// put adds a frame whose payload is head followed by body. It reports false when nothing can be sent any more.
func (b *outbox) put(kind byte, call uint32, head, body []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.add(kind, call, head, body)
}

// putWhenRoom is put, but it waits while too much waits already; that a whole answer does so is said at once. before, if there is one, is called in any
// case, when the waiting is over.
func (b *outbox) putWhenRoom(kind byte, call uint32, head, body []byte, before func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if kind == frameWhole && b.crowded(kind) {
		b.add(frameAlive, call, nil, nil)
	}
	for b.crowded(kind) && !b.closed {
		b.room.Wait()
	}
	if before != nil {
		before()
	}
	return b.add(kind, call, head, body)
}

func (b *outbox) add(kind byte, call uint32, head, body []byte) bool {
	if b.closed {
		return false
	}
	if b.waiting() == 0 {
		b.more.Signal()
	}
	if overtakes(kind) {
		b.words = appendFrame(b.words, kind, call, head, body)
		return true
	}
	if kind == frameWhole && (b.slow || b.waiting() > longWait) {
		b.words = appendFrame(b.words, frameAlive, call, nil, nil)
	}
	b.frames = appendFrame(b.frames, kind, call, head, body)
	return true
}

func appendFrame(b []byte, kind byte, call uint32, head, body []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(frameHead-4+len(head)+len(body)))
	b = append(b, kind)
	b = binary.BigEndian.AppendUint32(b, call)
	return append(append(b, head...), body...)
}

// waiting is how much there is to take.
func (b *outbox) waiting() int { return len(b.words) + len(b.frames) - b.taken }

// crowded reports whether too much waits for one more frame of the kind.
func (b *outbox) crowded(kind byte) bool {
	if overtakes(kind) {
		return len(b.words) > laneRoom
	}
	return b.waiting() > laneRoom
}

// full reports whether too much waits.
func (b *outbox) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiting() > laneRoom
}

// take waits for frames and returns those that are next: the words, and of the others as many as come to most bytes, or one. It returns nil when
// the outbox is closed. It gives back the slice of the take before.
func (b *outbox) take(before []byte, most int) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.waiting() == 0 && !b.closed {
		b.more.Wait()
		// Let those that are about to add frames do so: on a busy machine that saves most of the writes, on an idle one it costs nothing.
		b.mu.Unlock()
		runtime.Gosched()
		b.mu.Lock()
	}
	if b.closed {
		return nil
	}
	defer b.room.Broadcast()
	if cap(before) > 2*laneRoom {
		before = nil
	}
	if len(b.words) == 0 && b.taken == 0 && len(b.frames) <= most {
		batch := b.frames
		b.frames = before[:0]
		return batch
	}
	return b.piece(before[:0], most)
}

// piece appends to batch what is next.
func (b *outbox) piece(batch []byte, most int) []byte {
	batch = append(batch, b.words...)
	b.words = b.words[:0]
	rest, size := b.frames[b.taken:], 0
	for size < len(rest) {
		next := size + frameSizeAt(rest[size:])
		if size > 0 && next > most {
			break
		}
		size = next
	}
	batch = append(batch, rest[:size]...)
	if b.taken += size; b.taken == len(b.frames) || b.taken > laneRoom {
		b.frames, b.taken = b.frames[:copy(b.frames, b.frames[b.taken:])], 0
	}
	return batch
}

// frameSizeAt is the size of the frame with which b begins.
func frameSizeAt(b []byte) int { return 4 + int(binary.BigEndian.Uint32(b)) }

// wrote notes how long n bytes, those that were taken last, took to write. Few say nothing of a fast line: they may wait in the kernel. When the line
// turns slow, each whole answer that waits gets its word.
func (b *outbox) wrote(n int, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	turned := took > slowWrite && !b.slow
	switch {
	case took > slowWrite:
		b.slow = true
	case n >= lanePiece/2:
		b.slow = false
	}
	if !turned {
		return
	}
	for rest := b.frames[b.taken:]; len(rest) > 0; rest = rest[frameSizeAt(rest):] {
		if rest[4] == frameWhole {
			b.words = appendFrame(b.words, frameAlive, binary.BigEndian.Uint32(rest[5:]), nil, nil)
		}
	}
}

// Read makes the outbox the body of a request. One goroutine reads.
func (b *outbox) Read(p []byte) (int, error) {
	if b.given == len(b.batch) {
		if b.batch, b.given = b.take(b.batch, 2*laneRoom), 0; b.batch == nil {
			return 0, io.EOF
		}
	}
	n := copy(p[:min(len(p), lanePiece)], b.batch[b.given:])
	b.given += n
	return n, nil
}

// Close lets nothing in or out any more.
func (b *outbox) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.more.Broadcast()
	b.room.Broadcast()
	return nil
}
