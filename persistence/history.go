package persistence

import (
	"context"
	"database/sql"
	"time"

	"comporta/service/gateway"
)

func readAudit(row scanner) (e gateway.AuditEntry, err error) {
	var at int64
	err = row.Scan(&e.ID, &at, &e.CallerID, &e.Caller, &e.From, &e.RequestID, &e.Action, &e.Kind, &e.ResourceID, &e.ClusterID, &e.Before, &e.After)
	e.At = moment(at)
	return e, err
}

// narrowing gathers conditions, each with its argument.
type narrowing struct {
	where string
	args  []any
}

func (n *narrowing) add(condition string, args ...any) {
	n.where += " AND " + condition
	n.args = append(n.args, args...)
}

func (n *narrowing) id(column string, id gateway.ID) {
	if id != "" {
		n.add(column+" = ?", id)
	}
}

func (n *narrowing) time(condition string, at time.Time) {
	if !at.IsZero() {
		n.add(condition, micros(at))
	}
}

// Audit lists audit entries, oldest first.
func (c *conn) Audit(ctx context.Context, f AuditFilter) ([]gateway.AuditEntry, error) {
	var n narrowing
	n.id("cluster_id", f.ClusterID)
	n.id("caller_id", f.CallerID)
	n.id("resource_id", f.ResourceID)
	if f.Action != "" {
		n.add("action = ?", f.Action)
	}
	n.time("at >= ?", f.Since)
	n.time("at < ?", f.Until)
	after := micros(f.After.At)
	n.add("(at > ? OR at = ? AND id > ?)", after, after, f.After.ID)
	return many(ctx, c, readAudit, `SELECT id, at, caller_id, caller, came_from, request_id, action, kind, resource_id, cluster_id, before, after FROM audit
		WHERE 1 = 1`+n.where+` ORDER BY at, id LIMIT ?`, append(n.args, limit(f.Limit))...)
}

// AppendAudit adds an audit entry.
func (c *conn) AppendAudit(ctx context.Context, e gateway.AuditEntry) error {
	_, err := c.exec(ctx, `INSERT INTO audit (id, at, caller_id, caller, came_from, request_id, action, kind, resource_id, cluster_id, before, after)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, micros(e.At), e.CallerID, e.Caller, e.From, e.RequestID, e.Action, e.Kind, e.ResourceID, e.ClusterID, e.Before, e.After)
	return err
}

func readRecord(row scanner) (r gateway.DispatchRecord, err error) {
	var at, duration int64
	err = row.Scan(&r.ID, &at, &r.RequestID, &r.CallerID, &r.ClusterID, &r.MemberID, &r.DataSourceID, &duration, &r.Rows, &r.Bytes, &r.Attempts, &r.Outcome)
	r.At, r.Duration = moment(at), time.Duration(duration)
	return r, err
}

// DispatchRecords lists dispatch records, newest first.
func (c *conn) DispatchRecords(ctx context.Context, f RecordFilter) ([]gateway.DispatchRecord, error) {
	var n narrowing
	n.id("cluster_id", f.ClusterID)
	n.id("member_id", f.MemberID)
	n.id("data_source_id", f.DataSourceID)
	n.time("at >= ?", f.Since)
	return many(ctx, c, readRecord, `SELECT id, at, request_id, caller_id, cluster_id, member_id, data_source_id, duration, row_count, bytes, attempts, outcome
		FROM dispatch_records WHERE 1 = 1`+n.where+` ORDER BY at DESC, id DESC LIMIT ?`, append(n.args, limit(f.Limit))...)
}

// AppendDispatchRecords adds dispatch records.
func (c *conn) AppendDispatchRecords(ctx context.Context, records []gateway.DispatchRecord) error {
	return each(ctx, c, records, `INSERT INTO dispatch_records (id, at, request_id, caller_id, cluster_id, member_id, data_source_id, duration, row_count, bytes,
		attempts, outcome) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, func(r gateway.DispatchRecord) []any {
		return []any{r.ID, micros(r.At), r.RequestID, r.CallerID, r.ClusterID, r.MemberID, r.DataSourceID, int64(r.Duration), r.Rows, r.Bytes, r.Attempts, r.Outcome}
	})
}

// AppendLoadSamples adds load samples.
func (c *conn) AppendLoadSamples(ctx context.Context, samples []gateway.LoadSample) error {
	return each(ctx, c, samples, "INSERT INTO load_samples (member_id, at, cpu, memory, running) VALUES (?, ?, ?, ?, ?)", func(s gateway.LoadSample) []any {
		return []any{s.MemberID, micros(s.At), percent(s.Load.CPU), percent(s.Load.Memory), s.Load.Running}
	})
}

// each runs one prepared statement for every value.
func each[T any](ctx context.Context, c *conn, values []T, query string, args func(T) []any) error {
	if len(values) == 0 {
		return nil
	}
	statement, err := c.tx.PrepareContext(ctx, c.dialect.rebind(query))
	if err != nil {
		return err
	}
	defer statement.Close()
	for _, v := range values {
		if _, err := statement.ExecContext(ctx, args(v)...); err != nil {
			return err
		}
	}
	return nil
}

// percent is NULL for an unknown reading.
func percent(r gateway.Reading) any {
	if !r.Known {
		return nil
	}
	return r.Percent
}

func reading(v sql.NullFloat64) gateway.Reading {
	return gateway.Reading{Percent: v.Float64, Known: v.Valid}
}

// LoadSamples lists a member's samples, oldest first.
func (c *conn) LoadSamples(ctx context.Context, member gateway.ID, since time.Time) ([]gateway.LoadSample, error) {
	read := func(row scanner) (s gateway.LoadSample, err error) {
		var at int64
		var cpu, memory sql.NullFloat64
		err = row.Scan(&s.MemberID, &at, &cpu, &memory, &s.Load.Running)
		s.At, s.Load.CPU, s.Load.Memory = moment(at), reading(cpu), reading(memory)
		return s, err
	}
	return many(ctx, c, read, "SELECT member_id, at, cpu, memory, running FROM load_samples WHERE member_id = ? AND at >= ? ORDER BY at", member, micros(since))
}
