package connector

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"time"

	"comporta/service/gateway"
)

// database is a SQL database behind a database/sql driver. database/sql keeps the connections; the rows are read from the driver itself,
// because its values are exact and need no copies.
type database struct {
	db      *sql.DB
	dialect dialect
}

// dialect is what differs from driver to driver.
type dialect interface {
	guard(text string, readOnly bool) (verdict, error)
	// begin begins a transaction; nil when the statement needs none.
	begin(ctx context.Context, conn driver.Conn, readOnly bool) (driver.Tx, error)
	// check looks at a prepared statement before it runs.
	check(stmt driver.Stmt, readOnly bool) error
	// shape looks at rows before the first of them is read, and returns what says how they are read once the first is there (nil when
	// there is none).
	shape(rows driver.Rows) func(first []driver.Value) []reader
	// bound keeps the driver from reading rows of so many columns that are much larger than maxRow, as far as it can be kept from that.
	bound(conn driver.Conn, columns int) *meter
	// affected is the query for how many rows the last statement of the session changed.
	affected() string
	// kill ends what conn is doing, when closing the connection is not enough.
	kill(conn driver.Conn)
	// drains: closing rows reads all that are left.
	drains() bool
	failure(err error) error
	// decimal is how a parameter is bound that is a number but no 64-bit integer.
	decimal(text string) any
	// close lets go of what belongs to the dialect.
	close()
}

// reader is a column and how its values are read. What read returns lives until the next row.
type reader struct {
	column
	read func(a *arena, v driver.Value) cell
}

func newDatabase(connector driver.Connector, d dialect) *database {
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(maxConnections)
	db.SetMaxIdleConns(maxConnections / 4)
	db.SetConnMaxIdleTime(connectionIdle)
	return &database{db: db, dialect: d}
}

func (d *database) close() {
	_ = d.db.Close()
	d.dialect.close()
}

func (d *database) probe(ctx context.Context) error {
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return d.dialect.failure(&connectError{err})
	}
	defer conn.Close()
	var one int
	if err := conn.QueryRowContext(ctx, "select 1").Scan(&one); err != nil {
		return d.dialect.failure(err)
	}
	return nil
}

func (d *database) run(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
	values, err := parameters(task.Query, d.dialect.decimal)
	if err != nil {
		return gateway.Summary{}, err
	}
	judged, err := d.dialect.guard(task.Query.Text, task.ReadOnly)
	if err != nil {
		return gateway.Summary{}, err
	}
	a, err := newAnswer(task, out)
	if err != nil {
		return gateway.Summary{}, err
	}
	q := &driverQuery{dialect: d.dialect, text: task.Query.Text, readOnly: task.ReadOnly, values: named(values), judged: judged}
	return end(ctx, a, d.onConnection(ctx, func(conn driver.Conn) (bool, error) { return q.run(ctx, conn, a) }))
}

// onConnection runs use on a connection of the pool, and once more when the connection turns out to be dead before anything was run
// on it. The connection is closed when use says so.
func (d *database) onConnection(ctx context.Context, use func(driver.Conn) (discard bool, err error)) error {
	for attempt := 0; ; attempt++ {
		conn, err := d.db.Conn(ctx)
		if err != nil {
			return d.dialect.failure(&connectError{err})
		}
		var result error
		_ = conn.Raw(func(raw any) error {
			var discard bool
			if discard, result = use(raw.(driver.Conn)); discard {
				return driver.ErrBadConn
			}
			return nil
		})
		_ = conn.Close()
		if !errors.Is(result, errDead) {
			return d.dialect.failure(asked(result)) // whatever it is: a driver may have connected anew by itself
		}
		if attempt == 2 || ctx.Err() != nil {
			return d.dialect.failure(result)
		}
	}
}

// errDead marks a connection that was dead before the statement.
var errDead = errors.New("the connection was dead")

// connectError is a failure to get a connection, as opposed to one of a statement: databases have the same codes for both.
type connectError struct{ err error }

func (e *connectError) Error() string { return e.err.Error() }
func (e *connectError) Unwrap() error { return e.err }

// connecting reports whether err came before the statement.
func connecting(err error) bool {
	var early *connectError
	return errors.As(err, &early) || errors.Is(err, errDead)
}

// named numbers parameters as drivers want them.
func named(values []any) []driver.NamedValue {
	out := make([]driver.NamedValue, len(values))
	for i, v := range values {
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return out
}

// driverQuery is one statement on one connection.
type driverQuery struct {
	dialect  dialect
	text     string
	values   []driver.NamedValue
	readOnly bool
	judged   verdict
	// stopped: the answer took no more rows, and there are some left.
	stopped bool
}

// run runs the statement in a transaction of its own. Only a committed transaction gives nil; one that only reads is rolled back, so that
// nothing stays of what a database lets slip through. discard says that the connection is not to be used again.
func (q *driverQuery) run(ctx context.Context, conn driver.Conn, a *answer) (discard bool, err error) {
	killed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(killed)
		q.dialect.kill(conn)
	})
	defer func() {
		// The driver may have seen the end of ctx, closed the connection and come back before AfterFunc's turn came. Nothing is begun once this
		// has returned: the dialect may be closed then.
		switch stopped := stop(); {
		case !stopped:
			<-killed
		case ctx.Err() != nil:
			q.dialect.kill(conn)
		}
	}()
	if q.judged.prepareOnly {
		return q.prepareOnly(ctx, conn)
	}
	tx, err := q.dialect.begin(ctx, conn, q.readOnly)
	if err != nil {
		return true, errors.Join(errDead, err)
	}
	err = q.stream(ctx, conn, a)
	switch {
	case q.abandons(err):
		q.dialect.kill(conn)
		if errors.Is(err, errEnough) {
			err = nil
		}
		return true, err
	case err != nil && !errors.Is(err, errEnough):
		return rollback(tx) || ctx.Err() != nil || q.judged.discard, err
	case tx == nil:
		return q.judged.discard, nil
	case q.readOnly:
		return rollback(tx) || ctx.Err() != nil || q.judged.discard, nil
	}
	if err := tx.Commit(); err != nil {
		return true, err
	}
	return q.judged.discard || ctx.Err() != nil, nil
}

// abandons reports whether the rows that are left are better left to die with their connection than read. A request that writes and has
// all the rows it wants reads them, because its transaction is still to be committed.
func (q *driverQuery) abandons(err error) bool {
	return q.stopped && q.dialect.drains() && (q.readOnly || !errors.Is(err, errEnough))
}

// rollback reports whether it failed.
func rollback(tx driver.Tx) bool { return tx != nil && tx.Rollback() != nil }

func (q *driverQuery) prepareOnly(ctx context.Context, conn driver.Conn) (bool, error) {
	stmt, err := conn.(driver.ConnPrepareContext).PrepareContext(ctx, q.text)
	if err != nil {
		return true, err
	}
	return stmt.Close() != nil, notReading()
}

// stream runs the statement and hands its rows to a. It returns errEnough when a wanted no more of them.
func (q *driverQuery) stream(ctx context.Context, conn driver.Conn, a *answer) error {
	rows, finish, err := q.query(ctx, conn)
	if err != nil {
		return err
	}
	if len(rows.Columns()) == 0 {
		err := errors.Join(q.rest(rows), rows.Close(), finish())
		if err != nil {
			return err
		}
		n, err := q.count(ctx, conn)
		a.changed(n)
		return err
	}
	err = q.rows(rows, q.dialect.bound(conn, len(rows.Columns())), a)
	if q.abandons(err) {
		return err
	}
	enough := errors.Is(err, errEnough)
	var left error
	if err == nil || enough {
		left = q.rest(rows)
	}
	left = errors.Join(left, rows.Close(), finish())
	if err == nil || enough && !q.readOnly && left != nil {
		return left // a write that fails after the rows that are wanted has failed
	}
	return err
}

// rest reads what a statement that writes still has to say, all results after the first included. Where closing does not read it, closing
// ends the statement there and then and says nothing of it (go-mssqldb: Rows.Close), and the half of it that ran would be committed. A
// driver that knows of no further results (SQLite's) has written everything before the first row.
func (q *driverQuery) rest(rows driver.Rows) error {
	sets, several := rows.(driver.RowsNextResultSet)
	if q.readOnly || !several || q.dialect.drains() {
		return nil
	}
	for {
		values := make([]driver.Value, len(rows.Columns()))
		var err error
		for err == nil {
			err = rows.Next(values)
		}
		if err == io.EOF {
			err = sets.NextResultSet()
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// query starts the statement; finish comes after its rows.
func (q *driverQuery) query(ctx context.Context, conn driver.Conn) (driver.Rows, func() error, error) {
	stmt, err := conn.(driver.ConnPrepareContext).PrepareContext(ctx, q.text)
	if err != nil {
		return nil, nil, err
	}
	if err = q.dialect.check(stmt, q.readOnly); err == nil {
		if want := stmt.NumInput(); want >= 0 && want != len(q.values) {
			err = gateway.Errorf(gateway.CodeInvalid, "The query has %d placeholders and %d parameters.", want, len(q.values))
		}
	}
	if err == nil {
		var rows driver.Rows
		if rows, err = stmt.(driver.StmtQueryContext).QueryContext(ctx, q.values); err == nil {
			return rows, stmt.Close, nil
		}
	}
	_ = stmt.Close()
	return nil, nil, err
}

// count asks how many rows the statement changed.
func (q *driverQuery) count(ctx context.Context, conn driver.Conn) (int64, error) {
	one := driverQuery{dialect: q.dialect, text: q.dialect.affected()}
	rows, finish, err := one.query(ctx, conn)
	if err != nil {
		return 0, err
	}
	value := make([]driver.Value, 1)
	err = rows.Next(value)
	n, _ := value[0].(int64)
	if err == nil {
		err = one.rest(rows)
	}
	return n, errors.Join(err, rows.Close(), finish())
}

func (q *driverQuery) rows(rows driver.Rows, m *meter, a *answer) error {
	defer m.stop() // rows that are left are read over when they are closed
	values := make([]driver.Value, len(rows.Columns()))
	shape := q.dialect.shape(rows)
	m.row()
	err := rows.Next(values)
	if err != nil && err != io.EOF {
		return m.why(err)
	}
	first := values
	if err != nil {
		first = nil
	}
	readers := shape(first)
	columns := make([]column, len(readers))
	for i := range readers {
		columns[i] = readers[i].column
	}
	a.columns(columns)
	cells := make([]cell, len(readers))
	var texts arena
	for err == nil {
		texts = readRow(cells, readers, values, texts[:0])
		if err = checkRow(cells); err == nil {
			err = a.row(cells)
		}
		if err != nil {
			q.stopped = true
			return err
		}
		m.row()
		err = rows.Next(values)
	}
	if err == io.EOF {
		return nil
	}
	return m.why(err)
}

// readRow reads the values of one row into cells.
func readRow(cells []cell, readers []reader, values []driver.Value, texts arena) arena {
	for i, v := range values {
		cells[i] = cell{}
		if v != nil {
			cells[i] = readers[i].read(&texts, v)
		}
	}
	return texts
}

// plain reads a value by what it is.
func plain(a *arena, v driver.Value) cell {
	switch v := v.(type) {
	case int64:
		return intCell(v)
	case uint64:
		return uintCell(v)
	case float64:
		return floatCell(v)
	case float32:
		return float32Cell(v)
	case bool:
		return boolCell(v)
	case string:
		return textCell(a.add(v))
	case []byte:
		return textCell(v)
	case time.Time:
		mark := len(*a)
		*a = v.AppendFormat(*a, "2006-01-02T15:04:05.999999999-07:00")
		return textCell(a.since(mark))
	}
	return cell{}
}

// bytesOf returns the bytes of a text or binary value.
func bytesOf(a *arena, v driver.Value) ([]byte, bool) {
	switch v := v.(type) {
	case []byte:
		return v, true
	case string:
		return a.add(v), true
	}
	return nil, false
}

// textual makes a reader of texts; a value of another class is read by what it is.
func textual(read func(a *arena, text []byte) cell) func(*arena, driver.Value) cell {
	return func(a *arena, v driver.Value) cell {
		if text, ok := bytesOf(a, v); ok {
			return read(a, text)
		}
		return plain(a, v)
	}
}

// The readers that several dialects share.
var (
	readPlainText = textual(func(_ *arena, text []byte) cell { return textCell(text) })
	readBytes     = textual(func(_ *arena, text []byte) cell { return binaryCell(text) })
	readDocument  = textual(func(_ *arena, text []byte) cell { return cell{kind: cellJSON, bytes: text} })
	readClock     = textual(func(a *arena, text []byte) cell { return textCell(a.clock(text)) })
	readMoment    = textual(func(a *arena, text []byte) cell { return textCell(a.instant(text)) })
	readTimeOfDay = textual(func(a *arena, text []byte) cell { return textCell(a.timeOfDay(text)) })
	readNumber    = textual(func(_ *arena, text []byte) cell { return cell{kind: cellDigits, bytes: text} })
)
