package request

import (
	"context"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// A timer that expires while a row arrives may fire late. It must not cancel a request
// that has since reused its memory.
func TestTimerExpiresWhileRowArrives(t *testing.T) {
	row := bigtable.Row{"f": {{Row: "r", Column: "f:c"}}}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range testlong.Pick(2_000, 20_000) {
				after := time.Duration(i%40) * time.Microsecond
				_, cancel := context.WithCancelCause(t.Context())
				q := &request{op: new(Operation), yield: func(wire.Row, error) bool { return true }, idle: startIdle(after, cancel)}
				for begin := time.Now(); time.Since(begin) < after; {
				}
				q.idle.expireAfter(time.Hour)
				q.take(row)
				q.idle.end()
				cancel(nil)
				ctx, cancel := context.WithCancelCause(t.Context())
				next := startIdle(time.Hour, cancel)
				if next.arrived(); ctx.Err() != nil {
					t.Error("canceled by the timer of another request")
				}
				next.end()
				cancel(nil)
			}
		})
	}
	wg.Wait()
}

// A timer that was paused expires after it is resumed.
func TestTimerResumes(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	i := startIdle(time.Hour, cancel)
	i.pause()
	i.expireAfter(time.Millisecond)
	i.resume()
	<-ctx.Done()
	i.end()
}

// A timer that expires too early is set again, or when the caller asks for the next row.
func TestTimerExpiresEarly(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	i := startIdle(time.Hour, cancel)
	i.expired()
	if i.due.IsZero() || ctx.Err() != nil {
		t.Errorf("due %s, %v", i.due, ctx.Err())
	}
	i.pause()
	i.since = time.Time{}
	i.expired()
	if !i.due.IsZero() || ctx.Err() != nil {
		t.Errorf("due %s while the caller takes its time, %v", i.due, ctx.Err())
	}
	i.resume()
	if i.due.IsZero() {
		t.Error("no timer for the next row")
	}
	i.since = time.Time{}
	i.arrived()
	i.expired()
	if ctx.Err() != nil {
		t.Error("canceled although a message arrived")
	}
	i.since = time.Time{}
	i.expired()
	if context.Cause(ctx) != errIdle {
		t.Error(context.Cause(ctx))
	}
	i.end()
}

// expireAfter changes the time after which a request is canceled.
func (i *idle) expireAfter(after time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.after = after
}

// A reversed read continues before its last row if the server has not said what it scanned. Of the errors for invalid
// arguments, only that of an empty range is its end.
func TestReadContinues(t *testing.T) {
	if at := (&request{last: []byte("r")}).position(true); at != "r" {
		t.Errorf("at %q", at)
	}
	if resumedAtEnd(status.Error(codes.InvalidArgument, "the filter is too large")) {
		t.Error("another error ends the read")
	}
}
