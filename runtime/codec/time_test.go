package codec_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"pgregory.net/rapid"
)

func TestTruncate(t *testing.T) {
	for _, tt := range []struct {
		t, floor, ceil string
		precision      time.Duration
	}{
		{"2021-03-05T12:03:59.9Z", "2021-03-05T12:03:00Z", "2021-03-05T12:04:00Z", time.Minute},
		{"2021-03-05T12:03:00Z", "2021-03-05T12:03:00Z", "2021-03-05T12:03:00Z", time.Minute},
		{"1969-12-31T23:59:59.9995Z", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00Z", time.Millisecond},
		{"9999-12-31T23:59:59.9Z", "9999-12-31T23:00:00Z", "9999-12-31T23:59:59.9Z", 0},
		{"0001-01-01T00:00:30Z", "0001-01-01T00:00:00Z", "0001-01-01T00:01:00Z", time.Minute},
		{"2021-03-05T12:03:59.9+01:00", "2021-03-05T11:00:00Z", "2021-03-05T12:00:00Z", time.Hour},
	} {
		if tt.precision == 0 { // unchanged
			tt.floor = tt.t
		}
		if got := codec.Truncate(date(tt.t), tt.precision); !sameTime(date(tt.floor), got) {
			t.Errorf("Truncate(%s, %s) = %v, want %s", tt.t, tt.precision, got, tt.floor)
		}
		if got := codec.Ceil(date(tt.t), tt.precision); !sameTime(date(tt.ceil), got) {
			t.Errorf("Ceil(%s, %s) = %v, want %s", tt.t, tt.precision, got, tt.ceil)
		}
	}
	if now := codec.Truncate(time.Now(), 0); now != now.Round(0) {
		t.Error("Truncate keeps the monotonic clock")
	}
}

func TestTruncateIsAMultiple(t *testing.T) {
	nanos := func(t time.Time) *big.Int {
		n := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(1e9))
		return n.Add(n, big.NewInt(int64(t.Nanosecond())))
	}
	check(t, "against big numbers", func(t *rapid.T) {
		at := times(1, 9999).Draw(t, "t")
		p := rapid.Int64Min(1).Draw(t, "precision")
		want := nanos(at)
		want.Sub(want, new(big.Int).Mod(want, big.NewInt(p)))
		if got := nanos(codec.Truncate(at, time.Duration(p))); got.Cmp(want) != 0 {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
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
