package connector

import (
	"database/sql/driver"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-sqlite3"
)

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

// padScale adds the zeros that the plain decimal behind mark lacks. Any other text stays as it is, and so does one without a digit.
func padScale(dst []byte, mark, scale int) []byte {
	fraction, point, digit := 0, false, false
	for i, b := range dst[mark:] {
		switch {
		case b >= '0' && b <= '9':
			digit = true
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
	if !digit {
		return dst
	}
	if fraction < scale && !point {
		dst = append(dst, '.')
	}
	for ; fraction < scale; fraction++ {
		dst = append(dst, '0')
	}
	return dst
}
