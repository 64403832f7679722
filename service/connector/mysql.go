package connector

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"comporta/service/gateway"
)

// mysqlDialect is MySQL and MariaDB.
type mysqlDialect struct {
	connector driver.Connector
	where     string
	killing   sync.WaitGroup
}

func openMySQL(d *gateway.TaskSource, creds gateway.Credentials) (source, error) {
	cfg, err := mysqlConfig(d, creds)
	if err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, gateway.Errorf(gateway.CodeInvalid, "The connection details do not make a MySQL connection.")
	}
	dialect := &mysqlDialect{connector: connector, where: cfg.Addr}
	return newDatabase(&mysqlConnector{Connector: connector}, dialect), nil
}

func mysqlConfig(d *gateway.TaskSource, creds gateway.Credentials) (*mysql.Config, error) {
	s, err := gateway.ParsePlace(d.Type, d.ConnectionDetails)
	if err != nil {
		return nil, err
	}
	who, err := loginOf(d, creds)
	if err != nil {
		return nil, err
	}
	mode, err := encryptionOf(d)
	if err != nil {
		return nil, err
	}
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr, cfg.DBName, cfg.User, cfg.Passwd = "tcp", s.Address(), s.Database, who.user, who.password
	cfg.Timeout = connectTimeout
	cfg.DialFunc = dialMetered
	cfg.InterpolateParams = true // for what is not prepared: see mysqlStmt
	cfg.Logger = &mysql.NopLogger{}
	// Instants are shown in UTC, whatever the server's own zone is.
	cfg.Params = map[string]string{"time_zone": "'+00:00'"}
	switch mode {
	case encryptAlways:
		cfg.TLS = &tls.Config{ServerName: s.Host, MinVersion: tls.VersionTLS12}
	case encryptAny:
		cfg.TLS = &tls.Config{InsecureSkipVerify: true} // wanted: see encryptAny
		cfg.AllowFallbackToPlaintext = true
	}
	return cfg, nil
}

// mysqlConnector makes connections that know their own id on the server, by which another connection can end them.
type mysqlConnector struct{ driver.Connector }

func (c *mysqlConnector) Connect(ctx context.Context) (driver.Conn, error) {
	m := &meter{}
	raw, err := c.Connector.Connect(withMeter(ctx, m))
	if err != nil {
		return nil, err
	}
	id, err := connectionID(ctx, raw)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	return &mysqlConn{Conn: raw, id: id, meter: m}, nil
}

func connectionID(ctx context.Context, conn driver.Conn) (uint64, error) {
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, "select connection_id()", nil)
	if err != nil {
		return 0, err
	}
	value := make([]driver.Value, 1)
	if err := rows.Next(value); err != nil {
		return 0, errors.Join(err, rows.Close())
	}
	id, err := strconv.ParseUint(fmt.Sprint(value[0]), 10, 64)
	return id, errors.Join(err, rows.Close())
}

// mysqlConn is a connection, its id and its meter.
type mysqlConn struct {
	driver.Conn
	id    uint64
	meter *meter
	// readOnly: the transaction that was begun last only reads.
	readOnly bool
	// wrote: the session knows of a write.
	wrote bool
}

// mysqlForget clears what a write, or a trigger behind it, leaves in its session, warnings too: MariaDB keeps them until a statement uses a
// table, and a procedure may show them. What a text says of variables, locks and functions that
// are not known has closed the connection (guardMySQL): the driver cannot reset a session.
const mysqlForget = "do last_insert_id(0), release_all_locks(), (select 1 from (select 1) as cleared)"

// ResetSession notices a connection that the server closed while it was idle, and lets the next caller see nothing of a write before.
func (c *mysqlConn) ResetSession(ctx context.Context) error {
	if err := c.Conn.(driver.SessionResetter).ResetSession(ctx); err != nil || !c.wrote {
		return err
	}
	if _, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, mysqlForget, nil); err != nil {
		return driver.ErrBadConn
	}
	c.wrote = false
	return nil
}

// IsValid reports whether the connection may be used again.
func (c *mysqlConn) IsValid() bool { return c.Conn.(driver.Validator).IsValid() }

// CheckNamedValue lets the driver judge parameters.
func (c *mysqlConn) CheckNamedValue(v *driver.NamedValue) error {
	return c.Conn.(driver.NamedValueChecker).CheckNamedValue(v)
}

// PrepareContext prepares a statement. The binary protocol that follows keeps floats exact, which MySQL's text protocol does not. The few
// statements that a server does not prepare run without.
func (c *mysqlConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	stmt, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	var refused *mysql.MySQLError
	if errors.As(err, &refused) && refused.Number == 1295 {
		return &unpreparedStmt{conn: c, query: query}, nil
	}
	if err != nil {
		return nil, err
	}
	return &mysqlStmt{Stmt: stmt, conn: c, query: query}, nil
}

// mysqlStmt is a prepared statement.
type mysqlStmt struct {
	driver.Stmt
	conn  *mysqlConn
	query string
}

// QueryContext runs the statement. MariaDB leaves it open for some columns how many digits the fractions of their seconds have (from_unixtime
// of a double), and the driver cannot read such a value in the binary protocol. So what only reads is read again in the text protocol.
func (s *mysqlStmt) QueryContext(ctx context.Context, values []driver.NamedValue) (driver.Rows, error) {
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, values)
	if err != nil {
		return nil, err
	}
	name, textual := openFraction(rows)
	if name == "" {
		return rows, nil
	}
	if err := rows.Close(); err != nil {
		return nil, err
	}
	// There the driver writes the parameters into the text. So no question mark may be anything else, in a string or a comment.
	if s.conn.readOnly && textual && strings.Count(s.query, "?") == len(values) {
		rows, err = s.conn.Conn.(driver.QueryerContext).QueryContext(ctx, s.query, values)
		if !errors.Is(err, driver.ErrSkip) {
			return rows, err
		}
	}
	return nil, gateway.Errorf(gateway.CodeQuery, "The database does not say how many digits the fractions of seconds in column %q have. Write cast(… as datetime(6)) for it, or cast(… as time(6)).", name)
}

// mysqlFraction is how many digits the fraction of a second has at most, mysqlAnyFraction what stands for as many as there are.
const mysqlFraction, mysqlAnyFraction = 6, 31

// openFraction finds the first column whose fractions of seconds the driver cannot read, and says whether the text protocol would be exact
// for all the others: floats of single precision lose digits there.
func openFraction(rows driver.Rows) (name string, textual bool) {
	scales, types := rows.(driver.RowsColumnTypePrecisionScale), rows.(driver.RowsColumnTypeDatabaseTypeName)
	textual = true
	for i, column := range rows.Columns() {
		_, scale, has := scales.ColumnTypePrecisionScale(i)
		if !has || scale <= mysqlFraction || scale == mysqlAnyFraction {
			continue
		}
		switch types.ColumnTypeDatabaseTypeName(i) {
		case "FLOAT":
			textual = false
		case "DATETIME", "TIMESTAMP", "TIME":
			if name == "" {
				name = column
			}
		}
	}
	return name, textual
}

// unpreparedStmt is a statement without parameters that the server does not prepare.
type unpreparedStmt struct {
	driver.Stmt
	conn  *mysqlConn
	query string
}

// Close has nothing to let go of.
func (s *unpreparedStmt) Close() error { return nil }

// NumInput is always 0.
func (s *unpreparedStmt) NumInput() int { return 0 }

// QueryContext runs the statement as it stands.
func (s *unpreparedStmt) QueryContext(ctx context.Context, _ []driver.NamedValue) (driver.Rows, error) {
	return s.conn.Conn.(driver.QueryerContext).QueryContext(ctx, s.query, nil)
}

func (m *mysqlDialect) guard(text string, readOnly bool) (verdict, error) {
	return guardMySQL(text, readOnly)
}

func (m *mysqlDialect) begin(ctx context.Context, conn driver.Conn, readOnly bool) (driver.Tx, error) {
	c := conn.(*mysqlConn)
	c.readOnly, c.wrote = readOnly, c.wrote || !readOnly
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, driver.TxOptions{ReadOnly: readOnly})
}

func (m *mysqlDialect) check(driver.Stmt, bool) error { return nil }

// bound: the driver puts a row together from as many packets as come, and the server's max_allowed_packet may be a gigabyte.
func (m *mysqlDialect) bound(conn driver.Conn, _ int) *meter { return conn.(*mysqlConn).meter }

func (m *mysqlDialect) decimal(text string) any { return asText(text) }
func (m *mysqlDialect) affected() string        { return "select row_count()" }
func (m *mysqlDialect) drains() bool            { return true }
func (m *mysqlDialect) close()                  { m.killing.Wait() }

// kill ends the connection on the server: a server that computes does not notice that its client is gone.
func (m *mysqlDialect) kill(conn driver.Conn) {
	id := conn.(*mysqlConn).id
	m.killing.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
		defer cancel()
		for m.killOnce(ctx, id) != nil && ctx.Err() == nil {
			// The server may be short of connections for a moment; a statement that nobody wants must not run on for that.
			select {
			case <-ctx.Done():
			case <-time.After(killPause):
			}
		}
	})
}

// killPause lies between two tries to end a connection.
const killPause = 200 * time.Millisecond

func (m *mysqlDialect) killOnce(ctx context.Context, id uint64) error {
	other, err := m.connector.Connect(ctx)
	if err != nil {
		return err
	}
	defer other.Close()
	_, err = other.(driver.ExecerContext).ExecContext(ctx, "kill "+strconv.FormatUint(id, 10), nil)
	var gone *mysql.MySQLError
	if errors.As(err, &gone) && gone.Number == noSuchThread {
		return nil
	}
	return err
}

// noSuchThread is MySQL's error for a connection that has ended by itself.
const noSuchThread = 1094

func (m *mysqlDialect) shape(rows driver.Rows) func([]driver.Value) []reader {
	names := rows.Columns()
	types := rows.(driver.RowsColumnTypeDatabaseTypeName)
	readers := make([]reader, len(names))
	for i, name := range names {
		word := types.ColumnTypeDatabaseTypeName(i)
		kind, read := mysqlType(word)
		readers[i] = reader{column: column{name: name, kind: kind, database: strings.ToLower(word)}, read: read}
	}
	return func([]driver.Value) []reader { return readers }
}

// mysqlType says how a type of the driver is read.
func mysqlType(word string) (columnType, func(*arena, driver.Value) cell) {
	switch word {
	case "UNSIGNED BIGINT":
		return typeUint64, readNumber
	case "BIT":
		return typeUint64, textual(func(_ *arena, bits []byte) cell { return uintCell(bigEndian(bits)) })
	case "DECIMAL":
		return typeDecimal, readPlainText
	case "FLOAT", "DOUBLE":
		return typeDouble, plain
	case "CHAR", "VARCHAR", "TEXT", "TINYTEXT", "MEDIUMTEXT", "LONGTEXT":
		return typeText, readPlainText
	case "BINARY", "VARBINARY", "BLOB", "TINYBLOB", "MEDIUMBLOB", "LONGBLOB", "GEOMETRY", "VECTOR":
		return typeBinary, readBytes
	case "DATE":
		return typeDate, readPlainText
	case "TIME":
		return typeTime, readTimeOfDay
	case "DATETIME":
		return typeTimestamp, readClock
	case "TIMESTAMP":
		return typeTimestampTZ, readMoment
	case "JSON":
		return typeJSON, readDocument
	}
	if strings.HasSuffix(word, "INT") || word == "YEAR" {
		return typeInt64, readNumber
	}
	return typeOther, readPlainText
}

func bigEndian(bits []byte) uint64 {
	var n uint64
	for _, b := range bits {
		n = n<<8 | uint64(b)
	}
	return n
}

// mysqlEnds are the numbers of errors that end a connection in use: a shutdown, a kill, a used-up quota. All others speak of the statement,
// also those that can come at login (an unknown database, no right to one).
var mysqlEnds = map[uint16]bool{1053: true, 1226: true, 1927: true}

// brokeOff reports whether err is the end of a connection.
func brokeOff(err error) bool {
	var network net.Error
	ends := []error{driver.ErrBadConn, mysql.ErrInvalidConn, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, context.Canceled, context.DeadlineExceeded}
	return errors.As(err, &network) || slices.ContainsFunc(ends, func(end error) bool { return errors.Is(err, end) })
}

func (m *mysqlDialect) failure(err error) error {
	var known *gateway.Error
	var refused *mysql.MySQLError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, mysql.ErrNoTLS):
		return gateway.Errorf(gateway.CodeDataSourceAccess, "The database at %s does not offer TLS, which this data source asks for.", m.where)
	case !errors.As(err, &refused) && !connecting(err) && !brokeOff(err):
		// The server answered, and the driver makes nothing of it or of the parameters. Other members would fare the same.
		return gateway.Wrap(gateway.CodeQuery, err, "The answer of the database cannot be read: %v.", err).With(gateway.DetailUnderlyingMessage, err.Error())
	case !errors.As(err, &refused):
		if errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) {
			err = errors.Join(io.ErrUnexpectedEOF, err)
		}
		return accessFailure(m.where, err)
	}
	e := gateway.Errorf(gateway.CodeQuery, "The database refused the query: %s", refused.Message)
	switch {
	case connecting(err), mysqlEnds[refused.Number]:
		e = gateway.Errorf(gateway.CodeDataSourceAccess, "The database at %s refused the connection: %s", m.where, refused.Message)
	case refused.Number == 1792: // the transaction is read-only
		e = writes("the database says: " + refused.Message)
	}
	e.With(gateway.DetailUnderlyingCode, string(refused.SQLState[:])).With(gateway.DetailUnderlyingMessage, refused.Message)
	e.With(gateway.DetailUnderlyingNative, strconv.Itoa(int(refused.Number)))
	if at := strings.LastIndex(refused.Message, " at line "); at >= 0 {
		e.With(gateway.DetailPosition, strings.TrimPrefix(refused.Message[at:], " at "))
	}
	return e
}
