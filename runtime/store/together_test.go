package store

import (
	"context"
	"errors"
	"testing"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Latest takes one request if the current bucket or a later one has the newest event,
// whatever the labels; else it finds it with more requests.
func TestLatestOfAnyLabels(t *testing.T) {
	for _, mapping := range []func() *Mapping[sample]{
		days, metrics, offsets, func() *Mapping[sample] { return unsorted(days()) }, func() *Mapping[sample] { return unsorted(metrics()) },
	} {
		for _, c := range []struct {
			days     []int // days with events
			now      int
			requests int // if labels do not sort
		}{
			{[]int{1, 2, 3}, 3, 1}, {[]int{0, 1, 2, 3, 4, 5}, 2, 1}, {[]int{0, 2, 92, 93}, 2, 1}, {[]int{0, 1, 2}, 1, 1}, {[]int{2}, 2, 1},
			{[]int{0, 1}, 3, 3}, {[]int{1, 2, 91}, 95, 3}, {nil, 3, 2},
		} {
			l := mapping()
			bt := newBigtable(t, l)
			samples := []sample{{Series: "s1", Time: at(86400 * 200), Value: 1}, {Series: "r", Time: at(86400 * 200), Value: 1}}
			for _, day := range c.days {
				samples = append(samples, sample{Series: "s", Time: at(86400*day + 60), Value: uint64(day)}, sample{Series: "s", Time: at(86400*day + 120), Value: uint64(day + 1000)})
			}
			if l.Pattern != codec.BucketOffsets {
				for i := range samples {
					samples[i].Note = []byte("n")
				}
			}
			must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(0)).WriteAll(t.Context(), samples))
			requests := 0
			r := NewReader(bt.Client, l, ReaderOptions{Now: clockAt(86400*c.now + 300).Now, Hooks: Hooks{End: func(_ context.Context, op Operation, _ error) { requests = op.Requests }}})
			e, err := r.Latest(t.Context(), sample{Series: "s"})
			if c.days == nil {
				if !errors.Is(err, ErrNotFound) {
					t.Errorf("%s %+v: %v, %v", l.Table.ID, c, e, err)
				}
			} else if last := c.days[len(c.days)-1]; err != nil || e.Value != uint64(last+1000) {
				t.Errorf("%s %+v: %v, %v", l.Table.ID, c, e, err)
			}
			want, shape := c.requests, l.untyped().shape()
			switch {
			case shape.InOrder() && l.Pattern != codec.BucketNewColumns:
				want = 1
			case l.Pattern == codec.BucketNewColumns && shape.InOrder() && want > 1:
				want = 3 // one row per field
			case l.Pattern == codec.BucketNewColumns && want > 1:
				want = 2*want - 1
			}
			if requests != want {
				t.Errorf("%s %+v: %d requests, want %d", l.Table.ID, c, requests, want)
			}
		}
	}
}
