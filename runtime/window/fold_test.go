package window

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type columns struct {
	Series []string
	Times  []time.Time
	Ints   []int64
	Reals  []float64
	Some   []*int64
	Names  []string
	Tags   []*string
}

type named struct {
	Window
	Series    string
	Some      Int[int64]
	Int       Int[int64]
	Real      Float64[float64]
	Name, Tag Values[string]
}

var testSpec = NewSpec[string, named](
	OptionalIntPart[int64]("some", 4), // before others: they are stepped even where it has no values
	IntPart[int64]("int", 2),
	FloatPart[float64]("real", 3),
	ValuesPart[string]("name", 5),
	OptionalValuesPart[string]("tag", 6),
)

type sample struct {
	series string
	at     time.Time
	i      int64
	f      float64
	some   *int64
	tag    *string
	lost   bool // it cannot be decoded
	doubt  bool // no event, but a doubt whether there was one
}

func fold(t rapid.TB, width Width, from, to time.Time, o Options, events []sample, batch int) []named {
	t.Helper()
	var out []named
	f, err := testSpec.Start(width, from, to, oneSeries(o), func(w *Summary) bool {
		out = append(out, *w.Window.(*named))
		return true
	})
	must(t, err)
	for more := true; len(events) > 0 && more; {
		var c columns
		e := events[0]
		of := e.series
		switch {
		case e.lost:
			err = f.Flag(&of, e.at)
		case e.doubt:
			more, err = f.Doubt(&of, e.at, e.at.Add(1), nil)
		}
		must(t, err)
		if e.lost || e.doubt {
			events = events[1:]
			continue
		}
		for len(events) > 0 && events[0].series == of && !events[0].lost && !events[0].doubt && len(c.Times) < batch {
			e := events[0]
			c.Times, c.Ints, c.Reals, c.Some = append(c.Times, e.at), append(c.Ints, e.i), append(c.Reals, e.f), append(c.Some, e.some)
			c.Names, c.Tags = append(c.Names, e.series), append(c.Tags, e.tag)
			events = events[1:]
		}
		if more, err = f.Add(&of, SlicesOf(&c)); err != nil {
			t.Fatal(err)
		}
	}
	f.End()
	return out
}

var comparing = cmp.AllowUnexported(Int[int64]{}, Float64[float64]{}, int128{}, entry{})

// TestFills checks what fills windows: values of a field that is no number, and with FillPrevious all, are those of the
// last window that has some; a line needs numbers at both ends. What is filled from inexact windows is inexact, too.
func TestFills(t *testing.T) {
	from := time.Unix(0, 0).UTC()
	at := func(minute int) time.Time { return from.Add(time.Duration(minute) * time.Minute) }
	two, four, red := int64(2), int64(4), "red"
	full := func(minute int) sample { return sample{series: "a", at: at(minute), some: &two, tag: &red} }
	lacking := []sample{full(0), {series: "a", at: at(2)}, {series: "a", at: at(4), some: &four}}
	line := []sample{{series: "a", at: at(1), i: 10, f: 1}, {series: "a", at: at(3), i: 30, f: 2}}
	doubt := []sample{full(0), {series: "a", at: at(3), doubt: true}, full(5)}
	for _, c := range []struct {
		fill   Fill
		to     int
		events []sample
		of     func(w *named) string // nothing if it is empty
		want   string
	}{
		{FillPrevious, 6, lacking, filledTag, "red 2, red 2, red 4"},
		{FillLinear, 6, lacking, filledTag, "red 0, red 0,  0"},
		{FillLinear, 5, line, means, "NaN NaN, 10 1, 20 1.5, 30 2, NaN NaN"},
		{FillNull, 8, doubt, inexact, "0:1, 1:0, 2:0, 3:0?, 4:0, 5:1, 6:0, 7:0"},
		{FillPrevious, 8, doubt, inexact, "0:1, 1:0, 2:0, 3:0?, 4:0?, 5:1, 6:0, 7:0"},
		{FillLinear, 8, doubt, inexact, "0:1, 1:0?, 2:0?, 3:0?, 4:0?, 5:1, 6:0, 7:0"},
	} {
		for _, newest := range []bool{false, true} {
			var got []string
			o := Options{Fill: c.fill, NewestFirst: newest}
			for _, w := range fold(t, Every(time.Minute), from, at(c.to), o, c.events, 1) {
				if text := c.of(&w); text != "" {
					got = append(got, text)
				}
			}
			if newest {
				slices.Reverse(got)
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("fill %d, newest first %v: %s, want %s", c.fill, newest, text, c.want)
			}
		}
	}
}

// filledTag, means and inexact are what a window has of two fields if it is filled, its means, and whether it is inexact.
func filledTag(w *named) string {
	if !w.Filled {
		return ""
	}
	return fmt.Sprint(w.Tag.Last, " ", w.Some.Last)
}

func means(w *named) string { return fmt.Sprint(w.Int.Mean(), " ", w.Real.Mean()) }

func inexact(w *named) string {
	return fmt.Sprintf("%d:%d%s", w.Start.Unix()/60, w.Events, map[bool]string{true: "?"}[w.Inexact])
}

// TestGroupOrder checks that windows of groups do not depend on the order in which series come, for values of
// all kinds at the same instant.
func TestGroupOrder(t *testing.T) {
	negative := math.Copysign(0, -1)
	ints := func(to, o *Int[int64]) { to.combine(o) }
	floats := func(to, o *Float64[float64]) { to.combine(o) }
	checkOrder(t, []int64{3, -7, 5}, ints)
	checkOrder(t, []float64{0, negative, 0}, floats)
	checkOrder(t, []float64{math.NaN(), 1, 2}, floats)
	zeros := checkOrder(t, []float64{0, negative}, floats)
	if !math.Signbit(zeros.Min) || math.Signbit(zeros.Max) || !math.Signbit(zeros.First) || math.Signbit(zeros.Last) {
		t.Errorf("%+v", zeros)
	}
	type enum int64
	checkValues(t, []string{"b", "a", ""})
	checkValues(t, []bool{true, false})
	checkValues(t, []enum{3, -1})
	checkValues(t, [][]byte{{1}, {0, 1}, {}})
	checkValues(t, [][2]byte{{1, 0}, {0, 1}})
	checkValues(t, []time.Time{time.Unix(0, 1), time.Unix(0, 0)})

	names := map[any]any{"zero": int64(0), "one": int64(1), "two": int64(2)} // in another order than their texts
	part := AnyValuesPart("v", 0, AnyForm{To: func(v any) any { return names[v] }})
	got := checkOrder(t, []any{"two", "zero", "one"}, func(to, o *Values[any]) { part.combine(to, o) })
	if got.First != "zero" || got.Last != "two" {
		t.Errorf("%+v", got)
	}
}

// checkValues is checkOrder for values that are no numbers: in slices of their type, and of any type, whose values
// have no address. Both find the same values.
func checkValues[T any](t *testing.T, values []T) {
	t.Helper()
	want := checkOrder(t, values, func(to, o *Values[T]) { to.combine(o) })
	part := AnyValuesPart("v", 0, AnyForm{To: func(v any) any { return v }})
	var untyped []any
	for _, v := range values {
		untyped = append(untyped, v)
	}
	got := checkOrder(t, untyped, func(to, o *Values[any]) { part.combine(to, o) })
	if !reflect.DeepEqual(got.First, any(want.First)) || !reflect.DeepEqual(got.Last, any(want.Last)) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// checkOrder combines series with a value each at the same instant, in several orders, and returns the result.
func checkOrder[T, S any, P statistics[S, T]](t *testing.T, values []T, combine func(to, o P)) P {
	t.Helper()
	of := func(i int) P {
		s := P(new(S))
		s.add(make([]time.Time, 1), values[i%len(values):][:1])
		return s
	}
	var first P
	for i := range values {
		for _, step := range []int{1, len(values) - 1} {
			to := of(i)
			for n := 1; n < len(values); n++ {
				combine(to, of(i+n*step))
			}
			if first == nil {
				first = to
			}
			if got, want := fmt.Sprintf("%+v", *to), fmt.Sprintf("%+v", *first); got != want {
				t.Errorf("%s, and in another order %s", got, want)
			}
		}
	}
	return first
}

// TestEmptyGroup checks that a group without events has only the series values of groups.
func TestEmptyGroup(t *testing.T) {
	of, n := "s", 0
	f, err := testSpec.Start(Whole(), time.Unix(0, 0), time.Unix(1, 0), Options{
		Fill:  FillNull,
		Group: func(series any) { *series.(*string) = "" },
		Clone: oneSeries(Options{}).Clone,
	}, func(w *Summary) bool {
		n++
		if w := w.Window.(*named); w.Series != "" || !w.Filled {
			t.Errorf("%+v", w)
		}
		return true
	})
	must(t, err)
	f.Empty(&of)
	if n != 1 || of != "s" {
		t.Error(n, of)
	}
}

// TestLongGap checks that the windows of a gap are not held in memory, in any order: the first ones of
// billions are yielded at once.
func TestLongGap(t *testing.T) {
	from := time.Unix(0, 0).UTC()
	to := from.AddDate(200, 0, 0)
	events := []sample{{series: "a", at: from, i: 1}, {series: "a", at: to.Add(-time.Second), i: 3}}
	for _, o := range []Options{{}, {NewestFirst: true}, {Scattered: true}, {Scattered: true, NewestFirst: true}} {
		for _, o.Fill = range []Fill{FillNull, FillPrevious, FillLinear} {
			o.Limit = 100
			allocs := testing.AllocsPerRun(1, func() {
				if got := fold(t, Every(time.Second), from, to, o, events, 10); len(got) != o.Limit {
					t.Errorf("%+v: %d windows", o, len(got))
				}
			})
			if allocs > float64(200*o.Limit) {
				t.Errorf("%+v: %v allocations", o, allocs)
			}
		}
	}
}

// TestSetCells changes the width of cells while one is open: events are folded in order of time.
func TestSetCells(t *testing.T) {
	from := time.Unix(0, 0).UTC()
	for _, widths := range [][2]time.Duration{{time.Hour, 0}, {0, time.Hour}, {time.Hour, time.Minute}, {time.Minute, time.Hour}} {
		var got []named
		f, err := testSpec.Start(Whole(), from, from.AddDate(1, 0, 0), oneSeries(Options{Cells: widths[0]}), func(w *Summary) bool {
			got = append(got, *w.Window.(*named))
			return true
		})
		must(t, err)
		of := "a"
		for i, at := range []time.Time{from, from.Add(50 * time.Hour), from.Add(100 * time.Hour)} {
			if i == 2 {
				f.SetCells(widths[1])
			}
			_, err := f.Add(&of, SlicesOf(&columns{Times: []time.Time{at}, Ints: []int64{int64(i)}, Reals: []float64{0}, Some: []*int64{nil}, Names: []string{""}, Tags: []*string{nil}}))
			must(t, err)
		}
		if f.End(); len(got) != 1 || got[0].Int.First != 0 || got[0].Int.Last != 2 {
			t.Errorf("%v: %+v", widths, got)
		}
	}
}
