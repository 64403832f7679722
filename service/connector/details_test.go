package connector

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/microsoft/go-mssqldb/msdsn"

	"comporta/service/gateway"
)

func TestParseServer(t *testing.T) {
	for text, want := range map[string]server{
		`{"server":"db","database":"x"}`:               {host: "db", port: 99, database: "x"},
		`{"Server":" db:5 ","Database":"x y"}`:         {host: "db", port: 5, database: "x y"},
		`{"server":"db,5","database":"x"}`:             {host: "db", port: 5, database: "x"},
		`{"server":"tcp:db.local,5","database":"x"}`:   {host: "db.local", port: 5, database: "x"},
		`{"server":"[::1]:5","database":"x"}`:          {host: "::1", port: 5, database: "x"},
		`{"server":"::1","database":"x"}`:              {host: "::1", port: 99, database: "x"},
		`{"server":"db\\inst","database":"x"}`:         {host: "db", instance: "inst", database: "x"},
		`{"server":"db\\inst,1500","database":"x"}`:    {host: "db", instance: "inst", port: 1500, database: "x"},
		`{"server":"数据.example:5","database":"数据"}`:    {host: "数据.example", port: 5, database: "数据"},
		`{"server":"10.0.0.1:65535","database":"a;b"}`: {host: "10.0.0.1", port: 65535, database: "a;b"},
	} {
		if got, err := parseServer(text, 99, true); err != nil || got != want {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for text, words := range map[string]string{
		`{"server":"db","database":"x","user":"u","Port":1}`: `["Port" "user"]`,
		`{"server":"db"}`:                                 "database",
		`{"server":"","database":"x"}`:                    "server",
		`{"server":"/var/run/postgresql","database":"x"}`: "not a server",
		`{"server":"@abstract","database":"x"}`:           "not a server",
		`{"server":"db:0","database":"x"}`:                "port",
		`{"server":"db:70000","database":"x"}`:            "port",
		`{"server":"a b","database":"x"}`:                 "not a server",
		`{"server":5,"database":"x"}`:                     "string",
		`{"server":"db","database":"x"} {}`:               "object",
		`[]`:                                              "object",
		`null`:                                            "object",
		``:                                                "object",
		`{"server":"db","database":"a\u0000b"}`:           "control",
	} {
		if _, err := parseServer(text, 99, false); !gateway.IsCode(err, gateway.CodeInvalid) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzConnectionDetails(f *testing.F) {
	f.Add(`{"server":"db:5","database":"x"}`)
	f.Add(`{"server":"[::1]:5","database":"x"}`)
	f.Add(`{"server":"a\\b,1","database":"x"}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseServer(text, 1433, true)
		if err != nil {
			return
		}
		if s.host == "" || s.database == "" || strings.ContainsAny(s.host, "/@ ?#\\'\"=") || s.port == 0 && s.instance == "" {
			t.Fatalf("%q gave %+v", text, s)
		}
		details, _ := json.Marshal(map[string]string{"server": s.host, "database": s.database})
		if again, err := parseServer(string(details), 1433, true); err != nil || again.host != s.host || again.database != s.database {
			t.Fatalf("%s gave %+v %v", details, again, err)
		}
	})
}

func source0(kind gateway.DataSourceType, details, encryption string) *gateway.TaskSource {
	return &gateway.TaskSource{Type: kind, ConnectionDetails: details, Credential: gateway.StoredCredential{Type: "Basic", Encryption: encryption}}
}

func TestSQLServerConnectionString(t *testing.T) {
	creds := gateway.Credentials{"username": `DOM\user@x;encrypt=disable`, "password": `p?;&=/:@#'" 東京`}
	for _, c := range []struct {
		encryption string
		want       msdsn.Encryption
		trust      bool
	}{{"Encrypted", msdsn.EncryptionRequired, false}, {"Any", msdsn.EncryptionOff, true}, {"NotEncrypted", msdsn.EncryptionDisabled, false}} {
		dsn, where, err := sqlServerDSN(source0(gateway.TypeSQLServer, `{"server":"db,1500","database":"a;encrypt=disable&x=1"}`, c.encryption), creds)
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := msdsn.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		if cfg.Host != "db" || cfg.Port != 1500 || where != "db:1500" || cfg.Database != "a;encrypt=disable&x=1" || cfg.User != creds["username"] ||
			cfg.Password != creds["password"] || cfg.Encryption != c.want || cfg.TrustServerCertificate != c.trust {
			t.Errorf("%s: %+v", c.encryption, cfg)
		}
	}
	dsn, where, err := sqlServerDSN(source0(gateway.TypeSQLServer, `{"server":"db\\sales","database":"x"}`, "Any"), creds)
	if cfg, perr := msdsn.Parse(dsn); err != nil || perr != nil || cfg.Instance != "sales" || cfg.Host != "db" || where != `db\sales` {
		t.Error(dsn, where, err, perr)
	}
}

func TestPostgresConfigTakesNothingFromTheEnvironment(t *testing.T) {
	for name, value := range map[string]string{"PGHOST": "evil", "PGPASSWORD": "evil", "PGSSLMODE": "verify-full", "PGDATABASE": "evil", "PGOPTIONS": "-c x=y", "PGUSER": "evil", "PGPORT": "1"} {
		t.Setenv(name, value)
	}
	creds := gateway.Credentials{"username": "u", "password": ""}
	for encryption, check := range map[string]func(c *pgconn.Config) bool{
		"Encrypted": func(c *pgconn.Config) bool {
			return c.TLSConfig != nil && !c.TLSConfig.InsecureSkipVerify && len(c.Fallbacks) == 0
		},
		"Any": func(c *pgconn.Config) bool {
			return c.TLSConfig.InsecureSkipVerify && len(c.Fallbacks) == 1 && c.Fallbacks[0].TLSConfig == nil
		},
		"NotEncrypted": func(c *pgconn.Config) bool { return c.TLSConfig == nil && len(c.Fallbacks) == 0 },
	} {
		cfg, _, err := postgresConfig(source0(gateway.TypePostgreSQL, `{"server":"db","database":"d"}`, encryption), creds)
		if err != nil {
			t.Fatal(err)
		}
		c := &cfg.ConnConfig.Config
		if c.Host != "db" || c.Port != 5432 || c.User != "u" || c.Password != "" || c.Database != "d" || c.RuntimeParams["options"] != "" || !check(c) {
			t.Errorf("%s: %+v", encryption, c.Host)
		}
	}
}

func TestSQLiteFilesStayWhereTheyMay(t *testing.T) {
	allowed, outside := t.TempDir(), t.TempDir()
	inside, secret := filepath.Join(allowed, "a.db"), filepath.Join(outside, "secret.db")
	for _, path := range []string{inside, secret} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(allowed, "link.db")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]gateway.Code{
		inside: "", link: gateway.CodeNotAllowedHere, secret: gateway.CodeNotAllowedHere, "a.db": gateway.CodeNotAllowedHere,
		filepath.Join(outside, "none.db"):         gateway.CodeNotAllowedHere,
		filepath.Join(allowed, "none.db"):         gateway.CodeDataSourceAccess,
		allowed:                                   gateway.CodeNotAllowedHere,
		allowed + "/../" + filepath.Base(allowed): gateway.CodeNotAllowedHere,
		allowed + "/x/../a.db":                    "",
		allowed + "/../" + filepath.Base(outside): gateway.CodeNotAllowedHere,
		allowed + "evil/a.db":                     gateway.CodeNotAllowedHere,
	} {
		_, err := allowedFile(path, []string{allowed})
		if got := gateway.AsError(err); want == "" && got != nil || want != "" && (got == nil || got.Code != want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

func TestSecretsAreHidden(t *testing.T) {
	e := gateway.Wrap(gateway.CodeQuery, os.ErrClosed, "near '%s'", password).With("x", "it was "+password)
	hideSecrets(e, gateway.Credentials{"username": "closed", "password": password, "key": "already"})
	if strings.Contains(e.Error(), password) || strings.Contains(e.Details[0].Message, password) || e.Cause != nil {
		t.Error(e, e.Details)
	}
}
