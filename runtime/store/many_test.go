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
	out := make([]sample, len(series))
	for i, s := range series {
		out[i].Series = s
	}
	return out
}

// TestManyInOneRequest counts one request for all rows of several series, and no cells of others.
func TestManyInOneRequest(t *testing.T) {
	for _, l := range []*mappingOf[sample]{days(), singles(), offsets(), metrics()} {
		samples := hourly(180, 0, 60)
		for i := range samples {
			samples[i].Time = at(i/60*86400 + 60)
		}
		bt := holding(t, l, 86400*3, samples)
		c := &counts{}
		r := newReaderOf(counted(bt.Client, c), l, clockAt(86400*3))
		of := named("s40", "s17", "none", "s17", "s21", "s40")
		var want []string
		for _, i := range []int{17, 77, 137, 21, 81, 141, 40, 100, 160} {
			want = append(want, rowText(samples[i]))
		}
		got := made(t, r.Read(t.Context(), manySeriesOf(of), at(0), at(86400*3)), rowText)
		requests := 1
		if l.Pattern == codec.BucketNewColumns {
			requests = 4 // of four different series, one after the other
		}
		slices.Sort(got) // in days, one series comes after the other
		slices.Sort(want)
		same(t, want, got)
		same(t, counts{requests, 9}, *c)
		newest := made(t, r.LatestMany(t.Context(), of), func(e sample) string { return fmt.Sprint(e.Series, " ", e.Value) })
		same(t, []string{"s40 160", "s17 137", "s21 141"}, newest)
		*c = counts{}
		for range r.Read(t.Context(), manySeriesOf[sample](nil), at(0), at(1)) {
			t.Error("events of no series")
		}
		same(t, counts{}, *c)
	}
}

// TestManyFillRequests reads more series than fit into a request, with the fewest requests, and each event once.
func TestManyFillRequests(t *testing.T) {
	series := testlong.Pick(15_000, 30_000)
	l := days()
	names := make([]string, series)
	var want []string
	var samples []sample
	for i := range names {
		names[i] = fmt.Sprintf("series%06d", i)
		if i%100 == 0 {
			samples, want = append(samples, sample{Series: names[i], Time: at(60), Value: 1}), append(want, names[i])
		}
	}
	bt := holding(t, l, 100, samples)
	c := &counts{}
	r := newReaderOf(counted(bt.Client, c), l, clockAt(100))
	slices.Reverse(names)
	for _, newestFirst := range []bool{false, true} {
		*c = counts{}
		same(t, want, made(t, r.Read(t.Context(), manySeriesOf(named(names...)), at(0), at(86400), ReadOptions{NewestFirst: newestFirst}), seriesText))
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
