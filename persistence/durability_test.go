package persistence_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"comporta/persistence"
	"comporta/persistence/storetest"
	"comporta/service/gateway"
)

// The child process finds in these where to write.
const (
	childDir = "COMPORTA_TEST_CHILD_DIR"
	childURL = "COMPORTA_TEST_CHILD_URL"
)

// TestWriterChild is the process that gets killed: it creates clusters without end and prints the id of each that was acknowledged.
func TestWriterChild(t *testing.T) {
	cfg := persistence.Config{DataDir: os.Getenv(childDir), URL: os.Getenv(childURL)}
	if cfg.DataDir == "" && cfg.URL == "" {
		t.Skip("this is the other process of the durability tests")
	}
	s, err := tryOpen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for {
		id := gateway.ID(uuid.NewString())
		if err := s.InTx(context.Background(), func(tx persistence.Tx) error { return createAudited(tx, id) }); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Println(id); err != nil {
			t.Fatal(err)
		}
	}
}

// createAudited makes a cluster, a member and an audit entry: all of them are there afterwards, or none.
func createAudited(tx persistence.Tx, id gateway.ID) error {
	ctx := context.Background()
	if err := tx.CreateCluster(ctx, gateway.Cluster{ID: id, Name: string(id), Description: strings.Repeat("x", 2000), CreatedAt: tx.Now()}); err != nil {
		return err
	}
	if err := tx.CreateMember(ctx, gateway.Member{ID: id, ClusterID: id, Name: "m", CreatedAt: tx.Now()}); err != nil {
		return err
	}
	return tx.AppendAudit(ctx, gateway.AuditEntry{ID: id, At: tx.Now(), ResourceID: id})
}

func TestKilledSQLiteLosesNothing(t *testing.T) {
	t.Parallel()
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	dir := t.TempDir()
	killRounds(t, rounds, persistence.Config{DataDir: dir})
	db, err := sql.Open("sqlite3", filepath.Join(dir, "comporta.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var answer string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&answer); err != nil || answer != "ok" {
		t.Fatal(answer, err)
	}
}

func TestKilledPostgresClientLosesNothing(t *testing.T) {
	t.Parallel()
	killRounds(t, 5, persistence.Config{URL: storetest.PostgresURL(t)})
}

// killRounds kills a writer again and again, each time a little later, and looks every time for all that was ever acknowledged.
func killRounds(t *testing.T, rounds int, cfg persistence.Config) {
	t.Helper()
	acknowledged := map[gateway.ID]bool{}
	for round := range rounds {
		for _, id := range writeUntilKilled(t, cfg, 1+round%9) {
			acknowledged[id] = true
		}
		wantAll(t, cfg, acknowledged)
	}
	t.Logf("%d rounds, %d acknowledged transactions", rounds, len(acknowledged))
}

// writeUntilKilled starts a writer, kills it after so many acknowledgements and returns all that it gave.
func writeUntilKilled(t *testing.T, cfg persistence.Config, after int) []gateway.ID {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestWriterChild$")
	child.Env = append(os.Environ(), childDir+"="+cfg.DataDir, childURL+"="+cfg.URL)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ids, said := acknowledgements(out, after, func() { _ = child.Process.Kill() })
	_ = child.Wait() // it was killed
	if len(ids) < after {
		t.Fatalf("the writer ended by itself after %d: %s", len(ids), said)
	}
	return ids
}

// acknowledgements reads whole lines until the writer is dead; the first so many of them set off kill.
func acknowledgements(out io.Reader, after int, kill func()) (ids []gateway.ID, said string) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		said += line
		if err != nil {
			return ids, said
		}
		if id, ok := gateway.ParseID(line); ok {
			ids = append(ids, id)
		}
		if len(ids) == after {
			kill()
		}
	}
}

func wantAll(t *testing.T, cfg persistence.Config, acknowledged map[gateway.ID]bool) {
	t.Helper()
	s, err := tryOpen(cfg)
	if err != nil {
		t.Fatalf("the database does not open after the kill: %v", err)
	}
	defer s.Close()
	ctx := t.Context()
	err = s.View(ctx, func(r persistence.Reader) error {
		clusters, err := r.Clusters(ctx, persistence.ClusterFilter{})
		if err != nil {
			return err
		}
		entries, err := r.Audit(ctx, persistence.AuditFilter{})
		if err != nil {
			return err
		}
		all := make([]gateway.ID, 0, len(clusters))
		for _, c := range clusters {
			all = append(all, c.ID)
		}
		members, err := r.Members(ctx, all...)
		if err != nil {
			return err
		}
		if len(entries) != len(clusters) || len(members) != len(clusters) {
			t.Fatalf("half a transaction stayed: %d clusters, %d members, %d audit entries", len(clusters), len(members), len(entries))
		}
		there := map[gateway.ID]bool{}
		for _, id := range all {
			there[id] = true
		}
		for id := range acknowledged {
			if !there[id] {
				t.Fatalf("%s was acknowledged and is lost", id)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
