package storetest

import (
	"context"
	"strconv"
	"time"

	"comporta/persistence"
	"comporta/service/gateway"
)

func (s *suite) entry(n int) gateway.AuditEntry {
	return gateway.AuditEntry{ID: newID(), At: at(n), CallerID: newID(), Caller: "Zoë", From: "::1", RequestID: "r", Action: "cluster.create", Kind: "cluster",
		ResourceID: newID(), ClusterID: newID(), Before: `{"a":1}`, After: `{"a":"é"}`}
}

func audit(s *suite) {
	list := func(f persistence.AuditFilter) []gateway.AuditEntry {
		s.Helper()
		return read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.AuditEntry, error) { return r.Audit(ctx, f) })
	}
	s.same(list(persistence.AuditFilter{}), []gateway.AuditEntry{})
	a, b, c := s.entry(1), s.entry(2), s.entry(3)
	s.full(a)
	b.Action, b.Before, b.After = "cluster.delete", "", ""
	for _, e := range []gateway.AuditEntry{c, a, b} {
		s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.AppendAudit(ctx, e) })
	}
	for name, v := range map[string]struct {
		filter persistence.AuditFilter
		want   []gateway.AuditEntry
	}{
		"all":      {persistence.AuditFilter{}, []gateway.AuditEntry{a, b, c}},
		"cluster":  {persistence.AuditFilter{ClusterID: b.ClusterID}, []gateway.AuditEntry{b}},
		"caller":   {persistence.AuditFilter{CallerID: c.CallerID}, []gateway.AuditEntry{c}},
		"resource": {persistence.AuditFilter{ResourceID: a.ResourceID}, []gateway.AuditEntry{a}},
		"action":   {persistence.AuditFilter{Action: "cluster.create"}, []gateway.AuditEntry{a, c}},
		"since":    {persistence.AuditFilter{Since: at(2)}, []gateway.AuditEntry{b, c}},
		"until":    {persistence.AuditFilter{Until: at(2)}, []gateway.AuditEntry{a}},
		"limit":    {persistence.AuditFilter{Limit: 2}, []gateway.AuditEntry{a, b}},
		"after":    {persistence.AuditFilter{After: persistence.After{At: a.At, ID: a.ID}, Limit: 1}, []gateway.AuditEntry{b}},
		"several":  {persistence.AuditFilter{Action: "cluster.create", Since: at(2), Until: at(9), CallerID: c.CallerID}, []gateway.AuditEntry{c}},
		"nobody":   {persistence.AuditFilter{CallerID: newID()}, []gateway.AuditEntry{}},
	} {
		if got := list(v.filter); len(got) != len(v.want) {
			s.Fatalf("%s: %d entries; want %d", name, len(got), len(v.want))
		} else {
			s.same(got, v.want)
		}
	}
}

func (s *suite) record(n int) gateway.DispatchRecord {
	return gateway.DispatchRecord{ID: newID(), At: at(n), RequestID: strconv.Itoa(n), CallerID: newID(), ClusterID: newID(), MemberID: newID(), DataSourceID: newID(),
		Duration: 1234567 * time.Nanosecond, Rows: 1 << 40, Bytes: 1 << 50, Attempts: 2, Outcome: "ok"}
}

func (s *suite) append(records ...gateway.DispatchRecord) {
	s.Helper()
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.AppendDispatchRecords(ctx, records) })
}

func (s *suite) records(f persistence.RecordFilter) []gateway.DispatchRecord {
	s.Helper()
	return read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.DispatchRecord, error) {
		return r.DispatchRecords(ctx, f)
	})
}

func dispatchRecords(s *suite) {
	s.same(s.records(persistence.RecordFilter{}), []gateway.DispatchRecord{})
	s.append()
	a, b, c := s.record(1), s.record(2), s.record(3)
	s.full(a)
	s.append(b, a, c)
	s.append(a) // a batch that comes twice counts once
	s.same(s.records(persistence.RecordFilter{}), []gateway.DispatchRecord{c, b, a})
	s.same(s.records(persistence.RecordFilter{Limit: 1}), []gateway.DispatchRecord{c})
	s.same(s.records(persistence.RecordFilter{Since: at(2)}), []gateway.DispatchRecord{c, b})
	s.same(s.records(persistence.RecordFilter{ClusterID: a.ClusterID}), []gateway.DispatchRecord{a})
	s.same(s.records(persistence.RecordFilter{MemberID: b.MemberID}), []gateway.DispatchRecord{b})
	s.same(s.records(persistence.RecordFilter{DataSourceID: c.DataSourceID, ClusterID: c.ClusterID}), []gateway.DispatchRecord{c})
	s.same(s.records(persistence.RecordFilter{DataSourceID: c.DataSourceID, ClusterID: a.ClusterID}), []gateway.DispatchRecord{})
	var batch []gateway.DispatchRecord
	for i := range 1234 {
		batch = append(batch, s.record(i+10))
	}
	s.append(batch...)
	s.same(len(s.records(persistence.RecordFilter{})), len(batch)+3)
}

func (s *suite) samples(member gateway.ID, since time.Time) []gateway.LoadSample {
	s.Helper()
	return s.thinned(member, since, 1000)
}

func (s *suite) thinned(member gateway.ID, since time.Time, most int) []gateway.LoadSample {
	s.Helper()
	return read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.LoadSample, error) {
		return r.LoadSamples(ctx, member, since, most)
	})
}

func (s *suite) sample(member gateway.ID, list ...gateway.LoadSample) {
	s.Helper()
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.AppendLoadSamples(ctx, list) })
}

func loadSamples(s *suite) {
	m := newID()
	s.same(s.samples(m, time.Time{}), []gateway.LoadSample{})
	a := gateway.LoadSample{MemberID: m, At: at(1), Load: gateway.Load{CPU: gateway.Reading{Percent: 12.345678901234, Known: true}, Memory: gateway.Reading{Percent: 99, Known: true}, Running: 7}}
	s.full(a)
	s.full(a.Load)
	b := gateway.LoadSample{MemberID: m, At: at(2)}
	s.sample(m, b, a, gateway.LoadSample{MemberID: newID(), At: at(1)})
	s.sample(m, a)
	s.same(s.samples(m, time.Time{}), []gateway.LoadSample{a, b})
	s.same(s.samples(m, at(2)), []gateway.LoadSample{b})
	var many []gateway.LoadSample
	for i := range 11 {
		many = append(many, gateway.LoadSample{MemberID: m, At: at(i + 3)})
	}
	s.sample(m, many...)
	s.same(s.thinned(m, at(3), 11), many)
	s.same(s.thinned(m, at(3), 10), []gateway.LoadSample{many[0], many[2], many[4], many[6], many[8], many[10]})
	s.same(s.thinned(m, at(3), 1), many[10:])
}

func trim(s *suite) {
	m := newID()
	var records []gateway.DispatchRecord
	var samples []gateway.LoadSample
	for i := range 10 {
		records = append(records, s.record(i/2)) // two of each age
		samples = append(samples, gateway.LoadSample{MemberID: m, At: at(i)})
	}
	s.append(records...)
	s.sample(m, samples...)
	entry := s.entry(0)
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.AppendAudit(ctx, entry) })
	for _, step := range []struct {
		before        int
		keep          int
		records, load int
	}{{1, 100, 8, 9}, {1, 8, 8, 8}, {1, 5, 5, 5}, {100, 5, 0, 0}} {
		s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.Trim(ctx, at(step.before), step.keep) })
		left := s.records(persistence.RecordFilter{})
		s.same(len(left), step.records)
		s.same(len(s.samples(m, time.Time{})), step.load)
		if len(left) > 0 {
			s.same(left[0].At, at(4))
		}
	}
	s.same(len(read(s, func(ctx context.Context, r persistence.Reader) ([]gateway.AuditEntry, error) {
		return r.Audit(ctx, persistence.AuditFilter{})
	})), 1)
}
