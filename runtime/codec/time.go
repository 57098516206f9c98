package codec

import (
	"math"
	"math/bits"
	"time"
)

// The bounds of times that can be stored.
var (
	epoch    = time.Unix(0, 0).UTC()
	year10k  = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	minNanos = time.Unix(0, math.MinInt64).UTC() // 1677-09-21
	maxNanos = time.Unix(0, math.MaxInt64).UTC() // 2262-04-11

	// Forever is after every cell timestamp.
	Forever = time.Unix(math.MaxInt64/1_000_000, 0)
)

// Truncate rounds t down to a multiple of precision since the Unix epoch. The result is in UTC and has no monotonic
// clock reading. It works for all years from 1 to 9999. A precision of zero or less changes nothing.
//
// By contrast, [time.Time.Truncate] counts from the year 1, so that 168h ends on
// Mondays and other widths at arbitrary times.
func Truncate(t time.Time, precision time.Duration) time.Time {
	s, ns := t.Unix(), int64(t.Nanosecond())
	switch {
	case precision <= 0:
	case precision%time.Second == 0:
		step := int64(precision / time.Second)
		s, ns = floorDiv(s, step)*step, 0
	case time.Second%precision == 0:
		ns -= ns % int64(precision)
	default:
		t = time.Unix(s, ns).UTC()
		return t.Add(-sinceMultiple(t, int64(precision)))
	}
	return time.Unix(s, ns).UTC()
}

// Ceil rounds t up to a multiple of precision since the Unix epoch. The result is in
// UTC. A precision of zero or less changes nothing.
func Ceil(t time.Time, precision time.Duration) time.Time {
	return Truncate(t.Add(max(0, precision-1)), precision)
}

// sinceMultiple returns the time from the last multiple of p nanoseconds to t. It computes in 128 bits, because 64 bits
// cannot hold nanoseconds outside the years 1677 to 2262.
func sinceMultiple(t time.Time, p int64) time.Duration {
	s := t.Unix() - floorDiv(t.Unix(), p)*p // as far from a multiple
	hi, lo := bits.Mul64(uint64(s), uint64(time.Second))
	lo, carry := bits.Add64(lo, uint64(t.Nanosecond()), 0)
	return time.Duration(bits.Rem64(hi+carry, lo, uint64(p)))
}

// Micros returns t as a Bigtable timestamp: microseconds since the Unix epoch, rounded down to the millisecond,
// because Bigtable rejects finer timestamps, except in tables with the granularity MICROS.
func Micros(t time.Time) int64 { return t.UnixMilli() * 1000 }

// CeilMicros is like [Micros] but rounds up to the millisecond. As the end of a range,
// the result excludes no cell; Go's client would round down.
func CeilMicros(t time.Time) int64 {
	us := Micros(t)
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		us += 1000
	}
	return us
}

// FromMicros converts a Bigtable timestamp to a time in UTC.
func FromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// floorDiv returns a/b rounded toward negative infinity; b must be positive.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Earlier returns the earlier of two times.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
