package store

import (
	"fmt"
	"slices"
	"testing"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// named returns events with the names of series.
func named(series ...string) []sample {
	return Each(series, func(s string) sample { return sample{Series: s} })
}

// TestManyInOneRequest counts what reads of several series request and receive: one request
// for all rows of these series, whatever the order and duplicates, and no cells of others.
func TestManyInOneRequest(t *testing.T) {
	const series, perSeries = 60, 3
	for _, l := range []*Mapping[sample]{days(), singles(), offsets(), metrics()} {
		bt := newBigtable(t, l)
		var samples []sample
		for i := range series {
			for k := range perSeries {
				samples = append(samples, sample{Series: fmt.Sprintf("s%02d", i), Time: at(86400*k + 60), Value: uint64(100*i + k)})
			}
		}
		const now = 86400 * perSeries
		must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(now)).WriteAll(t.Context(), samples))
		c := &counts{}
		r := NewReader(counted(bt.Client, c), l, clockAt(now))
		wanted := []string{"s40", "s07", "none", "s07", "s11", "s40"}
		var want, got []string
		for _, name := range []string{"s07", "s11", "s40"} {
			for _, s := range samples {
				if s.Series == name {
					want = append(want, rowText(&s))
				}
			}
		}
		for e, err := range r.Read(t.Context(), ManySeriesOf(named(wanted...)), at(0), at(now)) {
			must(t, err)
			got = append(got, rowText(&e))
		}
		same(t, want, got)
		requests := 1
		if l.Pattern == codec.BucketNewColumns {
			requests = 4 // of four different series, one after the other
		}
		if want := (counts{requests, 3 * perSeries}); *c != want {
			t.Errorf("%s: %+v, want %+v", l.Table.ID, *c, want)
		}
		*c = counts{}
		var newest []string
		for e, err := range r.LatestMany(t.Context(), named(wanted...)) {
			must(t, err)
			newest = append(newest, fmt.Sprint(e.Series, " ", e.Value))
		}
		same(t, []string{"s40 4002", "s07 702", "s11 1102"}, newest)
		*c = counts{}
		for range readOf(t.Context(), r, wholeOf(r), ManySeriesOf[sample](nil), at(0), at(now)) {
			t.Error("events of no series")
		}
		if *c != (counts{}) {
			t.Errorf("%s: %+v for no series", l.Table.ID, *c)
		}
	}
}

// TestManyFillRequests reads so many series that their ranges exceed the size of a request: the
// read then needs the fewest requests, returns each event once, and is the same each time.
func TestManyFillRequests(t *testing.T) {
	series := testlong.Pick(15_000, 30_000)
	l := days()
	bt := newBigtable(t, l)
	names := make([]string, series)
	var want []string
	var samples []sample
	for i := range names {
		names[i] = fmt.Sprintf("series%06d", i)
		if i%100 == 0 {
			samples, want = append(samples, sample{Series: names[i], Time: at(60), Value: 1}), append(want, names[i])
		}
	}
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(100)).WriteAll(t.Context(), samples))
	c := &counts{}
	r := NewReader(counted(bt.Client, c), l, clockAt(100))
	slices.Reverse(names)
	for _, newestFirst := range []bool{false, true} {
		*c = counts{}
		var got []string
		for e, err := range r.Read(t.Context(), ManySeriesOf(named(names...)), at(0), at(86400), ReadOptions{NewestFirst: newestFirst}) {
			must(t, err)
			got = append(got, e.Series)
		}
		same(t, want, got)
		slices.Reverse(want)
		size := 0
		for _, name := range names {
			size += codec.RangeSize(name+"#2021-03-05", name+"#2021-03-05\x00")
		}
		if fewest := (size + codec.MaxRowSet - 1) / codec.MaxRowSet; c.Requests != fewest || c.Cells != len(want) {
			t.Errorf("%+v, want %d requests", *c, fewest)
		}
	}
}
