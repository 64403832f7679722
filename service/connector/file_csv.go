package connector

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io"

	"comporta/service/gateway"
)

const (
	// maxFileColumns is how many columns the rows of a file may have (together, in a JSON file).
	maxFileColumns = 2000
	// maxHeader is how long the line may be that names them.
	maxHeader = 1 << 20
)

// readCSV answers the rows of a CSV file (RFC 4180, UTF-8, first line names the columns). All values are text; CSV says no more.
func readCSV(ctx context.Context, r io.Reader, a *answer) error {
	bounded := &fieldBound{rowBound: rowBound{r: r, left: maxHeader}, fields: maxFileColumns}
	rows := csv.NewReader(bounded)
	rows.ReuseRecord = true
	columns, err := csvColumns(rows)
	if err != nil {
		return err
	}
	a.columns(columns)
	bounded.fields = len(columns)
	cells := make([]cell, len(columns))
	for {
		bounded.row(rows.InputOffset())
		record, err := rows.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return badCSV(err)
		}
		for i, text := range record {
			cells[i] = textCell([]byte(text))
		}
		if err := errors.Join(a.row(cells), ctx.Err()); err != nil {
			return err
		}
	}
}

// errTooManyFields ends the reading of a row that has more fields than there are columns.
var errTooManyFields = errors.New("the row has too many fields")

// fieldBound ends the reading of a CSV file's row also when it has too many fields: the parser makes all of them before anybody counts, and
// takes more than sixty bytes for each that is empty.
type fieldBound struct {
	rowBound
	// fields is how many a row may have.
	fields int
	// begin is where the row begins, end how far the file was read.
	begin, end int64
	// last is what was read last. It is looked at only when the row goes on behind it, which few do.
	last []byte
	// commas of the row stand before last, outside of quotes. quoted: last begins inside of them.
	commas int
	quoted bool
}

// row begins another row.
func (b *fieldBound) row(begin int64) {
	b.left, b.begin, b.commas, b.quoted = maxRow, begin, 0, false
}

func (b *fieldBound) Read(p []byte) (int, error) {
	if own := b.end - b.begin; own > 0 {
		b.count(b.last[max(0, len(b.last)-int(own)):])
	}
	if b.commas >= b.fields {
		return 0, errTooManyFields
	}
	n, err := b.rowBound.Read(p)
	b.last = append(b.last[:0], p[:n]...)
	b.end += int64(n)
	return n, err
}

// count goes on over a part of the row. A quote in the wrong place, for which it may be wrong, ends the parser there.
func (b *fieldBound) count(part []byte) {
	for {
		plain, rest, quote := bytes.Cut(part, []byte{'"'})
		if !b.quoted {
			b.commas += bytes.Count(plain, []byte{','})
		}
		if !quote {
			return
		}
		b.quoted = !b.quoted
		part = rest
	}
}

// csvColumns reads the first line.
func csvColumns(rows *csv.Reader) ([]column, error) {
	head, err := rows.Read()
	switch {
	case err == io.EOF:
		return nil, gateway.Errorf(gateway.CodeQuery, "The CSV file is empty; its first line must name the columns.")
	case errors.Is(err, errRowTooLarge), errors.Is(err, errTooManyFields), len(head) > maxFileColumns:
		return nil, gateway.Errorf(gateway.CodeQuery, "The first line of the CSV file must name at most %d columns, in at most %d MiB.", maxFileColumns, maxHeader>>20)
	case err != nil:
		return nil, badCSV(err)
	}
	columns := make([]column, len(head))
	for i, name := range head {
		columns[i] = column{name: name, kind: typeText, database: "text", scale: -1}
	}
	return columns, nil
}

// badCSV carries the parser's words, which name line and column.
func badCSV(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return gateway.Wrap(gateway.CodeQuery, err, "The CSV file is malformed: %v.", parse)
	}
	if errors.Is(err, errRowTooLarge) {
		return gateway.Errorf(gateway.CodeQuery, "A row of the CSV file is larger than %d MiB, which is all that a member takes; perhaps a quote is never closed.", maxRow>>20)
	}
	if errors.Is(err, errTooManyFields) {
		return gateway.Errorf(gateway.CodeQuery, "The CSV file is malformed: a row has more fields than the first line names.")
	}
	return unreadable(err)
}
