package connector

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"

	"comporta/service/gateway"
)

// errMayStand marks a failure that came when what a request wrote may have been done for good: a web server had it, a COMMIT was on its way,
// or the statement may have committed by itself or written to a table without transactions. A write that fails without it was certainly taken back, or never begun.
var errMayStand = errors.New("what was written may stand")

// mayStand marks err; nil stays nil.
func mayStand(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errMayStand, err)
}

// marked marks failure, which was made of err and says it in other words, if err was marked.
func marked(failure, err error) error {
	if errors.Is(err, errMayStand) {
		return mayStand(failure)
	}
	return failure
}

// committed marks what a database answered to COMMIT, unless that says that nothing was committed: it was never sent, PostgreSQL cancelled what
// comes before the commit itself (deferred triggers and constraints), or SQLite did not get its lock.
func committed(err error) error {
	var cancelled *pgconn.PgError
	var busy sqlite3.Error
	switch {
	case pgconn.SafeToRetry(err):
		return err
	case errors.As(err, &cancelled) && cancelled.Code == "57014":
		return err
	case errors.As(err, &busy) && busy.Code == sqlite3.ErrBusy:
		return err
	}
	return mayStand(asked(err))
}

// causedByEnd are the failures that a request may show when its context ended under it.
var causedByEnd = []gateway.Code{gateway.CodeDataSourceAccess, gateway.CodeQuery, gateway.CodeInternal, gateway.CodeBroken}

// overtaken is what is told of err: the end of ctx wins over what it broke. Of a write that may have been done it is not said that it was
// cancelled: who hears that sends it again, and it is done twice.
func overtaken(ctx context.Context, readOnly bool, err error) error {
	ended := contextFailure(ctx)
	var known *gateway.Error
	switch {
	case ended == nil, errors.As(err, &known) && !slices.Contains(causedByEnd, known.Code):
		return err
	case !readOnly && errors.Is(err, errMayStand):
		return unknownOutcome(ctx, err)
	}
	return ended
}

// unknownOutcome is what a caller hears of a write that may have been done when ctx ended.
func unknownOutcome(ctx context.Context, cause error) *gateway.Error {
	why := "The request ran out of its time"
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why = "The caller went away"
	}
	return gateway.Wrap(gateway.CodeOutcomeUnknown, cause, "%s when the data source may have done it already. The request ran once or not at all; look before you repeat it.", why)
}
