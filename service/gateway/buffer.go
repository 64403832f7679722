package gateway

import (
	"io"
	"sync"
)

// Sizes of a Buffer in bytes.
const (
	shortBuffer = 32 << 10
	longBuffer  = 256 << 10
)

var (
	shortBuffers = sync.Pool{New: func() any { b := make([]byte, shortBuffer); return &b }}
	longBuffers  = sync.Pool{New: func() any { b := make([]byte, longBuffer); return &b }}
)

// Buffer is what an answer is passed on with. It is short until a read has filled it: most answers are small or come in small parts, and
// many may be open at once.
type Buffer struct {
	bytes *[]byte
	full  bool
}

// TakeBuffer takes a buffer that others used before; Release gives it back.
func TakeBuffer() *Buffer { return &Buffer{bytes: shortBuffers.Get().(*[]byte)} }

// Read reads once and returns what came, which is good until the next Read or Release.
func (b *Buffer) Read(r io.Reader) ([]byte, error) {
	if b.full && len(*b.bytes) == shortBuffer {
		shortBuffers.Put(b.bytes)
		b.bytes = longBuffers.Get().(*[]byte)
	}
	n, err := r.Read(*b.bytes)
	b.full = n == len(*b.bytes)
	return (*b.bytes)[:n], err
}

// Release gives the buffer back.
func (b *Buffer) Release() {
	if len(*b.bytes) == shortBuffer {
		shortBuffers.Put(b.bytes)
	} else {
		longBuffers.Put(b.bytes)
	}
	b.bytes = nil
}
