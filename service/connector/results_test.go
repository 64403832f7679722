package connector

import (
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"comporta/service/gateway"
)

// What is left is walked through this interface.
var _ driver.RowsNextResultSet = (*mssql.Rows)(nil)

// SQL Server's driver cuts off what is left of a statement when its rows are closed. Of a write nothing may be left then, or the half of it
// is committed.
func TestAWriteIsWorkedOffBeforeItIsCommitted(t *testing.T) {
	t.Parallel()
	one, two := []string{"id"}, []string{"id", "name"}
	broken := errors.New("late")
	for name, c := range map[string]struct {
		statement []fakeResult
		maxRows   int64
		rows, all int
		fails     bool
	}{
		"more rows than are wanted":          {[]fakeResult{{rows: 40, columns: one}}, 10, 10, 40, false},
		"several results":                    {[]fakeResult{{rows: 3, columns: one}, {rows: 5, columns: two}, {rows: 7, columns: one}}, 0, 3, 15, false},
		"both":                               {[]fakeResult{{rows: 3, columns: one}, {rows: 5, columns: two}}, 1, 1, 8, false},
		"no rows, and then some":             {[]fakeResult{{columns: nil}, {rows: 5, columns: two}}, 0, 0, 6, false}, // one row says how many were changed
		"an error among the unwanted rows":   {[]fakeResult{{rows: 40, columns: one, fails: broken}}, 10, 10, 40, true},
		"an error in a later result":         {[]fakeResult{{rows: 3, columns: one}, {rows: 5, columns: two, fails: broken}}, 0, 3, 8, true},
		"an error in a later result, cut":    {[]fakeResult{{rows: 3, columns: one}, {rows: 5, columns: two, fails: broken}}, 1, 1, 8, true},
		"an error after a result of no rows": {[]fakeResult{{columns: nil}, {rows: 5, columns: two, fails: broken}}, 0, 0, 5, true},
	} {
		s := &fakeServer{statement: c.statement}
		out, err := s.run(t, false, c.maxRows)
		if s.done != c.all || s.cut != 0 || s.committed == c.fails || s.rolledBack != c.fails || (err != nil) != c.fails {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		if !c.fails && (s.committedAfter != c.all || len(decode(t, out.text()).Rows) != c.rows) {
			t.Errorf("%s: committed after %d rows; the answer is %s", name, s.committedAfter, out.text())
		}
	}
}

// A reading request ends a statement whose rows nobody wants.
func TestAReadIsCutOff(t *testing.T) {
	t.Parallel()
	s := &fakeServer{statement: []fakeResult{{rows: 40, columns: []string{"id"}}}}
	if _, err := s.run(t, true, 10); err != nil || s.done > 11 || s.cut != 1 || !s.rolledBack {
		t.Errorf("%+v, %v", s, err)
	}
}

// A procedure that fails after the rows that are wanted has failed, and nothing of it stays.
func TestAWriteThatFailsAfterItsRowsIsNotCommitted(t *testing.T) {
	r, _ := mariadbRig(t)
	r.write("create table kept (id int)")
	r.write("create procedure late() begin insert into kept values (1); select 1 union select 2 union select 3; signal sqlstate '45000' set message_text = 'too late'; end")
	for _, maxRows := range []int64{0, 1} {
		task := r.task
		task.Query = &gateway.Query{Text: "call late()", MaxRows: maxRows}
		if _, err := r.c.Run(t.Context(), &task, r.creds, &memory{}); !gateway.IsCode(err, gateway.CodeQuery) || !strings.Contains(err.Error(), "too late") {
			t.Errorf("with %d rows wanted: %v", maxRows, err)
		}
		if n := r.read("select count(*) from kept")[0][0]; n.(interface{ String() string }).String() != "0" {
			t.Errorf("with %d rows wanted %v rows stay", maxRows, n)
		}
	}
}
