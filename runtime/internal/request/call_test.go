package request_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/btgen-dev/btgen/runtime/internal/call"
)

// TestResume checks that pauses grow only while a call gets no further.
func TestResume(t *testing.T) {
	for _, c := range []struct {
		further     bool
		least, most time.Duration
	}{
		{true, 10 * time.Second, 20 * time.Second},
		{false, 30 * time.Second, 100 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin, left := time.Now(), 20
			err := call.Resume(t.Context(), time.Second, func(error) bool { return true }, func() (bool, error) {
				if left--; left < 0 {
					return true, nil
				}
				return c.further, errors.New("it breaks off")
			})
			if took := time.Since(begin); err != nil || took < c.least || took > c.most {
				t.Errorf("further %v: %v, after %v", c.further, err, took)
			}
		})
	}
}
