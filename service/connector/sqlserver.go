package connector

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"comporta/service/gateway"
)

// sqlServerDialect is Microsoft SQL Server. It has no read-only transactions: the guard judges the text, and the transaction of a
// read-only request is rolled back like all.
type sqlServerDialect struct{ where string }

func openSQLServer(d *gateway.TaskSource, creds gateway.Credentials) (source, error) {
	dsn, where, err := sqlServerDSN(d, creds)
	if err != nil {
		return nil, err
	}
	cfg, err := msdsn.Parse(dsn)
	if err != nil {
		// The driver's message could repeat the connection string, password included.
		return nil, gateway.Errorf(gateway.CodeInvalid, "The connection details do not make a SQL Server connection.")
	}
	dialect := &sqlServerDialect{where: where}
	if cfg.Encryption == msdsn.EncryptionRequired && cfg.TrustServerCertificate {
		return newDatabase(newAnyEncryption(cfg), dialect), nil
	}
	return newDatabase(mssql.NewConnectorConfig(cfg), dialect), nil
}

// sqlServerDSN returns a URL in which everything that a request names is escaped, and where the server is, for messages.
func sqlServerDSN(d *gateway.TaskSource, creds gateway.Credentials) (dsn, where string, err error) {
	s, err := gateway.ParsePlace(d.Type, d.ConnectionDetails)
	if err != nil {
		return "", "", err
	}
	who, err := loginOf(d, creds)
	if err != nil {
		return "", "", err
	}
	mode, err := encryptionOf(d)
	if err != nil {
		return "", "", err
	}
	options := url.Values{
		"database":     {s.Database},
		"app name":     {"comporta"},
		"dial timeout": {strconv.Itoa(int(connectTimeout / time.Second))},
	}
	switch mode {
	case encryptAlways:
		options.Set("encrypt", "true")
		options.Set("TrustServerCertificate", "false")
	case encryptAny:
		options.Set("encrypt", "true") // see anyEncryption
		options.Set("TrustServerCertificate", "true")
	case encryptNever:
		options.Set("encrypt", "disable")
	}
	u := url.URL{Scheme: "sqlserver", User: url.UserPassword(who.user, who.password), Host: s.Address(), RawQuery: options.Encode()}
	where = u.Host
	if s.Instance != "" {
		if s.Port == 0 {
			u.Host = s.Host
		}
		u.Path = "/" + s.Instance
		where = s.Host + `\` + s.Instance
	}
	return u.String(), where, nil
}

func (m *sqlServerDialect) guard(text string, readOnly bool) (verdict, error) {
	return guardSQLServer(text, readOnly)
}

func (m *sqlServerDialect) begin(ctx context.Context, conn driver.Conn, _ bool) (driver.Tx, error) {
	return conn.(driver.ConnBeginTx).BeginTx(ctx, driver.TxOptions{})
}

func (m *sqlServerDialect) check(driver.Stmt, bool) error { return nil }

// bound: the driver reads rows ahead in a goroutine of its own and offers no bound. A value has 2 GiB at most there; rows beyond maxRow are
// refused when they have been read.
func (m *sqlServerDialect) bound(driver.Conn, int) *meter { return nil }

func (m *sqlServerDialect) decimal(text string) any { return asText(text) }
func (m *sqlServerDialect) affected() string        { return "select rowcount_big()" }
func (m *sqlServerDialect) drains() bool            { return false }
func (m *sqlServerDialect) close()                  {}

// kill has nothing to do: the driver sends an attention when the context ends.
func (m *sqlServerDialect) kill(driver.Conn) {}

func (m *sqlServerDialect) shape(rows driver.Rows) func([]driver.Value) []reader {
	types := rows.(driver.RowsColumnTypeDatabaseTypeName)
	readers := make([]reader, len(rows.Columns()))
	for i, name := range rows.Columns() {
		word := types.ColumnTypeDatabaseTypeName(i)
		kind, read := sqlServerType(word)
		readers[i] = reader{column: column{name: name, kind: kind, database: strings.ToLower(word)}, read: read}
	}
	return func([]driver.Value) []reader { return readers }
}

// sqlServerType says how a type of the driver is read.
func sqlServerType(word string) (columnType, func(*arena, driver.Value) cell) {
	switch word {
	case "TINYINT", "SMALLINT", "INT", "BIGINT":
		return typeInt64, plain
	case "REAL":
		return typeDouble, readSingle
	case "FLOAT":
		return typeDouble, plain
	case "BIT":
		return typeBool, plain
	case "DECIMAL", "MONEY", "SMALLMONEY":
		return typeDecimal, readPlainText
	case "VARCHAR", "NVARCHAR", "CHAR", "NCHAR", "TEXT", "NTEXT", "XML":
		return typeText, readPlainText
	case "BINARY", "VARBINARY", "IMAGE":
		return typeBinary, readBytes
	case "DATE":
		return typeDate, readTimeAs("2006-01-02")
	case "TIME":
		return typeTime, readTimeAs("15:04:05.999999999")
	case "DATETIME", "DATETIME2", "SMALLDATETIME":
		return typeTimestamp, readTimeAs("2006-01-02T15:04:05.999999999")
	case "DATETIMEOFFSET":
		return typeTimestampTZ, plain
	case "UNIQUEIDENTIFIER":
		return typeUUID, textual(readMixedEndian)
	}
	return typeOther, plain
}

// readSingle narrows what the driver widened, so that 0.1 stays 0.1.
func readSingle(a *arena, v driver.Value) cell {
	if f, ok := v.(float64); ok {
		return float32Cell(float32(f))
	}
	return plain(a, v)
}

func readTimeAs(layout string) func(*arena, driver.Value) cell {
	return func(a *arena, v driver.Value) cell {
		t, ok := v.(time.Time)
		if !ok {
			return plain(a, v)
		}
		mark := len(*a)
		*a = t.AppendFormat(*a, layout)
		return textCell(a.since(mark))
	}
}

// readMixedEndian writes the 16 bytes of a GUID as SQL Server keeps them: the first three groups with their low byte first.
func readMixedEndian(_ *arena, b []byte) cell {
	if len(b) != 16 {
		return textCell(b)
	}
	raw := [16]byte{b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6]}
	copy(raw[8:], b[8:])
	return textCell([]byte(gateway.IDFromBytes(raw)))
}

// sqlServerFatal is the class from which on an error ends its connection.
const sqlServerFatal = 20

func (m *sqlServerDialect) failure(err error) error {
	var known *gateway.Error
	var refused mssql.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case !errors.As(err, &refused):
		return accessFailure(m.where, err)
	}
	e := gateway.Errorf(gateway.CodeQuery, "The database refused the query: %s", refused.Message)
	if connecting(err) || refused.Class >= sqlServerFatal {
		e = gateway.Errorf(gateway.CodeDataSourceAccess, "The database at %s refused the connection: %s", m.where, refused.Message)
	}
	number := strconv.Itoa(int(refused.Number))
	e.With(gateway.DetailUnderlyingCode, number).With(gateway.DetailUnderlyingMessage, refused.Message).With(gateway.DetailUnderlyingNative, number)
	if refused.LineNo > 0 {
		e.With(gateway.DetailPosition, fmt.Sprintf("line %d", refused.LineNo))
	}
	return e
}
