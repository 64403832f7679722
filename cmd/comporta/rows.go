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
		names[i] = c.Name
	}
	lines := make([][]string, len(r.Rows))
	for i, row := range r.Rows {
		for _, value := range row {
			if value == nil {
				value = "NULL"
			}
			lines[i] = append(lines[i], fmt.Sprint(value))
		}
	}
	return table(names, lines)
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
