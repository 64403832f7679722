package persistence

import (
	"context"
	"time"

	"comporta/service/gateway"
)

const (
	auditColumns  = "id, at, caller_id, caller, caller_from, request_id, action, kind, resource_id, cluster_id, before_json, after_json"
	recordColumns = "id, at, request_id, caller_id, cluster_id, member_id, data_source_id, duration, row_count, byte_count, attempts, outcome"
	sampleColumns = "member_id, at, load"
	// A batch may come twice when the answer to its first commit was lost.
	onceOnly = "ON CONFLICT DO NOTHING"
)

// Audit lists entries from Since (included) until Until (excluded), oldest first.
func (r *reader) Audit(ctx context.Context, f AuditFilter) ([]gateway.AuditEntry, error) {
	s := from(auditColumns, "audit")
	whereSet(s, "cluster_id", f.ClusterID)
	whereSet(s, "caller_id", f.CallerID)
	whereSet(s, "resource_id", f.ResourceID)
	whereSet(s, "action", f.Action)
	if !f.Since.IsZero() {
		s.where("at >= ?", f.Since)
	}
	if !f.Until.IsZero() {
		s.where("at < ?", f.Until)
	}
	s.after("at", f.After)
	return list(ctx, r, s.order("at, id", Page{Limit: f.Limit}), func(from row, e *gateway.AuditEntry) error {
		return from.Scan(&e.ID, timeInto{&e.At}, &e.CallerID, &e.Caller, &e.From, &e.RequestID, &e.Action, &e.Kind, &e.ResourceID, &e.ClusterID,
			&e.Before, &e.After)
	})
}

func (t *tx) AppendAudit(ctx context.Context, e gateway.AuditEntry) error {
	return t.insert(ctx, "audit", auditColumns, "", []any{e.ID, e.At, e.CallerID, e.Caller, e.From, e.RequestID, e.Action, e.Kind, e.ResourceID,
		e.ClusterID, e.Before, e.After})
}

func (r *reader) DispatchRecords(ctx context.Context, f RecordFilter) ([]gateway.DispatchRecord, error) {
	s := from(recordColumns, "dispatch_records")
	whereSet(s, "cluster_id", f.ClusterID)
	whereSet(s, "member_id", f.MemberID)
	whereSet(s, "data_source_id", f.DataSourceID)
	if !f.Since.IsZero() {
		s.where("at >= ?", f.Since)
	}
	return list(ctx, r, s.order("at DESC, id DESC", Page{Limit: f.Limit}), func(from row, d *gateway.DispatchRecord) error {
		return from.Scan(&d.ID, timeInto{&d.At}, &d.RequestID, &d.CallerID, &d.ClusterID, &d.MemberID, &d.DataSourceID, &d.Duration, &d.Rows,
			&d.Bytes, &d.Attempts, &d.Outcome)
	})
}

func (t *tx) AppendDispatchRecords(ctx context.Context, records []gateway.DispatchRecord) error {
	rows := make([][]any, 0, len(records))
	for _, d := range records {
		rows = append(rows, []any{d.ID, d.At, d.RequestID, d.CallerID, d.ClusterID, d.MemberID, d.DataSourceID, d.Duration, d.Rows, d.Bytes,
			d.Attempts, d.Outcome})
	}
	return t.insert(ctx, "dispatch_records", recordColumns, onceOnly, rows...)
}

func (r *reader) LoadSamples(ctx context.Context, member gateway.ID, since time.Time, most int) ([]gateway.LoadSample, error) {
	var all int
	count := "SELECT COUNT(*) FROM load_samples WHERE member_id = ? AND at >= ?"
	if err := r.first(ctx, count, []any{member, since}, func(from row) error { return from.Scan(&all) }); err != nil {
		return nil, err
	}
	numbered := from(sampleColumns+", ROW_NUMBER() OVER (ORDER BY at DESC) AS place", "load_samples").where("member_id = ?", member).where("at >= ?", since)
	s := from(sampleColumns, "("+numbered.text.String()+") AS numbered")
	s.args = numbered.args
	every := max(1, (all+most-1)/most)
	s.where("(place - 1) % ? = 0", every)
	return list(ctx, r, s.order("at", Page{}), func(from row, l *gateway.LoadSample) error {
		return from.Scan(&l.MemberID, timeInto{&l.At}, jsonInto{&l.Load})
	})
}

func (t *tx) AppendLoadSamples(ctx context.Context, samples []gateway.LoadSample) error {
	rows := make([][]any, 0, len(samples))
	for _, l := range samples {
		rows = append(rows, []any{l.MemberID, l.At, asJSON{l.Load}})
	}
	return t.insert(ctx, "load_samples", sampleColumns, onceOnly, rows...)
}

// Trim bounds the history by age and number, keep 0 or more, and forgets deletions that everybody has seen.
func (t *tx) Trim(ctx context.Context, before time.Time, keep int) error {
	if err := t.trim(ctx, "dispatch_records", "id", before, keep); err != nil {
		return err
	}
	if err := t.trim(ctx, "load_samples", "member_id", before, keep); err != nil {
		return err
	}
	_, err := t.exec(ctx, "DELETE FROM tombstones WHERE deleted_at < ?", t.now.Add(-tombstoneLife))
	return err
}

func (t *tx) trim(ctx context.Context, table, tie string, before time.Time, keep int) error {
	if _, err := t.exec(ctx, "DELETE FROM "+table+" WHERE at < ?", before); err != nil {
		return err
	}
	position := "(at, " + tie + ")"
	oldest := "SELECT at, " + tie + " FROM " + table + " ORDER BY at DESC, " + tie + " DESC LIMIT 1 OFFSET ?"
	_, err := t.exec(ctx, "DELETE FROM "+table+" WHERE "+position+" <= ("+oldest+")", max(keep, 0))
	return err
}
