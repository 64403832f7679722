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
// length and summary in front; a longer one is streamed and says at its end how it went.
const (
	bufferSize = 32 << 10
	flushAfter = 100 * time.Millisecond
)

var errEnded = errors.New("the answer has ended")

// output is a gateway.Output over an HTTP/2 response. Its timer writes from another goroutine, so everything is under mu.
type output struct {
	mu     sync.Mutex
	w      http.ResponseWriter
	buffer []byte
	timer  *time.Timer
	// begun: Begin was called. sent: the response's header is out. ended: nothing may be written any more.
	begun, sent, ended bool
	// waiting: the timer is set to flush; until Begin it is set to say 102.
	waiting bool
	err     error
}

func newOutput(w http.ResponseWriter, buffer []byte, progress bool) *output {
	o := &output{w: w, buffer: buffer[:0]}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timer = time.AfterFunc(progressAfter, o.tick)
	if !progress {
		o.timer.Stop()
	}
	return o
}

// tick is the timer: it says 102 while there is no answer, and sends what waited long enough.
func (o *output) tick() {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.ended:
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
	o.w.Header()["Content-Type"] = []string{h.ContentType}
	if h.UpstreamStatus != 0 {
		o.w.Header()[headerUpstream] = []string{strconv.Itoa(h.UpstreamStatus)}
	}
	o.schedule()
	return nil
}

// Write takes p into the buffer, and sends whole buffers. It blocks while the service does not read.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.ready(); err != nil {
		return 0, err
	}
	if len(o.buffer)+len(p) > bufferSize {
		if err := o.send(); err != nil {
			return 0, err
		}
		if len(p) >= bufferSize { // too much to copy
			n, err := o.w.Write(p)
			o.err = err
			return n, err
		}
	}
	o.buffer = append(o.buffer, p...)
	o.schedule()
	return len(p), nil
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

// send writes header and buffer. From here on the answer is a stream.
func (o *output) send() error {
	if !o.sent {
		o.sent = true
		o.w.Header()["Trailer"] = []string{trailerOutcome + ", " + headerSummary}
		o.w.WriteHeader(http.StatusOK)
	}
	if len(o.buffer) > 0 && o.err == nil {
		_, o.err = o.w.Write(o.buffer)
		o.buffer = o.buffer[:0]
	}
	if o.err == nil {
		o.err = http.NewResponseController(o.w).Flush()
	}
	return o.err
}

// finish ends a complete answer.
func (o *output) finish(s gateway.Summary) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.w.Header()
	switch {
	case !o.begun:
		writeError(o.w, http.StatusInternalServerError, gateway.Errorf(gateway.CodeInternal, "The member made no answer."))
	case !o.sent:
		h[headerSummary] = []string{encodeSummary(s)}
		h["Content-Length"] = []string{strconv.Itoa(len(o.buffer))}
		o.w.WriteHeader(http.StatusOK)
		_, _ = o.w.Write(o.buffer)
	default:
		if o.send() == nil {
			h[trailerOutcome], h[headerSummary] = []string{outcomeOK}, []string{encodeSummary(s)}
		}
	}
	o.ended = true
}

// fail ends an answer with an error: as the whole answer while nothing is out, visibly broken otherwise.
func (o *output) fail(e *gateway.Error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.sent {
		writeError(o.w, http.StatusUnprocessableEntity, e)
	} else {
		_ = o.send() // the rows before the failure are still good
		o.w.Header()[trailerOutcome] = []string{encodeOutcome(e)}
	}
	o.ended = true
}

// stop ends the timer; after it nothing is written.
func (o *output) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.timer.Stop()
}
