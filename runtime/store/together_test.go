package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// Whatever part of the rows of several spans one request reads before the spans are
// read one by one, each event arrives exactly once and in order, in both directions and
// on both paths.
func TestGatheredRows(t *testing.T) {
	t.Parallel()
	const n = 12 // number of days
	for _, l := range testlong.Sample([]*Mapping[sample]{metrics(), unsorted(metrics()), classed(metrics()), days(), singles(), offsets(), expires(singles())}, 3) {
		t.Run(l.Table.ID, func(t *testing.T) {
			bt := newBigtable(t, l)
			var samples []sample
			names := []string{"s0"}
			if l.Pattern != codec.BucketNewColumns {
				names = []string{"s0", "s1", "s2"}
			}
			for day := range n {
				for i, name := range names {
					for k := range 1 + (day+i)%3 {
						e := sample{Series: name, Time: at(86400*day + 60*k), Value: uint64(100*day + k), ExpiresAt: at(86400 * 100)}
						if l.Pattern != codec.BucketOffsets && l.Table.ID != "singles_expires" || l.Pattern == codec.BucketNewColumns {
							e.Note = fmt.Append(nil, day)
						}
						if l.Table.hasClasses() {
							e.Class = 1 + day%2
						}
						samples = append(samples, e)
					}
				}
			}
			must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(86400*n)).WriteAll(t.Context(), samples))
			without, err := storetest.ConnectPlain(t.Context(), bt.Addr)
			must(t, err)
			defer func() { _ = without.Close() }()
			q, base := of(names...), sample{}
			if l.Pattern == codec.BucketNewColumns {
				q, base = nil, sample{Series: "s0"}
			}
			stored := 0
			must(t, bt.Client.Open(l.Table.ID).ReadRows(t.Context(), bigtable.InfiniteRange(""), func(bigtable.Row) bool {
				stored++
				return true
			}))
			for i, client := range []*bigtable.Client{bt.Client, without} {
				for _, gathered := range []int{0, 100, 300, 1000, 3000, 1 << 20} {
					for _, newestFirst := range []bool{false, true} {
						rows := 0
						r := NewReader(client, l, ReaderOptions{Now: clockAt(86400 * n).Now, Hooks: Hooks{End: func(_ context.Context, op Operation, _ error) { rows = op.Rows }}})
						r.reader.gathered = gathered
						if q == nil {
							q = wholeOf(r)
						}
						var got []string
						for e, err := range readOf(t.Context(), r, q, SeriesOf(base), at(0), at(86400*n), ReadOptions{NewestFirst: newestFirst}) {
							must(t, err)
							got = append(got, fmt.Sprint(e.Series, e.Time.Unix(), e.Value))
						}
						slices.SortFunc(samples, func(a, b sample) int { return compareGathered(l, &a, &b, newestFirst) })
						var want []string
						for _, e := range samples {
							want = append(want, fmt.Sprint(e.Series, e.Time.Unix(), e.Value))
						}
						if rows != stored {
							t.Errorf("path %d, %d bytes: %d rows of %d were received", i, gathered, rows, stored)
						}
						if !slices.Equal(got, want) {
							t.Errorf("path %d, %d bytes, newest first %v:\n%v\nwant\n%v", i, gathered, newestFirst, got, want)
						}
					}
				}
			}
		})
	}
}

// compareGathered orders samples by bucket, series and time, or rows of single events
// by time and series. Rows at the same position are ordered by span in both directions.
func compareGathered(l *Mapping[sample], a, b *sample, newestFirst bool) int {
	sign := 1
	if newestFirst {
		sign = -1
	}
	if !l.Pattern.Bucketed() {
		return cmp.Or(sign*a.Time.Compare(b.Time), cmp.Compare(a.Series, b.Series))
	}
	return cmp.Or(sign*l.Key.Bucket.Start(a.Time).Compare(l.Key.Bucket.Start(b.Time)), cmp.Compare(a.Series, b.Series), sign*a.Time.Compare(b.Time))
}

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
