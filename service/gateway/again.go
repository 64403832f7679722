package gateway

import "context"

type lastResort struct{}

// LastResort marks the context of an attempt that has nobody else to go to: a member that is in doubt may be waited for once more.
func LastResort(ctx context.Context) context.Context {
	return context.WithValue(ctx, lastResort{}, true)
}

// IsLastResort reports whether LastResort has marked the context.
func IsLastResort(ctx context.Context) bool { return ctx.Value(lastResort{}) != nil }
