package store

import (
	"context"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/templates/wire"
)

// A timer that runs out just when a row comes may give up late: never a request that
// has got its memory since.
func TestTimersThatRunOutWhileARowComes(t *testing.T) {
	row := bigtable.Row{"f": {{Row: "r", Column: "f:c"}}}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 20_000 {
				after := time.Duration(i%40) * time.Microsecond
				_, cancel := context.WithCancelCause(t.Context())
				q := &request{op: new(Operation), yield: func(*wire.Row, error) bool { return true }, idle: startIdle(after, cancel)}
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
