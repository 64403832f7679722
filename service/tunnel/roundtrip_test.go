package tunnel

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"comporta/service/gateway"
)

func TestSmallAnswerComesWholeWithItsLength(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(echo), nil)
	w.serve(w.dialer(0))
	for _, task := range []*gateway.Task{read("olá"), write("olá"), read("")} {
		answer, err := w.send(task)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || string(body) != task.Query.Text || answer.Length != int64(len(body)) || answer.Summary().Rows != 1 || answer.ContentType != "application/json" {
			t.Fatalf("%q %v %+v %+v", body, err, answer, answer.Summary())
		}
		answer.Body.Close()
	}
	w.idle()
	p := w.reg.Presence(memberID)
	if !p.Online || p.Tunnels != 1 || p.Version != "1.2.3" || p.Machine != "máquina" || p.Protocol != Protocol || p.Limits.Concurrency != 40 || !p.Load.CPU.Known {
		t.Fatalf("%+v", p)
	}
	if online := w.reg.Online(); len(online) != 1 || online[0] != memberID {
		t.Fatal(online)
	}
}

func TestSlowSmallAnswerIsStreamedInTime(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w := newWorld(t, newAgent(func(_ context.Context, _ *gateway.Task, out gateway.Output) (gateway.Summary, error) {
		_ = out.Begin(gateway.AnswerHeader{ContentType: "text/csv", UpstreamStatus: 206})
		_, _ = io.WriteString(out, "first")
		<-release
		_, err := io.WriteString(out, "second")
		return gateway.Summary{Rows: 2, Truncated: true}, err
	}), nil)
	w.serve(w.dialer(0))
	answer, err := w.send(read("x"))
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 5)
	if _, err := io.ReadFull(answer.Body, first); err != nil || string(first) != "first" || answer.Length != -1 || answer.UpstreamStatus != 206 {
		t.Fatal(string(first), err, answer.Length)
	}
	close(release)
	rest, err := io.ReadAll(answer.Body)
	if err != nil || string(rest) != "second" || answer.Summary() != (gateway.Summary{Rows: 2, Truncated: true}) {
		t.Fatal(string(rest), err, answer.Summary())
	}
	w.idle()
}

// No part of a large write stays behind while the data source is silent, whatever its size.
func TestRestOfALargeWriteIsSentInTime(t *testing.T) {
	t.Parallel()
	for _, size := range []int{bufferSize + 1, 3*minPiece + 100, 7*minPiece + 1, 1<<20 + 4096} {
		begun, release := make(chan struct{}), make(chan struct{})
		w := newWorld(t, newAgent(func(_ context.Context, _ *gateway.Task, out gateway.Output) (gateway.Summary, error) {
			_ = out.Begin(gateway.AnswerHeader{ContentType: "text/csv"})
			_, _ = out.Write([]byte{0})
			<-begun // the first byte came by the timer, which is not set any more
			_, err := out.Write(make([]byte, size))
			<-release
			return gateway.Summary{}, err
		}), nil)
		w.serve(w.dialer(0))
		task := read("x")
		task.TimeoutMillis = 10_000
		answer, err := w.send(task)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadFull(answer.Body, make([]byte, 1))
		close(begun)
		if err != nil {
			t.Error(err)
		}
		if n, err := io.ReadFull(answer.Body, make([]byte, size)); err != nil {
			t.Errorf("%d bytes of %d came: %v", n, size, err)
		}
		close(release)
		answer.Body.Close()
		w.idle()
	}
}

func TestStreamedAnswerKeepsItsPromisedLength(t *testing.T) {
	t.Parallel()
	const size = 3 * bufferSize
	w := newWorld(t, newAgent(func(_ context.Context, _ *gateway.Task, out gateway.Output) (gateway.Summary, error) {
		_ = out.Begin(gateway.AnswerHeader{ContentType: "text/csv", PromisedLength: size})
		_, err := out.Write(make([]byte, size))
		return gateway.Summary{}, err
	}), nil)
	w.serve(w.dialer(0))
	for _, task := range []*gateway.Task{read("x"), write("x")} {
		answer, err := w.send(task)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || len(body) != size || answer.PromisedLength != size || answer.Length != -1 {
			t.Errorf("%d bytes came, promised were %d (whole: %d); %v", len(body), answer.PromisedLength, answer.Length, err)
		}
		answer.Body.Close()
	}
	w.idle()
}

// stream writes chunks until it is stopped, and says how many bytes it got rid of.
func stream(total int, written func(int)) func(context.Context, *gateway.Task, gateway.Output) (gateway.Summary, error) {
	chunk := bytes.Repeat([]byte("0123456789abcdef"), 2048)
	return func(_ context.Context, _ *gateway.Task, out gateway.Output) (gateway.Summary, error) {
		if err := out.Begin(gateway.AnswerHeader{}); err != nil {
			return gateway.Summary{}, err
		}
		for sent := 0; sent < total; sent += len(chunk) {
			n, err := out.Write(chunk)
			written(n)
			if err != nil {
				return gateway.Summary{}, err
			}
		}
		return gateway.Summary{Rows: int64(total)}, nil
	}
}

func TestStalledReadersStopTheirWritersAndNobodyElse(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var written int
	big := stream(64<<20, func(n int) { mu.Lock(); written += n; mu.Unlock() })
	w := newWorld(t, newAgent(func(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
		if task.Query.Text == "big" {
			return big(ctx, task, out)
		}
		return echo(ctx, task, out)
	}), nil)
	w.serve(w.dialer(0))
	var stalled []*gateway.Answer
	for range 64 {
		answer, err := w.send(read("big"))
		if err != nil {
			t.Fatal(err)
		}
		stalled = append(stalled, answer)
	}
	wait(t, "all windows to be full", func() bool { mu.Lock(); defer mu.Unlock(); return written >= 64*streamWindow/2 })
	for range 200 {
		answer, err := w.send(read("small"))
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "small" {
			t.Fatal(string(body), err)
		}
		answer.Body.Close()
	}
	mu.Lock()
	if most := 64 * (streamWindow + 8*bufferSize); written > most {
		t.Errorf("members wrote %d bytes into nothing, at most %d expected", written, most)
	}
	mu.Unlock()
	if got := w.reg.Presence(memberID).InFlight; got != 64 {
		t.Errorf("%d in flight", got)
	}
	if n, err := io.Copy(io.Discard, stalled[0].Body); err != nil || n != 64<<20 {
		t.Fatalf("a stalled reader that goes on got %d bytes, %v", n, err)
	}
	for _, answer := range stalled {
		answer.Body.Close()
	}
	w.idle()
}

func TestLateErrorIsVisible(t *testing.T) {
	t.Parallel()
	late := gateway.Errorf(gateway.CodeQuery, "division by zero — olá").With(gateway.DetailPosition, "7")
	w := newWorld(t, newAgent(func(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
		_ = out.Begin(gateway.AnswerHeader{})
		_, _ = io.WriteString(out, task.Query.Text)
		if task.Query.Text != "buffered" {
			_ = out.Flush()
		}
		return gateway.Summary{}, late
	}), nil)
	w.serve(w.dialer(0))
	answer, err := w.send(read("rows"))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	e := gateway.AsError(err)
	if string(body) != "rows" || e.Code != late.Code || e.Message != late.Message || len(e.Details) != 1 || e.Details[0].Message != "7" {
		t.Fatal(string(body), err)
	}
	_, err = w.send(read("buffered")) // nothing left the member, so the failure is the whole answer
	phase(t, err, gateway.PhaseAnswered, gateway.CodeQuery)
	w.idle()
}

func TestFailureAndRefusalBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	a := newAgent(func(context.Context, *gateway.Task, gateway.Output) (gateway.Summary, error) {
		return gateway.Summary{}, errors.New("secret of the inside")
	})
	w := newWorld(t, a, nil)
	w.serve(w.dialer(0))
	for _, task := range []*gateway.Task{read("x"), write("x")} {
		_, err := w.send(task)
		if e := phase(t, err, gateway.PhaseAnswered, gateway.CodeInternal); strings.Contains(e.Error(), "secret") {
			t.Fatal("the member's inside shows:", e)
		}
	}
	refusing := newAgent(nil)
	refusing.admit = func() (func(), *gateway.Error) {
		e := gateway.Errorf(gateway.CodeCPULimit, "over the limit")
		e.RetryAfter = 1500 * time.Millisecond
		return nil, e
	}
	v := newWorld(t, refusing, nil)
	v.serve(v.dialer(0))
	for _, task := range []*gateway.Task{read("x"), write("x")} {
		_, err := v.send(task)
		if e := phase(t, err, gateway.PhaseRefused, gateway.CodeCPULimit); e.RetryAfter != 1500*time.Millisecond {
			t.Fatal(e.RetryAfter)
		}
	}
	v.idle()
	w.idle()
}

func TestCancellationReachesTheMember(t *testing.T) {
	t.Parallel()
	started, cancelled := make(chan struct{}, 1), make(chan time.Time, 1)
	w := newWorld(t, newAgent(func(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
		if task.Query.Text == "begin" {
			_ = out.Begin(gateway.AnswerHeader{})
			_ = out.Flush()
		}
		started <- struct{}{}
		<-ctx.Done()
		cancelled <- time.Now()
		return gateway.Summary{}, ctx.Err()
	}), nil)
	w.serve(w.dialer(0))
	t.Run("closing the body", func(t *testing.T) {
		answer, err := w.send(read("begin"))
		if err != nil {
			t.Fatal(err)
		}
		<-started
		began := time.Now()
		answer.Body.Close()
		if took := (<-cancelled).Sub(began); took > 10*time.Second {
			t.Fatal(took)
		}
		w.idle()
	})
	for _, text := range []string{"begin", "wait"} {
		t.Run("ending the context, "+text, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if text == "wait" {
				go func() {
					<-started
					cancel()
				}()
				_, err := w.reg.Send(ctx, memberID, read(text), gateway.First, nil)
				phase(t, err, gateway.PhaseStarted, gateway.CodeUnavailable)
			} else {
				answer, err := w.reg.Send(ctx, memberID, read(text), gateway.First, nil)
				if err != nil {
					t.Fatal(err)
				}
				<-started
				cancel()
				if _, err := io.ReadAll(answer.Body); !gateway.IsCode(err, gateway.CodeBroken) {
					t.Fatal(err)
				}
			}
			<-cancelled
			w.idle()
		})
	}
	t.Run("the task's time", func(t *testing.T) {
		task := read("wait")
		task.TimeoutMillis = 50
		_, err := w.send(task)
		phase(t, err, gateway.PhaseAnswered, gateway.CodeTimeout)
		<-started
		<-cancelled
		w.idle()
	})
}

// A member that says nothing of a write whose time was up leaves its outcome open; one that knows what became of it is believed. The code crosses
// both ways that an answer can take, and at its end too.
func TestOnlyTheMemberSaysThatAWriteWasTakenBack(t *testing.T) {
	t.Parallel()
	codes := map[string]gateway.Code{"unknown": gateway.CodeOutcomeUnknown, "taken back": gateway.CodeTimeout, "refused": gateway.CodeQuery}
	w := newWorld(t, newAgent(func(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
		text, begun := strings.CutPrefix(task.Query.Text, "begun, ")
		if begun {
			_ = out.Begin(gateway.AnswerHeader{})
			_ = out.Flush()
		}
		<-ctx.Done()
		if code := codes[text]; code != "" {
			return gateway.Summary{}, gateway.Errorf(code, "in its own words")
		}
		return gateway.Summary{}, ctx.Err()
	}), nil)
	w.serve(w.dialer(0))
	for text, c := range map[string]struct{ reading, writing gateway.Code }{
		"unknown":    {gateway.CodeOutcomeUnknown, gateway.CodeOutcomeUnknown},
		"taken back": {gateway.CodeTimeout, gateway.CodeTimeout},
		"refused":    {gateway.CodeQuery, gateway.CodeQuery},
		"silent":     {gateway.CodeTimeout, gateway.CodeOutcomeUnknown},
	} {
		for _, task := range []*gateway.Task{read(text), write(text), read("begun, " + text), write("begun, " + text)} {
			want := c.reading
			if !task.ReadOnly {
				want = c.writing
			}
			task.TimeoutMillis = 300 // a busy machine may take some to stream an answer
			answer, err := w.send(task)
			if err == nil {
				_, err = io.ReadAll(answer.Body)
				answer.Body.Close()
			}
			var attempt *gateway.AttemptError
			if errors.As(err, &attempt) && attempt.Phase != gateway.PhaseAnswered || !gateway.IsCode(err, want) {
				t.Errorf("%s, reading %v: %v, want %s", task.Query.Text, task.ReadOnly, err, want)
			}
		}
	}
	w.idle()
}

func TestRandomEndsLeaveNothingInFlight(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(func(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
		switch task.Query.Text {
		case "fail":
			return gateway.Summary{}, gateway.Errorf(gateway.CodeQuery, "no")
		case "late":
			_ = out.Begin(gateway.AnswerHeader{})
			_ = out.Flush()
			return gateway.Summary{}, gateway.Errorf(gateway.CodeQuery, "no")
		case "hang":
			<-ctx.Done()
			return gateway.Summary{}, ctx.Err()
		case "panic":
			panic(http.ErrAbortHandler)
		case "big":
			return stream(1<<20, func(int) {})(ctx, task, out)
		}
		return echo(ctx, task, out)
	}), nil)
	w.serve(w.dialer(0))
	w.serve(w.dialer(1))
	texts := []string{"ok", "fail", "late", "hang", "panic", "big"}
	var work sync.WaitGroup
	limit := make(chan struct{}, 32)
	for i := range 2000 {
		limit <- struct{}{}
		work.Go(func() {
			defer func() { <-limit }()
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+i*7919%40)*time.Millisecond)
			defer cancel()
			task := read(texts[i%len(texts)])
			task.ReadOnly = i%3 != 0
			answer, err := w.reg.Send(ctx, memberID, task, gateway.First, nil)
			if err != nil {
				return
			}
			if i%5 != 0 {
				_, _ = io.Copy(io.Discard, answer.Body)
			}
			if i%7 != 0 { // every seventh forgets to close
				answer.Body.Close()
				answer.Body.Close()
			}
		})
	}
	work.Wait()
	w.idle()
}
