package window

import (
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/testlong"
)

// drawSteps draws the events of up to three series, some of which lack a field, or are lost or in doubt, in order of series and time.
func drawSteps(t *rapid.T, from, to time.Time) (events []sample) {
	for _, s := range []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "series")] {
		at := from
		for range rapid.IntRange(1, 20).Draw(t, "events") {
			at = at.Add(time.Duration(rapid.SampledFrom([]int64{0, 30, 400, 4000, 20000}).Draw(t, "gap")) * time.Second)
			if !at.Before(to) {
				break
			}
			e := sample{series: s, at: at, i: rapid.Int64Range(-3, 20).Draw(t, "int"), f: float64(rapid.IntRange(0, 9).Draw(t, "float"))}
			if rapid.IntRange(0, 2).Draw(t, "some") == 0 {
				some := rapid.Int64().Draw(t, "some int")
				e.some = &some
			}
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0:
				e.lost = true
			case 1:
				e.doubt = true
			}
			events = append(events, e)
		}
	}
	return events
}

// checkTotals checks that windows count each event of a range that is lost, once, and that their increases are those of the events:
// by how much a value exceeds the one before it, or the value itself if it is lower, as counters begin again at 0.
func checkTotals(t *rapid.T, windows []named, from time.Time, events []sample) {
	var lost, gotLost int64
	var increase, got float64
	last := map[string]float64{}
	for _, e := range events {
		before, follows := last[e.series]
		within := !e.at.Before(from)
		switch {
		case e.lost && within:
			lost++
		case e.lost || e.doubt:
			continue
		case follows && within && e.f > before:
			increase += e.f - before
		case follows && within && e.f < before:
			increase += e.f
		}
		if !e.lost {
			last[e.series] = e.f
		}
	}
	for i := range windows {
		gotLost += windows[i].Undecodable
		got += windows[i].Real.Increase()
	}
	if gotLost != lost || got != increase {
		t.Fatalf("%d lost, want %d; increase %v, want %v", gotLost, lost, got, increase)
	}
}

// increases returns the sums of the increases of the windows of each series.
func increases(windows []named) map[string][2]string {
	ints, some := map[string]*big.Int{}, map[string]*big.Int{}
	out := map[string][2]string{}
	for i := range windows {
		w := &windows[i]
		if ints[w.Series] == nil {
			ints[w.Series], some[w.Series] = new(big.Int), new(big.Int)
		}
		ints[w.Series].Add(ints[w.Series], w.Int.BigIncrease())
		some[w.Series].Add(some[w.Series], w.Some.BigIncrease())
		out[w.Series] = [2]string{ints[w.Series].String(), some[w.Series].String()}
	}
	return out
}

// TestSteps checks a value of a window that depends on those beside it: the increases of adjacent windows add up to that
// of one window, of all fields, however windows are ordered, filled, grouped, and made of cells. Windows that are added
// from the newest one, in parts, are equal to those of all events.
func TestSteps(t *testing.T) {
	testlong.Checks(t, 20)
	rapid.Check(t, func(t *rapid.T) {
		begin := time.Unix(1_700_000_000, 0).UTC()
		from := begin.Add(time.Duration(rapid.IntRange(0, 40_000).Draw(t, "from")) * time.Second)
		to := from.Add(time.Duration(rapid.IntRange(1, 100_000).Draw(t, "seconds")) * time.Second)
		events := drawSteps(t, begin, to)
		width := rapid.SampledFrom([]Width{Every(time.Minute), Every(time.Hour), Days(1, time.UTC)}).Draw(t, "width")
		o := Options{
			Steps: true, Fill: rapid.SampledFrom([]Fill{FillNone, FillNull, FillPrevious, FillLinear}).Draw(t, "fill"),
			NewestFirst: rapid.Bool().Draw(t, "newest"), Scattered: rapid.Bool().Draw(t, "scattered"),
			Cells: rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "cells"),
		}
		if o.Since = begin; rapid.Bool().Draw(t, "without what precedes") {
			o.Since = time.Time{}
			events = slices.DeleteFunc(events, func(e sample) bool { return e.at.Before(from) })
		}
		if rapid.Bool().Draw(t, "grouped") {
			o.Group = func(series any) { *series.(*string) = "" }
		}
		whole, windows := fold(t, Whole(), from, to, o, events, 7), fold(t, width, from, to, o, events, 3)
		if want, got := increases(whole), increases(windows); !cmp.Equal(want, got) {
			t.Fatalf("%v, %+v: %s", width, o, cmp.Diff(want, got))
		}
		back := o
		back.NewestFirst = !o.NewestFirst
		reversed := fold(t, width, from, to, back, events, 3)
		slices.Reverse(reversed)
		if want, got := bySeries(windows), bySeries(reversed); !cmp.Equal(want, got, comparing) {
			t.Fatalf("%v, %+v, backward: %s", width, o, cmp.Diff(want, got, comparing))
		}
		limited := back
		limited.Limit = rapid.IntRange(1, 3).Draw(t, "limit")
		first := fold(t, width, from, to, limited, events, 3)
		slices.Reverse(first)
		if want := reversed[max(0, len(reversed)-limited.Limit):]; !cmp.Equal(want, first, comparing) {
			t.Fatalf("%v, %+v: %s", width, limited, cmp.Diff(want, first, comparing))
		}
		checkTotals(t, whole, from, events)
		checkTotals(t, windows, from, events)
		descends(t, width, from, to, o, events)
	})
}

// bySeries sorts windows by their series.
func bySeries(windows []named) []named {
	out := slices.Clone(windows)
	slices.SortStableFunc(out, func(a, b named) int { return strings.Compare(a.Series, b.Series) })
	return out
}

// descends compares windows that are added in parts, from the newest one, with those of all events of a series.
func descends(t *rapid.T, width Width, from, to time.Time, o Options, events []sample) {
	o.Fill, o.NewestFirst, o.Scattered = rapid.SampledFrom([]Fill{FillNone, FillNull}).Draw(t, "descending fill"), true, false
	if o.Group == nil {
		events = slices.DeleteFunc(slices.Clone(events), func(e sample) bool { return e.series != "a" })
	}
	want := fold(t, width, from, to, o, events, 3)
	part := o
	part.Steps, part.Group, part.NewestFirst, part.Fill = false, nil, false, FillNone
	parts := fold(t, width, from, to, part, events, 3)
	o.NewestFirst, o.Descending = false, true
	var got []named
	f, err := testSpec.Start(width, from, to, oneSeries(o), func(w *Summary) bool {
		got = append(got, *w.Window.(*named))
		return true
	})
	must(t, err)
	for end := to; len(parts) > 0; {
		end = width.Back(end, begin(o, from), int64(rapid.IntRange(1, 100).Draw(t, "part")))
		i := 0
		for _, w := range slices.Backward(parts) {
			if !w.End.After(end) {
				continue
			}
			f.AddWindow(testSpec.Clone(testSpec.Refer(&w)))
			i++
		}
		parts = slices.DeleteFunc(parts, func(w named) bool { return w.End.After(end) })
		f.Passed(end)
	}
	f.End()
	if !cmp.Equal(want, got, comparing) {
		t.Fatalf("%v, %+v: %s", width, o, cmp.Diff(want, got, comparing))
	}
}

// begin returns the time of the first event that a fold knows.
func begin(o Options, from time.Time) time.Time {
	if o.Since.IsZero() {
		return from
	}
	return o.Since
}

// TestRateOfCenturies checks a quantity that exceeds a time.Duration: the rate of values that are more than 292 years
// apart. There is none of values at one instant.
func TestRateOfCenturies(t *testing.T) {
	first := time.Date(1970, 1, 1, 0, 0, 0, 9e8, time.UTC)
	last := first.Add(time.Second/2).AddDate(1000, 0, 0)
	var s Int[int64]
	s.add([]time.Time{first, last}, []int64{0, 2*(last.Unix()-first.Unix()) - 1})
	if got := s.Rate(); got != 2 {
		t.Error(got)
	}
	s = Int[int64]{}
	s.add([]time.Time{first, first}, []int64{1, 2})
	if got := s.Rate(); got == got {
		t.Error("at one instant:", got)
	}
}
