package codec

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// TimeKind is an encoding of times in keys.
type TimeKind int

const (
	LayoutTime         TimeKind = iota // a layout of package time
	UnixSeconds                        // seconds since 1970, 10 digits
	UnixMillis                         // milliseconds since 1970, 13 digits
	UnixMicros                         // microseconds since 1970, 16 digits
	UnixNanos                          // nanoseconds since 1970, 19 digits
	BinaryTime                         // microseconds since 1970, 8 bytes, big-endian
	BinarySeconds                      // seconds since 1970, 8 bytes, big-endian
	BinaryMillis                       // milliseconds since 1970, 8 bytes, big-endian
	BinaryNanos                        // nanoseconds since 1970, 8 bytes, big-endian
	BinaryShortSeconds                 // seconds since 1970, 4 bytes, big-endian, unsigned
)

// unixFormats describes the kinds that count from 1970, so not LayoutTime.
var unixFormats = [...]struct {
	name  string
	unit  int64 // in nanoseconds
	width int   // digits, or bytes
	limit Minuend
	end   time.Time // the first instant that needs more digits
}{
	UnixSeconds:        {"unix_s", 1e9, 10, 0, time.Unix(1e10, 0).UTC()},
	UnixMillis:         {"unix_ms", 1e6, 13, 0, time.Unix(1e10, 0).UTC()},
	UnixMicros:         {"unix_us", 1e3, 16, 0, time.Unix(1e10, 0).UTC()},
	UnixNanos:          {"unix_ns", 1, 19, MaxInt64, maxNanos.Add(1)},
	BinaryTime:         {"binary", 1e3, 8, MaxInt64, year10k},
	BinarySeconds:      {"binary_s", 1e9, 8, MaxInt64, year10k},
	BinaryMillis:       {"binary_ms", 1e6, 8, MaxInt64, year10k},
	BinaryNanos:        {"binary_ns", 1, 8, MaxInt64, maxNanos.Add(1)},
	BinaryShortSeconds: {"binary4_s", 1e9, 4, MaxUint32, time.Unix(math.MaxUint32+1, 0).UTC()},
}

// Minuend is the number from which a reversed format subtracts the time.
type Minuend int

const (
	Largest   Minuend = iota // the default of the format; see [TimeFormat]
	MaxInt32                 // 2147483647
	MaxUint32                // 4294967295
	MaxInt64                 // 9223372036854775807, Long.MAX_VALUE in Java
	MaxUint64                // 18446744073709551615: inverts all bits of 8 bytes
)

var minuendNames = [...]string{Largest: "true", MaxInt32: "max_int32", MaxUint32: "max_uint32", MaxInt64: "max_int64", MaxUint64: "max_uint64"}

// minuends are the values of the minuends, and their numbers of digits.
var minuends = [...]struct {
	value  uint64
	digits int
}{MaxInt32: {math.MaxInt32, 10}, MaxUint32: {math.MaxUint32, 10}, MaxInt64: {math.MaxInt64, 19}, MaxUint64: {math.MaxUint64, 20}}

// Value returns the number; 0 for Largest.
func (m Minuend) Value() uint64 { return minuends[m].value }

// String returns the name of the minuend in a schema; that of Largest is true.
func (m Minuend) String() string { return nameOf(m, minuendNames[:]) }

// TimeFormat encodes times in a fixed number of bytes, in UTC, so that bytes sort in ascending or descending order of
// time. The zero TimeFormat is invalid.
type TimeFormat struct {
	Kind   TimeKind
	Layout string // for LayoutTime
	// Reverse sorts the newest time first. It writes the largest number of the same
	// number of digits minus the number; for UnixNanos and 8 bytes, MaxInt64 minus the
	// number; for 4 bytes, MaxUint32 minus the number. LayoutTime cannot be reversed.
	Reverse bool
	// From replaces the number from which a reversed format subtracts. Digits are padded to those of the number.
	From Minuend
}

// String returns the format as written in a schema, followed by "reversed" if it is, and
// by the number it is subtracted from if that is not the default.
func (f TimeFormat) String() string {
	switch {
	case f.Kind == LayoutTime:
		return f.Layout
	case f.From != Largest:
		return unixFormats[f.Kind].name + " reversed from " + f.From.String()
	case f.Reverse:
		return unixFormats[f.Kind].name + " reversed"
	}
	return unixFormats[f.Kind].name
}

// Width returns the length of every formatted time, in bytes.
func (f TimeFormat) Width() int {
	switch {
	case f.Kind == LayoutTime:
		return len(f.Layout) // each element of a layout has the length of its output
	case f.From != Largest && !f.InBytes():
		return minuends[f.From].digits
	}
	return unixFormats[f.Kind].width
}

// InBytes reports whether the format is binary and may contain any byte, such as the delimiter.
func (f TimeFormat) InBytes() bool { return f.Kind >= BinaryTime }

// largest returns the number from which a reversed format subtracts.
func (f TimeFormat) largest() uint64 {
	limit := unixFormats[f.Kind].limit
	if f.From != Largest {
		limit = f.From
	}
	if limit != Largest {
		return limit.Value()
	}
	return uint64(pow10(unixFormats[f.Kind].width) - 1)
}

// Resolution returns the duration that one formatted time stands for; 0 if it is a
// month or a year, see [TimeFormat.Months].
func (f TimeFormat) Resolution() time.Duration {
	if f.Kind != LayoutTime {
		return time.Duration(unixFormats[f.Kind].unit)
	}
	e, digits := f.finest()
	if e == fraction {
		return time.Second / time.Duration(pow10(digits))
	}
	return [...]time.Duration{day: 24 * time.Hour, yearDay: 24 * time.Hour, hour: time.Hour, minute: time.Minute, second: time.Second, literal: 0}[e]
}

// Months returns 12 for a layout that ends with the year, 1 for one that ends with the
// month, and 0 for every other format.
func (f TimeFormat) Months() int {
	if f.Kind != LayoutTime {
		return 0
	}
	switch e, _ := f.finest(); e {
	case year:
		return 12
	case month:
		return 1
	}
	return 0
}

// Min returns the first instant that the format can represent, 1970-01-01.
func (f TimeFormat) Min() time.Time { return epoch }

// Max returns the first later instant that the format cannot represent: the one that
// needs another digit or byte, or the year 10000.
func (f TimeFormat) Max() time.Time {
	switch {
	case f.Kind == LayoutTime:
		return year10k
	case f.From == MaxInt32 || f.From == MaxUint32:
		return time.Unix(int64(f.largest())+1, 0).UTC()
	case f.From != Largest && f.Kind != UnixNanos && f.Kind != BinaryNanos:
		return year10k // the number has room for it
	}
	return unixFormats[f.Kind].end
}

// Append appends t in UTC, rounded down to the resolution. It rejects a time outside
// [f.Min(), f.Max()) with [ErrTimeRange].
func (f TimeFormat) Append(dst []byte, t time.Time) ([]byte, error) {
	if t.Before(epoch) || !t.Before(f.Max()) {
		return dst, ErrTimeRange
	}
	if f.Kind == LayoutTime {
		return appendLayout(dst, f.Layout, t.UTC()), nil
	}
	u := unixFormats[f.Kind]
	n := uint64(t.Unix()*(1e9/u.unit) + int64(t.Nanosecond())/u.unit)
	if f.Reverse {
		n = f.largest() - n
	}
	if f.InBytes() {
		return appendBig(dst, n, u.width), nil
	}
	return appendDigits(dst, n, f.Width()), nil
}

// Parse parses a time that [TimeFormat.Append] wrote and rejects everything else. The
// time is in UTC. Errors wrap [ErrTimeRange].
func (f TimeFormat) Parse(s string) (time.Time, error) {
	t, ok := f.parse(s)
	if !ok || t.Before(epoch) || !t.Before(f.Max()) {
		return time.Time{}, fmt.Errorf("%w: %s is not of the form %s", ErrTimeRange, quote(s), f)
	}
	return t, nil
}

func (f TimeFormat) parse(s string) (time.Time, bool) {
	if f.Kind == LayoutTime {
		return parseLayout(f.Layout, s)
	}
	if len(s) != f.Width() {
		return time.Time{}, false
	}
	number, ok := f.number(s)
	if f.Reverse {
		number = f.largest() - number // wraps around for a number that is too large
	}
	n, perSecond := int64(number), 1e9/unixFormats[f.Kind].unit
	return time.Unix(n/perSecond, n%perSecond*unixFormats[f.Kind].unit).UTC(), ok && n >= 0
}

// number parses a number of the format's width.
func (f TimeFormat) number(s string) (uint64, bool) {
	if f.InBytes() {
		return parseBig(s), true
	}
	if len(s) > 19 {
		n, err := strconv.ParseUint(s, 10, 64)
		return n, err == nil
	}
	n, ok := digits(s)
	return uint64(n), ok
}

// ceil rounds t up to the resolution.
func (f TimeFormat) ceil(t time.Time) time.Time {
	if n := f.Months(); n > 0 {
		return Bucket{Months: n}.End(t.Add(-1))
	}
	return Ceil(t, f.Resolution())
}
