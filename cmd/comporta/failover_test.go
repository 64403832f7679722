package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"comporta/service/gateway"
)

// Three members, 500 reading dispatches at once, and the member that serves them is killed in the middle: every request is answered, and
// every answer names who gave it.
func TestKillNineOfTheServingMember(t *testing.T) {
	s := newStory(t, "--log-level", "warn")
	s.cast("one", "two", "three")
	// 500 at once are more than the members' limit of 40: let them all in.
	if err := s.client.call(deadline(t), "PATCH", clusterPath(s.cluster), map[string]any{"concurrentOperationLimit": 0}, nil); err != nil {
		t.Fatal(err)
	}
	db := s.sqlite("sums.db")
	s.write(db, `CREATE TABLE n (i INTEGER)`, `INSERT INTO n WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 20000) SELECT i FROM c`)
	first := s.query(db, `SELECT 1`)
	victim := s.members[first.memberID]
	if victim == nil {
		t.Fatalf("the answer names %q, which is no member", first.memberID)
	}
	const requests = 500
	var served sync.Map // name -> *atomic.Int64
	var done atomic.Int64
	var wait sync.WaitGroup
	failures := make(chan error, requests)
	for i := range requests {
		wait.Go(func() {
			name, err := s.sum(db, i)
			if err != nil {
				failures <- fmt.Errorf("request %d: %w", i, err)
				return
			}
			count, _ := served.LoadOrStore(name, new(atomic.Int64))
			count.(*atomic.Int64).Add(1)
			if done.Add(1) == 30 {
				victim.signal(syscall.SIGKILL)
			}
		})
	}
	wait.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
	victim.exit()
	served.Range(func(name, count any) bool {
		t.Logf("%s served %d", name, count.(*atomic.Int64).Load())
		if name != "one" && name != "two" && name != "three" {
			t.Errorf("an answer names %q", name)
		}
		return true
	})
	if _, ok := served.Load("two"); !ok {
		t.Error("the second in the plan served nothing")
	}
	if after := s.query(db, `SELECT 1`); after.memberID == first.memberID {
		t.Error("a dead member serves")
	}
}

// sum asks for something that takes the database a moment and checks the answer.
func (s *story) sum(db gateway.ID, i int) (string, error) {
	resp, err := s.client.dispatch(deadline(s.t), s.cluster, &queryCall{DataSource: db, Text: fmt.Sprintf(`SELECT sum(i) + %d AS total FROM n`, i)}, gateway.FormatJSON)
	if err != nil {
		return "", err
	}
	answer, err := readRows(resp)
	if err != nil {
		return "", err
	}
	if got, want := fmt.Sprint(answer.Rows), fmt.Sprintf("[[%d]]", 20000*20001/2+i); got != want {
		return "", fmt.Errorf("answer %s, want %s", got, want)
	}
	return answer.servedBy, nil
}
