package connector

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"comporta/service/gateway"
)

// csvEncoder writes RFC 4180: a header line with the column names, lines ended by CR LF. NULL is an empty field, the empty string is
// "". A row of one NULL is an empty line. A statement that answers no rows gives the column rowsAffected with its number. An answer
// that failed ends in an open quote that is never closed, so that no parser takes it for whole.
type csvEncoder struct{}

func (*csvEncoder) contentType() string { return string(gateway.FormatCSV) + "; charset=utf-8" }

func (*csvEncoder) begin(dst []byte, columns []column) []byte {
	if len(columns) == 0 {
		return dst
	}
	for i, c := range columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendField(dst, []byte(c.name))
	}
	return append(dst, '\r', '\n')
}

func (*csvEncoder) row(dst []byte, cells []cell, _ bool) []byte {
	for i := range cells {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch c := &cells[i]; c.kind {
		case cellNull:
		case cellText, cellJSON:
			dst = appendField(dst, c.bytes)
		case cellBinary:
			if len(c.bytes) == 0 {
				dst = append(dst, '"', '"')
			}
			dst = appendPlain(dst, c)
		default:
			dst = appendPlain(dst, c)
		}
	}
	return append(dst, '\r', '\n')
}

// appendField appends a text, in quotes when it needs them.
func appendField(dst, text []byte) []byte {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	}
	if len(text) > 0 && !bytes.ContainsAny(text, "\",\r\n") && text[0] != ' ' && text[len(text)-1] != ' ' {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	dst = appendQuoted(dst, text)
	return append(dst, '"')
}

func appendQuoted(dst, text []byte) []byte {
	for _, b := range text {
		if b == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, b)
	}
	return dst
}

func (*csvEncoder) end(dst []byte, t totals) []byte {
	if t.affected < 0 {
		return dst
	}
	dst = append(dst, "rowsAffected\r\n"...)
	dst = strconv.AppendInt(dst, t.affected, 10)
	return append(dst, '\r', '\n')
}

func (*csvEncoder) fail(dst []byte, e *gateway.Error) []byte {
	dst = append(dst, '"')
	return appendQuoted(dst, []byte("#error "+string(e.Code)+": "+e.Message))
}
