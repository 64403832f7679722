package connector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"comporta/service/gateway"
)

// MariaDB leaves it open how many digits some times have. What can be read without loss is, and of the rest it is told what to write.
func TestTimesWithOpenFractionsAreRead(t *testing.T) {
	r, _ := mariadbRig(t)
	r.write("create table events (at double, word varchar(30), third double, single float, large bigint unsigned, cost decimal(38,30), raw varbinary(9))")
	r.write("insert into events values (1700000000.25, '1700000000', 1e0/3, 0.1, 18446744073709551615, '1.000000000000000000000000000001', x'00ff')")
	row := `"1.000000000000000000000000000001","AP8="]]`
	for text, want := range map[string]string{
		"select from_unixtime(at) from events":                                 `[["2023-11-14T22:13:20.25"]]`,
		"select sec_to_time(at - 1699999990), from_unixtime(word) from events": `[["00:00:10.25","2023-11-14T22:13:20"]]`,
		"select from_unixtime(at), third, large, cost, raw from events":        `[["2023-11-14T22:13:20.25",0.3333333333333333,18446744073709551615,` + row,
		"select max(from_unixtime(at)), 0.1e0 + 0.2e0, null from events":       `[["2023-11-14T22:13:20.25",0.30000000000000004,null]]`,
		"select from_unixtime(at) from events where 1 = 0":                     `[]`,
	} {
		body, _, err := r.run(t.Context(), true, text)
		if err != nil || !strings.Contains(body, `"rows":`+want) {
			t.Errorf("%s: %s %v", text, body, err)
		}
	}
	got := r.read("select from_unixtime(at), ?, ?, ? from events where word = ?", json.Number("7"), `it's \ "`, nil, "1700000000")
	if fmt.Sprint(got) != `[[2023-11-14T22:13:20.25 7 it's \ " <nil>]]` {
		t.Error("with parameters:", got)
	}
	for text, readOnly := range map[string]bool{
		"select from_unixtime(at), single from events": true, "select from_unixtime(at), '?', at from events where word = ?": true,
		"insert into events (at) values (1.5) returning from_unixtime(at)": false,
	} {
		params := make([]any, strings.Count(text, "= ?"))
		for i := range params {
			params[i] = "1700000000"
		}
		_, _, err := r.run(t.Context(), readOnly, text, params...)
		if e := gateway.AsError(err); err == nil || e.Code != gateway.CodeQuery || e.Elsewhere || !strings.Contains(e.Message, "datetime(6)") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if got := r.read("select count(*) from events"); fmt.Sprint(got) != "[[1]]" {
		t.Error("what failed was written:", got)
	}
}

// A reader who takes his time keeps no writer out.
func TestReadOnlyLocksNothingOnMariaDB(t *testing.T) {
	r, _ := mariadbRig(t)
	r.write("create table t (id int primary key)")
	for _, text := range []string{"select * from t lock in share mode", "select * from t for update", "with x as (select * from t lock in share mode) select * from x"} {
		r.refused(true, text, gateway.CodeReadOnly)
		r.write(text)
	}
}

// What a driver cannot make out is no matter of the network: no other member would fare better.
func TestADriversOwnFailureIsTheQuerys(t *testing.T) {
	m := &mysqlDialect{where: "db:3306"}
	for err, code := range map[error]gateway.Code{
		errors.New("protocol error, illegal decimals value 39"): gateway.CodeQuery, mysql.ErrPktTooLarge: gateway.CodeQuery,
		mysql.ErrInvalidConn: gateway.CodeDataSourceAccess, io.ErrUnexpectedEOF: gateway.CodeDataSourceAccess,
		context.DeadlineExceeded: gateway.CodeDataSourceAccess, &connectError{errors.New("unknown protocol")}: gateway.CodeDataSourceAccess,
		fmt.Errorf("%w: %w", errDead, errors.New("busy")): gateway.CodeDataSourceAccess,
	} {
		if got := m.failure(err); !gateway.IsCode(got, code) {
			t.Errorf("%v: %v", err, got)
		} else if e := gateway.AsError(got); code == gateway.CodeQuery && !strings.Contains(e.Message, err.Error()) {
			t.Errorf("%v is not told: %v", err, e)
		}
	}
}

// BenchmarkMariaDB runs a small query and a small write on a kept connection.
func BenchmarkMariaDB(b *testing.B) {
	r, _ := mariadbRig(b)
	r.write("create table t (id int primary key, name varchar(20)) engine = memory")
	r.write("insert into t (id, name) values (1, 'one')")
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			r.read("select id, upper(name) from t where id in (?, 2)", json.Number("1"))
		}
	})
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			r.write("update t set name = concat('o', 'ne') where id = 1")
		}
	})
}
