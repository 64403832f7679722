package e2e

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/mattn/go-sqlite3"

	"github.com/google/uuid"
)

const (
	postgresAdmin = "postgres://postgres@127.0.0.1:5432/"
	mariadbAdmin  = "root@tcp(127.0.0.1:3306)/"
)

func open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func run(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(context.Background(), s); err != nil {
			t.Fatalf("%.80s: %v", s, err)
		}
	}
}

// postgres makes a database with a user of its own and returns both names and a connection as the administrator.
func postgres(t *testing.T) (name string, db *sql.DB) {
	t.Helper()
	admin := open(t, "pgx", postgresAdmin+"postgres")
	if err := admin.Ping(); err != nil {
		absent(t, "postgres", err)
	}
	name = "e2e_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	run(t, admin, "create database "+name, "create role "+name+" login password '"+dbPassword+"'")
	t.Cleanup(func() {
		admin := open(t, "pgx", postgresAdmin+"postgres")
		admin.Exec("drop database if exists " + name + " with (force)")
		admin.Exec("drop role if exists " + name)
	})
	db = open(t, "pgx", postgresAdmin+name)
	run(t, db, "grant all on schema public to "+name, "alter default privileges in schema public grant all on tables to "+name)
	return name, db
}

// mariadb makes a database with a user of its own.
func mariadb(t *testing.T) (name string, db *sql.DB) {
	t.Helper()
	admin := open(t, "mysql", mariadbAdmin)
	if err := admin.Ping(); err != nil {
		absent(t, "mariadb", err)
	}
	name = "e2e_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:20]
	run(t, admin, "create database "+name+" character set utf8mb4 collate utf8mb4_bin", "create user '"+name+"'@'%' identified by '"+dbPassword+"'",
		"create user '"+name+"'@'localhost' identified by '"+dbPassword+"'",
		"grant all on "+name+".* to '"+name+"'@'%'", "grant all on "+name+".* to '"+name+"'@'localhost'")
	t.Cleanup(func() {
		admin := open(t, "mysql", mariadbAdmin)
		admin.Exec("drop database if exists " + name)
		admin.Exec("drop user if exists '" + name + "'@'%', '" + name + "'@'localhost'")
	})
	return name, open(t, "mysql", mariadbAdmin+name+"?multiStatements=true&sql_mode=%27NO_BACKSLASH_ESCAPES%27")
}
