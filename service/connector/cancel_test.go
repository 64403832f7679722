package connector

import (
	"fmt"
	"testing"
	"time"

	"comporta/service/gateway"
)

// A connection on whose account a cancel request was sent is closed, because the request may come late and hit somebody else's statement.
// Others are used again.
func TestAConnectionThatWasCancelledIsNotUsedAgain(t *testing.T) {
	r, admin := postgresRig(t)
	alive := func(pid string) (n int) {
		if err := admin.QueryRow(t.Context(), "select count(*) from pg_stat_activity where pid::text = $1", pid).Scan(&n); err != nil {
			t.Error(err)
		}
		return n
	}
	pid := func() string { return fmt.Sprint(r.read("select pg_backend_pid()")[0][0]) }
	kept := pid()
	until(t, "the connection is used again", 30*time.Second, func() bool { return pid() == kept })

	task := r.task
	task.ReadOnly, task.Query = true, &gateway.Query{Text: "select pg_backend_pid() from generate_series(1, 10000000)", MaxRows: 1}
	out := &memory{}
	if _, err := r.c.Run(t.Context(), &task, r.creds, out); err != nil {
		t.Fatal(err)
	}
	cut := fmt.Sprint(decode(t, out.text()).Rows[0][0])
	until(t, "the cancelled connection is closed", 30*time.Second, func() bool { return alive(cut) == 0 })
}
