package connector

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"comporta/service/gateway"
)

// A small query with a huge row takes a bounded amount of the member's memory, and says what to do.
func TestARowIsBounded(t *testing.T) {
	many := func(n int, value string) string { return "select " + strings.Repeat(value+", ", n-1) + value }
	own := map[gateway.DataSourceType][]string{
		gateway.TypeExtension: {"select zeroblob(1000000000)", "select hex(zeroblob(200000000))", many(100, "zeroblob(16000000)"), many(3, "zeroblob(8000000)"),
			"select group_concat(hex(zeroblob(1000000))) from json_each('[" + strings.Repeat("0,", 50) + "0]')"},
		gateway.TypePostgreSQL: {"select repeat('x', 200000000)", many(30, "repeat('x', 15000000)"), "select decode(repeat('00', 9000000), 'hex')"},
		gateway.TypeMySQL:      {many(2, "repeat('x', 9000000)"), many(20, "repeat('x', 15000000)")},
	}
	everyRig(t, func(t *testing.T, r *rig) {
		for _, text := range own[r.task.DataSource.Type] {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			e := r.refused(true, text, gateway.CodeQuery)
			runtime.ReadMemStats(&after)
			if shown := text[:min(len(text), 60)]; !strings.Contains(e.Message, "16 MiB") || after.TotalAlloc-before.TotalAlloc > 8*maxRow {
				t.Errorf("%s: %v, and %d MiB allocated", shown, e, (after.TotalAlloc-before.TotalAlloc)>>20)
			}
			if got := r.read("select 1"); !reflect.DeepEqual(got, [][]any{{json.Number("1")}}) {
				t.Errorf("and then %v", got)
			}
		}
	})
}

// Up to the bound a row goes through, and the bound is one of a row and not of an answer.
func TestLargeRowsBelowTheBoundGoThrough(t *testing.T) {
	own := map[gateway.DataSourceType]string{
		gateway.TypeExtension:  "with n(i) as (values (1), (2), (3)) select hex(zeroblob(7000000)), 'x' from n",
		gateway.TypePostgreSQL: "select repeat('0', 14000000), 'x' from generate_series(1, 3)",
		gateway.TypeMySQL:      "select repeat('0', 14000000), 'x' from seq_1_to_3",
	}
	everyRig(t, func(t *testing.T, r *rig) {
		body, summary, err := r.run(t.Context(), true, own[r.task.DataSource.Type])
		if err != nil || summary.Rows != 3 || strings.Count(body, fmt.Sprintf(`["%s","x"]`, strings.Repeat("0", 14000000))) != 3 {
			t.Errorf("%d rows, %d bytes: %v", summary.Rows, len(body), err)
		}
	})
}

// SQLite bounds less for each value the more columns there are, without a bound for columns.
func TestWideSQLiteRowsGoThrough(t *testing.T) {
	r, _ := sqliteRig(t)
	names := make([]string, 300)
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	r.write("create table wide (" + strings.Join(names, ", ") + ")")
	r.write("insert into wide (" + strings.Join(names, ", ") + ") values (" + strings.Repeat("hex(zeroblob(500)), ", len(names)-1) + "1)")
	r.write("update wide set c7 = hex(zeroblob(7000000))")
	if got := r.read("select length(c7), c299 from wide order by " + strings.Join(names[10:15], ", ")); !reflect.DeepEqual(got, [][]any{{json.Number("14000000"), json.Number("1")}}) {
		t.Error("few of many:", got)
	}
	if got := r.read("select c7 from wide"); len(got[0][0].(string)) != 14000000 {
		t.Error("the large one")
	}
	r.refused(true, "select * from wide", gateway.CodeQuery)
	r.write("update wide set c7 = null")
	if got := r.read("select * from wide"); len(got[0]) != len(names) {
		t.Error("all:", len(got[0]))
	}
	_ = r.c.Close()
	fresh := newRig(t, r.task.DataSource.Type, r.task.DataSource.ConnectionDetails, nil, r.c.folders...)
	fresh.task.DataSource.Credential.Type = "Anonymous"
	if got := fresh.read("select c299 from wide"); len(got) != 1 {
		t.Error("a schema that is read with the first statement:", got)
	}
	fresh.refused(true, "select nothing from wide", gateway.CodeQuery)
}

// A quote that is never closed makes one row of a whole file.
func TestACSVRowIsBounded(t *testing.T) {
	folder, c := shelf(t)
	path := filepath.Join(folder, "large.csv")
	rows := strings.Repeat(strings.Repeat("x", 8<<20)+",y\n", 3)
	for text, want := range map[string]bool{"a,b\n" + rows: true, "a,b\n\"" + rows: false} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := c.Run(t.Context(), fileTask(gateway.TypeFile, path, ""), nil, &memory{})
		if want != (err == nil) || err != nil && !strings.Contains(err.Error(), "16 MiB") {
			t.Error(want, err)
		}
	}
}

// A first line of nothing but commas names millions of columns, each of which takes memory many times over.
func TestACSVFilesColumnsAreBounded(t *testing.T) {
	folder, c := shelf(t)
	path := filepath.Join(folder, "wide.csv")
	for head, want := range map[string]bool{
		strings.Repeat(",", maxFileColumns-1): true, strings.Repeat(",", maxFileColumns): false, strings.Repeat(",", 15<<20): false,
		strings.Repeat("x", maxHeader+8<<10) + ",y": false, strings.Repeat("x", 1000) + ",y": true,
	} {
		if err := os.WriteFile(path, []byte(head+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := c.Run(t.Context(), fileTask(gateway.TypeFile, path, ""), nil, &memory{})
		runtime.ReadMemStats(&after)
		if want != (err == nil) || err != nil && !(gateway.IsCode(err, gateway.CodeQuery) && strings.Contains(err.Error(), "2000 columns")) {
			t.Errorf("a head of %d bytes: %v", len(head), err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 256<<20 {
			t.Errorf("a head of %d bytes took %d MiB", len(head), took>>20)
		}
	}
}

// A row of nothing but commas is millions of fields, each of which takes memory many times over.
func TestACSVRowsFieldsAreBounded(t *testing.T) {
	folder, c := shelf(t)
	path := filepath.Join(folder, "commas.csv")
	commas := strings.Repeat(",", 15<<20)
	for text, want := range map[string]bool{
		"a,b\n" + commas: false, "a,b\n1,2\n\"x\n\"\"y\"" + commas + "\n": false, "a,b\n1," + strings.Repeat("x", 5000) + commas: false,
		"a,b\n\"" + commas + "\",\"\"\"" + commas[:1<<20] + "\n\"\n1,2\n":                    true,
		strings.Repeat("a,", 1999) + "a\n" + strings.Repeat("\"some, text\",", 1999) + "1\n": true,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := c.Run(t.Context(), fileTask(gateway.TypeFile, path, ""), nil, &memory{})
		runtime.ReadMemStats(&after)
		if want != (err == nil) || err != nil && !(gateway.IsCode(err, gateway.CodeQuery) && strings.Contains(err.Error(), "more fields")) {
			t.Errorf("%.20q…: %v", text, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; !want && took > 16<<20 {
			t.Errorf("%.20q…: %d MiB were allocated", text, took>>20)
		}
	}
}

// However a file comes in pieces, the bound for fields refuses nothing that the parser takes.
func TestTheBoundForFieldsRefusesNoGoodRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(1, 4).Draw(t, "columns")
		field := rapid.StringMatching(`[a,"\n]{0,6}`)
		records := rapid.SliceOfN(rapid.SliceOfN(field, columns, columns), 1, 8).Draw(t, "records")
		var text bytes.Buffer
		w := csv.NewWriter(&text)
		if err := w.WriteAll(records); err != nil {
			t.Fatal(err)
		}
		bounded := &fieldBound{rowBound: rowBound{r: iotest.OneByteReader(&text), left: maxRow}, fields: columns}
		rows := csv.NewReader(bounded)
		for {
			bounded.row(rows.InputOffset())
			if _, err := rows.Read(); err == io.EOF {
				return
			} else if err != nil {
				t.Fatalf("%q: %v", records, err)
			}
		}
	})
}

// Rows that nobody wants are read over at the end of a request that writes; together they may be more than one row may be.
func TestTheBoundIsNotOneOfWhatIsLeftOver(t *testing.T) {
	r, _ := mariadbRig(t)
	task := r.task
	task.Query = &gateway.Query{Text: "select repeat('0', 8000000) from seq_1_to_5", MaxRows: 1}
	if summary, err := r.c.Run(t.Context(), &task, r.creds, &memory{}); err != nil || !summary.Truncated {
		t.Error(summary, err)
	}
}
