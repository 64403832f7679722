package persistence_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"comporta/persistence"
	"comporta/persistence/storetest"
)

func open(t testing.TB, cfg persistence.Config) *persistence.SQL {
	t.Helper()
	s, err := tryOpen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func tryOpen(cfg persistence.Config) (*persistence.SQL, error) {
	cfg.Now, cfg.Log = time.Now, slog.New(slog.DiscardHandler)
	return persistence.Open(context.Background(), cfg)
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) persistence.Store { return open(t, persistence.Config{DataDir: t.TempDir()}) })
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) persistence.Store {
		return open(t, persistence.Config{URL: storetest.PostgresURL(t)})
	})
}
