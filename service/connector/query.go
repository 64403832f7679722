package connector

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	"comporta/service/gateway"
)

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
	// sent: the statement has left, and not only to be prepared. Before, nothing that it would do is done, whatever fails.
	sent bool
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
		// has returned: the dialect may be closed then. What was begun may take until the next request has the connection, whatever this one
		// came to: so the connection is given up.
		switch stopped := stop(); {
		case !stopped:
			<-killed
			discard = true
		case ctx.Err() != nil:
			q.dialect.kill(conn)
			discard = true
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
	case ctx.Err() != nil: // nothing is committed yet, and so nothing was done, unless the verdict says otherwise
		_ = rollback(tx)
		return true, ctx.Err()
	}
	if err := tx.Commit(); err != nil {
		return true, committed(err)
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
		var n int64
		if !q.judged.unchanging {
			n, err = q.count(ctx, conn)
		}
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
		err = ctx.Err()
	}
	if err == nil {
		q.sent = true
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
