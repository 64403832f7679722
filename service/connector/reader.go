package connector

import (
	"database/sql/driver"
	"time"
)

// reader is a column and how its values are read. What read returns lives until the next row.
type reader struct {
	column
	read func(a *arena, v driver.Value) cell
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
