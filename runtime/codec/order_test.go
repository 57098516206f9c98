package codec

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"
)

// TestBetween compares the ranges of encoded values with the order of the values, for each pair of
// ends: a datum is in a range if and only if its value is, zero and negative zero are equal, and
// no NaN is in any range.
func TestBetween(t *testing.T) {
	floats := []float64{math.Inf(-1), -math.MaxFloat64, -2, -1, -math.SmallestNonzeroFloat64, math.Copysign(0, -1), 0, math.SmallestNonzeroFloat64, 1, 2, math.MaxFloat64, math.Inf(1), math.NaN()}
	compareBetween(t, Binary.Float64, cmp.Less[float64], append(floats, math.Float64frombits(0xfff8000000000001)))
	float32s := []float32{float32(math.Inf(-1)), -math.MaxFloat32, -1, float32(math.Copysign(0, -1)), 0, math.SmallestNonzeroFloat32, 1, float32(math.Inf(1)), float32(math.NaN())}
	compareBetween(t, Binary.Float32, cmp.Less[float32], float32s)
	compareBetween(t, Binary.Int64, cmp.Less[int64], []int64{math.MinInt64, -256, -1, 0, 1, 255, 256, math.MaxInt64})
	compareBetween(t, Binary.Int32, cmp.Less[int32], []int32{math.MinInt32, -256, -1, 0, 1, 255, 256, math.MaxInt32})
	compareBetween(t, BigEndian.Float64, cmp.Less[float64], floats)
	compareBetween(t, BigEndian.Float32, cmp.Less[float32], float32s)
	compareBetween(t, BigEndian.Int32, cmp.Less[int32], []int32{math.MinInt32, -256, -1, 0, 1, 255, 256, math.MaxInt32})
	compareBetween(t, BigEndian.Uint32, cmp.Less[uint32], []uint32{0, 1, 255, 256, math.MaxUint32})
	compareBetween(t, Binary.Uint64, cmp.Less[uint64], []uint64{0, 1, 255, 256, math.MaxUint64})
	compareBetween(t, Binary.Uint32, cmp.Less[uint32], []uint32{0, 1, 255, 256, math.MaxUint32})
	compareBetween(t, Binary.String, cmp.Less[string], []string{"", "\x00", "a", "a\x00", "ab", "b", "\xf4\x8f\xbf\xbf"})
	compareBetween(t, Text.String, cmp.Less[string], []string{"", "a", "b"})
	compareBetween(t, Binary.Duration, cmp.Less[time.Duration], []time.Duration{math.MinInt64, -time.Second, 0, time.Second, math.MaxInt64})
	compareBetween(t, Binary.Timestamp, time.Time.Before, []time.Time{time.Unix(-1, 0), time.Unix(0, 0), time.Unix(1, 1)})
	compareBetween(t, Binary.UUID, func(a, b UUID) bool { return string(a[:]) < string(b[:]) }, []UUID{{}, {1}, {1, 1}, {255}})
	compareBetween(t, Binary.Bytes, func(a, b []byte) bool { return string(a) < string(b) }, [][]byte{{}, {0}, {1}, {1, 0}, {255, 255}})
}

// compareBetween checks the ranges of all pairs of values.
func compareBetween[T any](t *testing.T, c Coding[T], less func(a, b T) bool, values []T) {
	t.Helper()
	for _, low := range values {
		for _, high := range values {
			ranges, ok := c.Order.Between(c.Append(nil, low), c.Append(nil, high))
			if want := isNumber(low) && isNumber(high) && !less(high, low); ok != want {
				t.Errorf("%T [%v, %v): %t, want %t", low, low, high, ok, want)
			}
			for _, v := range values {
				got := slices.ContainsFunc(ranges, func(r ValueRange) bool { return r.Contains(c.Append(nil, v)) })
				if want := ok && isNumber(v) && !less(v, low) && less(v, high); got != want {
					t.Errorf("%T [%v, %v): contains %v: %t, want %t", low, low, high, v, got, want)
				}
			}
		}
	}
}

// isNumber reports whether v is not NaN.
func isNumber(v any) bool {
	switch v := v.(type) {
	case float64:
		return v == v
	case float32:
		return v == v
	}
	return true
}
