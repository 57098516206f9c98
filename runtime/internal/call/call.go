// Package call has what the calls of packages store and setup have in common: options, time
// limits, the causes of errors, and the check of emulators. It knows no schemas and no tables.
package call

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Last returns the last of some options, or the zero value.
func Last[O any](opts []O) O {
	if len(opts) == 0 {
		var zero O
		return zero
	}
	return opts[len(opts)-1]
}

// Clock returns now, or time.Now if it is nil.
func Clock(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return now
}

// Within returns ctx with the timeout, if there is one.
func Within(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, timeout)
}

// Explain adds the cause of ctx to an error of the client, which drops it, so that
// errors.Is(err, context.DeadlineExceeded) holds.
func Explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	cause := context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// AtOnce calls f with 0 to n-1, up to a number of them concurrently.
func AtOnce(n, most int, f func(i int)) {
	if n == 1 {
		f(0)
		return
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, most)
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	all.Wait()
}
