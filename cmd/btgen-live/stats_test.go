package main

import (
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/store"
)

// TestKept checks that the events that are compressed are of places all over a sample, however many
// it has, and adjacent at each, and that their number and size are bounded.
func TestKept(t *testing.T) {
	for _, test := range []struct{ places, rows, events, bytes, least int }{
		{1, 32, 1440, 300_000, 1000},
		{testlong.Pick(12, 60), testlong.Pick(2, 10), 1440, 300_000, 10_000},
		{60, 1000, 1, 100, 10_000},
		{3, 2, 10, 1 << 30, 3},
		{500, 100, 1, 50, 10_000},
	} {
		k := kept{on: true}
		for place := range test.places {
			k.place()
			for row := range test.rows {
				events := make([]dynamic.Event, test.events)
				for i := range events {
					events[i] = dynamic.Event{Sequence: uint32(place), Time: time.Unix(int64(row*test.events+i), 0)}
				}
				k.add(&store.ScannedRow[dynamic.Event]{Events: events, Bytes: test.bytes})
			}
		}
		n := 0
		for _, events := range k.places {
			n += len(events)
			for i, e := range events {
				if e.Time.Unix() != int64(i) || e.Sequence != events[0].Sequence {
					t.Fatalf("%+v: event %d is %+v", test, i, e)
				}
			}
		}
		last := int(k.places[len(k.places)-1][0].Sequence)
		if n > maxKept+maxKeptOfPlace || n < test.least || last < test.places/2 {
			t.Errorf("%+v: %d events of %d places up to %d", test, n, len(k.places), last)
		}
	}
	off := kept{}
	off.place()
	off.add(&store.ScannedRow[dynamic.Event]{Events: make([]dynamic.Event, 1)})
	if off.places != nil {
		t.Errorf("%d places are kept without a sample", len(off.places))
	}
}
