package issuer

import (
	"context"

	"golang.org/x/sync/singleflight"
)

// flight is a reading that runs once for all who wait for it. It goes on when they go away: what it brings is for the next one too, and so
// nobody can keep others from it by hanging up.
type flight struct{ group singleflight.Group }

// landing brings the end of one reading.
type landing <-chan singleflight.Result

// start begins to read, unless that is under way.
func (f *flight) start(ctx context.Context, read func(context.Context) error) landing {
	return f.group.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
		defer cancel()
		return nil, read(ctx)
	})
}

// wait returns what the reading came to, or why ctx ended before.
func (l landing) wait(ctx context.Context) error {
	select {
	case result := <-l:
		return result.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}
