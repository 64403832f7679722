package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"text/tabwriter"

	"comporta/service/gateway"
)

// rows are the answer to a query, and who gave it.
type rows struct {
	Columns []struct {
		Name string `json:"name"`
	} `json:"columns"`
	Rows [][]any `json:"rows"`
	// RowsAffected is how many rows a statement changed; nil where it answers rows.
	RowsAffected *int64 `json:"rowsAffected"`

	memberID gateway.ID
	servedBy string
}

// readRows takes in a whole JSON answer to a query.
func readRows(resp *http.Response) (*rows, error) {
	defer resp.Body.Close()
	d := json.NewDecoder(resp.Body)
	d.UseNumber()
	r := &rows{memberID: gateway.ID(resp.Header.Get("X-Gateway-Member-Id")), servedBy: memberName(resp)}
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("the answer broke off: %w", err)
	}
	return r, nil
}

// query dispatches a query to the demo's database.
func (d *demo) query(ctx context.Context, text string) (*rows, error) {
	resp, err := d.client.dispatch(ctx, d.known.ClusterID, &queryCall{DataSource: d.known.DataSourceID, Text: text}, gateway.FormatJSON)
	if err != nil {
		return nil, err
	}
	return readRows(resp)
}

// table writes the rows as a text table.
func (r *rows) table() string {
	names := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		names[i] = plainText(c.Name)
	}
	lines := make([][]string, len(r.Rows))
	for i, row := range r.Rows {
		for _, value := range row {
			if value == nil {
				value = "NULL"
			}
			lines[i] = append(lines[i], plainText(fmt.Sprint(value)))
		}
	}
	return table(names, lines)
}

// summary is the table and how many rows it has, or how many were changed.
func (r *rows) summary() string {
	if r.RowsAffected != nil && len(r.Columns) == 0 {
		return counted(*r.RowsAffected, "changed")
	}
	return r.table() + "\n" + counted(int64(len(r.Rows)), "")
}

func counted(n int64, done string) string {
	word := "rows"
	if n == 1 {
		word = "row"
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s %s", n, word, done))
}

// table lays out lines under headings.
func table(names []string, lines [][]string) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	rule := make([]string, len(names))
	for i, name := range names {
		rule[i] = strings.Repeat("-", len(name))
	}
	for _, line := range append([][]string{names, rule}, lines...) {
		fmt.Fprintln(w, "  "+strings.Join(line, "\t"))
	}
	w.Flush()
	return out.String()
}
