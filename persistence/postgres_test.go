package persistence_test

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"comporta/persistence"
	"comporta/persistence/storetest"
	"comporta/service/gateway"
)

// TestManyStartAtOnce opens one empty PostgreSQL database from several sides at the same time, then writes from all of them.
func TestManyStartAtOnce(t *testing.T) {
	t.Parallel()
	const replicas = 4
	cfg := persistence.Config{URL: storetest.PostgresURL(t)}
	stores, errs := make([]*persistence.SQL, replicas), make([]error, replicas)
	var wait sync.WaitGroup
	for i := range replicas {
		wait.Go(func() { stores[i], errs[i] = tryOpen(cfg) })
	}
	wait.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
		defer stores[i].Close()
	}
	for i, s := range stores {
		wait.Go(func() {
			errs[i] = s.InTx(t.Context(), func(tx persistence.Tx) error {
				return tx.CreateCluster(t.Context(), gateway.Cluster{ID: gateway.ID(strings.Repeat("a", i+1)), Name: "one name"})
			})
		})
	}
	wait.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !gateway.IsCode(err, gateway.CodeDuplicateClusterName) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d replicas took the same name", won)
	}
}

func TestPostgresNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	cfg := persistence.Config{URL: storetest.PostgresURL(t)}
	s, err := tryOpen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, cfg.URL, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (777, true)")
	if _, err := tryOpen(cfg); err == nil || !strings.Contains(err.Error(), "00777") {
		t.Fatalf("the error is %v", err)
	}
}

// TestServerGone: when the server ends our connections, the calls in between fail as unavailable and later ones work again.
func TestServerGone(t *testing.T) {
	t.Parallel()
	cfg := persistence.Config{URL: storetest.PostgresURL(t)}
	s := open(t, cfg)
	ctx := t.Context()
	err := s.InTx(ctx, func(tx persistence.Tx) error {
		execute(t, cfg.URL, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		return tx.CreateCluster(ctx, gateway.Cluster{ID: "a", Name: "a"})
	})
	if !gateway.IsCode(err, gateway.CodeUnavailable) {
		t.Errorf("the error is %v", err)
	}
	if err := s.InTx(ctx, func(tx persistence.Tx) error { return tx.CreateCluster(ctx, gateway.Cluster{ID: "a", Name: "a"}) }); err != nil {
		t.Errorf("the store does not recover: %v", err)
	}
	if err := s.Ping(ctx); err != nil {
		t.Error(err)
	}
}

// TestUnsafeCommitIsSaid: a server that acknowledges before it has written is worth a warning.
func TestUnsafeCommitIsSaid(t *testing.T) {
	t.Parallel()
	address := storetest.PostgresURL(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, address, "ALTER DATABASE "+strings.TrimPrefix(u.Path, "/")+" SET synchronous_commit = off")
	var log bytes.Buffer
	s, err := persistence.Open(context.Background(), persistence.Config{URL: address, Now: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !strings.Contains(log.String(), "synchronous_commit=off") {
		t.Errorf("the log says %s", log.String())
	}
}

func execute(t *testing.T, address, statement string) {
	t.Helper()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}
