package persistence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// watchEvery is how often the claim's connection is asked something. That also keeps it from being ended as idle.
	watchEvery = 5 * time.Second
	// claimPostgres takes the claim for as long as its connection lasts. The first number is "COMP" in ASCII, as in the writers' lock.
	claimPostgres = "SELECT pg_try_advisory_lock(1129270608, 1)"
	// A process id alone is given again, also by another server that took over; a start to the microsecond is not.
	sessionStart = "COALESCE((extract(epoch FROM a.backend_start) * 1000000)::bigint, 0)"
	claimSession = "SELECT a.pid, " + sessionStart + " FROM pg_stat_activity a WHERE a.pid = pg_backend_pid()"
	claimHolder  = "SELECT a.pid, " + sessionStart + `, COALESCE(host(a.client_addr), 'the database''s own machine'),
COALESCE((extract(epoch FROM clock_timestamp() - a.state_change) * 1000000)::bigint, 0) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.classid = 1129270608 AND l.objid = 1 AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	claimEnd = "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a WHERE a.pid = $1 AND " + sessionStart + " = $2"
	// claimKeepalives have PostgreSQL itself end a claim's connection whose service or network is gone, which by default takes hours: 9 s after
	// it was last heard, less than a service that starts waits, and about when the service itself finds out. The user's time-out is for what
	// is sent and never acknowledged, where no keepalives go. What the address itself says counts, and a server may know less.
	claimKeepalives = `SELECT set_config(s.name, v.setting, false)
FROM (VALUES ('tcp_keepalives_idle', '5'), ('tcp_keepalives_interval', '1'), ('tcp_keepalives_count', '4'), ('tcp_user_timeout', '9000')) v (name, setting)
JOIN pg_settings s ON s.name = v.name WHERE s.source <> 'client'`
)

// holding is the claim on a PostgreSQL database while it is held. The claim lasts as long as its connection, which a restart of the
// database, a time-out, a firewall or an administrator may end: then it is taken again, unless another service was faster. The connection
// is of no pool, so that one that is closed is gone, and so is its claim.
type holding struct {
	config *pgx.ConnConfig
	every  time.Duration
	lost   func(error)
	log    *slog.Logger

	conn *pgx.Conn // nil while there is none
	// own are the sessions of this service that may have the claim: the server does not learn at once, or does not learn at all, that a
	// connection is lost, and this end does not learn what was granted on it.
	own []session
}

// session is one connection as the server knows it.
type session struct {
	pid   int32
	start int64 // microseconds; 0 where it may not be seen
}

// holder is who has the claim.
type holder struct {
	session
	from   string
	silent time.Duration
}

// String names the holder. One that ended while it was looked at is nobody known.
func (o holder) String() string {
	if o.session == (session{}) {
		return "its database connection is not known"
	}
	return fmt.Sprintf("database connection %d from %s", o.pid, o.from)
}

// advice names the holder, and says what to do about one that is more silent than a service that lives. Were its machine or network gone,
// PostgreSQL would have ended it by now.
func (o holder) advice(every time.Duration) string {
	if o.silent < 2*every {
		return o.String()
	}
	return fmt.Sprintf("%v, silent for %v, while a service that lives is heard every %v: it hangs, or it is gone and something between keeps its connection open; "+
		"SELECT pg_terminate_backend(%d) ends that", o, o.silent.Round(time.Millisecond), every, o.pid)
}

// start keeps the claim until the function that it returns is called.
func (h *holding) start() (release func() error) {
	ctx, stop := context.WithCancel(context.Background())
	var kept sync.WaitGroup
	kept.Go(func() { h.keep(ctx) })
	return func() error {
		stop()
		kept.Wait()
		h.drop()
		return nil
	}
}

// keep looks at the claim until ctx ends or another service has it.
func (h *holding) keep(ctx context.Context) {
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		other, err := h.look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			h.log.Warn("whether another service uses this state is not known; it is looked again", "after", h.every, "error", err)
		case other != nil:
			h.log.Error("another service uses this state now", "holder", other.String())
			if h.lost != nil {
				h.lost(fmt.Errorf("%w (%v), which took it while this one's database connection was down", ErrInUse, other))
			}
			return
		}
	}
}

// look asks the connection whether it lives, and takes the claim again if not. It answers who else has it.
func (h *holding) look(ctx context.Context) (*holder, error) {
	if h.conn != nil {
		err := h.ping(ctx)
		if err == nil || ctx.Err() != nil {
			return nil, err
		}
		h.log.Warn("the database connection that holds the claim on the state is lost; it is taken again", "error", err)
		h.drop()
	}
	other, err := h.retake(ctx)
	switch {
	case err != nil:
		h.drop() // it holds nothing
	case other == nil:
		h.log.Info("the claim on the state was taken again, on a new database connection")
	}
	return other, err
}

func (h *holding) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, max(h.every, watchEvery))
}

func (h *holding) ping(ctx context.Context) error {
	ctx, cancel := h.patience(ctx)
	defer cancel()
	return h.conn.Ping(ctx)
}

// retake takes the claim, also from a session of this service's own that the server still believes alive. It answers who else has it.
func (h *holding) retake(ctx context.Context) (*holder, error) {
	// The time is its own: a dead connection has used up what it was given.
	ctx, cancel := h.patience(ctx)
	defer cancel()
	for {
		other, err := h.take(ctx)
		switch {
		case err != nil || other == nil:
			return nil, err
		case slices.Contains(h.own, other.session):
			if err := h.end(ctx, other.session); err != nil {
				return nil, err
			}
		case other.session != (session{}):
			return other, nil
		}
		if err := pause(ctx); err != nil { // until it has ended
			return nil, fmt.Errorf("the claim is not free yet (%v): %w", other, err)
		}
	}
}

// request takes the claim for a service that starts. It answers in words who else has it.
func (h *holding) request(ctx context.Context) (string, error) {
	other, err := h.take(ctx)
	if err != nil || other == nil {
		return "", err
	}
	return other.advice(h.every), nil
}

// take asks for the claim once. It answers who else has it. After a failure the connection is gone: the claim may have been granted on it.
func (h *holding) take(ctx context.Context) (*holder, error) {
	other, err := h.ask(ctx)
	if err != nil {
		h.drop()
		return nil, fmt.Errorf("the database cannot be claimed: %w", err)
	}
	if other == nil {
		h.own = h.own[len(h.own)-1:]
	}
	return other, nil
}

func (h *holding) ask(ctx context.Context) (*holder, error) {
	if err := h.connect(ctx); err != nil {
		return nil, err
	}
	var got bool
	if err := h.conn.QueryRow(ctx, claimPostgres).Scan(&got); err != nil || got {
		return nil, err
	}
	var other holder
	var silent int64
	err := h.conn.QueryRow(ctx, claimHolder).Scan(&other.pid, &other.start, &other.from, &silent)
	if errors.Is(err, pgx.ErrNoRows) { // it has just ended
		return &holder{}, nil
	}
	other.silent = time.Duration(silent) * time.Microsecond
	return &other, err
}

// connect makes a connection where there is none, and notes who the server takes it for before anything can be granted on it.
func (h *holding) connect(ctx context.Context) (err error) {
	if h.conn != nil {
		return nil
	}
	if h.conn, err = pgx.ConnectConfig(ctx, h.config); err != nil {
		return err
	}
	if _, err := h.conn.Exec(ctx, claimKeepalives); err != nil {
		return err
	}
	var me session
	if err := h.conn.QueryRow(ctx, claimSession).Scan(&me.pid, &me.start); err != nil {
		return err
	}
	h.own = append(h.own, me)
	return nil
}

// end ends a session of this service's own.
func (h *holding) end(ctx context.Context, s session) error {
	if _, err := h.conn.Exec(ctx, claimEnd, s.pid, s.start); err != nil {
		return fmt.Errorf("the lost database connection %d, which has the claim, cannot be ended: %w; SELECT pg_terminate_backend(%d) does", s.pid, err, s.pid)
	}
	return nil
}

// drop closes the connection, if there is one. Whether the server hears of it does not matter: its end is the claim's either way.
func (h *holding) drop() {
	if h.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = h.conn.Close(ctx)
	h.conn = nil
}
