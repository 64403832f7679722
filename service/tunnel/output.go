package tunnel

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"comporta/service/gateway"
)

// bufferSize is how much of an answer is held back, flushAfter for how long. An answer that ends within both goes out whole, with its
// length and summary in front, and can still be asked of another member when this one dies; a longer one is streamed and says at its end how
// it went. Half a second, so that a busy machine does not turn small answers into streams.
const (
	bufferSize = 32 << 10
	flushAfter = 500 * time.Millisecond
)

var errEnded = errors.New("the answer has ended")

// output is a gateway.Output over an HTTP/2 response. Its timer writes from another goroutine, so everything is under mu.
type output struct {
	mu sync.Mutex
	// w is nil while lane has the answer; lane is nil for a request that came on a stream of its own.
	w     http.ResponseWriter
	lane  *laneTask
	clock func() time.Duration
	// release gives back the request's place on the member; nil once that is done. It is done before the answer's end leaves, so that whoever
	// asks again as soon as the answer is there finds the place free.
	release func()
	header  gateway.AnswerHeader
	buffer  []byte
	timer   *time.Timer
	// begun: Begin was called. sent: the response's header is out. ended: nothing may be written any more.
	begun, sent, ended bool
	// waiting: the timer is set to flush; until Begin it is set to say 102.
	waiting bool
	// taken is how much was written so far, in or out of the buffer. last: the buffer ends with the last byte of a promised length, which waits
	// for the end of the answer: with it the caller has all, and must find the place free. An answer that fails after it stays short by it.
	taken int64
	last  bool
	pace  pace
	err   error
}

// start sets the timer; progress says whether somebody waits for a sign of life.
func (o *output) start(progress bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timer = time.AfterFunc(progressAfter, o.tick)
	if !progress {
		o.timer.Stop()
	}
}

// tick is the timer: it says 102 while there is no answer, and sends what waited long enough.
func (o *output) tick() {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.ended:
	case !o.begun && o.lane != nil:
		o.lane.alive()
	case !o.begun:
		o.w.WriteHeader(http.StatusProcessing)
	case o.waiting:
		o.waiting = false
		_ = o.send()
	}
}

// Begin keeps the header until the first bytes go.
func (o *output) Begin(h gateway.AnswerHeader) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.begun || o.ended {
		return errors.New("the answer has begun already")
	}
	o.begun = true
	if h.ContentType == "" {
		h.ContentType = "application/octet-stream"
	}
	o.header = h
	o.schedule()
	return nil
}

// head writes what Begin was told into the response's header.
func (o *output) head() http.Header {
	h := o.w.Header()
	h["Content-Type"] = []string{o.header.ContentType}
	if o.header.UpstreamStatus != 0 {
		h[headerUpstream] = []string{strconv.Itoa(o.header.UpstreamStatus)}
	}
	return h
}

// Write takes p into the buffer, and sends whole buffers. It blocks while the service does not read.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.ready(); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		return 0, nil
	}
	o.taken, o.last = o.taken+int64(len(p)), false // what is in the buffer is not the end any more
	if len(o.buffer)+len(p) > bufferSize {
		if err := o.send(); err != nil {
			return 0, err
		}
		if len(p) >= bufferSize { // too much to copy
			return o.writePieces(p)
		}
	}
	o.hold(p)
	return len(p), nil
}

// hold takes p, the end of what was written so far, into the buffer.
func (o *output) hold(p []byte) {
	o.buffer = append(o.buffer, p...)
	o.last = o.complete()
	o.schedule()
}

// complete reports whether the promised length was written.
func (o *output) complete() bool {
	return o.header.PromisedLength > 0 && o.taken == o.header.PromisedLength
}

// writePieces writes p in pieces. A rest waits in the buffer: net/http would keep it in its own, if it is small, and nobody would send it while the
// data source is silent.
func (o *output) writePieces(p []byte) (written int, err error) {
	most := len(p)
	if o.complete() {
		most--
	}
	written, o.err = o.pace.write(o.w, p[:most], firstPiece, o.clock)
	if o.err == nil && written < len(p) {
		o.hold(p[written:])
		written = len(p)
	}
	return written, o.err
}

// Flush sends what the buffer holds.
func (o *output) Flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.ready(); err != nil {
		return err
	}
	return o.send()
}

func (o *output) ready() error {
	switch {
	case o.err != nil:
		return o.err
	case o.ended:
		return errEnded
	case !o.begun:
		return errors.New("the answer has not begun")
	}
	return nil
}

// schedule makes sure that what is held back goes out in time.
func (o *output) schedule() {
	if !o.waiting {
		o.waiting = true
		o.timer.Reset(flushAfter)
	}
}

// send writes header and buffer, but for a last byte. From here on the answer is a stream.
func (o *output) send() error {
	if !o.sent {
		o.sent = true
		if o.lane != nil {
			if o.w = o.lane.stream(); o.w == nil {
				o.err = errEnded
				return o.err
			}
		}
		h := o.head()
		h["Trailer"] = []string{trailerOutcome + ", " + headerSummary}
		if o.header.PromisedLength > 0 {
			h[headerLength] = []string{strconv.FormatInt(o.header.PromisedLength, 10)}
		}
		o.w.WriteHeader(http.StatusOK)
	}
	if o.w == nil {
		return o.err
	}
	rest := o.buffer[:0]
	if o.last {
		rest = o.cut()
	}
	if len(o.buffer) > 0 && o.err == nil {
		_, o.err = o.pace.write(o.w, o.buffer, 1, o.clock)
	}
	o.buffer = append(o.buffer[:0], rest...)
	if o.err == nil {
		o.err = http.NewResponseController(o.w).Flush()
	}
	return o.err
}

// finish ends a complete answer.
func (o *output) finish(s gateway.Summary) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !o.begun:
		o.whole(gateway.Errorf(gateway.CodeInternal, "The member made no answer."), http.StatusInternalServerError)
	case o.sent:
		last := o.cut()
		o.last = false
		if o.send() == nil {
			o.leave()
			_, o.err = o.w.Write(last)
			h := o.w.Header()
			h[trailerOutcome], h[headerSummary] = []string{outcomeOK}, []string{encodeSummary(s)}
		}
	case o.lane != nil:
		o.lane.whole(o.header, s, o.buffer, o.takeRelease())
	default:
		length := len(o.buffer)
		last := o.cut()
		h := o.head()
		h[headerSummary] = []string{encodeSummary(s)}
		h["Content-Length"] = []string{strconv.Itoa(length)}
		o.w.WriteHeader(http.StatusOK)
		_, _ = o.w.Write(o.buffer)
		o.leave()
		_, _ = o.w.Write(last)
	}
	o.ended = true
}

// cut takes the last byte out of the buffer. It leaves after the place was given back, and the rest before: on a slow line an answer waits for
// its turn, and whoever waits must keep its place, or there would be no end of them.
func (o *output) cut() []byte {
	most := max(len(o.buffer)-1, 0)
	last := o.buffer[most:]
	o.buffer = o.buffer[:most]
	return last
}

// leave gives back the place. The lock is held.
func (o *output) leave() {
	if release := o.takeRelease(); release != nil {
		release()
	}
}

// takeRelease hands the giving back of the place to the caller.
func (o *output) takeRelease() func() {
	release := o.release
	o.release = nil
	return release
}

// fail ends an answer with an error: as the whole answer while nothing is out, visibly broken otherwise.
func (o *output) fail(e *gateway.Error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !o.sent:
		o.whole(e, http.StatusUnprocessableEntity)
	case o.w != nil:
		_ = o.send() // the rows before the failure are still good
		o.w.Header()[trailerOutcome] = []string{encodeOutcome(e)}
	}
	o.ended = true
}

// whole makes an error the whole answer.
func (o *output) whole(e *gateway.Error, status int) {
	if o.lane != nil {
		o.lane.fail(e, false, o.takeRelease())
		return
	}
	o.leave()
	writeError(o.w, status, e)
}

// stop ends the timer, and gives the place back at the latest; after it nothing is written.
func (o *output) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	if o.timer != nil {
		o.timer.Stop()
	}
	o.leave()
}
