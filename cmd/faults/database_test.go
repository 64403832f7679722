//go:build linux

package faults

import (
	"database/sql"
	"fmt"
	"sync"

	_ "github.com/jackc/pgx/v5/stdlib"
)

const dbPassword = "faults-Db-Pa55word-42-xyz"

// database is where requests run. Its table of executions is the truth about what ran how often.
type database struct {
	name   string
	server *server
	*sql.DB
}

// theDatabase is made when first asked for; all worlds share it, because numbers are given out once.
var theDatabase = sync.OnceValues(makeDatabase)

// execute notes a number in a table. It waits before and after, so that a fault can come in between.
const schema = `
create table executions (n bigint not null);
create index on executions (n);
create function execute(n bigint, before float8, after float8) returns bigint language plpgsql as $$
begin
  perform pg_sleep(before);
  insert into executions values (n);
  perform pg_sleep(after);
  return n;
end $$`

func makeDatabase() (*database, error) {
	server, err := newServer()
	if server != nil {
		made.server = server
	}
	if err != nil {
		return nil, err
	}
	admin, err := sql.Open("pgx", "postgres://postgres@"+server.address+"/postgres")
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	if err := until("the database server answers", func() bool { return admin.Ping() == nil }); err != nil {
		return nil, err
	}
	name := "faults"
	for _, statement := range []string{"create database " + name, "create role " + name + " login password '" + dbPassword + "'"} {
		if _, err := admin.Exec(statement); err != nil {
			return nil, err
		}
	}
	db, err := sql.Open("pgx", "postgres://postgres@"+server.address+"/"+name)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(8)
	_, err = db.Exec(schema + "; grant all on executions to " + name)
	return &database{name, server, db}, err
}

// executed is how often each number from first to last ran.
func (d *database) executed(first, last int64) (map[int64]int, error) {
	rows, err := d.Query("select n, count(*) from executions where n between $1 and $2 group by n", first, last)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	times := map[int64]int{}
	for rows.Next() {
		var n int64
		var count int
		if err := rows.Scan(&n, &count); err != nil {
			return nil, err
		}
		times[n] = count
	}
	return times, rows.Err()
}

// busy is whether one of the writes still runs: one whose member is gone may not have ended yet.
func (d *database) busy(first, last int64) (bool, error) {
	var n int
	err := d.QueryRow(`select count(*) from pg_stat_activity where usename = $1 and state <> 'idle' and query ~ '^select execute'
		and substring(query from 'execute\((\d+)')::bigint between $2 and $3`, d.name, first, last).Scan(&n)
	return n > 0, err
}

// details is the data source as members know it.
func (d *database) details() string {
	return fmt.Sprintf(`{"server":%q,"database":%q}`, d.server.address, d.name)
}
