package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
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

// minuends describes the minuends: their values, and their widths in digits and bytes.
var minuends = [...]struct {
	name          string
	value         uint64
	digits, bytes int
}{
	Largest:   {name: "true"},
	MaxInt32:  {"max_int32", math.MaxInt32, 10, 4},
	MaxUint32: {"max_uint32", math.MaxUint32, 10, 4},
	MaxInt64:  {"max_int64", math.MaxInt64, 19, 8},
	MaxUint64: {"max_uint64", math.MaxUint64, 20, 8},
}

// ParseMinuend parses the name of a minuend in a schema: max_int32, max_uint32, max_int64 or max_uint64.
func ParseMinuend(s string) (Minuend, error) {
	for m := MaxInt32; m <= MaxUint64; m++ {
		if minuends[m].name == s {
			return m, nil
		}
	}
	return Largest, fmt.Errorf("minuend %q: want max_int32, max_uint32, max_int64 or max_uint64", s)
}

// Value returns the number; 0 for Largest.
func (m Minuend) Value() uint64 { return minuends[m.known()].value }

// known returns the minuend; Largest for one that no constant has.
func (m Minuend) known() Minuend {
	if m < 0 || int(m) >= len(minuends) {
		return Largest
	}
	return m
}

// String returns the name of the minuend in a schema; that of Largest is true.
func (m Minuend) String() string { return minuends[m.known()].name }

// TimeFormat encodes times in a fixed number of bytes, in UTC, so that bytes sort in ascending or descending order of
// time. [ParseTimeFormat] returns one; the zero TimeFormat is invalid.
type TimeFormat struct {
	Kind   TimeKind
	Layout string // for LayoutTime
	// Reverse sorts the newest time first. It writes the largest number of the same
	// number of digits minus the number; for UnixNanos and 8 bytes, MaxInt64 minus the
	// number; for 4 bytes, MaxUint32 minus the number. LayoutTime cannot be reversed.
	Reverse bool
	// From replaces the number from which a reversed format subtracts; see
	// [TimeFormat.Reversed]. Digits are padded to those of the number.
	From Minuend
}

var errTimeFormat = errors.New("want unix_s, unix_ms, unix_us, unix_ns, binary, binary_s, binary_ms, binary_ns, binary4_s, or a layout that sorts: " +
	"2006, then 01 and 02 (or 002), 15, 04, 05, .000 in this order and none left out, " +
	`with any of "-_/:.T,~@+" in between`)

// ParseTimeFormat parses a format in a schema: unix_s, unix_ms, unix_us, unix_ns, binary, binary_s, binary_ms,
// binary_ns, binary4_s, or a layout of package time that sorts. Such a layout starts with 2006, followed in this
// order by 01 and 02 (or 002, the day of the year), 15, 04, 05 and a fraction such as .000. It may end after any of
// them, must not skip one, and may contain any of "-_/:.T,~@+" in between. A schema specifies separately whether a
// format is reversed.
func ParseTimeFormat(s string) (TimeFormat, error) {
	for kind := UnixSeconds; kind <= BinaryShortSeconds; kind++ {
		if s == unixFormats[kind].name {
			return TimeFormat{Kind: kind}, nil
		}
	}
	last := noElement
	for rest := s; rest != ""; {
		e, n := nextElement(rest, last)
		switch {
		case e != literal && !e.follows(last),
			e == literal && (last == noElement || !strings.Contains("-_/:.T,~@+", rest[:1])):
			return TimeFormat{}, fmt.Errorf("time format %q: at %q: %w", s, rest, errTimeFormat)
		case e != literal:
			last = e
		}
		rest = rest[n:]
	}
	if last == noElement {
		return TimeFormat{}, fmt.Errorf("time format %q: %w", s, errTimeFormat)
	}
	return TimeFormat{Layout: s}, nil
}

// Reversed returns the format that subtracts times from m, as the schema language writes it: From is Largest if m is
// the default. It rejects layouts, and numbers that cannot represent the present in the width of m.
func (f TimeFormat) Reversed(m Minuend) (TimeFormat, error) {
	switch {
	case f.Kind == LayoutTime:
		return f, fmt.Errorf("time format %q cannot be reversed: want unix_s, unix_ms, unix_us, unix_ns or binary", f.Layout)
	case m == Largest, m == unixFormats[f.Kind].limit:
		f.Reverse, f.From = true, Largest
		return f, nil
	case f.InBytes() && minuends[m].bytes != f.Width():
		return f, fmt.Errorf("time format %s has %d bytes, and %s has %d: want %s", f, f.Width(), m, minuends[m].bytes, f.minuends())
	case minuends[m].bytes == 4 && f.Resolution() != time.Second:
		return f, fmt.Errorf("time format %s exceeds %s: want %s", f, m, f.minuends())
	}
	f.Reverse, f.From = true, m
	return f, nil
}

// minuends lists the numbers from which the format can subtract, for messages.
func (f TimeFormat) minuends() string {
	switch {
	case f.Kind == BinaryShortSeconds:
		return "max_int32 or max_uint32"
	case f.Kind == UnixSeconds:
		return "max_int32, max_uint32, max_int64 or max_uint64"
	}
	return "max_int64 or max_uint64"
}

// Validate reports whether f is a result of [ParseTimeFormat], or of [TimeFormat.Reversed] if it is reversed.
func (f TimeFormat) Validate() error {
	if f.Kind < LayoutTime || f.Kind > BinaryShortSeconds || f.From < Largest || f.From > MaxUint64 || f.From != Largest && !f.Reverse {
		return fmt.Errorf("time format of kind %d from %d: %w", int(f.Kind), int(f.From), errTimeFormat)
	}
	plain := f
	plain.Reverse, plain.From = false, Largest
	got, err := ParseTimeFormat(plain.String())
	if err == nil && got != plain {
		return fmt.Errorf("time format %q: %w", f.Layout, errTimeFormat)
	}
	if err == nil && f.Reverse {
		if got, err = plain.Reversed(f.From); err == nil && got != f {
			err = fmt.Errorf("time format %s is reversed by default from %s: want true", plain, f.From)
		}
	}
	return err
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
		return minuends[limit].value
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
	switch {
	case f.Kind == BinaryShortSeconds:
		return binary.BigEndian.AppendUint32(dst, uint32(n)), nil
	case f.InBytes():
		return binary.BigEndian.AppendUint64(dst, n), nil
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
		return KeyForm{}.parseBinary(s), true
	}
	if len(s) > 19 {
		n, err := strconv.ParseUint(s, 10, 64)
		return n, err == nil
	}
	n, ok := digits(s)
	return uint64(n), ok
}

// floor rounds t down to the resolution.
func (f TimeFormat) floor(t time.Time) time.Time {
	t = t.UTC()
	switch f.Months() {
	case 12:
		return time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	case 1:
		return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	return Truncate(t, f.Resolution())
}

// ceil rounds t up to the resolution.
func (f TimeFormat) ceil(t time.Time) time.Time {
	floor := f.floor(t)
	switch {
	case floor.Equal(t):
		return floor
	case f.Months() > 0:
		return floor.AddDate(0, f.Months(), 0)
	}
	return floor.Add(f.Resolution())
}
