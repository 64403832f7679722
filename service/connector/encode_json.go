package connector

import (
	"strconv"

	"comporta/service/gateway"
)

// jsonEncoder writes one document: {"columns":[{"name","type","databaseType"}],"rows":[[…],…],"rowCount":n}, and behind that
// "truncated":true when there were more rows and "rowsAffected":n for a statement that answers none. The document of an answer that
// failed is never closed.
type jsonEncoder struct{}

func (jsonEncoder) contentType() string { return string(gateway.FormatJSON) }

func (jsonEncoder) begin(dst []byte, columns []column) []byte {
	dst = append(dst, `{"columns":[`...)
	for i, c := range columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"name":`...)
		dst = appendString(dst, c.name)
		dst = append(dst, `,"type":`...)
		dst = appendString(dst, string(c.kind))
		dst = append(dst, `,"databaseType":`...)
		dst = appendString(dst, c.database)
		dst = append(dst, '}')
	}
	return append(dst, `],"rows":[`...)
}

func (jsonEncoder) row(dst []byte, cells []cell, first bool) []byte {
	if !first {
		dst = append(dst, ',')
	}
	dst = append(dst, '[')
	for i := range cells {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSON(dst, &cells[i])
	}
	return append(dst, ']')
}

func (jsonEncoder) end(dst []byte, t totals) []byte {
	dst = append(dst, `],"rowCount":`...)
	dst = strconv.AppendInt(dst, t.rows, 10)
	if t.truncated {
		dst = append(dst, `,"truncated":true`...)
	}
	if t.affected >= 0 {
		dst = append(dst, `,"rowsAffected":`...)
		dst = strconv.AppendInt(dst, t.affected, 10)
	}
	return append(dst, '}')
}

func (jsonEncoder) fail(dst []byte, _ *gateway.Error) []byte { return dst }
