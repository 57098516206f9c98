package codec_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// sameNumbers fails unless s decodes to the same numbers as with strconv.
func sameNumbers(t *testing.T, s string) {
	t.Helper()
	sameNumber(t, s, slices.Clip([]byte(s)))
	sameNumber(t, s, append([]byte(s), "1.-/:\xff9e0123"...)[:len(s)]) // with capacity for a whole word
}

func sameNumber(t *testing.T, s string, b []byte) {
	t.Helper()
	i64, err := strconv.ParseInt(s, 10, 64)
	compareNumber(t, codec.Text.Int64, s, b, i64, err)
	i32, err := strconv.ParseInt(s, 10, 32)
	compareNumber(t, codec.Text.Int32, s, b, int32(i32), err)
	u64, err := strconv.ParseUint(s, 10, 64)
	compareNumber(t, codec.Text.Uint64, s, b, u64, err)
	u32, err := strconv.ParseUint(s, 10, 32)
	compareNumber(t, codec.Text.Uint32, s, b, uint32(u32), err)
	f64, err := strconv.ParseFloat(s, 64)
	compareNumber(t, codec.Text.Float64, s, b, f64, err)
	f32, err := strconv.ParseFloat(s, 32)
	compareNumber(t, codec.Text.Float32, s, b, float32(f32), err)
}

// compareNumber fails unless b decodes to a number, with its sign, or to an error.
func compareNumber[T int32 | int64 | uint32 | uint64 | float32 | float64](t *testing.T, c codec.Coding[T], s string, b []byte, want T, failed error) {
	t.Helper()
	v, err := c.Decode(b)
	same := math.Float64bits(float64(v)) == math.Float64bits(float64(want)) && (v == want || v != v)
	if (err != nil) != (failed != nil) || err == nil && !same {
		t.Errorf("%T %q: %v, %v; want %v, %v", v, s, v, err, want, failed)
	}
}

// TestNumbersMatchStrconv covers numbers that are decoded with and without strconv.
func TestNumbersMatchStrconv(t *testing.T) {
	for _, s := range []string{
		"", "-", "+", ".", "-.", "+.", "..", "1..2", "0", "-0", "+0", "00", "-00.0", "1.", ".5", "-.5", "1_000", "0x1p-2", "1e3", "1.5e-3", "inf", "nan", " 1", "1 ",
		"94.5", "94587", "9.50", "+5", "007", "123456789012345", "1234567890123456", "12345.67890123456", "999999999999999999", "1000000000000000000", "9223372036854775807",
		"9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296",
		"1234567", "12345678", "0.0000001", "1.2345678", "16777217", "8388609.5", "/", ":", "1/2", "\x00", "٣",
	} {
		sameNumbers(t, s)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range testlong.Pick(20_000, 100_000) {
		b := make([]byte, random.IntN(21))
		for i := range b {
			b[i] = "0123456789.-0123456789e"[random.IntN(23)]
			if random.IntN(4) > 0 {
				b[i] = byte('0' + random.IntN(10))
			}
		}
		sameNumbers(t, string(b))
	}
}

// TestFloatsMatchStrconv covers floats that are formatted with and without strconv.
func TestFloatsMatchStrconv(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	same := func(v float64) {
		t.Helper()
		for _, v := range []float64{v, -v, math.Nextafter(v, 0), math.Nextafter(v, math.Inf(1))} {
			format := byte('f')
			if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
				format = 'e'
			}
			want := strconv.FormatFloat(v, format, -1, 64)
			if got := string(codec.Text.Float64.Append(nil, v)); got != want {
				t.Errorf("%x is %s, want %s", v, got, want)
			}
		}
	}
	for _, v := range []float64{0, 1, 0.1, 0.3, 0.001, 0.0009, 94.5, 9.05, 0.1 + 0.2, 1e15, 999999999999999, 99999999999999.9, 123456789012.345, 12345678901234.5, 1e21, 1e22, 5e-324, math.MaxFloat64, math.Inf(1), 2.5, 1.005, 4.35, 1e14 + 0.5} {
		same(v)
	}
	for range testlong.Pick(40_000, 200_000) {
		same(float64(random.Int64N(1e12)) / math.Pow10(random.IntN(6)))
		same(float64(random.Int64N(1e5)) / math.Pow10(random.IntN(6)))
		same(math.Float64frombits(random.Uint64()))
	}
}
