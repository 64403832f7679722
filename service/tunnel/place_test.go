package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"comporta/service/gateway"
)

// promised answers with the text of the query and says its length ahead, as a stream.
func promised(_ context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
	text := task.Query.Text
	_ = out.Begin(gateway.AnswerHeader{PromisedLength: int64(len(text))})
	_, _ = io.WriteString(out, text[:len(text)/2])
	_ = out.Flush()
	_, err := io.WriteString(out, text[len(text)/2:])
	return gateway.Summary{}, err
}

// atOnce does so in one write, and sends off what it can before the answer ends.
func atOnce(_ context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
	_ = out.Begin(gateway.AnswerHeader{PromisedLength: int64(len(task.Query.Text))})
	_, err := io.WriteString(out, task.Query.Text)
	return gateway.Summary{}, errors.Join(err, out.Flush())
}

func failing(context.Context, *gateway.Task, gateway.Output) (gateway.Summary, error) {
	return gateway.Summary{}, gateway.Errorf(gateway.CodeQuery, "no")
}

// finished reads an answer as far as its caller needs it: to the length that was said, or to its end.
func finished(answer *gateway.Answer, err error) {
	if err != nil {
		return
	}
	defer answer.Body.Close()
	if n := max(answer.Length, answer.PromisedLength); n > 0 {
		_, _ = io.ReadFull(answer.Body, make([]byte, n))
		return
	}
	_, _ = io.Copy(io.Discard, answer.Body)
}

// Whoever has the whole answer finds the place free: it is given back first, and once.
func TestThePlaceIsGivenBackBeforeTheAnswerEnds(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 20<<10)
	type answered struct {
		run  func(context.Context, *gateway.Task, gateway.Output) (gateway.Summary, error)
		task *gateway.Task
	}
	cases := map[string]answered{
		"on the lane":                    {echo, read("x")},
		"an error on the lane":           {failing, read("x")},
		"on a stream":                    {echo, write("x")},
		"large, on a stream":             {echo, write(large)},
		"an error on a stream":           {failing, write("x")},
		"streamed":                       {stream(1<<20, func(int) {}), write("x")},
		"streamed, of a known length":    {promised, write(large)},
		"off the lane":                   {stream(1<<20, func(int) {}), read("x")},
		"off the lane, of known length":  {promised, read(large)},
		"nothing at all, on the lane":    {func(context.Context, *gateway.Task, gateway.Output) (s gateway.Summary, err error) { return }, read("x")},
		"a panic, which ends the stream": {func(context.Context, *gateway.Task, gateway.Output) (gateway.Summary, error) { panic("on purpose") }, write("x")},
	}
	for _, size := range []int{1, minPiece, bufferSize - 1, bufferSize, bufferSize + 1, 2 * bufferSize, 2*bufferSize + minPiece, 1 << 20} {
		text := strings.Repeat("x", size)
		cases[fmt.Sprintf("%d bytes at once", size)] = answered{atOnce, write(text)}
		cases[fmt.Sprintf("%d bytes at once, off the lane", size)] = answered{atOnce, read(text)}
		cases[fmt.Sprintf("%d bytes in two", size)] = answered{promised, write(text)}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var released atomic.Int64
			free := make(chan struct{})
			a := newAgent(c.run)
			a.admit = func() (func(), *gateway.Error) {
				return func() {
					released.Add(1)
					<-free
				}, nil
			}
			w := newWorld(t, a, nil)
			w.serve(w.dialer(0))
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				finished(w.send(c.task))
			}()
			select {
			case <-ended:
				t.Error("the answer ended while the place was taken")
			case <-time.After(100 * time.Millisecond):
			}
			close(free)
			<-ended
			w.idle()
			wait(t, "the place to be given back", func() bool { return released.Load() > 0 })
			if n := released.Load(); n != 1 {
				t.Errorf("it was given back %d times", n)
			}
		})
	}
}

// An answer of a promised length that fails at its very end does not look whole to who counts its bytes; one that goes well is.
func TestAPromisedAnswerIsWholeOnlyWhenItWentWell(t *testing.T) {
	t.Parallel()
	for _, size := range []int{bufferSize - 1, bufferSize, 2 * bufferSize, 2*bufferSize + 5} {
		for _, fails := range []bool{false, true} {
			text := strings.Repeat("0123456789abcdef", size/16+1)[:size]
			w := newWorld(t, newAgent(func(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
				summary, err := atOnce(ctx, task, out)
				if err == nil && fails {
					err = gateway.Errorf(gateway.CodeQuery, "no")
				}
				return summary, err
			}), nil)
			w.serve(w.dialer(0))
			answer, err := w.send(write(text))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if fails && (len(body) >= size || !gateway.IsCode(err, gateway.CodeQuery)) || !fails && (string(body) != text || err != nil) {
				t.Errorf("%d bytes, fails %v: got %d bytes, %v", size, fails, len(body), err)
			}
			w.idle()
		}
	}
}
