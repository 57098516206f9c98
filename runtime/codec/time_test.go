package codec_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"pgregory.net/rapid"
)

// Truncate and Ceil return multiples of a precision, in UTC, or the time itself if that is 0.
func TestTruncate(t *testing.T) {
	testlong.Checks(t, 100)
	nanos := func(t time.Time) *big.Int {
		n := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(1e9))
		return n.Add(n, big.NewInt(int64(t.Nanosecond())))
	}
	check(t, "against big numbers", func(t *rapid.T) {
		at := times(1, 9999).Draw(t, "t").In(rapid.SampledFrom([]*time.Location{time.UTC, time.FixedZone("", 3600)}).Draw(t, "zone"))
		p := rapid.OneOf(rapid.Int64Min(1), rapid.SampledFrom([]int64{1e6, 1e9, 60e9, 3600e9})).Draw(t, "precision")
		up := rapid.Bool().Draw(t, "up")
		if up && rapid.Bool().Draw(t, "multiple") {
			at = codec.Truncate(at, time.Duration(p))
		}
		got, want := codec.Truncate(at, time.Duration(p)), nanos(at)
		rest := new(big.Int).Mod(want, big.NewInt(p))
		if want.Sub(want, rest); up {
			if got = codec.Ceil(at, time.Duration(p)); rest.Sign() > 0 {
				want.Add(want, big.NewInt(p))
			}
		}
		if nanos(got).Cmp(want) != 0 || got.Location() != time.UTC {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
	at := date("2021-03-05T12:03:59.9+01:00")
	if !sameTime(at, codec.Truncate(at, 0)) || !sameTime(at, codec.Ceil(at, 0)) {
		t.Error("a precision of 0 changes times")
	}
	if now := codec.Truncate(time.Now(), 0); now != now.Round(0) {
		t.Error("Truncate keeps the monotonic clock")
	}
}

// Bigtable timestamps are whole milliseconds, in microseconds.
func TestTimestampsAreWholeMilliseconds(t *testing.T) {
	for _, tt := range []struct {
		t        time.Time
		down, up int64
	}{
		{time.Unix(1, 0), 1_000_000, 1_000_000},
		{time.Unix(0, 1), 0, 1000},
		{time.Unix(0, 1_999_999), 1000, 2000},
		{time.Unix(0, -1), -1000, 0},
		{time.Unix(0, 500_000), 0, 1000}, // as an end, 0 would mean unbounded
		{date("9999-12-31T23:59:59.999Z"), 253402300799_999_000, 253402300799_999_000},
	} {
		if got := codec.Micros(tt.t); got != tt.down {
			t.Errorf("Micros(%v) = %d, want %d", tt.t, got, tt.down)
		}
		if got := codec.CeilMicros(tt.t); got != tt.up {
			t.Errorf("CeilMicros(%v) = %d, want %d", tt.t, got, tt.up)
		}
	}
	check(t, "round trip", func(t *rapid.T) {
		at := codec.Truncate(times(1, 9999).Draw(t, "t"), time.Millisecond)
		if got := codec.FromMicros(codec.Micros(at)); !sameTime(at, got) {
			t.Fatal(got)
		}
	})
}
