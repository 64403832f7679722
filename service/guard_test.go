package service

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"comporta/service/gateway"
)

func TestTenWrongRecoveryKeysLockTheClusterForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(time.Now)
		ctx := context.Background()
		for i := range maxWrongKeys {
			before := time.Now()
			err := g.try(ctx, "c1", func() bool { return false })
			if !gateway.IsCode(err, gateway.CodeRecoveryKeyWrong) {
				t.Fatalf("try %d: %v", i, err)
			}
			if time.Since(before) < firstDelay {
				t.Errorf("try %d cost no time", i)
			}
		}
		asked := false
		err := g.try(ctx, "c1", func() bool { asked = true; return true })
		if !gateway.IsCode(err, gateway.CodeRecoveryKeyLocked) || asked {
			t.Fatalf("locked: %v, asked %v", err, asked)
		}
		if e := gateway.AsError(err); e.RetryAfter <= 0 || e.RetryAfter > lockFor {
			t.Errorf("RetryAfter is %v", e.RetryAfter)
		}
		if err := g.try(ctx, "c2", func() bool { return true }); err != nil {
			t.Errorf("another cluster is locked too: %v", err)
		}
		time.Sleep(lockFor)
		if err := g.try(ctx, "c1", func() bool { return true }); err != nil {
			t.Errorf("still locked after a minute: %v", err)
		}
	})
}

func TestARightRecoveryKeyForgivesTheWrongOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(time.Now)
		for range 3 {
			for range maxWrongKeys - 1 {
				g.try(context.Background(), "c", func() bool { return false })
			}
			if err := g.try(context.Background(), "c", func() bool { return true }); err != nil {
				t.Fatal(err)
			}
		}
	})
}
