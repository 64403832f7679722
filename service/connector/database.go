package connector

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

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
	return end(ctx, task, a, d.onConnection(ctx, func(conn driver.Conn) (bool, error) {
		discard, err := q.run(ctx, conn, a)
		if judged.commits && q.sent {
			err = mayStand(err)
		}
		return discard, err
	}))
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
			return marked(d.dialect.failure(asked(result)), result) // asked whatever it is: a driver may have connected anew by itself
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
