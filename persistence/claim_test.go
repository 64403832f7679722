package persistence_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"comporta/persistence"
	"comporta/persistence/storetest"
)

func onBothClaims(t *testing.T, test func(t *testing.T, cfg persistence.Config)) {
	state := persistence.Config{Now: time.Now, Log: slog.New(slog.DiscardHandler), Exclusive: time.Millisecond}
	t.Run("sqlite", func(t *testing.T) {
		state.DataDir = t.TempDir()
		test(t, state)
	})
	t.Run("postgres", func(t *testing.T) {
		state.DataDir, state.URL = "", storetest.PostgresURL(t)
		test(t, state)
	})
}

func openClaimed(t *testing.T, cfg persistence.Config) *persistence.SQL {
	t.Helper()
	s, err := persistence.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestOneServiceAtATime(t *testing.T) {
	onBothClaims(t, func(t *testing.T, cfg persistence.Config) {
		first := openClaimed(t, cfg)
		_, err := persistence.Open(t.Context(), cfg)
		if !errors.Is(err, persistence.ErrInUse) || cfg.URL == "" && !strings.Contains(err.Error(), fmt.Sprintf("process %d on ", os.Getpid())) {
			t.Fatalf("a second service on the state: %v", err)
		}
		if cfg.URL != "" && !strings.Contains(err.Error(), "database connection ") {
			t.Errorf("who holds it is not said: %v", err)
		}
		shared := cfg
		shared.Exclusive = 0
		openClaimed(t, shared)
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		openClaimed(t, cfg)
	})
}

func TestAServiceThatIsEndingIsWaitedFor(t *testing.T) {
	onBothClaims(t, func(t *testing.T, cfg persistence.Config) {
		first := openClaimed(t, cfg)
		cfg.Exclusive = 30 * time.Second
		waits := make(chan struct{})
		cfg.Log = slog.New(&once{slog.DiscardHandler, waits})
		go func() {
			<-waits
			first.Close()
		}()
		openClaimed(t, cfg)
	})
}

// once closes a channel at the first record.
type once struct {
	slog.Handler
	waits chan struct{}
}

func (o *once) Enabled(context.Context, slog.Level) bool { return true }

func (o *once) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "waiting for it to end") {
		close(o.waits)
	}
	return nil
}
