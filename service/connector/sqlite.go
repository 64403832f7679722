package connector

import (
	"context"
	"database/sql/driver"
	"errors"
	"math"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-sqlite3"

	"comporta/service/gateway"
)

// sqliteDialect is a SQLite file under a folder that the member's configuration allows.
type sqliteDialect struct {
	path string
	// readOnly: the file was opened for reading.
	readOnly bool
}

func openSQLite(d *gateway.TaskSource, readOnly bool, folders []string) (source, error) {
	place, err := gateway.ParsePlace(d.Type, d.ConnectionDetails)
	if err != nil {
		return nil, err
	}
	if _, err := allowedFile(place.Path, folders); err != nil {
		return nil, err
	}
	connector := &sqliteConnector{path: place.Path, folders: folders, readOnly: readOnly}
	return newDatabase(connector, &sqliteDialect{path: place.Path, readOnly: readOnly}), nil
}

// sqliteDSN opens an existing file, for reading only if that is all that is wanted.
func sqliteDSN(path string, readOnly bool) string {
	options := "?mode=rw&_txlock=immediate&_busy_timeout=5000&_foreign_keys=1"
	if readOnly {
		options = "?mode=ro&_query_only=1&_busy_timeout=5000"
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + options
}

// sqliteConnector opens connections with an authoriser, each to what lies at the path then.
type sqliteConnector struct {
	path     string
	folders  []string
	readOnly bool
}

func (c *sqliteConnector) Driver() driver.Driver {
	return &sqlite3.SQLiteDriver{ConnectHook: func(conn *sqlite3.SQLiteConn) error {
		if err := c.checkPlace(conn); err != nil {
			return err
		}
		conn.RegisterAuthorizer(authorise)
		return nil
	}}
}

// checkPlace asks SQLite which file it opened, links resolved: one of them may have changed since the path was checked.
func (c *sqliteConnector) checkPlace(conn *sqlite3.SQLiteConn) error {
	rows, err := conn.Query("SELECT file FROM pragma_database_list WHERE name = 'main'", nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	row := make([]driver.Value, 1)
	if err := rows.Next(row); err != nil {
		return err
	}
	file, _ := row[0].(string)
	if _, err := allowedFile(file, c.folders); err != nil {
		// Without the path: it is that of something nobody may learn of.
		return gateway.Errorf(gateway.CodeNotAllowedHere, "The file is not under a folder that this member allows any more.")
	}
	return nil
}

func (c *sqliteConnector) Connect(context.Context) (driver.Conn, error) {
	file, err := allowedFile(c.path, c.folders)
	if err != nil {
		return nil, err
	}
	return c.open(file.real)
}

// open opens a file. When another one was put in its place meanwhile, it is not known which of the two SQLite has.
func (c *sqliteConnector) open(real string) (driver.Conn, error) {
	before, err := os.Stat(real)
	if err != nil {
		return nil, err
	}
	conn, err := c.Driver().Open(sqliteDSN(real, c.readOnly))
	if err != nil {
		return nil, err
	}
	if after, err := os.Stat(real); err != nil || !os.SameFile(before, after) {
		return nil, errors.Join(driver.ErrBadConn, conn.Close())
	}
	return &sqliteConn{SQLiteConn: conn.(*sqlite3.SQLiteConn), path: c.path, file: before}, nil
}

// sqliteConn is a connection that bounds what its statements take.
type sqliteConn struct {
	*sqlite3.SQLiteConn
	path string
	// file is what lay at the path when it was opened.
	file os.FileInfo
	// changes: the last statement could change rows.
	changes bool
}

// ResetSession gives up a connection whose file has been replaced (a new one is often published by renaming it, or a link to it): SQLite
// would go on reading the old one, and lose what it writes.
func (c *sqliteConn) ResetSession(context.Context) error {
	if now, err := os.Stat(c.path); err != nil || !os.SameFile(c.file, now) {
		return driver.ErrBadConn
	}
	return nil
}

// sqliteBound is how large a value of a row with so many columns may be.
type sqliteBound struct{ columns, value int }

// sqliteBounds allow eight times maxRow for all values of a row together.
var sqliteBounds = []sqliteBound{{8, maxRow}, {32, maxRow / 4}, {128, maxRow / 16}, {512, maxRow / 64}, {2000, maxRow / 256}}

// sqliteSorted is how many times larger a value may be when a statement runs once more: see sqliteStmt.
const sqliteSorted = 4

// PrepareContext prepares a statement and bounds its values. SQLite bounds values and not rows, makes a whole row before anybody sees it,
// and tells how many columns a statement has only then. So the statement is prepared with few columns allowed, and with more and smaller
// ones when SQLite refuses that. The last answer counts.
func (c *sqliteConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	text = c.counting(text)
	stmt, err := c.prepareWithin(ctx, text, sqliteBounds[0])
	if err == nil {
		return stmt, nil
	}
	c.readSchema(ctx)
	for _, bound := range sqliteBounds {
		if stmt, err = c.prepareWithin(ctx, text, bound); err == nil {
			return stmt, nil
		}
	}
	return nil, err
}

func (c *sqliteConn) prepareWithin(ctx context.Context, text string, bound sqliteBound) (driver.Stmt, error) {
	c.SetLimit(sqlite3.SQLITE_LIMIT_COLUMN, bound.columns)
	c.SetLimit(sqlite3.SQLITE_LIMIT_LENGTH, bound.value)
	stmt, err := c.SQLiteConn.PrepareContext(ctx, text)
	// The schema may have to be read again when the statement runs, whatever its tables have.
	c.SetLimit(sqlite3.SQLITE_LIMIT_COLUMN, sqliteBounds[len(sqliteBounds)-1].columns)
	if err != nil {
		return nil, err
	}
	return &sqliteStmt{SQLiteStmt: stmt.(*sqlite3.SQLiteStmt), conn: c, value: bound.value}, nil
}

// readSchema lets SQLite read the schema when it has to: tables that a statement does not use are not to decide on its bounds. A failure
// comes again with the statement itself.
func (c *sqliteConn) readSchema(ctx context.Context) {
	if stmt, err := c.SQLiteConn.PrepareContext(ctx, "select 1 from sqlite_schema"); err == nil {
		_ = stmt.Close()
	}
}

// sqliteChanges asks how many rows the last statement changed that could change any, and sqliteNoChanges takes its place after others.
const sqliteChanges, sqliteNoChanges = "select changes()", "select 0"

// counting keeps in mind what kind of statement text is, and returns it, or what is to be asked instead.
func (c *sqliteConn) counting(text string) string {
	if text != sqliteChanges {
		s := scan(text, sqliteLexis)
		c.changes = s.starts("INSERT", "UPDATE", "DELETE", "REPLACE", "WITH")
	} else if !c.changes {
		return sqliteNoChanges
	}
	return text
}

// sqliteStmt is a prepared statement.
type sqliteStmt struct {
	*sqlite3.SQLiteStmt
	conn *sqliteConn
	// value is how large a value may be.
	value int
}

// QueryContext runs the statement as far as its first row. While SQLite sorts, it holds whole rows to the bound of a value. So one that only
// reads, and whose values were held to less than maxRow, runs once more with a higher bound when that was too low.
func (s *sqliteStmt) QueryContext(ctx context.Context, values []driver.NamedValue) (driver.Rows, error) {
	rows, err := s.SQLiteStmt.QueryContext(ctx, values)
	var refused sqlite3.Error
	if !errors.As(err, &refused) || refused.Code != sqlite3.ErrTooBig || s.value == maxRow || !s.Readonly() {
		return rows, err
	}
	s.conn.SetLimit(sqlite3.SQLITE_LIMIT_LENGTH, min(maxRow, sqliteSorted*s.value))
	return s.SQLiteStmt.QueryContext(ctx, values)
}

// harmlessPragmas only tell something.
var harmlessPragmas = []string{
	"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list", "database_list",
	"collation_list", "function_list", "compile_options",
}

// readablePragmas tell something as long as no value is given.
var readablePragmas = []string{"user_version", "application_id", "encoding", "page_count", "page_size", "schema_version", "foreign_keys", "journal_mode"}

// authorise keeps statements within their one file and away from SQLite's switches.
func authorise(action int, first, second, _ string) int {
	switch action {
	case sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH:
		return sqlite3.SQLITE_DENY
	case sqlite3.SQLITE_PRAGMA:
		name := strings.ToLower(first)
		if slices.Contains(harmlessPragmas, name) || second == "" && slices.Contains(readablePragmas, name) {
			return sqlite3.SQLITE_OK
		}
		return sqlite3.SQLITE_DENY
	case sqlite3.SQLITE_FUNCTION:
		if strings.EqualFold(second, "load_extension") {
			return sqlite3.SQLITE_DENY
		}
	}
	return sqlite3.SQLITE_OK
}

func (s *sqliteDialect) guard(text string, readOnly bool) (verdict, error) {
	return guardSQLite(text, readOnly)
}

// begin: a statement that reads is a read transaction of its own.
func (s *sqliteDialect) begin(ctx context.Context, conn driver.Conn, readOnly bool) (driver.Tx, error) {
	if readOnly {
		return nil, nil
	}
	return conn.(driver.ConnBeginTx).BeginTx(ctx, driver.TxOptions{})
}

func (s *sqliteDialect) check(stmt driver.Stmt, readOnly bool) error {
	if readOnly && !stmt.(*sqliteStmt).Readonly() {
		return notReading()
	}
	return nil
}

// bound: PrepareContext has seen to it.
func (s *sqliteDialect) bound(driver.Conn, int) *meter { return nil }

// maxRealDigits is how many digits a floating-point number always keeps.
const maxRealDigits = 15

// decimal: SQLite has no decimals, and to it every text is greater than every number. So what a floating-point number keeps is bound as
// one, and as text only what would lose digits: that can be stored, and compared with a column of numbers.
func (s *sqliteDialect) decimal(text string) any {
	real, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	digits, exponent := significant(text)
	keptDigits, keptExponent := significant(strconv.FormatFloat(real, 'e', -1, 64))
	if len(digits) <= maxRealDigits || digits == keptDigits && exponent == keptExponent {
		return real
	}
	return text
}

// significant returns the digits of a decimal number without the zeros around them, and the power of ten of the first of them.
func significant(text string) (digits string, exponent int) {
	mantissa, power, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(text, "-")), "e")
	exponent, _ = strconv.Atoi(power)
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exponent += len(whole) - 1 - (len(whole+fraction) - len(digits))
	return strings.TrimRight(digits, "0"), exponent
}

func (s *sqliteDialect) affected() string { return sqliteChanges }
func (s *sqliteDialect) drains() bool     { return false }
func (s *sqliteDialect) close()           {}

// kill has nothing to do: the driver interrupts its statement when the context ends.
func (s *sqliteDialect) kill(driver.Conn) {}

func (s *sqliteDialect) shape(rows driver.Rows) func(first []driver.Value) []reader {
	names, declared := rows.Columns(), rows.(*sqlite3.SQLiteRows).DeclTypes()
	words := slices.Clone(declared)
	// The driver turns values of columns declared DATE, BOOLEAN and the like into time.Time and bool, and loses those that do not fit. It
	// looks at this very slice for every row, so without the words it hands over what is stored.
	clear(declared)
	return func(first []driver.Value) []reader {
		readers := make([]reader, len(names))
		for i, name := range names {
			if words[i] == "" && first != nil {
				words[i] = storageClass(first[i])
			}
			c := column{name: name, database: words[i], scale: -1}
			read := sqliteType(&c)
			readers[i] = reader{column: c, read: read}
		}
		return readers
	}
}

func storageClass(v driver.Value) string {
	switch v.(type) {
	case int64:
		return "integer"
	case float64:
		return "real"
	case string:
		return "text"
	case []byte:
		return "blob"
	}
	return ""
}

// sqliteType sets the type that a declaration means and returns how its values are read.
func sqliteType(c *column) func(*arena, driver.Value) cell {
	word := c.database
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(word, part) })
	}
	var read func(*arena, driver.Value) cell
	switch {
	case has("decimal", "numeric"):
		c.kind, c.scale = typeDecimal, declaredScale(word)
		read = readDecimal(c.scale)
	case has("bool"):
		c.kind, read = typeBool, readFlag
	case has("int"):
		c.kind, read = typeInt64, plain
	case has("datetime", "timestamp"):
		c.kind, read = typeTimestamp, readClock
		if has("timestamptz", "with time zone") {
			c.kind, read = typeTimestampTZ, readMoment
		}
	case has("date"):
		c.kind, read = typeDate, plain
	case has("time"):
		c.kind, read = typeTime, readTimeOfDay
	case has("uuid", "guid", "uniqueidentifier"):
		c.kind, read = typeUUID, plain // as it is stored: what is read must be found again
	case has("json"):
		c.kind, read = typeJSON, readDocument
	case has("char", "clob", "text"):
		c.kind, read = typeText, plain
	case has("blob", "binary"):
		c.kind, read = typeBinary, plain
	case has("real", "floa", "doub"):
		c.kind, read = typeDouble, plain
	default:
		c.kind, read = typeOther, plain
	}
	return binaryAware(read)
}

// binaryAware reads a blob as bytes whatever the column says, and everything else with read.
func binaryAware(read func(*arena, driver.Value) cell) func(*arena, driver.Value) cell {
	return func(a *arena, v driver.Value) cell {
		if blob, ok := v.([]byte); ok {
			return binaryCell(blob)
		}
		return read(a, v)
	}
}

func readFlag(a *arena, v driver.Value) cell {
	if n, ok := v.(int64); ok && (n == 0 || n == 1) {
		return boolCell(n == 1)
	}
	return plain(a, v)
}

// declaredScale reads the scale of decimal(p,s): 0 for decimal(p), -1 when nothing is said.
func declaredScale(word string) int {
	_, inner, ok := strings.Cut(word, "(")
	if !ok {
		return -1
	}
	inner, _, _ = strings.Cut(inner, ")")
	_, scale, ok := strings.Cut(inner, ",")
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(scale))
	if err != nil || n < 0 || n > 1000 {
		return -1
	}
	return n
}

// readDecimal writes a number with the declared scale, or with more digits when it has more: SQLite holds nobody to what was declared. It
// keeps most decimals as floats, whose shortest text is what was stored.
func readDecimal(scale int) func(*arena, driver.Value) cell {
	return func(a *arena, v driver.Value) cell {
		mark := len(*a)
		switch v := v.(type) {
		case int64:
			*a = strconv.AppendInt(*a, v, 10)
		case float64:
			if math.IsInf(v, 0) {
				return floatCell(v)
			}
			*a = strconv.AppendFloat(*a, v, 'f', -1, 64)
		case string:
			*a = append(*a, v...)
		default:
			return plain(a, v)
		}
		*a = padScale(*a, mark, scale)
		return textCell(a.since(mark))
	}
}

// padScale adds the zeros that the plain decimal behind mark lacks. Any other text stays as it is.
func padScale(dst []byte, mark, scale int) []byte {
	fraction, point := 0, false
	for i, b := range dst[mark:] {
		switch {
		case b >= '0' && b <= '9':
			if point {
				fraction++
			}
		case b == '.' && !point:
			point = true
		case b == '-' && i == 0:
		default:
			return dst
		}
	}
	if fraction < scale && !point {
		dst = append(dst, '.')
	}
	for ; fraction < scale; fraction++ {
		dst = append(dst, '0')
	}
	return dst
}

func (s *sqliteDialect) failure(err error) error {
	var known *gateway.Error
	var refused sqlite3.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case !errors.As(err, &refused):
		return gateway.Wrap(gateway.CodeDataSourceAccess, err, "The file %q cannot be read.", s.path)
	}
	var e *gateway.Error
	switch refused.Code {
	case sqlite3.ErrCantOpen, sqlite3.ErrNotADB, sqlite3.ErrIoErr, sqlite3.ErrCorrupt, sqlite3.ErrPerm:
		e = gateway.Errorf(gateway.CodeDataSourceAccess, "The file %q cannot be read as a SQLite database: %s", s.path, refused.Error())
	case sqlite3.ErrTooBig:
		e = rowTooLarge()
	case sqlite3.ErrReadonly:
		if !s.readOnly {
			e = gateway.Errorf(gateway.CodeDataSourceAccess, "The member may not write to the file %q, or to the folder it is in: %s", s.path, refused.Error())
			break
		}
		e = writes("the database says: " + refused.Error())
	case sqlite3.ErrAuth:
		e = gateway.Errorf(gateway.CodeNotAllowedHere, "The statement does something that this member does not allow: %s.", refused.Error())
	default:
		e = gateway.Errorf(gateway.CodeQuery, "The database refused the query: %s", refused.Error())
	}
	return e.With(gateway.DetailUnderlyingCode, strconv.Itoa(int(refused.ExtendedCode))).With(gateway.DetailUnderlyingMessage, refused.Error()).
		With(gateway.DetailUnderlyingNative, strconv.Itoa(int(refused.Code)))
}
