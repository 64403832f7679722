package persistence

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"
)

// watchEvery is how often the claim's connection is asked something. That also keeps it from being ended as idle.
const watchEvery = 5 * time.Second

// holding is the claim on a PostgreSQL database while it is held. The claim lasts as long as its connection, which a restart of the
// database, a time-out or an administrator may end: then it is taken again, unless another service was faster.
type holding struct {
	store *SQL
	conn  *sql.Conn // nil while there is none
	lost  func(error)
}

// hold keeps the claim until the function that it returns is called.
func (s *SQL) hold(conn *sql.Conn, every time.Duration, lost func(error)) (release func() error) {
	h := &holding{store: s, conn: conn, lost: lost}
	ctx, stop := context.WithCancel(context.Background())
	var kept sync.WaitGroup
	kept.Go(func() { h.keep(ctx, every) })
	return func() error {
		stop()
		kept.Wait()
		if h.conn == nil {
			return nil
		}
		return h.conn.Close()
	}
}

// keep looks at the claim until ctx ends or another service has it.
func (h *holding) keep(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		holder, err := h.look(ctx, every)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			h.store.log.Warn("whether another service uses this state is not known; it is looked again", "after", every, "error", err)
		case holder != "":
			h.store.log.Error("another service uses this state now", "holder", holder)
			if h.lost != nil {
				h.lost(fmt.Errorf("%w (%s), which took it while this one's database connection was down", ErrInUse, holder))
			}
			return
		}
	}
}

// look asks the connection whether it lives, and takes the claim again if not. It answers who else has it.
func (h *holding) look(ctx context.Context, within time.Duration) (holder string, err error) {
	ctx, cancel := context.WithTimeout(ctx, max(within, watchEvery))
	defer cancel()
	if h.conn != nil {
		var one int
		if err := h.conn.QueryRowContext(ctx, "SELECT 1").Scan(&one); err == nil {
			return "", nil
		}
		_ = h.conn.Close() // it is broken
		h.conn = nil
	}
	if h.conn, holder, err = h.store.tryLock(ctx); h.conn != nil {
		h.store.log.Info("the claim on the state was taken again, on a new database connection")
	}
	return holder, err
}
