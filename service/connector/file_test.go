package connector

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"comporta/service/gateway"
)

// shelf is an allowed folder with a few files, and one outside of it.
func shelf(t *testing.T) (folder string, c *Connectors) {
	t.Helper()
	root := t.TempDir()
	folder = filepath.Join(root, "allowed")
	for name, text := range map[string]string{
		"allowed/a.csv":       "\ufeffid,name\n1,\"Æ, \"\"東京\"\"\"\n2,\n",
		"allowed/bad.csv":     "a,b\n1,2,3\n",
		"allowed/a.json":      `[{"id":1,"n":1.50,"ok":true,"tag":["x"]},{"id":9007199254740993,"name":"Ö","n":2,"ok":null}]`,
		"allowed/a.ndjson":    "{\"id\":1}\n{\"id\":\"two\"}\n",
		"allowed/cut.json":    `[{"id":1},{"id":`,
		"allowed/more.json":   "[{\"id\":1}] [{\"id\":2}]",
		"allowed/end.json":    "[{\"id\":1}]\r\n\t ",
		"allowed/latin.json":  "[{\"a\":{\"n\":\"caf\xe9\"}}]",
		"allowed/none.txt":    "x",
		"allowed/empty.json":  "[]",
		"outside/secret.csv":  "secret\nyes\n",
		"allowed/sub/in.json": `[{"x":null}]`,
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "outside"), filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	c = New(Config{AllowFolders: []string{folder}, Now: time.Now})
	t.Cleanup(func() { c.Close() })
	return folder, c
}

func fileTask(kind gateway.DataSourceType, path, text string) *gateway.Task {
	return &gateway.Task{ReadOnly: true, Format: gateway.FormatJSON, Query: &gateway.Query{Text: text},
		DataSource: gateway.TaskSource{ID: "f", Type: kind, ConnectionDetails: `{"path":` + string(appendString(nil, path)) + `}`}}
}

func TestFilesBecomeRows(t *testing.T) {
	folder, c := shelf(t)
	for _, test := range []struct{ name, want string }{
		{"a.csv", `"rows":[["1","Æ, \"東京\""],["2",""]]`},
		{"a.json", `"rows":[[1,1.50,true,["x"],null],[9007199254740993,2,null,null,"Ö"]]`},
		{"a.json", `{"name":"id","type":"int64","databaseType":"int64"},{"name":"n","type":"double","databaseType":"double"}`},
		{"a.ndjson", `"rows":[[1],["two"]]`},
		{"empty.json", `"rows":[]`},
		{"end.json", `"rows":[[1]]`},
		{"latin.json", `"rows":[[{"n":"caf�"}]]`},
		{"sub/in.json", `"rows":[[null]]`},
	} {
		for kind, task := range map[string]*gateway.Task{
			"file": fileTask(gateway.TypeFile, filepath.Join(folder, test.name), ""), "folder": fileTask(gateway.TypeFolder, folder, test.name)} {
			out := &memory{}
			if _, err := c.Run(context.Background(), task, nil, out); err != nil {
				t.Errorf("%s as %s: %v", test.name, kind, err)
			} else if !strings.Contains(out.body.String(), test.want) {
				t.Errorf("%s as %s: got %s\nwant %s", test.name, kind, out.body.String(), test.want)
			}
		}
	}
}

func TestAFolderIsListed(t *testing.T) {
	folder, c := shelf(t)
	out := &memory{}
	if _, err := c.Run(context.Background(), fileTask(gateway.TypeFolder, folder, ""), nil, out); err != nil {
		t.Fatal(err)
	}
	if text := out.body.String(); !strings.Contains(text, `["a.csv",false,`) || !strings.Contains(text, `["sub",true,`) {
		t.Errorf("got %s", text)
	}
	if err := c.Probe(context.Background(), fileTask(gateway.TypeFolder, folder, ""), nil); err != nil {
		t.Error(err)
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	folder, c := shelf(t)
	outside := filepath.Join(filepath.Dir(folder), "outside", "secret.csv")
	for name, test := range map[string]struct {
		task *gateway.Task
		want gateway.Code
	}{
		"outside":            {fileTask(gateway.TypeFile, outside, ""), gateway.CodeNotAllowedHere},
		"dots":               {fileTask(gateway.TypeFolder, folder, "../outside/secret.csv"), gateway.CodeNotAllowedHere},
		"absolute":           {fileTask(gateway.TypeFolder, folder, outside), gateway.CodeNotAllowedHere},
		"through a link":     {fileTask(gateway.TypeFolder, folder, "link/secret.csv"), gateway.CodeNotAllowedHere},
		"a folder outside":   {fileTask(gateway.TypeFolder, filepath.Dir(outside), ""), gateway.CodeNotAllowedHere},
		"not there":          {fileTask(gateway.TypeFolder, folder, "nothing.csv"), gateway.CodeDataSourceAccess},
		"another extension":  {fileTask(gateway.TypeFolder, folder, "none.txt"), gateway.CodeInvalid},
		"a query":            {fileTask(gateway.TypeFile, filepath.Join(folder, "a.csv"), "select 1"), gateway.CodeInvalid},
		"ragged":             {fileTask(gateway.TypeFolder, folder, "bad.csv"), gateway.CodeQuery},
		"after the array":    {fileTask(gateway.TypeFolder, folder, "more.json"), gateway.CodeQuery},
		"cut off":            {fileTask(gateway.TypeFolder, folder, "cut.json"), gateway.CodeQuery},
		"a folder as a file": {fileTask(gateway.TypeFile, filepath.Join(folder, "sub"), ""), gateway.CodeDataSourceAccess},
	} {
		out := &memory{}
		_, err := c.Run(context.Background(), test.task, nil, out)
		if !gateway.IsCode(err, test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
		if strings.Contains(out.body.String(), "yes") {
			t.Errorf("%s: the secret came out", name)
		}
	}
}

func TestMaxRowsCutsAFile(t *testing.T) {
	folder, c := shelf(t)
	task := fileTask(gateway.TypeFolder, folder, "a.json")
	task.Query.MaxRows = 1
	out := &memory{}
	summary, err := c.Run(context.Background(), task, nil, out)
	if err != nil || summary.Rows != 1 || !summary.Truncated {
		t.Errorf("got %+v, %v", summary, err)
	}
}
