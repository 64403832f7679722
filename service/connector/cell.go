package connector

import "math"

// columnType is the word by which an answer names the type of a column. The package comment says what each means.
type columnType string

const (
	typeInt64       columnType = "int64"
	typeUint64      columnType = "uint64"
	typeDecimal     columnType = "decimal"
	typeDouble      columnType = "double"
	typeBool        columnType = "bool"
	typeText        columnType = "text"
	typeBinary      columnType = "binary"
	typeDate        columnType = "date"
	typeTime        columnType = "time"
	typeTimestamp   columnType = "timestamp"
	typeTimestampTZ columnType = "timestamptz"
	typeUUID        columnType = "uuid"
	typeJSON        columnType = "json"
	typeOther       columnType = "other"
)

// column is one column of an answer.
type column struct {
	name string
	kind columnType
	// database is the database's own word for the type, lower case.
	database string
	// scale is how many digits a decimal has behind its point, -1 when the value itself says it.
	scale int
}

// cellKind says how a cell is written.
type cellKind uint8

const (
	cellNull cellKind = iota
	cellInt
	cellUint
	cellFloat64
	cellFloat32
	cellBool
	// cellText is a string, cellDigits an integer as the database wrote it, cellBinary bytes, cellJSON a JSON text.
	cellText
	cellDigits
	cellBinary
	cellJSON
)

// cell is one value of a row on its way from the database to an encoder. It lives until the next row.
type cell struct {
	kind cellKind
	// bits holds an integer, a boolean (0, 1) or the bits of a float64.
	bits uint64
	// bytes holds the rest. It often points into the driver's buffer.
	bytes []byte
}

func intCell(v int64) cell     { return cell{kind: cellInt, bits: uint64(v)} }
func uintCell(v uint64) cell   { return cell{kind: cellUint, bits: v} }
func floatCell(v float64) cell { return cell{kind: cellFloat64, bits: math.Float64bits(v)} }
func textCell(b []byte) cell   { return cell{kind: cellText, bytes: b} }
func binaryCell(b []byte) cell { return cell{kind: cellBinary, bytes: b} }

// float32Cell keeps a single-precision value as what it is, so that 0.1 is written as 0.1.
func float32Cell(v float32) cell {
	return cell{kind: cellFloat32, bits: math.Float64bits(float64(v))}
}

func boolCell(v bool) cell {
	if v {
		return cell{kind: cellBool, bits: 1}
	}
	return cell{kind: cellBool}
}

// arena holds the texts that one row needs and the driver does not have. It is emptied for every row and keeps its memory.
type arena []byte

// add copies text and returns the copy.
func (a *arena) add(text string) []byte {
	start := len(*a)
	*a = append(*a, text...)
	return (*a)[start:len(*a):len(*a)]
}

// since returns what was appended after the mark.
func (a *arena) since(mark int) []byte { return (*a)[mark:len(*a):len(*a)] }

// clock writes a date with time ("2006-01-02 15:04:05.120000", with or without an offset) in the form of RFC 3339: a T between the two
// and no needless zeros. Text that does not look like one stays as it is.
func (a *arena) clock(text []byte) []byte {
	if len(text) < 19 || text[4] != '-' || string(text[:4]) == "0000" || text[10] != ' ' && text[10] != 'T' || text[13] != ':' {
		return text
	}
	mark := len(*a)
	*a = append(*a, text[:10]...)
	*a = append(*a, 'T')
	*a = appendTrimmed(*a, text[11:])
	return a.since(mark)
}

// instant is clock for a moment with an offset, which becomes ±hh:mm. A text without one is in UTC.
func (a *arena) instant(text []byte) []byte {
	mark := len(*a)
	out := a.clock(text)
	if len(*a) == mark || out[len(out)-1] == 'C' { // … BC
		return out
	}
	switch n := len(out); {
	case out[n-1] == 'Z':
		*a = append((*a)[:len(*a)-1], "+00:00"...)
	case isSign(out[n-3]):
		*a = append(*a, ":00"...)
	case n > 6 && isSign(out[n-6]):
	default:
		*a = append(*a, "+00:00"...)
	}
	return a.since(mark)
}

// timeOfDay is a time without needless zeros.
func (a *arena) timeOfDay(text []byte) []byte {
	mark := len(*a)
	*a = appendTrimmed(*a, text)
	return a.since(mark)
}

func isSign(b byte) bool { return b == '+' || b == '-' }

// appendTrimmed appends a time, leaving out the zeros at the end of its fraction.
func appendTrimmed(dst, text []byte) []byte {
	point := -1
	for i, b := range text {
		if b == '.' {
			point = i
			break
		}
	}
	if point < 0 {
		return append(dst, text...)
	}
	end := point + 1
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	kept := end
	for kept > point+1 && text[kept-1] == '0' {
		kept--
	}
	if kept == point+1 {
		kept = point
	}
	dst = append(dst, text[:kept]...)
	return append(dst, text[end:]...)
}
