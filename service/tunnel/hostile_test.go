package tunnel

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"comporta/service/gateway"
)

// impostor is a member with a good key and a bad mind: handler answers tasks, its control stream behaves unless control is set.
func (w *world) impostor(task, control http.HandlerFunc) {
	w.t.Helper()
	paths := map[string]http.HandlerFunc{taskPath: task}
	if control != nil {
		paths[controlPath] = control
	}
	w.impostorPaths(paths)
}

// impostorPaths answers on these paths, and behaves on the control stream unless that is one of them.
func (w *world) impostorPaths(paths map[string]http.HandlerFunc) {
	w.t.Helper()
	tun, err := w.dialer(0).Dial(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	mux := http.NewServeMux()
	if paths[controlPath] == nil {
		mux.HandleFunc(controlPath, func(rw http.ResponseWriter, req *http.Request) {
			_, _ = io.WriteString(rw, "{}\n")
			_ = http.NewResponseController(rw).Flush()
			<-req.Context().Done()
		})
	}
	for path, handler := range paths {
		mux.HandleFunc(path, handler)
	}
	tun.server.Handler = mux
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tun.server.Serve(&listener{conn: tun.conn, stop: make(chan struct{})})
	}()
	w.t.Cleanup(func() {
		tun.Close()
		<-done
	})
}

func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	header := func(rw http.ResponseWriter, pairs ...string) {
		for i := 0; i < len(pairs); i += 2 {
			rw.Header().Set(pairs[i], pairs[i+1])
		}
	}
	for name, c := range map[string]struct {
		task  http.HandlerFunc
		phase gateway.Phase // of Send's error; -1 when the body breaks instead
		code  gateway.Code
	}{
		"garbage instead of an error": {func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(500)
			_, _ = io.WriteString(rw, "<html>")
		}, gateway.PhaseStarted, gateway.CodeBroken},
		"an endless error": {func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500); endless(rw) }, gateway.PhaseStarted, gateway.CodeBroken},
		"a code of the caller's session": {func(rw http.ResponseWriter, _ *http.Request) {
			writeError(rw, 422, gateway.Errorf(gateway.CodeUnauthorized, "log in again"))
		}, gateway.PhaseStarted, gateway.CodeBroken},
		"a header bomb": {func(rw http.ResponseWriter, _ *http.Request) {
			for i := range 100 {
				header(rw, fmt.Sprint("X-", i), strings.Repeat("x", 4000))
			}
		}, gateway.PhaseNotSent, gateway.CodeUnreachable},
		"interim answers without end": {func(rw http.ResponseWriter, req *http.Request) {
			for req.Context().Err() == nil {
				rw.WriteHeader(http.StatusProcessing)
			}
		}, gateway.PhaseStarted, gateway.CodeBroken},
		"a stall in the header": {func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }, gateway.PhaseNotSent, gateway.CodeUnreachable},
		"admission, then a stall": {func(rw http.ResponseWriter, req *http.Request) {
			rw.WriteHeader(http.StatusProcessing)
			<-req.Context().Done()
		}, gateway.PhaseStarted, gateway.CodeTimeout},
		"a stall in the body": {func(rw http.ResponseWriter, req *http.Request) {
			_, _ = io.WriteString(rw, "x")
			_ = http.NewResponseController(rw).Flush()
			<-req.Context().Done()
		}, -1, gateway.CodeTimeout},
		"no outcome":   {func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "x") }, -1, gateway.CodeBroken},
		"an empty 200": {func(http.ResponseWriter, *http.Request) {}, -1, gateway.CodeBroken},
		"less than its length": {func(rw http.ResponseWriter, _ *http.Request) {
			header(rw, headerSummary, "1", "Content-Length", "10")
			_, _ = io.WriteString(rw, "x")
		}, -1, gateway.CodeBroken},
		"less than it promised": {func(rw http.ResponseWriter, _ *http.Request) {
			header(rw, headerLength, "2")
			outcome(rw, outcomeOK, "1")
		}, -1, gateway.CodeBroken},
		"more than it promised": {func(rw http.ResponseWriter, _ *http.Request) {
			header(rw, headerLength, "3")
			_, _ = io.WriteString(rw, "xxx")
			outcome(rw, outcomeOK, "1")
		}, -1, gateway.CodeBroken},
		"a summary that is none": {func(rw http.ResponseWriter, _ *http.Request) {
			header(rw, headerSummary, "many", "Content-Length", "0")
		}, gateway.PhaseStarted, gateway.CodeBroken},
		"an outcome that is none":        {func(rw http.ResponseWriter, _ *http.Request) { outcome(rw, "!!!", "1") }, -1, gateway.CodeBroken},
		"a trailer summary that is none": {func(rw http.ResponseWriter, _ *http.Request) { outcome(rw, outcomeOK, "-") }, -1, gateway.CodeBroken},
		"a trailer bomb":                 {func(rw http.ResponseWriter, _ *http.Request) { outcome(rw, strings.Repeat("x", 200_000), "1") }, -1, gateway.CodeBroken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, newAgent(nil), func(c *Config) { c.AdmissionTimeout, c.Grace = 1500*time.Millisecond, 100*time.Millisecond })
			w.impostor(c.task, nil)
			wait(t, "online", func() bool { return w.reg.Presence(memberID).Online })
			task := read("x")
			task.TimeoutMillis = 3000
			answer, err := w.send(task)
			if c.phase >= 0 {
				phase(t, err, c.phase, c.code)
			} else {
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadAll(answer.Body); !gateway.IsCode(err, c.code) {
					t.Fatal(err)
				}
			}
			w.idle()
		})
	}
}

func outcome(rw http.ResponseWriter, outcome, summary string) {
	rw.Header().Set("Trailer", trailerOutcome+", "+headerSummary)
	_, _ = io.WriteString(rw, "x")
	rw.Header().Set(trailerOutcome, outcome)
	rw.Header().Set(headerSummary, summary)
}

func endless(rw http.ResponseWriter) {
	chunk := bytes.Repeat([]byte{'{'}, 32<<10)
	for {
		if _, err := rw.Write(chunk); err != nil {
			return
		}
	}
}

func TestHostileControlStreams(t *testing.T) {
	t.Parallel()
	for name, control := range map[string]http.HandlerFunc{
		"garbage":         func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "what?\n") },
		"an endless line": func(rw http.ResponseWriter, _ *http.Request) { endless(rw) },
		"nothing":         func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() },
		"a refusal":       func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) },
		"an early end":    func(http.ResponseWriter, *http.Request) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, newAgent(nil), func(c *Config) { c.HandshakeTimeout = 300 * time.Millisecond })
			w.impostor(ignore, control)
			wait(t, "the tunnel to be closed", func() bool { m := w.reg.find(memberID); return m != nil && len(m.all()) == 0 })
			if w.reg.Presence(memberID).Online {
				t.Fatal("online")
			}
		})
	}
}

func ignore(http.ResponseWriter, *http.Request) {}

func TestReportsThatStopCloseTheTunnel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(nil), func(c *Config) { c.ReportTimeout = 300 * time.Millisecond })
	w.impostor(ignore, nil)
	wait(t, "online", func() bool { return w.reg.Presence(memberID).Online })
	wait(t, "offline", func() bool { return !w.reg.Presence(memberID).Online })
}

func TestFiguresThatMakeNoSenseLimitNothing(t *testing.T) {
	t.Parallel()
	r := tidy(Report{Load: gateway.Load{CPU: gateway.Reading{Percent: 1e9, Known: true}, Memory: gateway.Reading{Percent: -1, Known: true}, Running: -5},
		Limits: gateway.EffectiveLimits{CPU: -1, Concurrency: -1}})
	if r != (Report{}) {
		t.Fatalf("%+v", r)
	}
}

func TestUpgradeIsRefusedInWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(echo), nil)
	good := w.dialer(0)
	token := good.token(false)
	ask := func(change func(http.Header)) *http.Response {
		req, _ := http.NewRequest(http.MethodGet, w.server.URL+Path, nil)
		req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {upgradeWord}, headerProtocol: {Protocol}, "Authorization": {"Bearer " + token}}
		change(req.Header)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	if resp := ask(func(http.Header) {}); resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Date") == "" {
		t.Fatal(resp.Status)
	}
	for name, c := range map[string]struct {
		change func(http.Header)
		status int
		code   gateway.Code
	}{
		"replay":     {func(http.Header) {}, 401, gateway.CodeTokenExpired},
		"no upgrade": {func(h http.Header) { h.Set("Upgrade", "websocket") }, 400, gateway.CodeInvalid},
		"no token":   {func(h http.Header) { h.Del("Authorization") }, 401, gateway.CodeUnauthorized},
		"no bearer":  {func(h http.Header) { h.Set("Authorization", token) }, 401, gateway.CodeUnauthorized},
		"no version": {func(h http.Header) { h.Del(headerProtocol) }, 426, gateway.CodeNotSupported},
	} {
		resp := ask(c.change)
		err := refusal(resp)
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Status != c.status || refused.Err.Code != c.code || resp.Header.Get("Date") == "" {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(fmt.Sprint(err), token) {
			t.Errorf("%s: the token shows", name)
		}
	}
}

func TestDialerSurvivesHostileServices(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"not http":     "SSH-2.0-OpenSSH_9.2\r\n",
		"a web page":   "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"endless":      "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n",
		"silent":       "",
		"broken error": "HTTP/1.1 503 Busy\r\nContent-Length: 500\r\n\r\n{\"error\":",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			go func() {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = http.ReadRequest(bufio.NewReader(c))
				_, _ = io.WriteString(c, answer)
				if answer != "" {
					c.Close()
				}
			}()
			w := newWorld(t, newAgent(nil), nil)
			d := w.dialer(0)
			u := *d.Server
			u.Host = l.Addr().String()
			d.Server = &u
			ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
			defer cancel()
			if _, err := d.Dial(ctx); err == nil || Fatal(err) {
				t.Fatal(err)
			}
		})
	}
}

// Reports cost what they cost at most once in a while, whatever is new in them, and the newest is seen although nothing comes after it.
func TestAFloodOfNewsCostsLittle(t *testing.T) {
	t.Parallel()
	var told atomic.Int64
	w := newWorld(t, newAgent(nil), func(c *Config) { c.OnPresence = func(gateway.ID, gateway.Presence) { told.Add(1) } })
	began := time.Now()
	w.impostor(http.NotFound, func(rw http.ResponseWriter, req *http.Request) {
		for i := range 5000 {
			_, _ = fmt.Fprintf(rw, "{\"limits\":{\"concurrency\":%d},\"draining\":%v}\n", 1+i%2, i%3 == 0)
			_ = http.NewResponseController(rw).Flush()
		}
		_, _ = io.WriteString(rw, "{\"limits\":{\"concurrency\":7}}\n")
		_ = http.NewResponseController(rw).Flush()
		<-req.Context().Done()
	})
	wait(t, "the newest limit", func() bool { return w.reg.Presence(memberID).Limits.Concurrency == 7 })
	if most := 10 + 2*int64(time.Since(began)/minReportGap); told.Load() > most {
		t.Errorf("told of %d changes, at most %d would be enough", told.Load(), most)
	}
}
