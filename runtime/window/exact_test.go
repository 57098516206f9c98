package window

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/assert"
)

// TestExact compares the statistics of integers with those of math/big, for values near limits.
func TestExact(t *testing.T) {
	t.Run("int32", func(t *testing.T) { exact[int32](t, math.MinInt32, math.MaxInt32) })
	t.Run("int64", func(t *testing.T) { exact[int64](t, math.MinInt64, math.MaxInt64) })
	t.Run("uint32", func(t *testing.T) { exact[uint32](t, 0, math.MaxUint32) })
	t.Run("uint64", func(t *testing.T) { exact[uint64](t, 0, math.MaxUint64) })
	t.Run("duration", func(t *testing.T) { exact[time.Duration](t, math.MinInt64, math.MaxInt64) })
}

// near draws values that float64 cannot represent, or whose sums and differences their type cannot.
func near[T Integer](least, most T) *rapid.Generator[T] {
	return rapid.Custom(func(t *rapid.T) T {
		offset := T(rapid.IntRange(0, 5).Draw(t, "offset"))
		base := rapid.SampledFrom([]T{least, most, 0, most / 2, most/1024 + 1}).Draw(t, "base")
		if base > 5 {
			return base - offset
		}
		return base + offset
	})
}

func bigOf[T Integer](v T) *big.Int {
	n, ok := new(big.Int).SetString(fmt.Sprintf("%d", v), 10)
	if !ok {
		panic("no integer")
	}
	return n
}

// halfAway rounds half away from zero, in decimal text.
func halfAway(v *big.Rat) string {
	if text := v.FloatString(0); text != "-0" {
		return text
	}
	return "0"
}

func nearest(v *big.Rat) float64 {
	f, _ := v.Float64()
	return f
}

type exactColumns[T Integer] struct {
	Series []string
	Times  []time.Time
	Values []T
}

type exactWindow[T Integer] struct {
	Window
	Series string
	V      Int[T]
}

func exact[T Integer](t *testing.T, least, most T) {
	spec := NewSpec[string, exactWindow[T]](IntPart[T]("v", 2))
	values := rapid.SliceOfN(near(least, most), 1, 6)
	rapid.Check(t, func(t *rapid.T) {
		sides, gap := [2][]T{values.Draw(t, "before"), values.Draw(t, "after")}, rapid.Int64Range(1, 9).Draw(t, "gap")
		from := time.Unix(0, 0).UTC()
		var c exactColumns[T]
		for side, values := range sides {
			for i, v := range values {
				c.Times = append(c.Times, from.Add(time.Duration(side)*time.Duration(gap)*time.Minute+time.Duration(i)))
				c.Values = append(c.Values, v)
			}
		}
		var got []exactWindow[T]
		f, err := spec.Start(Every(time.Minute), from, from.Add(time.Duration(gap+1)*time.Minute), Options{
			Fill: FillLinear, ID: func(dst []byte, _ any) []byte { return dst }, Clone: func(s any) any { return s },
		}, func(w *Summary) bool {
			var parsed exactWindow[T]
			must(t, spec.Parse(spec.Refer(&parsed), spec.Append(nil, w)))
			got = append(got, parsed)
			return true
		})
		must(t, err)
		series := ""
		_, err = f.Add(&series, SlicesOf(&c))
		must(t, err)
		f.End()
		if int64(len(got)) != gap+1 {
			t.Fatalf("%d windows, want %d", len(got), gap+1)
		}
		first, last := &got[0].V, &got[gap].V
		means := [2]*big.Rat{exactly(t, first, sides[0]), exactly(t, last, sides[1])}
		for i := int64(1); i < gap; i++ {
			v := &got[i].V
			onLine := func(a, b *big.Rat) *big.Rat {
				d := new(big.Rat).Sub(b, a)
				return d.Add(d.Mul(d, big.NewRat(i, gap)), a)
			}
			line := func(a, b T) string {
				return halfAway(onLine(new(big.Rat).SetInt(bigOf(a)), new(big.Rat).SetInt(bigOf(b))))
			}
			mean := onLine(means[0], means[1])
			for name, c := range map[string][2]string{
				"min":   {bigOf(v.Min).String(), line(first.Min, last.Min)},
				"max":   {bigOf(v.Max).String(), line(first.Max, last.Max)},
				"first": {bigOf(v.First).String(), line(first.Last, last.First)},
				"last":  {bigOf(v.Last).String(), line(first.Last, last.First)},
				"mean":  {bigOf(v.RoundedMean()).String(), halfAway(mean)},
			} {
				if c[0] != c[1] {
					t.Fatalf("the %s of window %d is %s, want %s", name, i, c[0], c[1])
				}
			}
			if want := nearest(mean); v.Mean() != want {
				t.Fatalf("the mean of window %d is %v, want %v", i, v.Mean(), want)
			}
		}
	})
}

// exactly checks the statistics of values, and returns their mean.
func exactly[T Integer](t *rapid.T, got *Int[T], values []T) *big.Rat {
	sum, increase := new(big.Int), new(big.Int)
	for i, v := range values {
		sum.Add(sum, bigOf(v))
		switch {
		case i > 0 && v >= values[i-1]:
			increase.Add(increase, new(big.Int).Sub(bigOf(v), bigOf(values[i-1])))
		case i > 0:
			increase.Add(increase, bigOf(v))
		}
	}
	mean := new(big.Rat).SetFrac(sum, big.NewInt(int64(len(values))))
	if got.BigSum().Cmp(sum) != 0 || got.BigIncrease().Cmp(increase) != 0 {
		t.Fatalf("sum %v and increase %v, want %v and %v", got.BigSum(), got.BigIncrease(), sum, increase)
	}
	if v, err := got.Sum(); sum.IsInt64() != (err == nil) || err == nil && v != sum.Int64() {
		t.Fatalf("sum %v, %v, want %v", v, err, sum)
	}
	if want := nearest(mean); got.Mean() != want || bigOf(got.RoundedMean()).String() != halfAway(mean) {
		t.Fatalf("mean %v, rounded %v, want %v", got.Mean(), got.RoundedMean(), want)
	}
	if want := nearest(new(big.Rat).SetInt(increase)); got.Increase() != want {
		t.Fatalf("increase %v, want %v", got.Increase(), want)
	}
	return mean
}

// TestLine checks that filled numbers are not outside their neighbors, also if their difference is
// infinite.
func TestLine(t *testing.T) {
	for _, c := range [][3]float64{
		{math.MaxFloat64, -math.MaxFloat64, 0}, {math.Inf(1), math.Inf(1), math.Inf(1)}, {0.1, 0.1, 0.1}, {-1, 3, 1},
	} {
		if got := between(c[0], c[1], 0.5); got != c[2] {
			t.Errorf("between %v and %v is %v", c[0], c[1], got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b, share := rapid.Float64().Draw(t, "a"), rapid.Float64().Draw(t, "b"), rapid.Float64Range(0, 1).Draw(t, "share")
		if got := between(a, b, share); !(min(a, b) <= got && got <= max(a, b)) {
			t.Fatalf("%v is outside %v and %v", got, a, b)
		}
	})
}

// TestSpecialFloats checks what the documentation says of NaN, infinities and -0.
func TestSpecialFloats(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		values   []float64
		increase float64
	}{
		{[]float64{inf}, 0}, {[]float64{inf, inf, 3}, 3}, {[]float64{1, inf, inf}, inf}, {[]float64{-inf, 1}, inf}, {[]float64{1, -inf}, -inf}, {[]float64{1, inf, -inf}, math.NaN()},
		{[]float64{1, math.NaN()}, math.NaN()}, {[]float64{math.NaN()}, math.NaN()},
	} {
		var s Float64[float64]
		s.add(make([]time.Time, len(c.values)), c.values)
		if got := s.Increase(); got != c.increase && (got == got || c.increase == c.increase) {
			t.Errorf("%v increases by %v, want %v", c.values, got, c.increase)
		}
	}
	var s Float64[float64]
	s.add(make([]time.Time, 4), []float64{math.NaN(), 3, 1, math.Inf(1)})
	if s.Min != 1 || !math.IsInf(s.Max, 1) || s.Count != 4 || !math.IsNaN(s.Sum()) || !math.IsNaN(s.Mean()) || !math.IsNaN(s.Increase()) {
		t.Errorf("%+v", s)
	}
	var zero, group Float64[float64]
	zero.add(make([]time.Time, 1), []float64{math.Copysign(0, -1)})
	group.combine(&zero)
	if !math.Signbit(zero.Mean()) || !math.Signbit(group.Mean()) {
		t.Error("the mean of -0 is 0")
	}
}

// TestWidest checks that the largest widths have windows in any time zone, and that wider ones are
// refused, however they are made.
func TestWidest(t *testing.T) {
	for _, name := range zones {
		in := zone(t, name)
		for _, width := range []Width{Days(maxDays, in), Weeks(maxDays/7, in), Months(maxMonths, in), Years(maxMonths/12, in), Every(maxEvery)} {
			at := time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
			if s := width.at(at, span{}); width.Check() != nil || !s.holds(at) {
				t.Errorf("%v: %v, %v", width, width.Check(), s)
			}
		}
		for _, n := range []int{maxDays + 1, math.MaxInt / 1000, math.MaxInt / 12, math.MaxInt/7 + 1, math.MaxInt / 2, math.MaxInt} {
			for _, width := range []Width{Days(n, in), Weeks(n, in), Months(n, in), Years(n, in), Every(maxEvery + 1)} {
				if err := width.Check(); !errors.Is(err, ErrWidth) || !strings.Contains(err.Error(), "too wide") {
					t.Errorf("%d in %s: %v", n, name, err)
				}
			}
		}
	}
	for _, n := range []int{0, -1, math.MinInt, math.MinInt/7 - 1, math.MinInt/12 - 1} {
		for _, width := range []Width{Days(n, time.UTC), Weeks(n, time.UTC), Months(n, time.UTC), Years(n, time.UTC)} {
			assert.Is(t, ErrWidth, width.Check(), n)
		}
	}
	for _, text := range []string{"100000d", "14285w", "100000mo", "8333y", "2400000h", "8640000000s"} {
		_, err := Parse(text, time.UTC)
		assert.Is(t, nil, err)
	}
	for _, text := range []string{"300000y", "106752d", "9223372036s", "9223372036854775807s", "9223372036854775808mo", "99999999999999999999999h", "100001mo"} {
		if _, err := Parse(text, time.UTC); !errors.Is(err, ErrWidth) || !strings.Contains(err.Error(), "the maximum is 100000d") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestUnknownFill checks that a fold refuses ways to fill windows that do not exist.
func TestUnknownFill(t *testing.T) {
	for _, fill := range []Fill{-1, FillLinear + 1, 77} {
		_, err := testSpec.Start(Whole(), time.Time{}, time.Unix(1, 0), Options{Fill: fill}, nil)
		assert.Is(t, ErrFill, err, fill)
	}
}
