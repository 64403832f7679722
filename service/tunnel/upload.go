package tunnel

import (
	"bytes"
	"encoding/binary"
	"sync/atomic"
	"time"

	"comporta/service/gateway"
)

// On a slow line a task of a megabyte is on its way for many seconds, and whatever is sent after it waits behind it. A member that has not
// got a request cannot admit it, so the time for the admission must not run meanwhile. What tells is HTTP/2's flow control: the member
// gives back, in WINDOW_UPDATE frames, what it took out of the connection. That it wrote a report says less: it may be stuck all the same.

// takenLate is how much a member may have taken without saying so yet: net/http gathers that much before it says anything.
const takenLate = 4 << 10

// uploadPiece is how much of a body goes into one frame. The member sees nothing of a frame until it has all of it, so on a slow line large ones
// would look like a member that takes nothing, and hold up what others send.
const uploadPiece = 32 << 10

// Of the frames of HTTP/2 (RFC 9113 section 4.1), what is looked at.
const (
	frameHeader       = 9
	frameData         = 0
	frameWindowUpdate = 8
	prefaceLength     = 24 // what a client sends before its first frame
)

// uploads is a connection, as the HTTP/2 client sees it, that counts what went out in bodies and what of it the member has taken.
type uploads struct {
	*conn
	in, out frames // in belongs to the goroutine that reads, out and ahead to those that write, one at a time
	ahead   int    // how much was counted and has not left

	sent, taken atomic.Int64
	// takenAt is the clock's reading when the member last said that it took something.
	takenAt atomic.Int64
}

func newUploads(c *conn) *uploads {
	return &uploads{conn: c, out: frames{skip: prefaceLength}}
}

// Write counts the bodies. They are counted before they leave, so that the member's word that it took them never comes first; what did not leave
// comes once more and is not counted again.
func (u *uploads) Write(p []byte) (int, error) {
	u.out.scan(p[min(u.ahead, len(p)):], func(f *frames) {
		if f.kind() == frameData {
			u.sent.Add(int64(f.length()))
		}
	})
	n, err := u.conn.Write(p)
	u.ahead = max(u.ahead, len(p)) - n
	return n, err
}

// Read counts what the member has taken of them.
func (u *uploads) Read(p []byte) (int, error) {
	n, err := u.conn.Read(p)
	u.in.scan(p[:n], func(f *frames) {
		if f.kind() == frameWindowUpdate && f.length() == 4 && f.stream() == 0 {
			// A larger window, with which the member's server begins, gives back nothing that was sent.
			u.taken.Store(min(u.taken.Load()+int64(f.increment()), u.sent.Load()))
			u.takenAt.Store(u.conn.heard.Load())
		}
	})
	return n, err
}

// frames finds the heads of the frames in a stream of bytes that comes in pieces.
type frames struct {
	head [frameHeader + 4]byte // the header; behind it the payload of a window update
	have int
	skip int // bytes of the payload that are still to come
}

func (f *frames) kind() byte     { return f.head[3] }
func (f *frames) length() int    { return int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2]) }
func (f *frames) stream() uint32 { return binary.BigEndian.Uint32(f.head[5:]) &^ (1 << 31) }
func (f *frames) increment() uint32 {
	return binary.BigEndian.Uint32(f.head[frameHeader:]) &^ (1 << 31)
}

// need is how much of the frame is kept.
func (f *frames) need() int {
	if f.have >= frameHeader && f.kind() == frameWindowUpdate && f.length() == 4 {
		return frameHeader + 4
	}
	return frameHeader
}

// scan calls found for each frame whose head ends in p.
func (f *frames) scan(p []byte, found func(*frames)) {
	for len(p) > 0 {
		if f.skip > 0 {
			n := min(f.skip, len(p))
			f.skip, p = f.skip-n, p[n:]
			continue
		}
		n := copy(f.head[f.have:f.need()], p)
		f.have, p = f.have+n, p[n:]
		if f.have < frameHeader || f.have < f.need() {
			continue
		}
		f.skip = f.length() - (f.have - frameHeader)
		found(f)
		f.have = 0
	}
}

// upload is a body that knows whether all of it was asked for.
type upload struct {
	*bytes.Reader
	out atomic.Bool
}

func newUpload(body []byte) *upload { return &upload{Reader: bytes.NewReader(body)} }

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p[:min(len(p), uploadPiece)])
	if u.Len() == 0 {
		u.out.Store(true)
	}
	return n, err
}

func (u *upload) Close() error { return nil }

// admission is the time that a member has for admitting a request. It belongs to the request's timer.
type admission struct {
	link *link
	// began is the clock's reading when the request began.
	began time.Duration
	// body is what the member needs before it says anything; nil when that is no more than a header or a frame.
	body *upload
	// end is where the request ends among all that was sent, 0 while that is not known. arrived: the member has taken everything up to there.
	end     int64
	arrived bool
	// alone: nobody else is left to take the request. first is what had arrived from the member when the request began, flow at flowAt.
	alone       bool
	first, flow uint64
	flowAt      time.Duration
}

func (l *link) admission(chance gateway.Chance) admission {
	arrived, now := l.member.pulse.bytes.Load(), l.reg.clock()
	return admission{link: l, began: now, alone: chance != gateway.First, first: arrived, flow: arrived, flowAt: now}
}

// more answers, when the time is up, how much longer to wait; 0 when the member has had its time. As long as the request is on its way, the
// time begins anew with everything that the member takes; once it has arrived, it began with what was taken last.
func (a *admission) more() time.Duration {
	if a.held() {
		return a.link.reg.cfg.AdmissionTimeout
	}
	u := a.link.uploads
	last := max(a.began, time.Duration(u.takenAt.Load()))
	left := a.patience() - (a.link.reg.clock() - last)
	if a.arrived || left <= 0 {
		return 0
	}
	if a.end == 0 && (a.body == nil || a.body.out.Load()) {
		a.end = u.sent.Load() // rather more than less: what was sent after it counts too
		if a.body != nil {
			a.end += uploadPiece // its last piece may still wait for the window
		}
	}
	a.arrived = a.end != 0 && u.taken.Load()+takenLate >= a.end
	return left
}

// patience is how long a member that has the request may take. Where nobody else is left, the time that the line needs for both ways comes on top:
// by satellite, or through a queue that others fill, it can be seconds.
func (a *admission) patience() time.Duration {
	patience := a.link.reg.cfg.AdmissionTimeout
	if a.alone {
		patience += min(a.link.conn.ask().roundTrip, longestTrip)
	}
	return patience
}

// longestTrip is the longest round trip that is waited for.
const longestTrip = 10 * time.Second

// A request may wait behind the answers of others while at least flowing arrives within the time for an admission, far more than reports; until
// heldBytes have arrived, more than can stand before the member's word; and for heldFor times the time for an admission.
const (
	flowing   = 4 << 10
	heldBytes = 1 << 20
	heldFor   = 15
)

// held reports whether the word of the member may be held up behind its answers to others, on a slow line; then it is waited for, if nobody else
// is left to ask. Not if this tunnel is silent and only others of the member bring something: then it is dead, and they are not.
func (a *admission) held() bool {
	if !a.alone {
		return false
	}
	now, last := a.link.member.pulse.bytes.Load(), a.flow
	clock, patience := a.link.reg.clock(), a.link.reg.cfg.AdmissionTimeout
	if clock-a.flowAt >= patience {
		a.flow, a.flowAt = now, clock
	}
	return now-last >= flowing && now-a.first < heldBytes && a.link.heardSince(clock-max(patience, freshFor)) && clock-a.began < heldFor*patience
}
