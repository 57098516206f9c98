package call

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxPause is the longest pause between two attempts.
const maxPause = 5 * time.Second

// Again calls f until it succeeds, fails otherwise than transient reports, or ctx ends, and returns its last
// error. The first pause is between a half and the whole of the given one, which avoids synchronizing with other
// processes, and each later one is twice as long, up to 5 s.
func Again(ctx context.Context, pause time.Duration, transient func(error) bool, f func() error) error {
	return Resume(ctx, pause, transient, func() (bool, error) { return false, f() })
}

// Resume is [Again] for a call that continues where the one before failed, and reports whether it got further. The pause
// after one that did is the first one.
func Resume(ctx context.Context, first time.Duration, transient func(error) bool, f func() (further bool, err error)) error {
	for pause := first; ; pause = min(2*pause, maxPause) {
		further, err := f()
		if err == nil || !transient(err) {
			return err
		}
		if further {
			pause = first
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause/2 + rand.N(pause/2)):
		}
	}
}

// Passing reports whether an error is likely to pass, so that the same request may succeed later. Requests that change rows
// may have been executed.
func Passing(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.Aborted, codes.Internal:
		return true
	case codes.ResourceExhausted:
		return !strings.Contains(err.Error(), "larger than max") // of gRPC, about the size of a message
	}
	return false
}
