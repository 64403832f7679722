package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"comporta/service/credential"
)

// rss is a process's resident memory in bytes.
func (p *process) rss() int64 {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		absent(p.t, "proc", err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if after, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(after), " kB"), 10, 64)
			if err != nil {
				p.t.Fatal(err)
			}
			return kib << 10
		}
	}
	p.t.Fatal("no VmRSS")
	return 0
}

// postgresWorld is a service with one member and a PostgreSQL data source. marked counts the queries that carry a mark and run now.
func postgresWorld(t *testing.T) (w *world, member *process, source string, marked func(mark string) int) {
	t.Helper()
	name, db := postgres(t)
	w = serve(t, t.TempDir(), "127.0.0.1:0")
	member = w.member("one")
	source = w.source("pg", "PostgreSql", `{"server":"127.0.0.1:5432","database":"`+name+`"}`, credential.Basic(name, dbPassword))
	marked = func(mark string) int {
		var n int
		err := db.QueryRow("select count(*) from pg_stat_activity where usename = $1 and state = 'active' and query like '%' || $2 || '%'", name, mark).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return w, member, source, marked
}

func TestTwoMillionRowsTakeNoMemory(t *testing.T) {
	const rows, most = 2_000_000, 64 << 20
	w, member, source, _ := postgresWorld(t)
	w.rows(source, "select 1") // what a first request needs is there now
	before := map[string]int64{"service": w.service.rss(), "member": member.rss()}
	resp, err := w.dispatch(context.Background(), source, fmt.Sprintf("select i, 'row number ' || i as text, i * 1.01 as amount, now() as at from generate_series(1, %d) i", rows), "application/x-ndjson", true)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	grown := map[string]int64{}
	lines, bytes := 0, 0
	started := time.Now()
	for scanner := bufio.NewScanner(resp.Body); scanner.Scan(); {
		lines++
		bytes += len(scanner.Bytes()) + 1
		if lines%100_000 == 0 {
			grown["service"] = max(grown["service"], w.service.rss()-before["service"])
			grown["member"] = max(grown["member"], member.rss()-before["member"])
		}
	}
	if lines != rows {
		t.Errorf("%d rows came, want %d", lines, rows)
	}
	for name, n := range grown {
		t.Logf("%s grew by %.1f MiB", name, float64(n)/(1<<20))
		if n > most {
			t.Errorf("the %s grew by %d MiB", name, n>>20)
		}
	}
	t.Logf("%d MiB in %.1f s", bytes>>20, time.Since(started).Seconds())
}

// What a web server promises about the length reaches the caller, and an answer that turns out shorter is no success.
func TestALargeWebAnswerKeepsItsLength(t *testing.T) {
	const size = 1 << 20
	backend := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		rw.Header().Set("Content-Length", strconv.Itoa(size))
		sent := size
		if req.URL.Path == "/short" {
			sent /= 2
		}
		_, _ = rw.Write(make([]byte, sent))
	}))
	defer backend.Close()
	w := serve(t, t.TempDir(), "127.0.0.1:0")
	w.member("one")
	source := w.source("web", "Web", `{"url":"`+backend.URL+`"}`, credential.Anonymous())
	for path, whole := range map[string]bool{"/": true, "/short": false} {
		body := map[string]any{"datasourceId": source, "http": map[string]any{"method": "GET", "path": path}}
		resp, err := w.send(context.Background(), body, "*/*")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		n, err := io.Copy(io.Discard, resp.Body)
		if resp.ContentLength != size || (err == nil) != whole || (n == size) != whole {
			t.Errorf("%s: promised %d bytes, got %d, %v", path, resp.ContentLength, n, err)
		}
	}
}

func TestAReaderThatStopsReadingStopsTheCursor(t *testing.T) {
	w, member, source, marked := postgresWorld(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	resp, err := w.dispatch(ctx, source, "select i, repeat('x', 1000) as mark_stalled from generate_series(1, 5000000) i", "application/x-ndjson", true)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	// 5 GB would be on the way if anybody read ahead; what is in the pipes settles, and the query stays where it is.
	var settled int64 = -1
	w.eventually("the member's memory settles while nobody reads", func() bool {
		time.Sleep(300 * time.Millisecond)
		now := member.rss()
		still := settled >= 0 && now-settled < 1<<20
		settled = now
		return still
	})
	if marked("mark_stalled") != 1 {
		t.Error("the query does not wait for its reader")
	}
	if settled > 256<<20 {
		t.Errorf("the member holds %d MiB", settled>>20)
	}
	// And a second reader is not held up by the first.
	if got := w.rows(source, "select 42"); got != "[[42]]" {
		t.Errorf("beside the stalled reader: %s", got)
	}
}

func TestACallerWhoGoesAwayEndsTheQuery(t *testing.T) {
	w, _, source, marked := postgresWorld(t)
	for name, query := range map[string]string{"before the first byte": "select pg_sleep(60) as mark_gone", "while rows come": "select i, pg_sleep(0.001) as mark_gone from generate_series(1, 60000) i"} {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			resp, err := w.dispatch(ctx, source, query, "application/x-ndjson", true)
			if err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}()
		w.eventually(name+": the query runs", func() bool { return marked("mark_gone") == 1 })
		left := time.Now()
		cancel()
		<-ended
		w.eventually(name+": the query is gone", func() bool { return marked("mark_gone") == 0 })
		if took := time.Since(left); took > 10*time.Second {
			t.Errorf("%s: the query ran on for %v", name, took)
		}
	}
	w.eventually("no request is counted any more", func() bool { return w.members()["one"].RunningRequests == 0 })
}

func TestATimeOutCancelsOnTheMember(t *testing.T) {
	w, _, source, marked := postgresWorld(t)
	status, text, err := w.try("POST", "/gatewayClusters/"+w.cluster+"/dispatch", map[string]any{"datasourceId": source, "timeoutSeconds": 1, "query": map[string]any{"text": "select pg_sleep(60) as mark_slow"}})
	if err != nil || status != 504 || !strings.Contains(string(text), "GatewayRequestTimeout") {
		t.Errorf("got %d %s %v", status, text, err)
	}
	w.eventually("the query is gone", func() bool { return marked("mark_slow") == 0 })
}
