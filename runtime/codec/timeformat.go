package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// TimeKind is an encoding of times in keys.
type TimeKind int

const (
	LayoutTime  TimeKind = iota // a layout of package time
	UnixSeconds                 // seconds since 1970, 10 digits
	UnixMillis                  // milliseconds since 1970, 13 digits
	UnixMicros                  // microseconds since 1970, 16 digits
	UnixNanos                   // nanoseconds since 1970, 19 digits
	BinaryTime                  // microseconds since 1970, 8 bytes, big-endian

	binaryNanos // nanoseconds since 1970, 8 bytes: for timestamp segments, not available in schemas
)

// unixFormats describes the kinds that count from 1970, so not LayoutTime.
var unixFormats = [...]struct {
	name  string
	unit  int64     // in nanoseconds
	width int       // digits, or bytes
	end   time.Time // the first instant that needs more digits
}{
	UnixSeconds: {"unix_s", 1e9, 10, time.Unix(1e10, 0).UTC()},
	UnixMillis:  {"unix_ms", 1e6, 13, time.Unix(1e10, 0).UTC()},
	UnixMicros:  {"unix_us", 1e3, 16, time.Unix(1e10, 0).UTC()},
	UnixNanos:   {"unix_ns", 1, 19, maxNanos.Add(1)},
	BinaryTime:  {"binary", 1e3, 8, year10k},
	binaryNanos: {"binary nanoseconds", 1, 8, maxNanos.Add(1)},
}

// TimeFormat encodes times in a fixed number of bytes, in UTC, so that bytes sort in
// ascending or descending order of time. [ParseTimeFormat] returns one; the zero
// TimeFormat is invalid.
type TimeFormat struct {
	Kind   TimeKind
	Layout string // for LayoutTime
	// Reverse sorts the newest time first. It writes the largest number of the same
	// number of digits minus the number; for UnixNanos and BinaryTime, MaxInt64 minus
	// the number. LayoutTime cannot be reversed.
	Reverse bool
}

var errTimeFormat = errors.New("want unix_s, unix_ms, unix_us, unix_ns, binary, or a layout that sorts: " +
	"2006, then 01 and 02 (or 002), 15, 04, 05, .000 in this order and none left out, " +
	`with any of "-_/:.T,~@+" in between`)

// ParseTimeFormat parses a format in a schema: unix_s, unix_ms, unix_us, unix_ns,
// binary, or a layout of package time that sorts. Such a layout starts with 2006,
// followed in this order by 01 and 02 (or 002, the day of the year), 15, 04, 05 and a
// fraction such as .000. It may end after any of them, must not skip one, and may
// contain any of "-_/:.T,~@+" in between. A schema specifies separately whether a
// format is reversed.
func ParseTimeFormat(s string) (TimeFormat, error) {
	for kind := UnixSeconds; kind <= BinaryTime; kind++ {
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

// Validate reports whether f is a result of [ParseTimeFormat], possibly reversed if it
// is numeric.
func (f TimeFormat) Validate() error {
	if f.Kind < LayoutTime || f.Kind > BinaryTime {
		return fmt.Errorf("time format of kind %d: %w", int(f.Kind), errTimeFormat)
	}
	if f.Reverse && f.Kind == LayoutTime {
		return fmt.Errorf("time format %q cannot be reversed: want unix_s, unix_ms, unix_us, unix_ns or binary", f.Layout)
	}
	plain := f
	plain.Reverse = false
	got, err := ParseTimeFormat(plain.String())
	if err == nil && got != plain {
		err = fmt.Errorf("time format %q: %w", f.Layout, errTimeFormat)
	}
	return err
}

// String returns the format as written in a schema, followed by "reversed" if it is.
func (f TimeFormat) String() string {
	switch {
	case f.Kind == LayoutTime:
		return f.Layout
	case f.Reverse:
		return unixFormats[f.Kind].name + " reversed"
	}
	return unixFormats[f.Kind].name
}

// Width returns the length of every formatted time, in bytes.
func (f TimeFormat) Width() int {
	if f.Kind == LayoutTime {
		return len(f.Layout) // each element of a layout has the length of its output
	}
	return unixFormats[f.Kind].width
}

// inBytes reports whether the format is binary and may contain the delimiter.
func (f TimeFormat) inBytes() bool { return f.Kind >= BinaryTime }

// largest returns the number from which a reversed format subtracts.
func (f TimeFormat) largest() int64 {
	if f.Kind >= UnixNanos {
		return math.MaxInt64
	}
	return pow10(unixFormats[f.Kind].width) - 1
}

// Resolution returns the duration that one formatted time stands for; 0 if it is a
// month or a year, see [TimeFormat.Months].
func (f TimeFormat) Resolution() time.Duration {
	if f.Kind != LayoutTime {
		return time.Duration(unixFormats[f.Kind].unit)
	}
	switch e, digits := f.finest(); e {
	case day, yearDay:
		return 24 * time.Hour
	case hour:
		return time.Hour
	case minute:
		return time.Minute
	case second:
		return time.Second
	case fraction:
		return time.Second / time.Duration(pow10(digits))
	}
	return 0
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
// needs another digit, or the year 10000.
func (f TimeFormat) Max() time.Time {
	if f.Kind == LayoutTime {
		return year10k
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
	n := t.Unix()*(1e9/u.unit) + int64(t.Nanosecond())/u.unit
	if f.Reverse {
		n = f.largest() - n
	}
	if f.inBytes() {
		return binary.BigEndian.AppendUint64(dst, uint64(n)), nil
	}
	return appendDigits(dst, n, u.width), nil
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
	u := unixFormats[f.Kind]
	if len(s) != u.width {
		return time.Time{}, false
	}
	n, ok := f.number(s)
	if f.Reverse {
		n = f.largest() - n
	}
	perSecond := 1e9 / u.unit
	return time.Unix(n/perSecond, n%perSecond*u.unit).UTC(), ok
}

// number parses a number of the format's width.
func (f TimeFormat) number(s string) (int64, bool) {
	if f.inBytes() {
		n := int64(KeyForm{}.parseBinary(s))
		return n, n >= 0
	}
	return digits(s)
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
