package connector

import (
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/microsoft/go-mssqldb/msdsn"

	"comporta/service/gateway"
)

func source0(kind gateway.DataSourceType, details, encryption string) *gateway.TaskSource {
	return &gateway.TaskSource{Type: kind, ConnectionDetails: details, Credential: gateway.StoredCredential{Type: "Basic", Encryption: encryption}}
}

func TestSQLServerConnectionString(t *testing.T) {
	creds := gateway.Credentials{"username": `DOM\user@x;encrypt=disable`, "password": `p?;&=/:@#'" 東京`}
	for _, c := range []struct {
		encryption string
		want       msdsn.Encryption
		trust      bool
	}{{"Encrypted", msdsn.EncryptionRequired, false}, {"Any", msdsn.EncryptionRequired, true}, {"NotEncrypted", msdsn.EncryptionDisabled, false}} {
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

func TestSecretsAreHidden(t *testing.T) {
	e := gateway.Wrap(gateway.CodeQuery, os.ErrClosed, "near '%s'", password).With("x", "it was "+password)
	hideSecrets(e, gateway.Credentials{"username": "closed", "password": password, "key": "already"})
	if strings.Contains(e.Error(), password) || strings.Contains(e.Details[0].Message, password) || e.Cause != nil {
		t.Error(e, e.Details)
	}
}
