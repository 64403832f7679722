package connector

import (
	"strconv"

	"comporta/service/gateway"
)

// ndjsonEncoder writes one JSON object per row and line, keyed by column name in column order. A name that was there before gets _2,
// _3 and so on. A statement that answers no rows gives the one line {"rowsAffected":n}. An answer that failed ends with the line
// {"error":{"code","message"}}.
type ndjsonEncoder struct {
	// keys are the encoded names with what stands before and after them: {"id": for the first column, ,"name": for the others.
	keys [][]byte
}

func (*ndjsonEncoder) contentType() string { return string(gateway.FormatNDJSON) }

func (e *ndjsonEncoder) begin(dst []byte, columns []column) []byte {
	used := map[string]int{}
	for i, c := range columns {
		key := []byte{','}
		if i == 0 {
			key[0] = '{'
		}
		key = appendString(key, unused(c.name, used))
		e.keys = append(e.keys, append(key, ':'))
	}
	return dst
}

// unused returns name, with the lowest number from 2 behind it that makes it a new one. used has the names that are taken, each with the
// last number that was tried behind it: a thousand columns of one name are not to be a million tries.
func unused(name string, used map[string]int) string {
	candidate := name
	for n := max(used[name], 1); used[candidate] > 0; used[name] = n {
		n++
		candidate = name + "_" + strconv.Itoa(n)
	}
	used[candidate] = 1
	return candidate
}

func (e *ndjsonEncoder) row(dst []byte, cells []cell, _ bool) []byte {
	if len(cells) == 0 {
		dst = append(dst, '{')
	}
	for i := range cells {
		dst = append(dst, e.keys[i]...)
		dst = appendJSON(dst, &cells[i])
	}
	return append(dst, '}', '\n')
}

func (e *ndjsonEncoder) end(dst []byte, t totals) []byte {
	if t.affected < 0 {
		return dst
	}
	dst = append(dst, `{"rowsAffected":`...)
	dst = strconv.AppendInt(dst, t.affected, 10)
	return append(dst, '}', '\n')
}

func (e *ndjsonEncoder) fail(dst []byte, err *gateway.Error) []byte {
	dst = append(dst, `{"error":{"code":`...)
	dst = appendString(dst, string(err.Code))
	dst = append(dst, `,"message":`...)
	dst = appendString(dst, err.Message)
	return append(dst, '}', '}', '\n')
}
