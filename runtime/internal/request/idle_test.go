package request

import (
	"context"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

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
				q.idle.after = time.Hour
				q.take(row)
				q.idle.end()
				cancel(nil)
			}
		})
	}
	wg.Wait()
}
