package connector

import (
	"bytes"
	"encoding/hex"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"comporta/service/gateway"
)

// postgresColumn is a column and how its text is read.
type postgresColumn struct {
	column
	read func(a *arena, text []byte) (cell, error)
}

// typeNames finds the names of built-in types.
var typeNames = sync.OnceValue(pgtype.NewMap)

// postgresTypes says how the built-in types are read. What is not listed is "other".
var postgresTypes = map[uint32]struct {
	kind columnType
	read func(a *arena, text []byte) (cell, error)
}{
	pgtype.Int2OID:        {typeInt64, readDigits},
	pgtype.Int4OID:        {typeInt64, readDigits},
	pgtype.Int8OID:        {typeInt64, readDigits},
	pgtype.OIDOID:         {typeInt64, readDigits},
	pgtype.NumericOID:     {typeDecimal, readText},
	pgtype.Float4OID:      {typeDouble, readFloat(32)},
	pgtype.Float8OID:      {typeDouble, readFloat(64)},
	pgtype.BoolOID:        {typeBool, readBool},
	pgtype.TextOID:        {typeText, readText},
	pgtype.VarcharOID:     {typeText, readText},
	pgtype.BPCharOID:      {typeText, readText},
	pgtype.NameOID:        {typeText, readText},
	pgtype.QCharOID:       {typeText, readText},
	pgtype.XMLOID:         {typeText, readText},
	pgtype.UnknownOID:     {typeText, readText},
	pgtype.ByteaOID:       {typeBinary, readHex},
	pgtype.DateOID:        {typeDate, readText},
	pgtype.TimeOID:        {typeTime, readTime},
	pgtype.TimestampOID:   {typeTimestamp, readTimestamp},
	pgtype.TimestamptzOID: {typeTimestampTZ, readInstant},
	pgtype.UUIDOID:        {typeUUID, readText},
	pgtype.JSONOID:        {typeJSON, readJSON},
	pgtype.JSONBOID:       {typeJSON, readJSON},
}

func postgresColumns(described []pgconn.FieldDescription) []postgresColumn {
	columns := make([]postgresColumn, len(described))
	for i, d := range described {
		c := postgresColumn{column: column{name: d.Name, kind: typeOther, database: "oid " + strconv.FormatUint(uint64(d.DataTypeOID), 10)}, read: readText}
		if known, ok := postgresTypes[d.DataTypeOID]; ok {
			c.kind, c.read = known.kind, known.read
		}
		if t, ok := typeNames().TypeForOID(d.DataTypeOID); ok {
			c.database = t.Name
		}
		columns[i] = c
	}
	return columns
}

func shapeOf(columns []postgresColumn) []column {
	shape := make([]column, len(columns))
	for i := range columns {
		shape[i] = columns[i].column
	}
	return shape
}

func readText(_ *arena, text []byte) (cell, error)   { return textCell(text), nil }
func readDigits(_ *arena, text []byte) (cell, error) { return cell{kind: cellDigits, bytes: text}, nil }
func readJSON(_ *arena, text []byte) (cell, error)   { return cell{kind: cellJSON, bytes: text}, nil }
func readBool(_ *arena, text []byte) (cell, error) {
	return boolCell(len(text) == 1 && text[0] == 't'), nil
}
func readTime(a *arena, text []byte) (cell, error)      { return textCell(a.timeOfDay(text)), nil }
func readTimestamp(a *arena, text []byte) (cell, error) { return textCell(a.clock(text)), nil }
func readInstant(a *arena, text []byte) (cell, error)   { return textCell(a.instant(text)), nil }

func readFloat(bits int) func(*arena, []byte) (cell, error) {
	return func(_ *arena, text []byte) (cell, error) {
		f, err := strconv.ParseFloat(string(text), bits)
		if err != nil {
			return cell{}, garbled()
		}
		if bits == 32 {
			return float32Cell(float32(f)), nil
		}
		return floatCell(f), nil
	}
}

// readHex reads bytea in its hex form, which the session asks for.
func readHex(a *arena, text []byte) (cell, error) {
	digits, ok := bytes.CutPrefix(text, []byte(`\x`))
	if !ok {
		return cell{}, garbled()
	}
	mark := len(*a)
	var err error
	if *a, err = hex.AppendDecode(*a, digits); err != nil {
		return cell{}, garbled()
	}
	return binaryCell(a.since(mark)), nil
}

// garbled is a value in a form that the session did not ask for: the query itself changed the session's settings.
func garbled() error {
	return gateway.Errorf(gateway.CodeQuery, "The database wrote a value in an unexpected form; the query must not change the session's settings.")
}
