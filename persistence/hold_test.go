package persistence_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"comporta/persistence"
	"comporta/persistence/storetest"
)

const (
	claimHolders = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = 1129270608 AND objid = 1 AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
	endHolders   = "SELECT pg_terminate_backend(pid) FROM (" + claimHolders + ") AS holders"
)

// claimed opens a store that holds a PostgreSQL database, and a connection of the test's own.
func claimed(t *testing.T, lost func(error)) (persistence.Config, *pgx.Conn) {
	t.Helper()
	cfg := persistence.Config{URL: storetest.PostgresURL(t), Now: time.Now, Log: slog.New(slog.DiscardHandler), Exclusive: time.Millisecond,
		Watch: 10 * time.Millisecond, OnLost: lost}
	openClaimed(t, cfg)
	conn, err := pgx.Connect(t.Context(), cfg.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return cfg, conn
}

// Whatever ends the connection that holds the claim, a second service must not slip in unseen.
func TestAClaimOutlivesItsConnection(t *testing.T) {
	cfg, conn := claimed(t, func(err error) { t.Errorf("lost: %v", err) })
	var before, after uint32
	if err := conn.QueryRow(t.Context(), claimHolders).Scan(&before); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), endHolders); err != nil {
		t.Fatal(err)
	}
	for after == 0 || after == before {
		if err := conn.QueryRow(t.Context(), claimHolders).Scan(&after); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			t.Fatal(err)
		}
	}
	if second, err := persistence.Open(t.Context(), cfg); !errors.Is(err, persistence.ErrInUse) {
		t.Errorf("a second service: %v", err)
		if err == nil {
			second.Close()
		}
	}
}

func TestAClaimThatAnotherTookIsTold(t *testing.T) {
	told := make(chan error, 2)
	cfg, conn := claimed(t, func(err error) { told <- err })
	other, err := pgx.Connect(t.Context(), cfg.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close(context.Background()) })
	waiting := make(chan error, 1)
	go func() { // it stands in line, so it is the first to get the claim
		_, err := other.Exec(context.Background(), "SELECT pg_advisory_lock(1129270608, 1)")
		waiting <- err
	}()
	for inLine := 0; inLine == 0; {
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1129270608 AND objid = 1 AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())").Scan(&inLine); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(t.Context(), endHolders); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; err != nil {
		t.Fatal(err)
	}
	if err := <-told; !errors.Is(err, persistence.ErrInUse) {
		t.Error(err)
	}
}
