package persistence

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"comporta/service/gateway"
)

// Times of creation follow the order of commits also while the clock is set back by some minutes. One that is set back by a year was wrong
// before, and is followed.
func TestTimesFollowTheOrderOfCommits(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s, err := Open(t.Context(), Config{DataDir: t.TempDir(), Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	written := func() (at time.Time) {
		if err := s.InTx(t.Context(), func(tx Tx) error { at = tx.Now(); return nil }); err != nil {
			t.Fatal(err)
		}
		return at
	}
	first := written()
	if !first.Equal(now) {
		t.Errorf("written at %v, and the clock shows %v", first, now)
	}
	now = now.Add(-5 * time.Minute)
	second := written()
	if third := written(); !second.After(first) || !third.After(second) || third.Sub(first) > time.Millisecond {
		t.Errorf("one after the other: %v, %v, %v", first, second, third)
	}
	now = now.AddDate(-1, 0, 0)
	if at := written(); !at.Equal(now) {
		t.Errorf("written at %v, and the clock is a year back: %v", at, now)
	}
}

// A service that is started again while the clock is set back goes on behind the audit log of the one before.
func TestTimesGoOnAfterARestart(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var last time.Time
	for range 3 {
		s, err := Open(t.Context(), Config{DataDir: dir, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		err = s.InTx(t.Context(), func(tx Tx) error {
			if !tx.Now().After(last) {
				t.Errorf("written at %v, after %v", tx.Now(), last)
			}
			last = tx.Now()
			return tx.AppendAudit(t.Context(), gateway.AuditEntry{ID: gateway.ID(fmt.Sprintf("00000000-0000-0000-0000-%012d", last.UnixMicro()%1e12)), At: last, Action: "test"})
		})
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(-time.Minute)
	}
}
