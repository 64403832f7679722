package connector

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"comporta/service/gateway"
)

// encoder writes rows in one format. Its methods append to dst and return it; they keep no reference to the cells.
type encoder interface {
	contentType() string
	// begin comes first, with no columns for a statement that answers no rows.
	begin(dst []byte, columns []column) []byte
	row(dst []byte, cells []cell, first bool) []byte
	// end completes the document.
	end(dst []byte, t totals) []byte
	// fail leaves it visibly incomplete.
	fail(dst []byte, e *gateway.Error) []byte
}

// encoderFor returns a fresh encoder; "" means JSON.
func encoderFor(f gateway.Format) (encoder, error) {
	switch f {
	case gateway.FormatJSON, "":
		return jsonEncoder{}, nil
	case gateway.FormatNDJSON:
		return &ndjsonEncoder{}, nil
	case gateway.FormatCSV:
		return &csvEncoder{}, nil
	}
	return nil, gateway.Errorf(gateway.CodeInvalid, "The answer format %q is not one of %s, %s, %s.", string(f),
		gateway.FormatJSON, gateway.FormatNDJSON, gateway.FormatCSV)
}

// appendJSON appends a cell as a JSON value.
func appendJSON(dst []byte, c *cell) []byte {
	switch c.kind {
	case cellText:
		return appendString(dst, c.bytes)
	case cellBinary:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, c.bytes)
		return append(dst, '"')
	case cellJSON:
		return appendEmbedded(dst, c.bytes)
	case cellFloat64, cellFloat32:
		if f := math.Float64frombits(c.bits); math.IsNaN(f) || math.IsInf(f, 0) {
			dst = append(dst, '"')
			dst = appendPlain(dst, c)
			return append(dst, '"')
		}
	case cellNull:
		return append(dst, "null"...)
	}
	return appendPlain(dst, c)
}

// appendPlain appends what needs no quotes in any format.
func appendPlain(dst []byte, c *cell) []byte {
	switch c.kind {
	case cellInt:
		return strconv.AppendInt(dst, int64(c.bits), 10)
	case cellUint:
		return strconv.AppendUint(dst, c.bits, 10)
	case cellFloat64:
		return appendFloat(dst, math.Float64frombits(c.bits), 64)
	case cellFloat32:
		return appendFloat(dst, math.Float64frombits(c.bits), 32)
	case cellBool:
		return strconv.AppendBool(dst, c.bits != 0)
	case cellBinary:
		return base64.StdEncoding.AppendEncode(dst, c.bytes)
	}
	return append(dst, c.bytes...)
}

// appendFloat appends the shortest text that reads back to the same float, as ECMAScript and encoding/json write it.
func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	format := byte('f')
	if size := math.Abs(f); size != 0 && (size < 1e-6 || size >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, bits)
}

// appendEmbedded appends a JSON text as the value it is, on one line. What is not JSON becomes a string. Bytes that are not UTF-8 become
// U+FFFD: within a string the parser takes them.
func appendEmbedded(dst, text []byte) []byte {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	}
	if !json.Valid(text) {
		return appendString(dst, text)
	}
	if bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') < 0 {
		return append(dst, text...)
	}
	var line bytes.Buffer
	if json.Compact(&line, text) != nil {
		return appendString(dst, text)
	}
	return append(dst, line.Bytes()...)
}

const hexDigits = "0123456789abcdef"

// appendString appends text as a JSON string. Bytes that are not UTF-8 become U+FFFD, so that the document stays valid.
func appendString[T string | []byte](dst []byte, text T) []byte {
	dst = slices.Grow(dst, len(text)+2) // a large text is copied once
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(text); {
		b := text[i]
		if b >= ' ' && b != '"' && b != '\\' && b < utf8.RuneSelf {
			i++
			continue
		}
		if b >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, text[start:i]...)
				dst = append(dst, "\ufffd"...)
				start = i + 1
			}
			i += size
			continue
		}
		dst = append(dst, text[start:i]...)
		dst = appendEscape(dst, b)
		i++
		start = i
	}
	dst = append(dst, text[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&15])
}
