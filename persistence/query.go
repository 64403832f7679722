package persistence

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math"
	"strings"

	"comporta/service/gateway"
)

// row is what a scan function reads from: one row of a result.
type row interface{ Scan(into ...any) error }

// scan reads one row into v.
type scan[T any] func(from row, v *T) error

// selection is a SELECT in the making.
type selection struct {
	text   strings.Builder
	args   []any
	joined bool
}

// from begins a selection; a text that has a WHERE already must not be narrowed.
func from(columns, tables string) *selection {
	s := &selection{}
	s.text.WriteString("SELECT " + columns + " FROM " + tables)
	return s
}

func (s *selection) where(condition string, args ...any) *selection {
	word := " WHERE "
	if s.joined {
		word = " AND "
	}
	s.joined = true
	s.text.WriteString(word + condition)
	s.args = append(s.args, args...)
	return s
}

// whereSet narrows by equality unless the value is "".
func whereSet[T ~string](s *selection, column string, value T) {
	if value != "" {
		s.where(column+" = ?", value)
	}
}

// after narrows to what comes after a position in the order of at and id.
func (s *selection) after(at string, a After) {
	if a != (After{}) {
		s.where("("+at+", id) > (?, ?)", a.At, a.ID)
	}
}

// order ends the selection.
func (s *selection) order(by string, p Page) *selection {
	s.text.WriteString(" ORDER BY " + by)
	if p.Skip <= 0 && p.Limit <= 0 {
		return s
	}
	limit := int64(math.MaxInt64)
	if p.Limit > 0 {
		limit = int64(p.Limit)
	}
	s.text.WriteString(" LIMIT ? OFFSET ?")
	s.args = append(s.args, limit, int64(max(p.Skip, 0)))
	return s
}

// list reads all rows; without any it is empty, not nil.
func list[T any](ctx context.Context, r *reader, s *selection, read scan[T]) ([]T, error) {
	args, err := bind(s.args)
	if err != nil {
		return nil, err
	}
	rows, err := r.sql.QueryContext(ctx, r.d.rewrite(s.text.String()), args...)
	if err != nil {
		return nil, r.fail(ctx, err)
	}
	defer rows.Close()
	all := []T{}
	for rows.Next() {
		var v T
		if err := read(rows, &v); err != nil {
			return nil, r.fail(ctx, err)
		}
		all = append(all, v)
	}
	return all, r.fail(ctx, rows.Err())
}

// one reads the first row; without any it is CodeNotFound about id, named by what.
func one[T any](ctx context.Context, r *reader, s *selection, read scan[T], what string, id gateway.ID) (T, error) {
	var v T
	err := r.first(ctx, s.text.String(), s.args, func(from row) error { return read(from, &v) })
	if errors.Is(err, sql.ErrNoRows) {
		return v, missing(what, id)
	}
	return v, err
}

// first reads the first row of a statement; without any it is sql.ErrNoRows, which does not doom the transaction.
func (r *reader) first(ctx context.Context, statement string, args []any, read func(from row) error) error {
	args, err := bind(args)
	if err != nil {
		return err
	}
	err = read(r.sql.QueryRowContext(ctx, r.d.rewrite(statement), args...))
	if errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return r.fail(ctx, err)
}

// exec runs a statement and returns how many rows it touched.
func (r *reader) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	args, err := bind(args)
	if err != nil {
		return 0, err
	}
	result, err := r.sql.ExecContext(ctx, r.d.rewrite(statement), args...)
	if err != nil {
		return 0, r.fail(ctx, err)
	}
	n, err := result.RowsAffected()
	return n, r.fail(ctx, err)
}

// change runs a statement that must touch a row; touching none is CodeNotFound about id, named by what.
func (r *reader) change(ctx context.Context, what string, id gateway.ID, statement string, args ...any) error {
	n, err := r.exec(ctx, statement, args...)
	if err == nil && n == 0 {
		return missing(what, id)
	}
	return err
}

// insertChunk is how many rows one INSERT carries at most; times a table's columns that is far under both databases' bounds.
const insertChunk = 100

// insert adds rows; tail is what follows the values, such as ON CONFLICT.
func (r *reader) insert(ctx context.Context, table, columns, tail string, rows ...[]any) error {
	for len(rows) > 0 {
		n := min(len(rows), insertChunk)
		var args []any
		for _, row := range rows[:n] {
			args = append(args, row...)
		}
		values := strings.TrimSuffix(strings.Repeat(marks(columns)+", ", n), ", ")
		if _, err := r.exec(ctx, "INSERT INTO "+table+" ("+columns+") VALUES "+values+" "+tail, args...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// marks returns (?, ?, …), one for each of the columns.
func marks(columns string) string {
	return "(" + strings.Repeat("?, ", strings.Count(columns, ",")) + "?)"
}

// fail remembers that a statement failed and gives the failure its code; nil stays nil. The driver's error stays the cause.
func (r *reader) fail(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	err = r.named(ctx, err)
	if r.failed == nil {
		r.failed = err
	}
	return err
}

func (r *reader) named(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch r.d.classify(err) {
	case faultTaken, faultTakenID:
		return gateway.Wrap(gateway.CodeConflict, err, "There is one with this id already.")
	case faultMissing:
		return gateway.Wrap(gateway.CodeNotFound, err, "What this belongs to is not there.")
	case faultUnavailable:
		return unavailable(err)
	}
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return unavailable(err)
	}
	return err
}

func unavailable(err error) error {
	return gateway.Wrap(gateway.CodeUnavailable, err, "The state database cannot be used at the moment.")
}

// taken gives a failure of a unique name its own code; other failures stay.
func (r *reader) taken(err error, code gateway.Code, message string) error {
	if err != nil && r.d.classify(err) == faultTaken {
		return gateway.Wrap(code, err, "%s", message)
	}
	return err
}

func missing(what string, id gateway.ID) error {
	return gateway.Errorf(gateway.CodeNotFound, "There is no such %s.", what).About(id)
}
