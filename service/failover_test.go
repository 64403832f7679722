package service

import (
	"context"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"comporta/service/gateway"
)

// cannotReach is a member's answer that its data source is out of its reach.
func cannotReach(elsewhere bool) func(*gateway.Task) (*gateway.Answer, error) {
	return func(*gateway.Task) (*gateway.Answer, error) {
		e := gateway.Errorf(gateway.CodeDataSourceAccess, "refused")
		e.Elsewhere = elsewhere
		return nil, &gateway.AttemptError{Phase: gateway.PhaseAnswered, Err: e}
	}
}

// A data source that one member cannot reach is asked through another, also for writing, when the member says that nothing was changed.
func TestADataSourceOutOfOneMembersReach(t *testing.T) {
	w := newWorld(t)
	cluster, members, source := w.cluster(t, 2)
	for _, readOnly := range []bool{true, false} {
		w.tunnels.answer(members[0], cannotReach(true))
		response, err := w.Dispatcher.Dispatch(context.Background(), w.admin, query(cluster, source, readOnly))
		if err != nil || response.MemberID != members[1] {
			t.Fatalf("readOnly %v: %v", readOnly, err)
		}
		response.Body.Close()
		w.tunnels.answer(members[0], cannotReach(false))
		if _, err := w.Dispatcher.Dispatch(context.Background(), w.admin, query(cluster, source, readOnly)); !gateway.IsCode(err, gateway.CodeDataSourceAccess) {
			t.Errorf("readOnly %v, not to be tried elsewhere: %v", readOnly, err)
		}
	}
}

// When no member reaches the data source, or the others take no request, that is what the caller hears.
func TestADataSourceOutOfEveryMembersReach(t *testing.T) {
	w := newWorld(t)
	cluster, members, source := w.cluster(t, 2)
	w.tunnels.answer(members[0], cannotReach(true))
	for _, second := range []func(*gateway.Task) (*gateway.Answer, error){cannotReach(true), failing(gateway.PhaseRefused, gateway.CodeConcurrencyLimit)} {
		w.tunnels.answer(members[1], second)
		w.tunnels.sentTo()
		if _, err := w.Dispatcher.Dispatch(context.Background(), w.admin, query(cluster, source, true)); !gateway.IsCode(err, gateway.CodeDataSourceAccess) {
			t.Errorf("got %v", err)
		}
		if sent := w.tunnels.sentTo(); len(sent) != 2 {
			t.Errorf("%d attempts", len(sent))
		}
	}
}

// A member that comes back while the only other one is lost gets the request, although it was not in the plan.
func TestAMemberThatComesBackGetsItsTurn(t *testing.T) {
	w := newWorld(t)
	cluster, members, source := w.cluster(t, 2)
	w.tunnels.show(members[0], func(p *gateway.Presence) { p.Online = false })
	w.tunnels.answer(members[1], func(*gateway.Task) (*gateway.Answer, error) {
		w.tunnels.show(members[0], func(p *gateway.Presence) { p.Online = true })
		w.tunnels.show(members[1], func(p *gateway.Presence) { p.Online = false })
		return nil, &gateway.AttemptError{Phase: gateway.PhaseStarted, Err: gateway.Errorf(gateway.CodeBroken, "lost")}
	})
	response, err := w.Dispatcher.Dispatch(context.Background(), w.admin, query(cluster, source, true))
	if err != nil || response.MemberID != members[0] || response.Attempts != 2 {
		t.Fatalf("got %+v, %v", response, err)
	}
	response.Body.Close()
}

// A member that was lost, and is back when the next one is lost too, is asked once more; not more often, however often it comes back.
func TestAMemberThatCameBackIsAskedOnceMore(t *testing.T) {
	w := newWorld(t)
	cluster, members, source := w.cluster(t, 2)
	for _, m := range members {
		w.tunnels.answer(m, func(*gateway.Task) (*gateway.Answer, error) {
			w.tunnels.show(m, func(p *gateway.Presence) { p.Since = w.Dispatcher.Now().Add(time.Hour) })
			return nil, &gateway.AttemptError{Phase: gateway.PhaseStarted, Err: gateway.Errorf(gateway.CodeBroken, "lost")}
		})
	}
	if _, err := w.Dispatcher.Dispatch(context.Background(), w.admin, query(cluster, source, true)); !gateway.IsCode(err, gateway.CodeUnreachable) {
		t.Errorf("got %v", err)
	}
	if sent := w.tunnels.sentTo(); len(sent) != 4 {
		t.Errorf("%d attempts", len(sent))
	}
}

// When every member was silent, each is asked a second time: they may only have been slow.
func TestSilentMembersAreAskedTwice(t *testing.T) {
	for _, readOnly := range []bool{true, false} {
		w := newWorld(t)
		cluster, members, source := w.cluster(t, 2)
		for _, m := range members {
			w.tunnels.answer(m, failing(gateway.PhaseNotSent, gateway.CodeUnreachable))
		}
		if _, err := w.Dispatcher.Dispatch(context.Background(), w.admin, query(cluster, source, readOnly)); !gateway.IsCode(err, gateway.CodeUnreachable) {
			t.Errorf("got %v", err)
		}
		if sent := w.tunnels.sentTo(); len(sent) != 4 {
			t.Errorf("%d attempts", len(sent))
		}
	}
}

// A member whose tunnel broke under a reading request is asked again over its other tunnel when nobody else is left; not more often, and
// never to write.
func TestAMemberIsAskedAgainOverItsOtherTunnel(t *testing.T) {
	for _, c := range []struct {
		name          string
		readOnly      bool
		broken, asked int
		want          gateway.Code
	}{
		{"reading, one tunnel broke", true, 1, 2, ""},
		{"reading, both tunnels broke", true, 9, 2, gateway.CodeUnreachable},
		{"writing", false, 1, 1, gateway.CodeOutcomeUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			cluster, members, source := w.cluster(t, 1)
			lost := failing(gateway.PhaseStarted, gateway.CodeOutcomeUnknown)
			w.tunnels.answer(members[0], func(task *gateway.Task) (*gateway.Answer, error) {
				if c.broken--; c.broken >= 0 {
					return lost(task)
				}
				return small("fine"), nil
			})
			response, err := w.Dispatcher.Dispatch(context.Background(), w.admin, query(cluster, source, c.readOnly))
			if c.want == "" {
				must(t, err)
				response.Body.Close()
			} else if !gateway.IsCode(err, c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if sent := w.tunnels.sentTo(); len(sent) != c.asked {
				t.Errorf("%d attempts, want %d", len(sent), c.asked)
			}
		})
	}
}

// bounded is a context whose time is up when the test says so.
type bounded struct {
	context.Context
	up chan struct{}
}

func newBounded() *bounded { return &bounded{context.Background(), make(chan struct{})} }

func (b *bounded) Done() <-chan struct{} { return b.up }

func (b *bounded) Err() error {
	select {
	case <-b.up:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// silent takes every request and says nothing until its time is up. Then the attempt has failed in this phase.
type silent struct {
	*scripted
	caller *bounded
	phase  gateway.Phase
	code   gateway.Code
}

func (s *silent) Send(ctx context.Context, _ gateway.ID, _ *gateway.Task, _ gateway.Chance, _ func() bool) (*gateway.Answer, error) {
	close(s.caller.up)
	<-ctx.Done()
	return nil, &gateway.AttemptError{Phase: s.phase, Err: gateway.Errorf(s.code, "scripted")}
}

// Who hears that his request was cancelled sends it again. So nobody hears that of a write that may have been done.
func TestATimeOutClaimsOnlyWhatIsKnown(t *testing.T) {
	w := newWorld(t)
	cluster, _, source := w.cluster(t, 1)
	for _, c := range []struct {
		name     string
		phase    gateway.Phase
		code     gateway.Code
		readOnly bool
		want     gateway.Code
	}{
		{"reading", gateway.PhaseStarted, gateway.CodeBroken, true, gateway.CodeTimeout},
		{"writing, a member may have begun it", gateway.PhaseStarted, gateway.CodeOutcomeUnknown, false, gateway.CodeOutcomeUnknown},
		{"writing, it never left", gateway.PhaseNotSent, gateway.CodeUnreachable, false, gateway.CodeTimeout},
		{"writing, the member had answered", gateway.PhaseAnswered, gateway.CodeQuery, false, gateway.CodeQuery},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := newBounded()
			w.Dispatcher.Tunnels = &silent{w.tunnels, ctx, c.phase, c.code}
			if _, err := w.Dispatcher.Dispatch(ctx, w.admin, query(cluster, source, c.readOnly)); !gateway.IsCode(err, c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// stalled is an answer of unknown length that stands still after its first bytes, until the request's time is up.
func stalled(ctx *bounded) func(*gateway.Task) (*gateway.Answer, error) {
	return func(*gateway.Task) (*gateway.Answer, error) {
		body, member := io.Pipe()
		go func() {
			_, _ = member.Write([]byte("first"))
			<-ctx.up
			member.CloseWithError(gateway.Wrap(gateway.CodeTimeout, ctx.Err(), "cancelled"))
		}()
		return &gateway.Answer{Body: body, Length: -1, Summary: func() gateway.Summary { return gateway.Summary{} }}, nil
	}
}

// The same holds while the answer is on its way, for the caller and for the record.
func TestATimeOutOfAnAnswerClaimsOnlyWhatIsKnown(t *testing.T) {
	for readOnly, want := range map[bool]gateway.Code{true: gateway.CodeTimeout, false: gateway.CodeOutcomeUnknown} {
		w := newWorld(t)
		cluster, members, source := w.cluster(t, 1)
		ctx := newBounded()
		w.tunnels.answer(members[0], stalled(ctx))
		response, err := w.Dispatcher.Dispatch(ctx, w.admin, query(cluster, source, readOnly))
		must(t, err)
		close(ctx.up)
		_, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if !gateway.IsCode(err, want) {
			t.Errorf("readOnly %v: got %v, want %s", readOnly, err, want)
		}
		if got := w.record(t).Outcome; got != string(want) {
			t.Errorf("readOnly %v: the record says %s", readOnly, got)
		}
	}
}

// tells is a member whose answer has begun and ends with its own report before any of it came.
func tells(code gateway.Code, elsewhere bool) func(*gateway.Task) (*gateway.Answer, error) {
	return func(*gateway.Task) (*gateway.Answer, error) {
		e := gateway.Errorf(code, "scripted")
		e.Elsewhere = elsewhere
		return &gateway.Answer{Body: io.NopCloser(&failingReader{e}), Length: -1, Summary: func() gateway.Summary { return gateway.Summary{} }}, nil
	}
}

// What a member reports between the header and the first byte of its answer is its answer: nobody runs the request again, unless another
// member may fare better.
func TestAReportBeforeTheFirstByteIsAnAnswer(t *testing.T) {
	for _, c := range []struct {
		name      string
		code      gateway.Code
		elsewhere bool
		readOnly  bool
		asked     int
		want      gateway.Code
	}{
		{"reading", gateway.CodeDataSourceAccess, false, true, 1, gateway.CodeDataSourceAccess},
		{"reading, out of every member's reach", gateway.CodeDataSourceAccess, true, true, 2, gateway.CodeDataSourceAccess},
		{"reading, its time was up", gateway.CodeTimeout, false, true, 1, gateway.CodeTimeout},
		{"reading, it broke", gateway.CodeBroken, false, true, 4, gateway.CodeUnreachable},
		{"writing", gateway.CodeQuery, false, false, 1, gateway.CodeQuery},
		{"writing, out of every member's reach", gateway.CodeDataSourceAccess, true, false, 2, gateway.CodeDataSourceAccess},
		{"writing, it broke", gateway.CodeBroken, false, false, 1, gateway.CodeOutcomeUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			cluster, members, source := w.cluster(t, 2)
			for _, m := range members {
				w.tunnels.answer(m, tells(c.code, c.elsewhere))
			}
			_, err := w.Dispatcher.Dispatch(context.Background(), w.admin, query(cluster, source, c.readOnly))
			if sent := w.tunnels.sentTo(); len(sent) != c.asked || !gateway.IsCode(err, c.want) {
				t.Errorf("%d attempts, %v; want %d and %s", len(sent), err, c.asked, c.want)
			}
		})
	}
}

// A member gets what is left of the request's time, so that it can say itself that the time is up.
// The last one is not asked any more: whoever begins a request whose time is over does in vain what may be a write.
func TestAMemberGetsTheTimeThatIsLeft(t *testing.T) {
	var ahead atomic.Int64
	w := newWorld(t, func(c *Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	cluster, members, source := w.cluster(t, 3)
	var given []time.Duration
	for i, later := range []time.Duration{40 * time.Second, time.Hour, 0} {
		w.tunnels.answer(members[i], func(task *gateway.Task) (*gateway.Answer, error) {
			given = append(given, task.Timeout())
			if later == 0 {
				return small("fine"), nil
			}
			ahead.Add(int64(later))
			return nil, &gateway.AttemptError{Phase: gateway.PhaseNotSent, Err: gateway.Errorf(gateway.CodeUnreachable, "scripted")}
		})
	}
	q := query(cluster, source, true)
	q.Timeout = 100 * time.Second
	// The test itself takes a while too.
	near := func(got, want time.Duration) bool { return got <= want && got > want-30*time.Second }
	if _, err := w.Dispatcher.Dispatch(context.Background(), w.admin, q); !gateway.IsCode(err, gateway.CodeTimeout) {
		t.Errorf("when its time was over: %v", err)
	}
	if len(given) != 2 || !near(given[0], 100*time.Second) || !near(given[1], 60*time.Second) {
		t.Errorf("given %v", given)
	}
}

// An answer that its caller did not read to its end: the record tells who went away from who stood still until the time was up.
func TestTheRecordOfAnAnswerThatWasNotRead(t *testing.T) {
	for _, c := range []struct {
		timeUp, readOnly bool
		want             gateway.Code
	}{
		{false, true, gateway.CodeClientGone},
		{false, false, gateway.CodeClientGone},
		{true, true, gateway.CodeTimeout},
		{true, false, gateway.CodeOutcomeUnknown},
	} {
		w := newWorld(t)
		cluster, members, source := w.cluster(t, 1)
		ctx := newBounded()
		w.tunnels.answer(members[0], stalled(ctx))
		response, err := w.Dispatcher.Dispatch(ctx, w.admin, query(cluster, source, c.readOnly))
		must(t, err)
		if c.timeUp {
			close(ctx.up)
			<-response.Context.Done()
		}
		response.Body.Close()
		if !c.timeUp {
			close(ctx.up)
		}
		if got := w.record(t).Outcome; got != string(c.want) {
			t.Errorf("time up %v, readOnly %v: the record says %s, want %s", c.timeUp, c.readOnly, got, c.want)
		}
	}
}

// noting notes what each attempt may hope for.
type noting struct {
	*scripted
	chances []gateway.Chance
}

func (n *noting) Send(ctx context.Context, member gateway.ID, task *gateway.Task, chance gateway.Chance, wanted func() bool) (*gateway.Answer, error) {
	n.chances = append(n.chances, chance)
	return n.scripted.Send(ctx, member, task, chance, wanted)
}

// A member may be waited for longer only when there is nobody else, and the attempt says so.
func TestAnAttemptSaysThatNobodyElseIsLeft(t *testing.T) {
	w := newWorld(t)
	cluster, members, source := w.cluster(t, 2)
	for _, m := range members {
		w.tunnels.answer(m, failing(gateway.PhaseNotSent, gateway.CodeUnreachable))
	}
	n := &noting{scripted: w.tunnels}
	w.Dispatcher.Tunnels = n
	if _, err := w.Dispatcher.Dispatch(context.Background(), w.admin, query(cluster, source, false)); err == nil {
		t.Fatal("it was served")
	}
	if want := []gateway.Chance{gateway.First, gateway.Last, gateway.Again, gateway.Again}; !slices.Equal(n.chances, want) {
		t.Errorf("attempts %v, want %v", n.chances, want)
	}
}

// Who stands behind in the plan and was disabled meanwhile is nobody to go to.
func TestAMemberDisabledMeanwhileIsNotLeft(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	cluster, members, source := w.cluster(t, 3)
	disabled := gateway.MemberDisabled
	for _, m := range members {
		w.tunnels.answer(m, func(task *gateway.Task) (*gateway.Answer, error) {
			must(t, w.Members.Update(ctx, w.admin, cluster, members[2], MemberPatch{State: &disabled}))
			return failing(gateway.PhaseNotSent, gateway.CodeUnreachable)(task)
		})
	}
	n := &noting{scripted: w.tunnels}
	w.Dispatcher.Tunnels = n
	if _, err := w.Dispatcher.Dispatch(ctx, w.admin, query(cluster, source, false)); err == nil {
		t.Fatal("it was served")
	}
	if want := []gateway.Chance{gateway.First, gateway.Last, gateway.Again, gateway.Again}; !slices.Equal(n.chances, want) {
		t.Errorf("attempts %v, want %v", n.chances, want)
	}
}
