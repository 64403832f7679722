package connector

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"comporta/service/gateway"
)

var testColumns = []column{{name: "id", kind: typeInt64, database: "int8"}, {name: "a \"b\"", kind: typeText}, {name: "id", kind: typeDouble}}

func testRow() []cell { return []cell{intCell(math.MinInt64), textCell([]byte("x,\"\n")), {}} }

func TestDocuments(t *testing.T) {
	all := totals{rows: 1, affected: -1}
	whole := func(e encoder) string {
		return string(e.end(e.row(e.begin(nil, testColumns), testRow(), true), all))
	}
	for want, e := range map[string]encoder{
		`{"columns":[{"name":"id","type":"int64","databaseType":"int8"},{"name":"a \"b\"","type":"text","databaseType":""},{"name":"id","type":"double","databaseType":""}],"rows":[[-9223372036854775808,"x,\"\n",null]],"rowCount":1}`: jsonEncoder{},
		`{"id":-9223372036854775808,"a \"b\"":"x,\"\n","id_2":null}` + "\n": &ndjsonEncoder{},
		"id,\"a \"\"b\"\"\",id\r\n-9223372036854775808,\"x,\"\"\n\",\r\n":   &csvEncoder{},
	} {
		if got := whole(e); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	changed := totals{affected: 3}
	for want, e := range map[string]encoder{
		`{"columns":[],"rows":[],"rowCount":0,"rowsAffected":3}`: jsonEncoder{}, "{\"rowsAffected\":3}\n": &ndjsonEncoder{}, "rowsAffected\r\n3\r\n": &csvEncoder{},
	} {
		if got := string(e.end(e.begin(nil, nil), changed)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A JSON text keeps the document valid, whatever bytes its strings hold.
func TestEmbeddedJSONIsUTF8(t *testing.T) {
	for text, want := range map[string]string{
		"{\"a\":\"\xff\"}": `{"a":"�"}`, "[\n\"\xc3\"\r]": `["�"]`, "\xff": `"�"`, `{"a":"é"}`: `{"a":"é"}`,
	} {
		if got := string(appendEmbedded(nil, []byte(text))); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestKeysAreUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		used, taken := map[string]int{}, map[string]bool{}
		for _, name := range rapid.SliceOf(rapid.SampledFrom([]string{"a", "a_2", "a_3", "a_2_2", "b", ""})).Draw(t, "names") {
			want := name
			for n := 2; taken[want]; n++ {
				want = name + "_" + strconv.Itoa(n)
			}
			taken[want] = true
			if got := unused(name, used); got != want {
				t.Fatalf("%q becomes %q, want %q", name, got, want)
			}
		}
	})
}

// A thousand columns of one name are not a million tries.
func TestManyColumnsOfOneNameAreCheap(t *testing.T) {
	columns := make([]column, 1000)
	each := testing.AllocsPerRun(3, func() { (&ndjsonEncoder{}).begin(nil, columns) }) / float64(len(columns))
	if each > 10 {
		t.Errorf("%.0f allocations for each", each)
	}
}

func TestLateFailuresShow(t *testing.T) {
	e := gateway.Errorf(gateway.CodeQuery, "division by \"zero\"")
	broken := func(enc encoder) []byte { return enc.fail(enc.row(enc.begin(nil, testColumns), testRow(), true), e) }
	if json.Valid(broken(jsonEncoder{})) {
		t.Error("the JSON is whole")
	}
	lines := strings.Split(strings.TrimSpace(string(broken(&ndjsonEncoder{}))), "\n")
	if last := lines[len(lines)-1]; last != `{"error":{"code":"`+string(e.Code)+`","message":"division by \"zero\""}}` {
		t.Error(last)
	}
	text := broken(&csvEncoder{})
	if !bytes.HasSuffix(text, []byte(`"#error `+string(e.Code)+`: division by ""zero""`)) {
		t.Errorf("%s", text)
	}
	if _, err := csv.NewReader(bytes.NewReader(text)).ReadAll(); err == nil {
		t.Error("the CSV is whole")
	}
}

func TestStringsAreJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		if rapid.Bool().Draw(t, "text") {
			raw = []byte(rapid.String().Draw(t, "string"))
		}
		var got string
		if err := json.Unmarshal(appendString(nil, raw), &got); err != nil {
			t.Fatal(err)
		}
		if want := string([]rune(string(raw))); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestFloatsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "f")
		c := floatCell(f)
		want, err := json.Marshal(f)
		if err != nil {
			return
		}
		var got float64
		if text := appendJSON(nil, &c); json.Unmarshal(text, &got) != nil || got != f {
			t.Fatalf("%s is not %s", text, want)
		}
	})
	for f, want := range map[float64]string{math.Inf(1): `"Infinity"`, math.Inf(-1): `"-Infinity"`} {
		c := floatCell(f)
		if got := string(appendJSON(nil, &c)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if c := float32Cell(0.1); string(appendJSON(nil, &c)) != "0.1" {
		t.Error("float32")
	}
}

func TestClock(t *testing.T) {
	for text, want := range map[string]string{
		"2024-01-02 03:04:05.120000": "2024-01-02T03:04:05.12", "2024-01-02 03:04:05.000": "2024-01-02T03:04:05", "infinity": "infinity",
		"0044-03-15 00:00:00 BC": "0044-03-15T00:00:00 BC", "0000-00-00 00:00:00": "0000-00-00 00:00:00",
	} {
		var a arena
		if got := string(a.clock([]byte(text))); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	for text, want := range map[string]string{
		"2024-01-02 03:04:05.1+00": "2024-01-02T03:04:05.1+00:00", "2024-01-02 03:04:05+05:30": "2024-01-02T03:04:05+05:30",
		"2024-01-02 03:04:05": "2024-01-02T03:04:05+00:00", "2024-01-02T03:04:05Z": "2024-01-02T03:04:05+00:00", "-infinity": "-infinity",
	} {
		var a arena
		if got := string(a.instant([]byte(text))); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestSlowRowsAreSeen(t *testing.T) {
	out := &memory{}
	a, err := newAnswer(&gateway.Task{Query: &gateway.Query{}, Format: gateway.FormatNDJSON}, out)
	if err != nil {
		t.Fatal(err)
	}
	a.columns(testColumns)
	if err := a.row(testRow()); err != nil {
		t.Fatal(err)
	}
	until(t, "the first row", 2e9, func() bool { return strings.Count(out.text(), "\n") == 1 })
	if summary := a.fail(gateway.Errorf(gateway.CodeQuery, "late")); summary.Rows != 1 || !strings.Contains(out.text(), `{"error":`) {
		t.Error(summary, out.text())
	}
}

type devNull struct{}

func (devNull) Begin(gateway.AnswerHeader) error { return nil }
func (devNull) Flush() error                     { return nil }
func (devNull) Write(p []byte) (int, error)      { return io.Discard.Write(p) }

func BenchmarkEncoders(b *testing.B) {
	cells := []cell{
		intCell(1234567), textCell([]byte("Ærøskøbing 東京, a name of some length")), textCell([]byte("1234.50")), floatCell(3.25),
		textCell([]byte("2024-02-29T23:59:59.12")), {}, boolCell(true), binaryCell([]byte{0, 255, 1, 2, 3, 4, 5, 6}),
	}
	columns := make([]column, len(cells))
	for i := range columns {
		columns[i] = column{name: "column_" + string(rune('a'+i))}
	}
	for _, format := range []gateway.Format{gateway.FormatJSON, gateway.FormatNDJSON, gateway.FormatCSV} {
		b.Run(string(format), func(b *testing.B) {
			b.ReportAllocs()
			a, err := newAnswer(&gateway.Task{Query: &gateway.Query{}, Format: format}, devNull{})
			if err != nil {
				b.Fatal(err)
			}
			a.columns(columns)
			for b.Loop() {
				if err := a.row(cells); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
