package window

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/assert"
)

// everyType has windows with fields of all types that runs store.
type everyType struct {
	Window
	Series string
	Int    Int[int32]
	Uint   Int[uint64]
	Length Int[time.Duration]
	Real   Float64[float64]
	Single Float64[float32]
	Name   Values[string]
	Bytes  Values[[]byte]
	ID     Values[[16]byte]
	Flag   Values[bool]
	At     Values[time.Time]
	Kind   Values[runKind]
	Spread struct {
		Float64[float64]
		Quantiles
	}
	Steps struct {
		Int[int32]
		Quantiles
	}
}

type runKind int32

type everyColumns struct {
	Series []string
	Times  []time.Time
	Ints   []*int32
	Uints  []uint64
	Length []time.Duration
	Reals  []float64
	Single []float32
	Names  []string
	Bytes  [][]byte
	IDs    [][16]byte
	Flags  []bool
	Ats    []time.Time
	Kinds  []runKind
}

var (
	everyFields = []string{"int", "uint", "length", "real", "single", "name", "bytes", "id", "flag", "at", "kind", "spread", "steps"}
	everySpec   = NewSpec[string, everyType](
		OptionalIntPart[int32]("int", 2),
		IntPart[uint64]("uint", 3),
		IntPart[time.Duration]("length", 4),
		FloatPart[float64]("real", 5),
		FloatPart[float32]("single", 6),
		ValuesPart[string]("name", 7),
		ValuesPart[[]byte]("bytes", 8),
		ValuesPart[[16]byte]("id", 9),
		ValuesPart[bool]("flag", 10),
		ValuesPart[time.Time]("at", 11),
		ValuesPart[runKind]("kind", 12),
		With[Quantiles](FloatPart[float64]("spread", 5)),
		With[Quantiles](OptionalIntPart[int32]("steps", 2)),
	)
)

var runStart = time.Date(2021, 3, 5, 0, 0, 0, 0, time.UTC)

// drawEvents draws events of a day, in order of time.
func drawEvents(t *rapid.T) everyColumns {
	var c everyColumns
	at := runStart
	for range rapid.IntRange(0, 30).Draw(t, "events") {
		if at = at.Add(rapid.SampledFrom([]time.Duration{0, 1, time.Millisecond, 10 * time.Minute, time.Hour, 5 * time.Hour}).Draw(t, "gap")); !at.Before(runStart.Add(24 * time.Hour)) {
			break
		}
		var some *int32
		if rapid.Bool().Draw(t, "some") {
			some = rapid.Ptr(rapid.Int32(), false).Draw(t, "int")
		}
		c.Times, c.Ints, c.Uints = append(c.Times, at), append(c.Ints, some), append(c.Uints, rapid.SampledFrom([]uint64{0, 1, 7, math.MaxUint64}).Draw(t, "uint"))
		c.Length = append(c.Length, time.Duration(rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 5, math.MaxInt64}).Draw(t, "length")))
		c.Reals = append(c.Reals, rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 0.1, 1e300, math.Inf(1), math.Inf(-1), math.NaN(), -3}).Draw(t, "real"))
		c.Single = append(c.Single, rapid.SampledFrom([]float32{0, 0.1, -2.5, math.MaxFloat32}).Draw(t, "single"))
		c.Names, c.Bytes = append(c.Names, rapid.StringN(0, 3, 9).Draw(t, "name")), append(c.Bytes, rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "bytes"))
		c.IDs, c.Flags = append(c.IDs, [16]byte{byte(len(c.Times))}), append(c.Flags, rapid.Bool().Draw(t, "flag"))
		c.Ats, c.Kinds = append(c.Ats, at.Add(-1e15+7)), append(c.Kinds, runKind(rapid.Int32().Draw(t, "kind")))
	}
	return c
}

// foldEvery returns the windows of events of a day.
func foldEvery(t *rapid.T, spec *Spec, width Width, cells time.Duration, c *everyColumns) (out []*everyType) {
	f, err := spec.Start(width, runStart, runStart.Add(24*time.Hour), oneSeries(Options{Cells: cells}), func(w *Summary) bool {
		out = append(out, spec.Clone(w).Window.(*everyType))
		return true
	})
	must(t, err)
	of := "s"
	if len(c.Times) > 0 {
		_, err := f.Add(&of, SlicesOf(c))
		must(t, err)
	}
	f.End()
	return out
}

// oneSeries completes options for series that are strings.
func oneSeries(o Options) Options {
	o.ID = func(dst []byte, s any) []byte { return append(dst, *s.(*string)...) }
	o.Clone = func(s any) any {
		out := *s.(*string)
		return &out
	}
	return o
}

func summaries(windows []*everyType) []*Summary {
	out := make([]*Summary, len(windows))
	for i, w := range windows {
		out[i] = everySpec.Refer(w)
	}
	return out
}

// bitwise compares windows by all that they contain.
var bitwise = cmp.Options{
	cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }),
	cmp.Comparer(func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }),
	cmp.AllowUnexported(Int[int32]{}, Int[uint64]{}, Int[time.Duration]{}, Float64[float64]{}, Float64[float32]{}, int128{}, entry{}, Quantiles{}, bucket{}),
	cmp.Comparer(func(a, b []byte) bool { return string(a) == string(b) }),
}

// TestRun encodes runs and parses them, into memory that is reused, with some of the fields.
func TestRun(t *testing.T) {
	var r Run
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents(t)
		spec := everySpec
		windows := foldEvery(t, spec, Every(time.Hour), 0, &events)
		for _, w := range windows {
			w.Series, w.Inexact = "", rapid.IntRange(0, 9).Draw(t, "inexact") == 0
		}
		encoded, err := spec.AppendRun(nil, &Run{Start: runStart, Every: time.Hour, Windows: summaries(windows)})
		must(t, err)
		n := rapid.IntRange(0, len(everyFields)).Draw(t, "fields")
		some := everySpec.Of(everyFields[n:])
		must(t, some.ParseRun(&r, encoded))
		if r.Lacks || !r.Start.Equal(runStart) || r.Every != time.Hour || len(r.Windows) != len(windows) {
			t.Fatalf("%+v", r)
		}
		if every, fields, err := DescribeRun(encoded); err != nil || every != time.Hour || len(fields) != len(everyFields) {
			t.Fatalf("%s %q %v", every, fields, err)
		}
		if _, _, err := DescribeRun(encoded[1:]); !errors.Is(err, ErrRun) {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
		for i, w := range r.Windows {
			w := *w.Window.(*everyType)
			w.Series = windows[i].Series
			if diff := cmp.Diff(*windows[i], w, bitwise); diff != "" {
				t.Fatalf("window %d: %s", i, diff)
			}
			w.Filled = rapid.Bool().Draw(t, "filled")
			checkEncoding(t, spec, w)
		}
		again, err := spec.AppendRun(nil, &r)
		if err != nil || string(again) != string(encoded) {
			t.Fatal("encoded again, it differs", err)
		}
		type newer struct {
			Window
			Series    string
			New, Uint Int[uint64]
		}
		var more Run
		if err := NewSpec[string, newer](IntPart[uint64]("new", 2), IntPart[uint64]("uint", 3)).ParseRun(&more, encoded); err != nil || !more.Lacks {
			t.Fatal("a field more:", more.Lacks, err)
		}
		for i, w := range more.Windows {
			if got := w.Window.(*newer).Uint; got != windows[i].Uint {
				t.Fatalf("window %d: %+v, want %+v", i, got, windows[i].Uint)
			}
		}
	})
}

// checkEncoding encodes a window and parses it; parts of its encoding are none.
func checkEncoding(t *rapid.T, spec *Spec, w everyType) {
	encoded := spec.Append([]byte("x"), spec.Refer(&w))[1:]
	got := everyType{Series: w.Series}
	if err := spec.Parse(spec.Refer(&got), encoded); err != nil || !cmp.Equal(w, got, bitwise) {
		t.Fatalf("%v: %s", err, cmp.Diff(w, got, bitwise))
	}
	for n := range len(encoded) + 1 {
		part := encoded[:n]
		if n == len(encoded) {
			part = append(part, 0)
		}
		if err := spec.Parse(spec.Refer(new(everyType)), part); !errors.Is(err, ErrEncoding) {
			t.Fatalf("%d of %d bytes: %v", n, len(encoded), err)
		}
	}
}

// FuzzParse checks that no bytes make Parse panic, or use memory beyond their size.
func FuzzParse(f *testing.F) {
	spec := everySpec
	f.Add(spec.Append(nil, spec.Refer(new(everyType))))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		if err := spec.Parse(spec.Refer(new(everyType)), encoded); err != nil && !errors.Is(err, ErrEncoding) {
			t.Error(err)
		}
	})
}

// TestRunOfOtherTypes parses runs of fields with the types that they had in another version of a schema: only these
// are lacking, and nothing of them is in the windows.
func TestRunOfOtherTypes(t *testing.T) {
	type otherTypes struct {
		Window
		Series string
		Int    Values[string]
		Flag   Values[time.Time]
		Real   Float64[float32]
		Uint   Int[int32]
		Length Int[time.Duration]
	}
	others := NewSpec[string, otherTypes](
		ValuesPart[string]("int", 0), ValuesPart[time.Time]("flag", 0), FloatPart[float32]("real", 0), IntPart[int32]("uint", 0), IntPart[time.Duration]("length", 0))
	var r Run
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents(t)
		for i := range events.Reals {
			events.Reals[i] = 0.1
			events.Ints[i] = new(int32)
		}
		spec := everySpec
		windows := foldEvery(t, spec, Every(time.Hour), 0, &events)
		encoded, err := spec.AppendRun(nil, &Run{Start: runStart, Every: time.Hour, Windows: summaries(windows)})
		must(t, err)
		if err := others.ParseRun(&r, encoded); err != nil || r.Lacks != (len(windows) > 0) || len(r.Windows) != len(windows) {
			t.Fatal(r.Lacks, len(r.Windows), err)
		}
		for i, w := range r.Windows {
			got, want := *w.Window.(*otherTypes), otherTypes{Window: windows[i].Window, Length: windows[i].Length}
			if diff := cmp.Diff(want, got, bitwise); diff != "" {
				t.Fatalf("window %d: %s", i, diff)
			}
		}
	})
}

// TestCells checks that windows are the same whether events are added, or the windows of runs, or both,
// in any mixture, and that they are those without cells but for sums of floating-point numbers.
func TestCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents(t)
		spec := everySpec
		cells := rapid.SampledFrom([]time.Duration{15 * time.Minute, time.Hour, 4 * time.Hour}).Draw(t, "cells")
		width := rapid.SampledFrom([]Width{Every(time.Hour), Every(4 * time.Hour), Days(1, time.UTC), Whole(), Every(90 * time.Minute)}).Draw(t, "width")
		want := foldEvery(t, spec, width, cells, &events)
		stored := foldEvery(t, spec, Every(cells), 0, &events)
		var got []*everyType
		f, err := spec.Start(width, runStart, runStart.Add(24*time.Hour), oneSeries(Options{Cells: cells}), func(w *Summary) bool {
			got = append(got, spec.Clone(w).Window.(*everyType))
			return true
		})
		must(t, err)
		of, begin := "s", 0
		for _, w := range stored {
			end := begin + until(events.Times[begin:], w.End)
			if f.Holds(w.Start, w.End) && rapid.Bool().Draw(t, "from run") {
				_, err = f.AddCell(&of, spec.Refer(w))
			} else {
				part := events.slice(begin, end)
				_, err = f.Add(&of, SlicesOf(&part))
			}
			if begin = end; err != nil {
				t.Fatal(err)
			}
		}
		f.End()
		if diff := cmp.Diff(want, got, bitwise); diff != "" {
			t.Fatalf("%v in cells of %v: %s", width, cells, diff)
		}
		plain := foldEvery(t, spec, width, 0, &events)
		for i, w := range got {
			w.Real, w.Single, w.Spread.Float64 = plain[i].Real, plain[i].Single, plain[i].Spread.Float64
		}
		if diff := cmp.Diff(plain, got, bitwise); diff != "" {
			t.Fatalf("%v without cells: %s", width, diff)
		}
	})
}

// slice returns events [begin, end).
func (c *everyColumns) slice(begin, end int) everyColumns {
	return everyColumns{
		nil, c.Times[begin:end], c.Ints[begin:end], c.Uints[begin:end], c.Length[begin:end], c.Reals[begin:end], c.Single[begin:end],
		c.Names[begin:end], c.Bytes[begin:end], c.IDs[begin:end], c.Flags[begin:end], c.Ats[begin:end], c.Kinds[begin:end],
	}
}

// TestDoubt checks that all windows of a range are yielded as inexact, with and without events, and no others.
func TestDoubt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents(t)
		spec := everySpec
		begins := rapid.IntRange(0, 48).Draw(t, "from")
		from := runStart.Add(time.Duration(begins) * 30 * time.Minute)
		to := from.Add(time.Duration(rapid.IntRange(0, min(20, 48-begins)).Draw(t, "length")) * 30 * time.Minute)
		var got []string
		f, err := spec.Start(Every(time.Hour), runStart, runStart.Add(24*time.Hour), oneSeries(Options{Cells: 30 * time.Minute}), func(w *Summary) bool {
			c := w.Common()
			got = append(got, fmt.Sprint(c.Start.Hour(), " ", c.Events, " ", c.Inexact))
			return true
		})
		must(t, err)
		of := "s"
		cut := func(at time.Time) int {
			n, _ := slices.BinarySearchFunc(events.Times, at, time.Time.Compare)
			return n
		}
		add := func(begin, end int) (bool, error) {
			if begin == end {
				return true, nil
			}
			part := events.slice(begin, end)
			return f.Add(&of, SlicesOf(&part))
		}
		begin, end := cut(from), cut(to)
		_, first := add(0, begin)
		_, second := f.Doubt(&of, from, to, func() (bool, error) { return add(begin, end) })
		_, third := add(end, len(events.Times))
		must(t, errors.Join(first, second, third))
		f.End()
		var want []string
		for h := range 24 {
			start := runStart.Add(time.Duration(h) * time.Hour)
			n, inexact := cut(start.Add(time.Hour))-cut(start), from.Before(to) && start.Before(to) && from.Before(start.Add(time.Hour))
			if n > 0 || inexact {
				want = append(want, fmt.Sprint(h, " ", n, " ", inexact))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("from %v to %v: %s", from, to, diff)
		}
	})
}

// exampleRun returns a run of a window.
func exampleRun(t testing.TB) []byte {
	one := &everyType{Window: Window{Start: runStart, End: runStart.Add(time.Hour), Events: 1}}
	one.Uint.add([]time.Time{runStart}, []uint64{5})
	one.Name.add([]time.Time{runStart}, []string{"a"})
	run, err := everySpec.AppendRun(nil, &Run{Start: runStart, Every: time.Hour, Windows: []*Summary{everySpec.Refer(one)}})
	must(t, err)
	return run
}

// FuzzRun parses damaged runs: they yield errors that wrap ErrRun, or a run that is encoded equally.
func FuzzRun(f *testing.F) {
	spec := everySpec
	empty, _ := spec.AppendRun(nil, &Run{Start: runStart, Every: time.Hour})
	f.Add(empty[:len(empty)-checksumSize])
	some := exampleRun(f)
	f.Add(some[:len(some)-checksumSize])
	f.Fuzz(func(t *testing.T, body []byte) {
		var r Run
		if err := spec.ParseRun(&r, withChecksum(body)); err != nil {
			if !errors.Is(err, ErrRun) {
				t.Fatal(err)
			}
			return
		}
		encoded, err := spec.AppendRun(nil, &r)
		must(t, err)
		var again Run
		if err := spec.ParseRun(&again, encoded); err != nil || len(again.Windows) != len(r.Windows) {
			t.Fatal(err)
		}
	})
}

// TestRunDamage checks the bytes of a run, and that damage to any of them is found.
func TestRunDamage(t *testing.T) {
	spec, run := everySpec, exampleRun(t)
	if got := fmt.Sprintf("%x", run); got != "08011080d28b840c18901c2201002a01013a080a03696e741201003a230a0475696e741201011a01002201002a010a3a01007201057a0105820101058a0101053a0b0a066c656e6774681201003a090a047265616c1201003a0b0a0"+
		"673696e676c651201003a170a046e616d651201011a0100220100e2010161ea0101613a0a0a0562797465731201003a070a0269641201003a090a04666c61671201003a070a0261741201003a090a046b696e641201003a0b0a067370726561641201003a0a0a0573746570731201007d8193341f" {
		t.Errorf("the stored form is %s", got)
	}
	var r Run
	for i := range run {
		for _, damaged := range [][]byte{run[:i], slices.Concat(run[:i], []byte{run[i] ^ 0x40}, run[i+1:])} {
			if err := spec.ParseRun(&r, damaged); !errors.Is(err, ErrRun) {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
	}
	later := slices.Clone(run[:len(run)-checksumSize])
	later[1] = 2 // the version
	if err := spec.ParseRun(&r, withChecksum(later)); !errors.Is(err, ErrRun) {
		t.Fatal(err)
	}
}

var must = assert.Must
