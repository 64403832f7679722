package service

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"comporta/persistence"
	"comporta/service/gateway"
)

func query(cluster, dataSource gateway.ID, readOnly bool) Request {
	return Request{ClusterID: cluster, DataSourceID: dataSource, Query: &gateway.Query{Text: "select 1"}, ReadOnly: readOnly, Format: gateway.FormatJSON}
}

// One attempt that fails, on the first of two members: who is asked, and what the caller gets.
func TestWhatFollowsAFailedAttempt(t *testing.T) {
	cases := []struct {
		name     string
		phase    gateway.Phase
		code     gateway.Code
		readOnly bool
		attempts int
		want     gateway.Code
	}{
		{"never sent, reading", gateway.PhaseNotSent, gateway.CodeUnreachable, true, 2, ""},
		{"never sent, writing", gateway.PhaseNotSent, gateway.CodeUnreachable, false, 2, ""},
		{"refused, reading", gateway.PhaseRefused, gateway.CodeConcurrencyLimit, true, 2, ""},
		{"refused, writing", gateway.PhaseRefused, gateway.CodeCPULimit, false, 2, ""},
		{"broke after admission, reading", gateway.PhaseStarted, gateway.CodeOutcomeUnknown, true, 2, ""},
		{"broke after admission, writing", gateway.PhaseStarted, gateway.CodeOutcomeUnknown, false, 1, gateway.CodeOutcomeUnknown},
		{"the database said no, reading", gateway.PhaseAnswered, gateway.CodeQuery, true, 1, gateway.CodeQuery},
		{"the database said no, writing", gateway.PhaseAnswered, gateway.CodeQuery, false, 1, gateway.CodeQuery},
	}
	w := newWorld(t)
	cluster, members, source := w.cluster(t, 2)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w.tunnels.answer(members[0], failing(c.phase, c.code))
			w.tunnels.sentTo()
			response, err := w.Dispatcher.Dispatch(context.Background(), w.admin, query(cluster, source, c.readOnly))
			if sent := w.tunnels.sentTo(); len(sent) != c.attempts {
				t.Errorf("%d attempts, want %d", len(sent), c.attempts)
			}
			if c.want != "" {
				if !gateway.IsCode(err, c.want) {
					t.Errorf("got %v, want %s", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if err != nil || string(text) != "from "+members[1].String() || response.MemberID != members[1] || response.Attempts != 2 {
				t.Errorf("got %q from %s after %d attempts, %v", text, response.MemberID, response.Attempts, err)
			}
		})
	}
}

func TestTheErrorOfTheLastResortIsTheRefusal(t *testing.T) {
	w := newWorld(t)
	cluster, members, source := w.cluster(t, 2)
	w.tunnels.answer(members[0], failing(gateway.PhaseRefused, gateway.CodeMemoryLimit))
	w.tunnels.answer(members[1], failing(gateway.PhaseNotSent, gateway.CodeUnreachable))
	_, err := w.Dispatcher.Dispatch(context.Background(), w.admin, query(cluster, source, true))
	e := gateway.AsError(err)
	if e.Code != gateway.CodeMemoryLimit || len(e.Details) != 2 || e.RetryAfter == 0 {
		t.Errorf("got %+v", e)
	}
}

// A small answer that breaks off is asked for again elsewhere when it was only read, and never when it may have written.
func TestASmallAnswerThatBreaksIsReadElsewhere(t *testing.T) {
	w := newWorld(t)
	cluster, members, source := w.cluster(t, 2)
	short := func(*gateway.Task) (*gateway.Answer, error) {
		a := small("half")
		a.Length = 8
		return a, nil
	}
	w.tunnels.answer(members[0], short)
	response, err := w.Dispatcher.Dispatch(context.Background(), w.admin, query(cluster, source, true))
	if err != nil || response.MemberID != members[1] {
		t.Fatalf("reading: %v", err)
	}
	response.Body.Close()
	w.tunnels.sentTo()
	if _, err := w.Dispatcher.Dispatch(context.Background(), w.admin, query(cluster, source, false)); !gateway.IsCode(err, gateway.CodeOutcomeUnknown) {
		t.Errorf("writing: %v", err)
	}
	if sent := w.tunnels.sentTo(); len(sent) != 1 {
		t.Errorf("writing was tried %d times", len(sent))
	}
}

func TestALateErrorIsNeverAShortSuccess(t *testing.T) {
	w := newWorld(t)
	cluster, members, source := w.cluster(t, 1)
	late := gateway.Errorf(gateway.CodeQuery, "division by zero")
	w.tunnels.answer(members[0], func(*gateway.Task) (*gateway.Answer, error) {
		body := io.MultiReader(bytes.NewReader(make([]byte, 200_000)), &failingReader{late})
		return &gateway.Answer{Body: io.NopCloser(body), Length: -1, Summary: func() gateway.Summary { return gateway.Summary{} }}, nil
	})
	response, err := w.Dispatcher.Dispatch(context.Background(), w.admin, query(cluster, source, true))
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, response.Body)
	response.Body.Close()
	if n != 200_000 || !errors.Is(err, late) {
		t.Errorf("got %d bytes and %v", n, err)
	}
	record := w.record(t)
	if record.Outcome != string(gateway.CodeQuery) || record.Bytes != 200_000 {
		t.Errorf("record: %+v", record)
	}
}

type failingReader struct{ err error }

func (f *failingReader) Read([]byte) (int, error) { return 0, f.err }

// record waits for the one record that this world has written.
func (w *world) record(t *testing.T) gateway.DispatchRecord {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		list, err := w.History.DispatchRecords(context.Background(), persistence.RecordFilter{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list) > 0 {
			return list[0]
		}
	}
	t.Fatal("no dispatch record was written")
	return gateway.DispatchRecord{}
}

func TestAChangeOfAMemberHoldsFromTheNextRequestOn(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	cluster, members, source := w.cluster(t, 2)
	serves := func() gateway.ID {
		response, err := w.Dispatcher.Dispatch(ctx, w.admin, query(cluster, source, true))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.MemberID
	}
	if serves() != members[0] {
		t.Fatal("failover starts with the primary")
	}
	disabled, enabled := gateway.MemberDisabled, gateway.MemberEnabled
	must(t, w.Members.Update(ctx, w.admin, cluster, members[0], MemberPatch{State: &disabled}))
	if serves() != members[1] {
		t.Error("a disabled member was asked")
	}
	must(t, w.Members.Update(ctx, w.admin, cluster, members[0], MemberPatch{State: &enabled}))
	if serves() != members[0] {
		t.Error("an enabled primary was not asked")
	}
	must(t, w.Members.Promote(ctx, w.admin, cluster, members[1]))
	if serves() != members[1] {
		t.Error("the promoted member was not asked first")
	}
	must(t, w.Members.Remove(ctx, w.admin, cluster, members[0]))
	if !slices.Contains(w.tunnels.cut, members[0]) {
		t.Error("the removed member's tunnels were not cut")
	}
}

// From the instant at which the call that disables a member returns, no request leaves for it that was not in flight before.
func TestADispatchPlannedBeforeTheMemberWasDisabledDoesNotLeave(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	cluster, members, source := w.cluster(t, 2)
	disabled := gateway.MemberDisabled
	w.tunnels.counted = func(m gateway.ID) {
		if m == members[0] {
			must(t, w.Members.Update(ctx, w.admin, cluster, m, MemberPatch{State: &disabled}))
		}
	}
	response, err := w.Dispatcher.Dispatch(ctx, w.admin, query(cluster, source, false))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if sent := w.tunnels.sentTo(); !slices.Equal(sent, members[1:]) {
		t.Errorf("sent to %v", sent)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestARequestWaitsForAPlaceWhenTheClusterSaysSo(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	cluster, members, source := w.cluster(t, 1)
	one, wait := 1, 20*time.Second
	must(t, w.Clusters.Update(ctx, w.admin, cluster, ClusterPatch{Limits: gateway.Limits{Concurrency: &one}, QueueTimeout: &wait}))
	w.tunnels.show(members[0], func(p *gateway.Presence) { p.InFlight = 1 })
	done := make(chan error, 1)
	go func() {
		response, err := w.Dispatcher.Dispatch(ctx, w.admin, query(cluster, source, true))
		if err == nil {
			err = response.Body.Close()
		}
		done <- err
	}()
	for w.Dispatcher.Waiting(cluster) == 0 {
		select {
		case err := <-done:
			t.Fatalf("did not wait: %v", err)
		default:
		}
	}
	w.tunnels.show(members[0], func(p *gateway.Presence) { p.InFlight = 0 })
	must(t, <-done)
	none := time.Duration(0)
	must(t, w.Clusters.Update(ctx, w.admin, cluster, ClusterPatch{QueueTimeout: &none}))
	w.tunnels.show(members[0], func(p *gateway.Presence) { p.InFlight = 1 })
	if _, err := w.Dispatcher.Dispatch(ctx, w.admin, query(cluster, source, true)); !gateway.IsCode(err, gateway.CodeConcurrencyLimit) {
		t.Errorf("without a queue time-out: %v", err)
	}
}

func TestWhoMayDispatch(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	cluster, _, source := w.cluster(t, 1)
	user, stranger := w.principal(t, "user"), w.principal(t, "stranger")
	dispatch := func(c *gateway.Caller) error {
		response, err := w.Dispatcher.Dispatch(ctx, c, query(cluster, source, true))
		if err == nil {
			response.Body.Close()
		}
		return err
	}
	if err := dispatch(user); !gateway.IsCode(err, gateway.CodeNotFound) {
		t.Errorf("before: %v", err)
	}
	must(t, w.DataSources.PutUser(ctx, w.admin, cluster, source, NewDataSourceUser{PrincipalID: user.ID, Role: gateway.DataSourceReader, Right: gateway.RightRead}))
	if err := dispatch(user); err != nil {
		t.Errorf("the new right does not hold at once: %v", err)
	}
	if err := dispatch(stranger); !gateway.IsCode(err, gateway.CodeNotFound) {
		t.Errorf("a stranger: %v", err)
	}
	must(t, w.DataSources.DeleteUser(ctx, w.admin, cluster, source, user.ID.String()))
	if err := dispatch(user); !gateway.IsCode(err, gateway.CodeNotFound) {
		t.Errorf("after: %v", err)
	}
}

// What a dispatch costs beside the tunnel: checks, routing, hand-over, record.
func BenchmarkDispatch(b *testing.B) {
	w := newWorld(b)
	cluster, members, source := w.cluster(b, 2)
	answer := small("fine")
	answer.Held = true
	for _, m := range members {
		w.tunnels.answer(m, func(*gateway.Task) (*gateway.Answer, error) { return answer, nil })
	}
	q := query(cluster, source, true)
	b.ReportAllocs()
	for b.Loop() {
		response, err := w.Dispatcher.Dispatch(context.Background(), w.admin, q)
		if err != nil {
			b.Fatal(err)
		}
		response.Body.Close()
		w.tunnels.sent = w.tunnels.sent[:0]
	}
}
