package connector

import (
	"errors"
	"sync"
	"time"

	"comporta/service/gateway"
)

const (
	// writeAt is how many bytes gather before they are written out.
	writeAt = 24 << 10
	// writeAfter is how long a row waits for more rows before it is written out anyway.
	writeAfter = 100 * time.Millisecond
)

// errEnough ends a query whose answer has all the rows that the caller wants. It is not a failure.
var errEnough = errors.New("enough rows")

// answer turns rows into the bytes of an answer. It begins the output only when bytes leave it for the first time, so that a query
// that fails at once has no answer but its error.
//
// A row that is written blocks while the reader is slow: that is the back pressure. Rows that trickle are written by a timer, so
// everything that touches the buffer holds the lock.
type answer struct {
	out     gateway.Output
	enc     encoder
	maxRows int64

	mu      sync.Mutex
	buf     []byte
	timer   *time.Timer
	waiting bool // the timer is set
	begun   bool
	done    bool
	failed  error
	shaped  bool // columns are known
	total   totals
}

// totals is what is known after the last row.
type totals struct {
	rows      int64
	truncated bool
	// affected is how many rows a statement changed; -1 for one that answers rows.
	affected int64
}

func newAnswer(task *gateway.Task, out gateway.Output) (*answer, error) {
	enc, err := encoderFor(task.Format)
	if err != nil {
		return nil, err
	}
	// The buffer grows up to writeAt where it must: most answers are small.
	return &answer{out: out, enc: enc, maxRows: task.Query.MaxRows, total: totals{affected: -1}, buf: make([]byte, 0, 2<<10)}, nil
}

// columns says what the rows look like. It comes before the first row.
func (a *answer) columns(columns []column) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.buf = a.enc.begin(a.buf, columns)
	a.shaped = true
}

// row adds a row. It returns errEnough instead when the caller has all that it wants, and the output's error when it takes no more.
func (a *answer) row(cells []cell) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failed != nil {
		return a.failed
	}
	if a.maxRows > 0 && a.total.rows >= a.maxRows {
		a.total.truncated = true
		return errEnough
	}
	a.buf = a.enc.row(a.buf, cells, a.total.rows == 0)
	a.total.rows++
	if len(a.buf) >= writeAt {
		return a.write()
	}
	a.wait()
	return nil
}

// changed says how many rows a statement changed that answers none.
func (a *answer) changed(rows int64) { a.total.affected = max(rows, 0) }

// finish completes the answer.
func (a *answer) finish() (gateway.Summary, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stop()
	summary := gateway.Summary{Rows: a.total.rows, Truncated: a.total.truncated}
	if a.failed != nil {
		return summary, a.failed
	}
	if !a.shaped {
		a.buf = a.enc.begin(a.buf, nil)
	}
	a.buf = a.enc.end(a.buf, a.total)
	return summary, a.write()
}

// fail ends the answer with an error: visibly broken when part of it is out, without a byte otherwise.
func (a *answer) fail(e *gateway.Error) gateway.Summary {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stop()
	if a.begun && a.failed == nil {
		a.buf = a.enc.fail(a.buf, e)
		if a.write() == nil {
			_ = a.out.Flush()
		}
	}
	return gateway.Summary{Rows: a.total.rows}
}

func (a *answer) stop() {
	a.done = true
	if a.timer != nil {
		a.timer.Stop()
	}
}

// wait sees to it that what is in the buffer leaves it soon. The lock is held.
func (a *answer) wait() {
	if a.waiting {
		return
	}
	a.waiting = true
	if a.timer == nil {
		a.timer = time.AfterFunc(writeAfter, a.late)
		return
	}
	a.timer.Reset(writeAfter)
}

// late writes out what has waited long enough.
func (a *answer) late() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = false
	if a.done || a.failed != nil || len(a.buf) == 0 {
		return
	}
	if a.write() == nil {
		a.failed = brokenOutput(a.out.Flush())
	}
}

// write hands the buffer to the output. The lock is held.
func (a *answer) write() error {
	if !a.begun {
		a.begun = true
		if a.failed = brokenOutput(a.out.Begin(gateway.AnswerHeader{ContentType: a.enc.contentType()})); a.failed != nil {
			return a.failed
		}
	}
	if len(a.buf) > 0 {
		_, err := a.out.Write(a.buf)
		a.failed = brokenOutput(err)
		a.buf = a.buf[:0]
	}
	return a.failed
}

// brokenOutput is an output that takes no more: its reader went away.
func brokenOutput(err error) error {
	if err == nil {
		return nil
	}
	return gateway.Wrap(gateway.CodeBroken, err, "The answer could not be sent on.")
}
