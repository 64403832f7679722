package connector

import (
	"context"
	"errors"
	"math"
	"net"
	"sync/atomic"
	"syscall"

	"comporta/service/gateway"
)

// maxRow is how many bytes one row from a database or a file may have, as it comes. A row is held in memory while it is written, so
// without a bound one small query could take the whole machine.
const maxRow = 16 << 20

// readAhead is how much a driver may read beyond a row: its buffer and what TLS adds.
const readAhead = 1 << 20

// errRowTooLarge ends the reading of a row. It becomes words where it is known what was read.
var errRowTooLarge = errors.New("the row is too large")

// rowTooLarge is the failure of a query with a row beyond maxRow.
func rowTooLarge() *gateway.Error {
	return gateway.Errorf(gateway.CodeQuery, "A row of the answer is larger than %d MiB, which is all that a member takes. Select fewer columns, or less of the large value (a part of it at a time).", maxRow>>20)
}

// checkRow refuses a row that a driver could not be kept from reading.
func checkRow(cells []cell) error {
	size := 0
	for i := range cells {
		size += len(cells[i].bytes)
	}
	if size > maxRow {
		return rowTooLarge()
	}
	return nil
}

// meter is a connection to a database whose driver has no bound for a row. It counts what is read for each, and breaks the connection at
// the one that is too large. A nil meter bounds nothing.
type meter struct {
	net.Conn
	left atomic.Int64
	over atomic.Bool
}

type meterKey struct{}

// dialMetered dials, and hands the meter to whoever called withMeter.
func dialMetered(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	m, wanted := ctx.Value(meterKey{}).(*meter)
	if err != nil || !wanted {
		return conn, err
	}
	m.Conn = conn
	m.stop()
	return m, nil
}

// withMeter returns a context under which dialMetered fills in m.
func withMeter(ctx context.Context, m *meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

// row allows for another row.
func (m *meter) row() {
	if m != nil {
		m.left.Store(maxRow + readAhead)
	}
}

// stop bounds nothing until the next row.
func (m *meter) stop() {
	if m != nil {
		m.left.Store(math.MaxInt64)
	}
}

// why puts the reason in the place of the driver's error when the meter broke the connection.
func (m *meter) why(err error) error {
	if m != nil && err != nil && m.over.Load() {
		return rowTooLarge()
	}
	return err
}

// Read counts.
func (m *meter) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	if m.left.Add(-int64(n)) < 0 {
		m.over.Store(true)
		return 0, errRowTooLarge
	}
	return n, err
}

// SyscallConn lets a driver look whether an idle connection is still there.
func (m *meter) SyscallConn() (syscall.RawConn, error) {
	if c, ok := m.Conn.(syscall.Conn); ok {
		return c.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
