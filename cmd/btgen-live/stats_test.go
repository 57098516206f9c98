package main

import (
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/store"
)

// TestKept checks that the events that are compressed are adjacent ones of the first places of a sample, and that their number
// and size are bounded.
func TestKept(t *testing.T) {
	for _, test := range []struct{ places, rows, events, bytes, kept, of int }{
		{1, 32, 1440, 300_000, 1000, 1},
		{12, 2, 1440, 300_000, 12_000, 12},
		{60, 1000, 1, 100, 32_000, 32},
		{3, 2, 10, 1 << 30, 3, 3},
		{500, 100, 1, 50, 32_000, 320},
	} {
		k := kept{on: true}
		for range test.places {
			k.place()
			for row := range test.rows {
				events := make([]dynamic.Event, test.events)
				for i := range events {
					events[i] = dynamic.Event{Time: time.Unix(int64(row*test.events+i), 0)}
				}
				k.add(&store.ScannedRow[dynamic.Event]{Events: events, Bytes: test.bytes})
			}
		}
		for _, events := range k.places {
			for i, e := range events {
				assert.Same(t, int64(i), e.Time.Unix())
			}
		}
		assert.Same(t, []int{test.kept, test.of}, []int{k.n, len(k.places)}, test)
	}
	off := kept{}
	off.place()
	off.add(&store.ScannedRow[dynamic.Event]{Events: make([]dynamic.Event, 1)})
	assert.Same(t, 0, len(off.places))
}
