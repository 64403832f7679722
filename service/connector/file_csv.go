package connector

import (
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
	bounded := &rowBound{r: r, left: maxHeader}
	rows := csv.NewReader(bounded)
	rows.ReuseRecord = true
	columns, err := csvColumns(rows)
	if err != nil {
		return err
	}
	a.columns(columns)
	cells := make([]cell, len(columns))
	for {
		bounded.left = maxRow
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

// csvColumns reads the first line.
func csvColumns(rows *csv.Reader) ([]column, error) {
	head, err := rows.Read()
	switch {
	case err == io.EOF:
		return nil, gateway.Errorf(gateway.CodeQuery, "The CSV file is empty; its first line must name the columns.")
	case errors.Is(err, errRowTooLarge), len(head) > maxFileColumns:
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
	return unreadable(err)
}
