package tunnel

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"comporta/service/gateway"
)

// The fast lane is one stream that lives as long as the tunnel and carries the small things of many requests: tasks that only read one
// way, whole small answers the other. What a request costs in HTTP/2 (header blocks, a stream's bookkeeping on both ends, several writes
// to the network) is paid once for as many requests as come together. An answer that turns out to be large or slow leaves the lane: the
// member says so, and the service fetches it with a request of its own (takePath), so that flow control and cancellation of everything
// that lasts remain HTTP/2's.
//
// A frame is: length of the rest (4 bytes), kind (1), the request's number (4), payload.
const (
	laneVersion = "1"
	lanePath    = "/lane/" + laneVersion
	takePath    = "/take"
	laneURL     = "http://member" + lanePath
	takeURL     = "http://member" + takePath
	// headerCall names the request whose answer is fetched.
	headerCall = "Comporta-Call"
)

// Kinds of frames.
const (
	frameTask   = 'T' // service: run this; payload: encodeTask
	frameCancel = 'C' // service: nobody waits for it any more
	frameAlive  = 'A' // member: admitted and still running; the lane's 102
	frameWhole  = 'W' // member: the whole answer; payload: encodeWhole
	frameError  = 'E' // member: the error is the whole answer; payload: 1 if it was refused, else 0, and encodeError
	frameStream = 'S' // member: the answer is to be fetched
	frameBroken = 'X' // member: the request ended without an answer
)

const (
	frameHead = 9
	// maxLaneTask is how large a task may be that takes the lane; larger ones get a stream.
	maxLaneTask = 32 << 10
	// maxLaneAnswer bounds what a member may send at once: a buffer full, its header, or an error.
	maxLaneAnswer = bufferSize + maxErrorBytes
	// laneRoom is how much may wait to be written. Where that much waits, the other side does not read.
	laneRoom = 1 << 20
)

var errLane = errors.New("the fast lane carries something that is not its protocol")

// frame is one frame that arrived.
type frame struct {
	kind    byte
	call    uint32
	payload []byte
}

// readFrame reads a frame with a payload of at most most bytes, which is the caller's to keep.
func readFrame(r *bufio.Reader, most int) (frame, error) {
	head, err := r.Peek(frameHead)
	if err != nil {
		return frame{}, err
	}
	n := int64(binary.BigEndian.Uint32(head)) - (frameHead - 4)
	f := frame{kind: head[4], call: binary.BigEndian.Uint32(head[5:])}
	if n < 0 || n > int64(most) {
		return frame{}, errLane
	}
	_, _ = r.Discard(frameHead)
	if n > 0 {
		f.payload = make([]byte, n)
		_, err = io.ReadFull(r, f.payload)
	}
	return f, err
}

// encodeWhole makes what stands before the body of a whole answer: its own length, then header and summary.
func encodeWhole(b []byte, h gateway.AnswerHeader, s gateway.Summary) []byte {
	b = appendText(append(b, 0, 0), h.ContentType)
	b = binary.AppendVarint(binary.AppendVarint(b, int64(h.UpstreamStatus)), s.Rows)
	b = append(b, flags(s.Truncated))
	binary.BigEndian.PutUint16(b, uint16(len(b)-2))
	return b
}

// decodeWhole takes a whole answer apart.
func decodeWhole(payload []byte) (h gateway.AnswerHeader, s gateway.Summary, body []byte, err error) {
	if len(payload) < 2 || len(payload)-2 < int(binary.BigEndian.Uint16(payload)) {
		return h, s, nil, errLane
	}
	end := 2 + int(binary.BigEndian.Uint16(payload))
	f := form{rest: string(payload[2:end])}
	h.ContentType, h.UpstreamStatus = clip(f.text(), maxTypeBytes), validStatus(f.number())
	s.Rows, s.Truncated = f.number(), f.octet()&1 != 0
	if f.bad || f.rest != "" || s.Rows < 0 {
		return h, s, nil, errLane
	}
	return h, s, payload[end:], nil
}
