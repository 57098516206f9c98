package call

import (
	"context"
	"math/rand/v2"
	"time"
)

// maxPause is the longest pause between two attempts.
const maxPause = 5 * time.Second

// Again calls f until it succeeds, fails otherwise than transient reports, or ctx ends, and returns its last
// error. The first pause is between a half and the whole of the given one, which avoids synchronizing with other
// processes, and each later one is twice as long, up to 5 s.
func Again(ctx context.Context, pause time.Duration, transient func(error) bool, f func() error) error {
	for {
		err := f()
		if err == nil || !transient(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause/2 + rand.N(pause/2)):
		}
		pause = min(2*pause, maxPause)
	}
}
