package tunnel

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"comporta/service/gateway"
)

func TestOutboxHoldsBackAndLetsGo(t *testing.T) {
	t.Parallel()
	b := newOutbox()
	block := make([]byte, 64<<10)
	for b.put(frameWhole, 1, nil, block); !b.full(); b.put(frameWhole, 1, nil, block) {
	}
	put := make(chan bool)
	go func() { put <- b.putWhenRoom(frameWhole, 2, nil, nil, nil) }()
	select {
	case <-put:
		t.Fatal("a full outbox takes more")
	case <-time.After(50 * time.Millisecond):
	}
	if batch := b.take(nil, 2*laneRoom); len(batch) <= laneRoom || !bytes.Contains(batch, frameBytes(frameAlive, 2, "")) || !<-put {
		t.Fatal(len(batch))
	}
	b.Close()
	if b.put(frameWhole, 3, nil, nil) || b.take(nil, 2*laneRoom) != nil {
		t.Fatal("a closed outbox is used")
	}
	if n, err := b.Read(block); n != 0 || err != io.EOF {
		t.Fatal(n, err)
	}
}

// unpack tells the frames of a batch, as kind, call and length of the payload.
func unpack(t interface{ Fatal(...any) }, batch []byte) (frames []frame) {
	for r := bufio.NewReader(bytes.NewReader(batch)); ; {
		f, err := readFrame(r, maxLaneAnswer)
		if err == io.EOF {
			return frames
		}
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, f)
	}
}

// What a member says in a few bytes does not wait behind whole answers, and each of those that may wait long has such a word ahead of it.
func TestWordsOvertakeAnswers(t *testing.T) {
	b, block := newOutbox(), make([]byte, 40<<10)
	told := func(most int) string {
		var text strings.Builder
		for _, f := range unpack(t, b.take(nil, most)) {
			fmt.Fprintf(&text, "%c%d ", f.kind, f.call)
		}
		return text.String()
	}
	for call := range uint32(3) {
		b.put(frameWhole, call, nil, block)
	}
	b.put(frameAlive, 3, nil, nil)
	steps := []func() string{
		func() string { return told(1) },
		func() string { b.put(frameStream, 4, nil, nil); return told(1) },
		func() string { b.put(frameError, 5, nil, nil); return told(1) },
		func() string { b.put(frameWhole, 6, nil, block); b.put(frameWhole, 7, nil, block); return told(1) },
		func() string { b.put(frameWhole, 8, nil, nil); b.put(frameWhole, 9, nil, nil); return told(1 << 20) },
		func() string { b.put(frameWhole, 10, nil, nil); b.wrote(1, time.Second); return told(1 << 20) },
		func() string { b.wrote(lanePiece/2-1, 0); b.put(frameWhole, 11, nil, nil); return told(1 << 20) },
		func() string { b.put(frameWhole, 12, nil, nil); b.wrote(1, time.Second); return told(1 << 20) },
		func() string { b.wrote(lanePiece/2, 0); b.put(frameWhole, 13, nil, nil); return told(1 << 20) },
	}
	for i, want := range []string{"A2 A3 W0 ", "S4 W1 ", "E5 W2 ", "W6 ", "W7 W8 W9 ", "A10 W10 ", "A11 W11 ", "A12 W12 ", "W13 "} {
		if got := steps[i](); got != want {
			t.Errorf("step %d: %q, want %q", i, got, want)
		}
	}
}

// Whatever the pieces, each answer comes out once, whole and in its order.
func TestAnOutboxLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, put, want := newOutbox(), uint32(0), uint32(0)
		var batch []byte
		take := func(most int) {
			batch = b.take(batch, most)
			size := 0
			for _, f := range unpack(t, batch) {
				if f.kind != frameWhole {
					continue
				}
				if size += frameHead + len(f.payload); f.call != want || len(f.payload) != int(want%7)*5000 {
					t.Fatalf("%d with %d bytes, want %d", f.call, len(f.payload), want)
				}
				want++
			}
			if size > most && size > frameHead+30_000 {
				t.Fatalf("%d bytes, asked for %d", size, most)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"answer": func(t *rapid.T) {
				for range rapid.IntRange(1, 50).Draw(t, "answers") {
					b.put(frameWhole, put, nil, make([]byte, int(put%7)*5000))
					put++
				}
			},
			"wrote": func(t *rapid.T) {
				b.wrote(lanePiece, rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "took"))
			},
			"word": func(*rapid.T) { b.put(frameAlive, 1, nil, nil) },
			"take": func(t *rapid.T) {
				if b.waiting() > 0 {
					take(rapid.IntRange(1, 300_000).Draw(t, "most"))
				}
			},
		})
		for b.waiting() > 0 {
			take(minPiece)
		}
		if want != put {
			t.Fatalf("%d of %d came", want, put)
		}
	})
}

// Many small answers at once fill a slow line for far longer than the word of an admission may take. None of them is taken back for that, also
// where somebody else could be asked.
func TestManyAnswersOnASlowLineAreAdmittedInTime(t *testing.T) {
	t.Parallel()
	const patience = time.Second
	a := newAgent(func(_ context.Context, _ *gateway.Task, out gateway.Output) (gateway.Summary, error) {
		if err := out.Begin(gateway.AnswerHeader{}); err != nil {
			return gateway.Summary{}, err
		}
		_, err := out.Write(make([]byte, 30<<10))
		return gateway.Summary{}, err
	})
	w := newWorld(t, a, func(c *Config) { c.AdmissionTimeout = patience })
	w.serve(newTrickle(t, w, 4<<10, 0).through(w.dialer(0)))
	began := time.Now()
	var sent sync.WaitGroup
	for range 60 {
		sent.Go(func() {
			answer, err := w.send(read("x"))
			if err != nil {
				t.Error(time.Since(began), err)
				return
			}
			answer.Body.Close()
		})
	}
	sent.Wait()
	if took := time.Since(began); took < 2*patience {
		t.Errorf("all was there after %v; the line is not slow", took)
	}
	w.idle()
}
