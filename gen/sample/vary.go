package sample

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
)

// The first example event has the example of a field, and later ones have similar
// values. Numbers vary toward zero, so they stay in any range that contains the example
// and 0, such as 0 to 100 or that of the type.

// strides are the numbers of steps by which successive events differ from the example.
var strides = []int64{0, 1, 3, 2}

// Value returns the field's value in the n-th event, typed like Field.Default.
func Value(f *layout.Field, n int, at time.Time) any {
	example := f.Example
	if example == nil {
		example = samplesOf(f.Type).field(f, at)
	}
	return samplesOf(f.Type).vary(f, example, n)
}

// stride returns the number of steps of the n-th event.
func stride(n int) int64 { return strides[n%len(strides)] }

// shift returns what to subtract from an integer: stride steps of the given fraction of
// it and at least 1, but at most half of it in total.
func shift(v, stride int64, step float64) int64 {
	if step == 0 {
		return 0
	}
	size := math.Abs(float64(v))
	by := min(math.Floor(size/2), float64(stride)*max(1, math.Round(size*step)))
	return int64(math.Copysign(by, float64(v)))
}

// varyFloat moves a number toward zero by steps of the given fraction, and rounds it to
// as many digits as it has, or to as many as are necessary to show a step.
func varyFloat(v float64, stride int64, step float64, single bool) float64 {
	bits := 64
	if single {
		bits = 32
	}
	if v == 0 || step == 0 || stride == 0 {
		return v
	}
	moved := func(steps float64, digits int) float64 {
		near, _ := strconv.ParseFloat(strconv.FormatFloat(v*(1-steps*step), 'e', digits-1, 64), bits) // in range, because it is closer to zero
		return near
	}
	mantissa, _, _ := strings.Cut(strconv.FormatFloat(math.Abs(v), 'e', -1, bits), "e")
	digits := len(strings.Replace(mantissa, ".", "", 1))
	for digits < 17 && math.Abs(moved(1, digits)) >= math.Abs(v) {
		digits++
	}
	if near := moved(float64(stride), digits); math.Abs(near) < math.Abs(v) && near != 0 {
		return near
	}
	return v
}

// durationSteps are the units for varying durations, longest first.
var durationSteps = []time.Duration{time.Hour, time.Minute, time.Second, time.Millisecond, time.Microsecond, time.Nanosecond}

// varyDuration moves a duration toward zero by steps of the longest unit that divides
// it and is at most a tenth of it.
func varyDuration(v time.Duration, stride int64) time.Duration {
	for _, step := range durationSteps {
		if v%step == 0 && v/step/10 != 0 {
			return v - time.Duration(math.Copysign(float64(stride), float64(v)))*step
		}
	}
	return v
}

// varyTime moves a time toward 1970.
func varyTime(v time.Time, seconds int64) time.Time {
	by := time.Duration(seconds) * time.Second
	if v.Unix() < 0 {
		by = -by
	}
	return v.Add(-by)
}

// varyBytes adds n to the last byte.
func varyBytes(v []byte, n int) []byte {
	v = slices.Clone(v)
	if len(v) > 0 {
		v[len(v)-1] += byte(n)
	}
	return v
}

// varyJSON increments the last number in JSON, unless it is then none.
func varyJSON(v string, n int) string {
	if next := countUp(v, n); json.Valid([]byte(next)) {
		return next
	}
	return v
}

// countUp adds n to the last number in a string, if there is one.
func countUp(v string, n int) string {
	end := strings.LastIndexAny(v, "0123456789") + 1
	begin := len(strings.TrimRight(v[:end], "0123456789"))
	number, err := strconv.ParseUint(v[begin:end], 10, 32)
	if err != nil {
		return v
	}
	counted := strconv.FormatUint(number+uint64(n), 10)
	return v[:begin] + strings.Repeat("0", max(0, end-begin-len(counted))) + counted + v[end:]
}
