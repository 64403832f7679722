package persistence_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"comporta/persistence"
	"comporta/persistence/storetest"
)

const (
	claimHolders = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = 1129270608 AND objid = 1 AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
	holderPort   = "SELECT a.pid, a.client_port FROM (" + claimHolders + ") AS holders JOIN pg_stat_activity a USING (pid)"
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

// forgotten opens a store that holds a PostgreSQL database through a proxy, and a connection of the test's own past the proxy.
func forgotten(t *testing.T, query string) (*proxy, persistence.Config, *persistence.SQL, *pgx.Conn) {
	t.Helper()
	address := storetest.PostgresURL(t)
	p, through := throughProxy(t, address)
	cfg := persistence.Config{URL: through + query, Now: time.Now, Log: slog.New(slog.DiscardHandler), Exclusive: time.Millisecond, Watch: 10 * time.Millisecond,
		OnLost: func(err error) { t.Errorf("the service takes itself for another: %v", err) }}
	store := openClaimed(t, cfg)
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return p, cfg, store, conn
}

// holderNow is who holds the claim, by the server's process and the port that its connection comes from; zeros for nobody.
func holderNow(t *testing.T, conn *pgx.Conn) (pid uint32, port int) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), holderPort).Scan(&pid, &port); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		t.Fatal(err)
	}
	return pid, port
}

// heldByAnother waits until the claim is with another connection than these, and answers which.
func heldByAnother(t *testing.T, conn *pgx.Conn, than ...uint32) (pid uint32, port int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); pid == 0 || slices.Contains(than, pid); pid, port = holderNow(t, conn) {
		if t.Failed() || time.Now().After(deadline) {
			t.Fatalf("the claim is still with %d", pid)
		}
	}
	return pid, port
}

// A firewall that forgets the connection leaves the claim with it, on the server: it is the service's own, and it takes it from there.
func TestAServiceIsNotLockedOutByItsOwnLostConnection(t *testing.T) {
	t.Parallel()
	p, cfg, store, conn := forgotten(t, "")
	before, port := holderNow(t, conn)
	p.forget(t, port)
	heldByAnother(t, conn, before)
	if _, err := persistence.Open(t.Context(), cfg); !errors.Is(err, persistence.ErrInUse) {
		t.Errorf("a second service: %v", err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	cfg.Exclusive = 30 * time.Second
	openClaimed(t, cfg)
}

// A connection can be lost between the claim and the word that it was granted.
func TestAClaimThatWasGrantedUnheardIsTheServicesOwn(t *testing.T) {
	t.Parallel()
	// The proxy must be able to read, and a statement must not be prepared first: it is not run where nothing is heard of that.
	p, _, _, conn := forgotten(t, "?sslmode=disable&default_query_exec_mode=simple_protocol")
	first, port := holderNow(t, conn)
	p.forget(t, port)
	unheard := p.deaf("pg_try_advisory_lock")
	// The service does not hear of this end either, so that the claim is free when it asks for it.
	if _, err := conn.Exec(t.Context(), endHolders); err != nil {
		t.Fatal(err)
	}
	second, port := heldByAnother(t, conn, first)
	if unheard() != port {
		t.Fatal("the claim was granted to a connection that the proxy did not forget")
	}
	heldByAnother(t, conn, first, second)
}

// Who holds the claim and says nothing is no service that lives: what ends it is told to whoever wants to start one.
func TestASilentHolderIsToldWithWhatEndsIt(t *testing.T) {
	t.Parallel()
	cfg := persistence.Config{URL: storetest.PostgresURL(t), Now: time.Now, Log: slog.New(slog.DiscardHandler), Exclusive: 100 * time.Millisecond, Watch: time.Millisecond}
	silent, err := pgx.Connect(t.Context(), cfg.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close(context.Background()) })
	if _, err := silent.Exec(t.Context(), "SELECT pg_advisory_lock(1129270608, 1)"); err != nil {
		t.Fatal(err)
	}
	_, err = persistence.Open(t.Context(), cfg)
	if end := fmt.Sprintf("SELECT pg_terminate_backend(%d)", silent.PgConn().PID()); !errors.Is(err, persistence.ErrInUse) || !strings.Contains(err.Error(), end) {
		t.Errorf("a second service: %v", err)
	}
}

// A service whose machine went down must not keep its successor out for hours: the server itself asks within seconds whether it is there.
func TestTheServerAsksSoonWhetherTheServiceIsThere(t *testing.T) {
	t.Parallel()
	address := storetest.PostgresURL(t)
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	openClaimed(t, persistence.Config{URL: address, Now: time.Now, Log: slog.New(slog.DiscardHandler), Exclusive: time.Millisecond})
	_, port := holderNow(t, conn)
	server := int(conn.Config().Port)
	timer := timerOf(t, server, port)
	for !strings.HasPrefix(timer, "02:") { // until nothing is underway
		timer = timerOf(t, server, port)
	}
	if up, err := strconv.ParseUint(timer[3:], 16, 64); err != nil || up > 500 {
		t.Errorf("the server asks after %d hundredths of a second, %v", up, err)
	}
}

// timerOf is the timer of a connection at the server's end: 02 is that of keepalives, and then comes when it is up, in hundredths of a second.
func timerOf(t *testing.T, server, client int) string {
	t.Helper()
	sockets, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Skip("the system does not show its sockets: ", err)
	}
	for socket := range strings.Lines(string(sockets)) {
		// number, own address, other address, state, queues, timer
		// Another server's client may have the same port.
		if f := strings.Fields(socket); strings.HasSuffix(f[1], fmt.Sprintf(":%04X", server)) && strings.HasSuffix(f[2], fmt.Sprintf(":%04X", client)) {
			return f[5]
		}
	}
	t.Skip("the server does not run here")
	return ""
}
