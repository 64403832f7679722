package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestFirstStartPrintsTheSecretOnce(t *testing.T) {
	s := newStory(t)
	if _, err := s.client.token(deadline(t)); err != nil {
		t.Fatalf("the printed credentials do not work: %v", err)
	}
	for _, probe := range []string{"/healthz", "/readyz"} {
		resp, err := http.Get(s.address + probe)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s answers %d", probe, resp.StatusCode)
		}
	}
	s.service.signal(syscall.SIGTERM)
	if status := s.service.exit(); status != exitOK {
		t.Fatalf("the first run ended with %d", status)
	}
	s.serve()
	if out := s.service.stdout.String(); strings.Contains(out, "secret") {
		t.Errorf("the second start speaks of a secret:\n%s", out)
	}
	s.connect()
	if _, err := s.client.token(deadline(t)); err != nil {
		t.Fatalf("the credentials do not work after a restart: %v", err)
	}
}

func TestAdministratorFromTheEnvironment(t *testing.T) {
	const id, secret = "11111111-2222-3333-4444-555555555555", "a secret that the operator chose"
	p := start(t, []string{"COMPORTA_ADMIN_ID=" + id, "COMPORTA_ADMIN_SECRET=" + secret, "COMPORTA_DATA=" + t.TempDir(), "COMPORTA_LISTEN=127.0.0.1:0"}, "serve")
	address := p.says(`listening on (\S+)`)[1]
	if strings.Contains(p.stdout.String(), secret) {
		t.Error("a secret that the operator chose is printed")
	}
	if _, err := newAPIClient(http.DefaultClient, address, id, secret).token(deadline(t)); err != nil {
		t.Fatal(err)
	}
}

func TestWrongUsage(t *testing.T) {
	secretURL := "postgres://user:hunter2@127.0.0.1/db"
	for _, c := range []struct {
		name string
		env  []string
		args []string
		want []string
	}{
		{"no command", nil, nil, []string{"expected"}},
		{"unknown flag", nil, []string{"serve", "--nonsense"}, []string{"--nonsense"}},
		{"no place for the state", nil, []string{"serve"}, []string{"--data", "--database"}},
		{"two places for the state", nil, []string{"serve", "--data", "x", "--database", "postgres://h/d"}, []string{"once"}},
		{"open to others in clear text", nil, []string{"serve", "--data", "x", "--listen", "0.0.0.0:8085"}, []string{"--allow-insecure-http", "--tls-cert"}},
		{"every address, by leaving it out", nil, []string{"serve", "--data", "x", "--listen", ":8085"}, []string{"--allow-insecure-http"}},
		{"metrics open to others", nil, []string{"serve", "--data", "x", "--metrics-listen", "10.0.0.1:9"}, []string{"--metrics-listen"}},
		{"a key without its certificate", nil, []string{"serve", "--data", "x", "--tls-key", "k.pem"}, []string{"--tls-cert and --tls-key"}},
		{"an issuer in clear text", nil, []string{"serve", "--data", "x", "--trust-issuer", "http://login.example.com"}, []string{"--trust-issuer", "https"}},
		{"a region without a name", nil, []string{"serve", "--data", "x", "--region", "we"}, []string{"--region", "KEY=NAME"}},
		{"a region twice", nil, []string{"serve", "--data", "x", "--region", "we=A", "--region", "WE=B"}, []string{"--region", "twice"}},
		{"all problems at once", nil, []string{"serve", "--listen", "here", "--public-url", "gopher://x", "--token-lifetime", "1s"},
			[]string{"--data", "--listen", "--public-url", "--token-lifetime"}},
		{"a limit that is no number", nil, []string{"serve", "--data", "x", "--rate-limit", "NaN"}, []string{"--rate-limit"}},
		{"no tunnel", nil, []string{"member", "run", "--state", "x", "--tunnels", "0", "--drain-timeout=-5s"}, []string{"--tunnels", "--drain-timeout"}},
		{"too many tunnels", nil, []string{"member", "run", "--state", "x", "--tunnels", "9"}, []string{"--tunnels must be between 1 and 8"}},
		{"no time to drain", nil, []string{"member", "run", "--state", "x", "--drain-timeout", "0"}, []string{"--drain-timeout"}},
		{"a word from the environment", []string{"COMPORTA_LOG_LEVEL=loud"}, []string{"version"}, []string{"log-level"}},
		{"a password on the command line", nil, []string{"serve", "--database", secretURL}, []string{"COMPORTA_DATABASE"}},
		{"join without a target", nil, []string{"member", "join", "--server", "http://127.0.0.1:1", "--state", "x"}, []string{"--new-cluster"}},
		{"join with two targets", nil, []string{"member", "join", "--server", "http://127.0.0.1:1", "--state", "x", "--new-cluster", "a", "--cluster", "b"}, []string{"--cluster"}},
		{"join without rights", nil, []string{"member", "join", "--server", "http://127.0.0.1:1", "--state", "x", "--new-cluster", "a"}, []string{"COMPORTA_CLIENT_ID"}},
		{"join without a recovery key", []string{"COMPORTA_CLIENT_ID=a", "COMPORTA_CLIENT_SECRET=b"},
			[]string{"member", "join", "--server", "http://127.0.0.1:1", "--state", "x", "--new-cluster", "a"}, []string{"COMPORTA_RECOVERY_KEY", "--recovery-key-file"}},
		{"admin without rights", nil, []string{"admin", "clusters", "list"}, []string{"COMPORTA_CLIENT_SECRET"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			status, stdout, stderr := comporta(t, c.env, c.args...)
			if status != exitUsage {
				t.Errorf("exit status %d, want %d", status, exitUsage)
			}
			if strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "comporta: ") {
				t.Errorf("not one line on standard error: %q", stderr)
			}
			for _, word := range c.want {
				if !strings.Contains(stderr, word) {
					t.Errorf("%q does not name %s", stderr, word)
				}
			}
			if strings.Contains(stdout+stderr, "hunter2") {
				t.Error("a password is shown")
			}
		})
	}
}

func TestFailuresSayWhatToDo(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	login := []string{"COMPORTA_CLIENT_ID=11111111-2222-3333-4444-555555555555", "COMPORTA_CLIENT_SECRET=b"}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"address taken", []string{"serve", "--data", t.TempDir(), "--listen", taken.Addr().String()}, "--listen"},
		{"data folder is a file", []string{"serve", "--data", file, "--listen", "127.0.0.1:0"}, "--data"},
		{"no certificate", []string{"serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--tls-cert", file, "--tls-key", file}, "PEM"},
		{"no member joined", []string{"member", "run", "--state", t.TempDir()}, "member join"},
		{"nobody answers", []string{"admin", "--server", "http://127.0.0.1:1", "clusters", "list"}, "is the service running"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, _, stderr := comporta(t, login, c.args...)
			last := stderr[strings.LastIndex(strings.TrimRight(stderr, "\n"), "\n")+1:]
			if status != exitFailure || !strings.HasPrefix(last, "comporta: ") || !strings.Contains(last, c.want) {
				t.Errorf("status %d, %q; want status 1 and words with %q", status, last, c.want)
			}
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	if status, stdout, _ := comporta(t, nil, "--help"); status != exitOK || !strings.Contains(stdout, "demo") {
		t.Errorf("--help: status %d, %q", status, stdout)
	}
	if status, stdout, _ := comporta(t, nil, "version"); status != exitOK || !strings.Contains(stdout, "protocol") {
		t.Errorf("version: status %d, %q", status, stdout)
	}
}

// longQuery answers 30 MB, more than fits into all buffers on the way: it certainly runs until its reader has read on.
const (
	longQuery = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) SELECT i, printf('%.1000c', 'x') AS filler FROM n`
	longRows  = 30000
)

// A request that runs when SIGTERM comes finishes; afterwards the process is gone, and so is its address.
func TestShutdownFinishesWhatRuns(t *testing.T) {
	s := newStory(t)
	s.cast("only")
	db := s.sqlite("slow.db")
	resp := s.dispatch(&queryCall{DataSource: db, Text: longQuery}, "text/csv")
	defer resp.Body.Close()
	s.service.signal(syscall.SIGTERM)
	until(t, "the address is closed", func() bool {
		c, err := net.DialTimeout("tcp", strings.TrimPrefix(s.address, "http://"), time.Second)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	if text := all(t, resp.Body); strings.Count(text, "\n") != longRows+1 {
		t.Errorf("the answer has %d lines and ends with %q", strings.Count(text, "\n"), tail(text, 40))
	}
	if status := s.service.exit(); status != exitOK {
		t.Errorf("exit status %d", status)
	}
}

func TestServerShutdownIsIdempotent(t *testing.T) {
	ctx := deadline(t)
	log, _ := newLog(&output{}, "text", "info")
	s, err := startServer(ctx, serverConfig{serveCmd: serveCmd{Data: t.TempDir(), Listen: "127.0.0.1:0", TokenLifetime: time.Hour, MetricsListen: "127.0.0.1:0"}, log: log})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := s.shutdown(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := http.Get(s.address + "/healthz"); err == nil {
		t.Error("it still answers")
	}
}

// A first start that fails for its metrics' address makes no administrator whose secret nobody was shown.
func TestAFailedFirstStartMakesNoAdministrator(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cfg := serverConfig{serveCmd: serveCmd{Data: t.TempDir(), Listen: "127.0.0.1:0", TokenLifetime: time.Hour, MetricsListen: taken.Addr().String()},
		log: slog.New(slog.DiscardHandler)}
	if _, err := startServer(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "--metrics-listen") {
		t.Fatalf("with a taken address: %v", err)
	}
	cfg.MetricsListen = ""
	s, err := startServer(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.shutdown(context.WithoutCancel(t.Context())) }()
	if s.first.Secret == "" {
		t.Error("the start before this one made the administrator")
	}
}
