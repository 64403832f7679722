package connector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"comporta/service/gateway"
)

// readJSONFile answers the objects of a JSON array, or of one object per line, as rows. The file is read twice: first for the names and types
// of the columns, which an answer begins with, then for the rows. What is missing in an object is null.
func readJSONFile(ctx context.Context, f io.ReadSeeker, array bool, a *answer) error {
	shape := &jsonShape{at: map[string]int{}}
	if err := withoutBOM(f, func(r io.Reader) error { return eachObject(ctx, r, array, shape.learn) }); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return unreadable(err)
	}
	a.columns(shape.columns())
	cells := make([]cell, len(shape.names))
	visit := func(row []byte) error {
		clear(cells)
		err := eachField(row, func(name string, value json.RawMessage) error {
			if i, ok := shape.at[name]; ok { // a file that changed meanwhile may have more
				cells[i] = jsonCell(value, shape.kinds[i])
			}
			return nil
		})
		return errors.Join(err, a.row(cells))
	}
	return withoutBOM(f, func(r io.Reader) error { return eachObject(ctx, r, array, visit) })
}

// eachObject calls visit with the text of every object.
func eachObject(ctx context.Context, r io.Reader, array bool, visit func([]byte) error) error {
	bounded := &rowBound{r: r, left: maxRow}
	d := json.NewDecoder(bounded)
	if array {
		if t, err := d.Token(); err != nil || t != json.Delim('[') {
			return gateway.Errorf(gateway.CodeQuery, "The JSON file must hold an array of objects.")
		}
	}
	for !array || d.More() {
		bounded.left = maxRow
		var row json.RawMessage
		err := d.Decode(&row)
		if err == io.EOF && !array {
			return nil
		}
		if err == nil && (len(row) == 0 || row[0] != '{') {
			err = errors.New("not an object")
		}
		if err != nil {
			return gateway.Wrap(gateway.CodeQuery, err, "The JSON file is malformed near byte %d, or a row is not an object of at most %d MiB.", d.InputOffset(), maxRow>>20)
		}
		if err := errors.Join(visit(row), ctx.Err()); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return gateway.Wrap(gateway.CodeQuery, err, "The JSON file ends inside its array.")
	}
	bounded.left = maxRow
	if _, err := d.Token(); err != io.EOF {
		return gateway.Errorf(gateway.CodeQuery, "The JSON file goes on behind its array, near byte %d.", d.InputOffset())
	}
	return nil
}

// rowBound ends the reading of a row that is too large.
type rowBound struct {
	r    io.Reader
	left int
}

func (b *rowBound) Read(p []byte) (int, error) {
	if b.left <= 0 && len(p) > 0 {
		return 0, errRowTooLarge
	}
	n, err := b.r.Read(p)
	b.left -= n
	return n, err
}

// eachField calls visit with every property of an object, in its order.
func eachField(row []byte, visit func(string, json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(row))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := visit(name.(string), value); err != nil {
			return err
		}
	}
	return nil
}

// jsonShape is what the rows of a JSON file look like.
type jsonShape struct {
	names []string
	kinds []columnType
	at    map[string]int
}

// learn takes one object in. A column that holds different kinds of values is of type json.
func (s *jsonShape) learn(row []byte) error {
	return eachField(row, func(name string, value json.RawMessage) error {
		i, ok := s.at[name]
		if !ok {
			if len(s.names) == maxFileColumns {
				return gateway.Errorf(gateway.CodeQuery, "The JSON file has more than %d columns.", maxFileColumns)
			}
			i = len(s.names)
			s.at[name], s.names, s.kinds = i, append(s.names, name), append(s.kinds, "")
		}
		s.kinds[i] = joined(s.kinds[i], kindOf(value))
		return nil
	})
}

func (s *jsonShape) columns() []column {
	list := make([]column, len(s.names))
	for i, name := range s.names {
		if s.kinds[i] == "" {
			s.kinds[i] = typeText // only nulls
		}
		list[i] = column{name: name, kind: s.kinds[i], database: string(s.kinds[i]), scale: -1}
	}
	return list
}

// kindOf is the type of one value, "" for null.
func kindOf(value json.RawMessage) columnType {
	switch value[0] {
	case 'n':
		return ""
	case '"':
		return typeText
	case 't', 'f':
		return typeBool
	case '{', '[':
		return typeJSON
	}
	if _, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return typeInt64
	}
	return typeDouble
}

func joined(a, b columnType) columnType {
	switch {
	case a == b || b == "":
		return a
	case a == "":
		return b
	case (a == typeInt64 || a == typeDouble) && (b == typeInt64 || b == typeDouble):
		return typeDouble
	}
	return typeJSON
}

// jsonCell writes a value of a column. Numbers keep the digits that the file has.
func jsonCell(value json.RawMessage, kind columnType) cell {
	switch {
	case value[0] == 'n':
		return cell{}
	case kind == typeText:
		var text string
		if json.Unmarshal(value, &text) == nil {
			return textCell([]byte(text))
		}
	case kind == typeBool:
		return boolCell(value[0] == 't')
	case kind == typeInt64 || kind == typeDouble:
		return cell{kind: cellDigits, bytes: value}
	}
	return cell{kind: cellJSON, bytes: value}
}
