package service

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheLineServesFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queues
		l := q.of("c")
		places := 0
		var mu sync.Mutex
		var served []int
		for i := range 5 {
			go func() {
				l.wait(context.Background(), time.Minute, func() bool {
					mu.Lock()
					defer mu.Unlock()
					if places == 0 {
						return false
					}
					places--
					served = append(served, i)
					return true
				})
			}()
			synctest.Wait()
		}
		if got := q.waiting("c"); got != 5 {
			t.Fatalf("%d wait, want 5", got)
		}
		for range 5 {
			mu.Lock()
			places++
			mu.Unlock()
			q.freed("c")
			synctest.Wait()
		}
		for i, got := range served {
			if i != got {
				t.Fatalf("served in the order %v", served)
			}
		}
		if len(served) != 5 || q.waiting("c") != 0 {
			t.Fatalf("served %v, %d still wait", served, q.waiting("c"))
		}
	})
}

func TestTheLineIsLeftOnTimeOutAndOnCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queues
		l := q.of("c")
		never := func() bool { return false }
		before := time.Now()
		if l.wait(context.Background(), 3*time.Second, never) || time.Since(before) != 3*time.Second {
			t.Errorf("a wait of three seconds took %v", time.Since(before))
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if l.wait(ctx, time.Minute, never) {
			t.Error("a cancelled wait says that it was served")
		}
		if q.waiting("c") != 0 {
			t.Error("somebody still stands in line")
		}
	})
}

func TestTheLineIsBounded(t *testing.T) {
	var l line
	for range maxQueued {
		if l.join() == nil {
			t.Fatal("full too early")
		}
	}
	if l.join() != nil {
		t.Error("one more than the line takes")
	}
}
