package gateway

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParsePlaceOfAServer(t *testing.T) {
	for text, want := range map[string]Place{
		`{"server":"db","database":"x"}`:                    {Host: "db", Port: 1433, Database: "x"},
		`{"Server":" db:5 ","Database":"x y"}`:              {Host: "db", Port: 5, Database: "x y"},
		`{"server":"db,5","database":"x"}`:                  {Host: "db", Port: 5, Database: "x"},
		`{"server":"tcp:db.local,5","database":"x"}`:        {Host: "db.local", Port: 5, Database: "x"},
		`{"server":"[::1]:5","database":"x"}`:               {Host: "::1", Port: 5, Database: "x"},
		`{"server":"::1","database":"x"}`:                   {Host: "::1", Port: 1433, Database: "x"},
		`{"server":"db\\inst","database":"x"}`:              {Host: "db", Instance: "inst", Database: "x"},
		`{"server":"db\\inst,1500","database":"x"}`:         {Host: "db", Instance: "inst", Port: 1500, Database: "x"},
		`{"server":"数据.example:5","database":"数据"}`:         {Host: "数据.example", Port: 5, Database: "数据"},
		`{"server":"10.0.0.1:65535","database":"a;b"}`:      {Host: "10.0.0.1", Port: 65535, Database: "a;b"},
		`{"server":"db","database":"x","url":null}`:         {Host: "db", Port: 1433, Database: "x"},
		`{"server":"db","database":"x","loginServer":null}`: {Host: "db", Port: 1433, Database: "x"},
	} {
		if got, err := ParsePlace(TypeSQLServer, text); err != nil || got != want {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	if got, err := ParsePlace(TypeExtension, `{"extensionDataSourceKind":"SQLite","extensionDataSourcePath":"/a/./b.db"}`); err != nil || got.Path != "/a/b.db" {
		t.Errorf("the names of custom connectors: %+v %v", got, err)
	}
}

// What no member could use is refused, with words that name the property.
func TestParsePlaceRefusesWhatCanNeverWork(t *testing.T) {
	for _, c := range []struct {
		kind        DataSourceType
		text, words string
	}{
		{TypePostgreSQL, `{"server":"db","database":"x","user":"u","Port":1}`, `["Port" "user"]`},
		{TypePostgreSQL, `{"server":"db","database":"x","user":null}`, "user"},
		{TypePostgreSQL, `{"server":"db"}`, "database"},
		{TypePostgreSQL, `{"server":"","database":"x"}`, "server"},
		{TypePostgreSQL, `{"server":"/var/run/postgresql","database":"x"}`, "not a server"},
		{TypePostgreSQL, `{"server":"@abstract","database":"x"}`, "not a server"},
		{TypePostgreSQL, `{"server":"h host=evil","database":"x"}`, "not a server"},
		{TypePostgreSQL, `{"server":"db\\inst","database":"x"}`, "not a server"},
		{TypePostgreSQL, `{"server":"a,b","database":"x"}`, "port"},
		{TypePostgreSQL, `{"server":"db:0","database":"x"}`, "port"},
		{TypePostgreSQL, `{"server":"db:99999","database":"x"}`, "port"},
		{TypePostgreSQL, `{"server":5,"database":"x"}`, "string"},
		{TypePostgreSQL, `{"server":null,"database":"x"}`, "string"},
		{TypePostgreSQL, `{"server":"db","database":"x"} {}`, "object"},
		{TypePostgreSQL, `{"server":"db","database":"x"`, "object"},
		{TypePostgreSQL, `[]`, "object"}, {TypePostgreSQL, `null`, "object"}, {TypePostgreSQL, ``, "object"}, {TypePostgreSQL, `{5:1}`, "object"},
		{TypePostgreSQL, `{"server":"db","database":"a\u0000b"}`, "control"},
		{TypePostgreSQL, `{"server":"a","database":"x","server":"b"}`, "twice"},
		{TypePostgreSQL, `{"server":"a","database":"x","SERVER":""}`, "twice"},
		{TypePostgreSQL, `{"server":"a","database":"` + strings.Repeat("x", maxDetails) + `"}`, "longer"},
		{TypeExtension, `{"kind":"SQLite","path":"/x","extensionDataSourcePath":"/y"}`, "twice"},
		{TypeExtension, `{"kind":"SQLite","path":"x.db"}`, "absolute"},
		{TypeFile, `{"path":"../x"}`, "absolute"},
		{TypeFile, `{"path":"/x","kind":"y"}`, "kind"},
		{TypeWeb, `{"url":"file:///etc/passwd"}`, "http"}, {TypeWeb, `{"url":"//127.0.0.1"}`, "http"}, {TypeWeb, `{"url":"x"}`, "http"},
		{TypeWeb, `{"url":"https:x"}`, "http"}, {TypeWeb, `{"url":"javascript:alert(1)"}`, "http"}, {TypeWeb, `{"url":"https://x/#f"}`, "fragment"},
		{TypeWeb, `{"url":"https://"}`, "host"}, {TypeWeb, `{"url":"https://a,b/"}`, "host"}, {TypeWeb, `{"url":"https://x/../y"}`, "segments"},
		{TypeWeb, `{"url":"https://x:99999/"}`, "port"},
		{TypeOData, `{"url":"https://u:s3cret@x/"}`, "credentials"}, {TypeOData, `{"url":"https://s3cret@x/"}`, "credentials"},
	} {
		if _, err := ParsePlace(c.kind, c.text); !IsCode(err, CodeInvalid) || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s %s: %v", c.kind, c.text, err)
		}
	}
	for _, text := range []string{`{"kind":"Snowflake","path":"x","warehouse":"y"}`, `{"kind":"Snowflake"}`} {
		if _, err := ParsePlace(TypeExtension, text); !IsCode(err, CodeUnsupportedDataSource) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A place that is only written otherwise is the same one; in doubt it is another.
func TestPlaceSame(t *testing.T) {
	for _, c := range []struct {
		kind     DataSourceType
		one, two string
		same     bool
	}{
		{TypePostgreSQL, `{"server":"db","database":"x"}`, `{ "Database":"x", "Server":" DB:5432 " }`, true},
		{TypePostgreSQL, `{"server":"db","database":"x"}`, `{"server":"tcp:db,5432","database":"x"}`, true},
		{TypePostgreSQL, `{"server":"db","database":"x"}`, `{"server":"db:5433","database":"x"}`, false},
		{TypePostgreSQL, `{"server":"db","database":"x"}`, `{"server":"db","database":"X"}`, false},
		{TypePostgreSQL, `{"server":"db","database":"x"}`, `{"server":"db2","database":"x"}`, false},
		{TypeSQLServer, `{"server":"db\\a","database":"x"}`, `{"server":"db\\A","database":"x"}`, true},
		{TypeSQLServer, `{"server":"db\\a","database":"x"}`, `{"server":"db","database":"x"}`, false},
		{TypeWeb, `{"url":"https://a/x"}`, `{"url":"HTTPS://A:443/x/"}`, true},
		{TypeWeb, `{"url":"https://a/x"}`, `{"url":"http://a/x"}`, false},
		{TypeWeb, `{"url":"https://a/x"}`, `{"url":"https://a/X"}`, false},
		{TypeWeb, `{"url":"https://a/x"}`, `{"url":"https://a/x?k=1"}`, false},
		{TypeWeb, `{"url":"https://a/x"}`, `{"url":"https://a:8443/x"}`, false},
		{TypeFolder, `{"path":"/a/b"}`, `{"path":"/a/./b/"}`, true},
		{TypeFolder, `{"path":"/a/b"}`, `{"path":"/a"}`, false},
		{TypeExtension, `{"kind":"SQLite","path":"/a"}`, `{"kind":"sqlite","extensionDataSourcePath":"/a"}`, true},
	} {
		one, err1 := ParsePlace(c.kind, c.one)
		two, err2 := ParsePlace(c.kind, c.two)
		if err1 != nil || err2 != nil || one.Same(two) != c.same || two.Same(one) != c.same {
			t.Errorf("%s and %s: same %v, want %v; %v %v", c.one, c.two, one.Same(two), c.same, err1, err2)
		}
	}
}

func FuzzConnectionDetails(f *testing.F) {
	f.Add(`{"server":"db:5","database":"x"}`)
	f.Add(`{"server":"[::1]:5","database":"x"}`)
	f.Add(`{"server":"a\\b,1","database":"x"}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePlace(TypeSQLServer, text)
		if err != nil {
			return
		}
		if p.Host == "" || p.Database == "" || strings.ContainsAny(p.Host, "/@ ?#\\'\"=") || p.Port == 0 && p.Instance == "" {
			t.Fatalf("%q gave %+v", text, p)
		}
		details, _ := json.Marshal(map[string]string{"server": p.Host, "database": p.Database})
		if again, err := ParsePlace(TypeSQLServer, string(details)); err != nil || again.Host != p.Host || again.Database != p.Database {
			t.Fatalf("%s gave %+v %v", details, again, err)
		}
	})
}
