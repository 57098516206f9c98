package layout_test

import (
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// A year of windows is no longer than a leap year, though twelve long months would be.
func TestWidest(t *testing.T) {
	const day = 24 * time.Hour
	for every, want := range map[schema.Span]time.Duration{
		{}: 0, {Fixed: 7 * day}: 7 * day, {Months: 1}: 31 * day, {Months: 12}: 366 * day, {Months: 14}: 428 * day,
	} {
		compare(t, want, (&layout.MaterializedView{Every: every}).Widest(), every)
	}
}
