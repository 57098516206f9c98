package gen_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/window"
)

type tookWindow struct {
	window.Window
	Series string
	Took   window.Int[time.Duration]
}

// TestDurations checks that the statistics of durations are exact: neither rounded to what float64
// represents, nor wrapped around.
func TestDurations(t *testing.T) {
	spec := window.NewSpec[string, tookWindow](window.IntPart[time.Duration]("took", 2))
	const most, least = time.Duration(math.MaxInt64), time.Duration(math.MinInt64)
	for _, c := range []struct {
		took                []time.Duration
		sum, mean, increase string
	}{
		{[]time.Duration{most}, "2562047h47m16.854775807s", "2562047h47m16.854775807s", "0s"},
		{[]time.Duration{least, least}, "-18446744073709551616", "-2562047h47m16.854775808s", "0s"},
		{[]time.Duration{5000*time.Hour + 1}, "5000h0m0.000000001s", "5000h0m0.000000001s", "0s"},
		{[]time.Duration{1, 2}, "3ns", "2ns", "1ns"},
		{[]time.Duration{-1, -2}, "-3ns", "-2ns", "-2ns"},
		{[]time.Duration{0, most, 0, most}, "18446744073709551614", "1281023h53m38.427387904s", "18446744073709551614"},
		{[]time.Duration{least, most}, "-1ns", "-1ns", "18446744073709551615"},
	} {
		series, got := "", dynamic.Window{}
		f, err := spec.Start(window.Whole(), time.Unix(0, 0), time.Unix(9, 0), window.Options{
			ID: func(dst []byte, _ any) []byte { return dst }, Clone: func(s any) any { return s },
		}, func(w *window.Summary) bool {
			took := w.Window.(*tookWindow).Took
			got.Fields = [][]any{{&took}}
			return true
		})
		assert.Must(t, err)
		var times []time.Time
		for i := range c.took {
			times = append(times, time.Unix(int64(i), 0))
		}
		if _, err := f.Add(&series, window.Slices{nil, &times, &c.took}); err != nil {
			t.Fatal(err)
		}
		f.End()
		field := &layout.Field{Type: schema.Duration}
		for s, want := range map[dynamic.Statistic]string{dynamic.Sum: c.sum, dynamic.Mean: c.mean, dynamic.Increase: c.increase} {
			if v := fmt.Sprint(s.Of(&got, field, 0)); v != want {
				t.Errorf("the %v of %v is %s, want %s", s, c.took, v, want)
			}
		}
	}
}
