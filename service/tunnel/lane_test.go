package tunnel

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"comporta/service/gateway"
)

// fill sets every field of a struct to a value of its own, so that a field which a codec forgets is noticed.
func fill(v reflect.Value, next *int64) {
	*next++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), next)
		}
	case reflect.String:
		v.SetString(fmt.Sprint("é ", *next))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(-*next)
	case reflect.Float64:
		v.SetFloat(float64(*next) / 2)
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"a": "1", "": "b"}))
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Interface {
			v.Set(reflect.ValueOf([]any{"x", nil, true, json.Number("9007199254740993"), json.Number("1.10")}))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), next)
	default:
		panic("there is a field of a new kind: " + v.Type().String())
	}
}

func TestTheLaneCarriesEveryFieldOfATask(t *testing.T) {
	var full gateway.Task
	var n int64
	fill(reflect.ValueOf(&full).Elem(), &n)
	for _, task := range []*gateway.Task{&full, {}, {HTTP: &gateway.HTTPCall{}}, {Query: &gateway.Query{}}, read("select 1")} {
		code, err := encodeTask(nil, task)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeTask(code)
		if err != nil || !reflect.DeepEqual(got, task) {
			t.Fatalf("%v\n%+v\n%+v", err, got, task)
		}
		for cut := range code {
			if _, err := decodeTask(code[:cut]); err == nil {
				t.Fatalf("a task cut at %d of %d was taken", cut, len(code))
			}
		}
		if _, err := decodeTask(append(code, 0)); err == nil {
			t.Fatal("text after the task was taken")
		}
	}
}

func FuzzDecodeTask(f *testing.F) {
	var full gateway.Task
	var n int64
	fill(reflect.ValueOf(&full).Elem(), &n)
	code, _ := encodeTask(nil, &full)
	f.Add(code)
	f.Fuzz(func(t *testing.T, code []byte) {
		task, err := decodeTask(code)
		if err != nil {
			return
		}
		again, err := encodeTask(nil, task)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeTask(again); err != nil || !reflect.DeepEqual(got, task) {
			t.Fatalf("%v\n%+v\n%+v", err, got, task)
		}
	})
}

func FuzzDecodeWhole(f *testing.F) {
	f.Add(append(encodeWhole(nil, gateway.AnswerHeader{ContentType: "text/csv", UpstreamStatus: 200}, gateway.Summary{Rows: 7, Truncated: true}), "body"...))
	f.Fuzz(func(t *testing.T, payload []byte) {
		h, s, body, err := decodeWhole(payload)
		if err == nil && (len(h.ContentType) > maxTypeBytes || s.Rows < 0 || len(body) > len(payload)) {
			t.Fatalf("%+v %+v %d", h, s, len(body))
		}
	})
}

// lanes counts the calls that wait on the member's lanes.
func (w *world) lanes() (open, waiting int) {
	for _, l := range w.reg.find(memberID).all() {
		if n := l.lane.Load(); n != nil {
			n.mu.Lock()
			open, waiting = open+1, waiting+len(n.calls)
			n.mu.Unlock()
		}
	}
	return open, waiting
}

func TestSmallReadsTakeTheLaneAndWritesDoNot(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w := newWorld(t, newAgent(func(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
		<-release
		return echo(ctx, task, out)
	}), nil)
	w.serve(w.dialer(0))
	for name, c := range map[string]struct {
		task *gateway.Task
		lane int
	}{"read": {read("x"), 1}, "write": {write("x"), 0}, "large read": {read(strings.Repeat("x", maxLaneTask)), 0}} {
		done := make(chan error, 1)
		go func() {
			answer, err := w.send(c.task)
			if err == nil {
				_, err = io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
			done <- err
		}()
		wait(t, name+" to run", func() bool { return w.agent.running.Load() == 1 })
		if open, waiting := w.lanes(); open != 1 || waiting != c.lane {
			t.Errorf("%s: %d lanes, %d calls", name, open, waiting)
		}
		release <- struct{}{}
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		w.idle()
	}
}

func TestAMemberWithoutALaneIsServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(nil), nil)
	w.impostor(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set(headerSummary, "1")
		rw.Header().Set("Content-Length", "2")
		_, _ = io.WriteString(rw, "ok")
	}, nil)
	wait(t, "online", func() bool { return w.reg.Presence(memberID).Online })
	answer, err := w.send(read("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "ok" {
		t.Fatal(string(body), err)
	}
}

// laneImpostor answers each frame of the lane with what speak returns; takePath answers 200 and nothing.
func (w *world) laneImpostor(speak func(f frame) []byte) {
	w.t.Helper()
	w.impostorPaths(map[string]http.HandlerFunc{takePath: ignore, lanePath: func(rw http.ResponseWriter, req *http.Request) {
		flush := http.NewResponseController(rw).Flush
		rw.WriteHeader(http.StatusOK)
		_ = flush()
		r := bufio.NewReader(req.Body)
		for {
			f, err := readFrame(r, maxLaneTask)
			if err != nil {
				return
			}
			if _, err := rw.Write(speak(f)); err != nil || flush() != nil {
				return
			}
		}
	}})
}

func frameBytes(kind byte, call uint32, payload string) []byte {
	b := newOutbox()
	b.put(kind, call, nil, []byte(payload))
	return b.take(nil, 2*laneRoom)
}

func TestHostileLanes(t *testing.T) {
	t.Parallel()
	whole := string(encodeWhole(nil, gateway.AnswerHeader{}, gateway.Summary{}))
	for name, c := range map[string]struct {
		speak func(f frame) []byte
		phase gateway.Phase
		code  gateway.Code
	}{
		"silence":                       {func(frame) []byte { return nil }, gateway.PhaseNotSent, gateway.CodeUnreachable},
		"garbage":                       {func(frame) []byte { return []byte("what is this, and what is it for?") }, gateway.PhaseNotSent, gateway.CodeUnreachable},
		"an endless frame":              {func(frame) []byte { return binary.BigEndian.AppendUint32(nil, 1<<30) }, gateway.PhaseNotSent, gateway.CodeUnreachable},
		"a frame shorter than its head": {func(frame) []byte { return make([]byte, 9) }, gateway.PhaseNotSent, gateway.CodeUnreachable},
		"another's answer":              {func(f frame) []byte { return frameBytes(frameWhole, f.call+1, whole) }, gateway.PhaseNotSent, gateway.CodeUnreachable},
		"an unknown kind":               {func(f frame) []byte { return frameBytes('?', f.call, "") }, gateway.PhaseStarted, gateway.CodeBroken},
		"a broken request":              {func(f frame) []byte { return frameBytes(frameBroken, f.call, "") }, gateway.PhaseNotSent, gateway.CodeUnreachable},
		"an answer cut":                 {func(f frame) []byte { return frameBytes(frameWhole, f.call, whole[:3]) }, gateway.PhaseStarted, gateway.CodeBroken},
		"an empty answer":               {func(f frame) []byte { return frameBytes(frameWhole, f.call, "") }, gateway.PhaseStarted, gateway.CodeBroken},
		"an empty error":                {func(f frame) []byte { return frameBytes(frameError, f.call, "") }, gateway.PhaseStarted, gateway.CodeBroken},
		"an error that is none":         {func(f frame) []byte { return frameBytes(frameError, f.call, "\x00<html>") }, gateway.PhaseStarted, gateway.CodeBroken},
		"a code of the caller's session": {func(f frame) []byte {
			return frameBytes(frameError, f.call, "\x00"+string(encodeError(gateway.Errorf(gateway.CodeUnauthorized, "log in again"))))
		}, gateway.PhaseStarted, gateway.CodeBroken},
		"signs of life without end": {func(f frame) []byte { return bytes.Repeat(frameBytes(frameAlive, f.call, ""), 1000) }, gateway.PhaseStarted, gateway.CodeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, newAgent(nil), func(c *Config) { c.AdmissionTimeout, c.Grace = 1500*time.Millisecond, 100*time.Millisecond })
			w.laneImpostor(c.speak)
			wait(t, "online", func() bool { return w.reg.Presence(memberID).Online })
			task := read("x")
			task.TimeoutMillis = 3000
			_, err := w.send(task)
			phase(t, err, c.phase, c.code)
			if _, waiting := w.lanes(); waiting != 0 {
				t.Errorf("%d calls are left", waiting)
			}
			w.idle()
		})
	}
	t.Run("an answer that is nowhere to be fetched", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, newAgent(nil), nil)
		w.laneImpostor(func(f frame) []byte { return frameBytes(frameStream, f.call, "") })
		wait(t, "online", func() bool { return w.reg.Presence(memberID).Online })
		answer, err := w.send(read("x"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(answer.Body); !gateway.IsCode(err, gateway.CodeBroken) {
			t.Fatal(err)
		}
		w.idle()
	})
}

// A tunnel that is shut down lets a request on the lane still become a stream.
func TestAnAnswerMayLeaveTheLaneWhileTheTunnelIsShutDown(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w := newWorld(t, newAgent(func(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
		<-release
		return stream(1<<20, func(int) {})(ctx, task, out)
	}), nil)
	tun, err := w.dialer(0).Dial(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	served, shut := make(chan error, 1), make(chan error, 1)
	go func() { served <- tun.Serve(context.Background(), w.agent) }()
	wait(t, "online", func() bool { return w.reg.Presence(memberID).Online })
	done := make(chan error, 1)
	go func() {
		answer, err := w.send(read("x"))
		if err == nil {
			_, err = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
		done <- err
	}()
	wait(t, "the request to run", func() bool { return w.agent.running.Load() == 1 })
	go func() { shut <- tun.Shutdown(context.Background()) }()
	<-tun.Released()
	close(release)
	for _, ended := range []chan error{done, shut, served} {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	w.idle()
}

// A read costs few allocations, both ends and the answer together. The count is of the whole process, so nothing else runs meanwhile.
func TestASmallReadAllocatesLittle(t *testing.T) {
	w := newWorld(t, newAgent(echo), nil)
	d := w.dialer(0)
	d.ReportEvery = time.Hour
	w.serve(d)
	task, buffer := read(strings.Repeat("x", 1024)), make([]byte, 32<<10)
	fetch(t, w, task, buffer)
	runtime.GC()
	if got := testing.AllocsPerRun(200, func() { fetch(t, w, task, buffer) }); got > 60 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkTaskCode(b *testing.B) {
	task := read("select * from things where id = 7")
	task.DataSource = gateway.TaskSource{ID: memberID, Type: gateway.TypePostgreSQL, ConnectionDetails: `{"server":"db","database":"d"}`,
		Credential: gateway.StoredCredential{Type: "Basic", Envelope: strings.Repeat("e", 700)}}
	code := make([]byte, 0, 2048)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if code, err = encodeTask(code[:0], task); err != nil {
			b.Fatal(err)
		}
		if _, err := decodeTask(code); err != nil {
			b.Fatal(err)
		}
	}
}

// Small reads share a lane as long as it is not busy, and keep clear of a tunnel that carries a stream.
func TestSmallReadsKeepTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAgent(func(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
		if task.Query.Text == "last" {
			return beginAndHang(ctx, task, out)
		}
		return echo(ctx, task, out)
	}), nil)
	w.serve(w.dialer(0))
	w.serve(w.dialer(1))
	buffer := make([]byte, 1<<10)
	carried := func() (list []uint32) {
		for range 20 {
			fetch(t, w, read("x"), buffer)
		}
		for _, l := range *w.reg.find(memberID).usable.Load() {
			list = append(list, l.lane.Load().last)
		}
		return list
	}
	if got := carried(); got[0] != 20 || got[1] != 0 {
		t.Errorf("the lanes carried %v", got)
	}
	lasting, err := w.send(read("last"))
	if err != nil {
		t.Fatal(err)
	}
	if got := carried(); got[0] != 21 || got[1] != 20 {
		t.Errorf("beside a stream the lanes carried %v", got)
	}
	lasting.Body.Close()
	w.idle()
}
