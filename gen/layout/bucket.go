package layout

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

const (
	week   = 7 * 24 * time.Hour
	maxPad = 18 // digits that always fit an int64
)

var errTimeFormat = errors.New("want unix_s, unix_ms, unix_us, unix_ns, binary, binary_s, binary_ms, binary_ns, binary4_s, or a layout that sorts: " +
	"2006, then 01 and 02 (or 002), 15, 04, 05, .000 in this order and none left out, " +
	`with any of "-_/:.T,~@+" in between`)

// sorting matches the time layouts that sort.
var sorting = regexp.MustCompile(strings.ReplaceAll(
	`^2006(?: 01)? $|^2006 (?:01 02|002)(?: 15(?: 04(?: 05(?: [.,]0{1,9})?)?)?)? $`, " ", `[-_/:.T,~@+]*`))

// ParseTime parses a format of times in row keys: unix_s, unix_ms, unix_us, unix_ns, binary, binary_s, binary_ms,
// binary_ns, binary4_s, or a layout of package time that sorts. Such a layout starts with 2006, followed in this
// order by 01 and 02 (or 002, the day of the year), 15, 04, 05 and a fraction such as .000. It may end after any of
// them, must not skip one, and may contain any of "-_/:.T,~@+" in between. A schema specifies separately whether a
// format is reversed.
func ParseTime(s string) (codec.TimeFormat, error) {
	for kind := codec.UnixSeconds; kind <= codec.BinaryShortSeconds; kind++ {
		if f := (codec.TimeFormat{Kind: kind}); f.String() == s {
			return f, nil
		}
	}
	if !sorting.MatchString(s) {
		return codec.TimeFormat{}, fmt.Errorf("time format %q: %w", s, errTimeFormat)
	}
	return codec.TimeFormat{Layout: s}, nil
}

// ParseMinuend returns the number with the given name in schemas from which a reversed time is subtracted; Largest if
// there is none.
func ParseMinuend(name string) codec.Minuend { return named(name, codec.MaxUint64) }

// named returns the value with the given name in schemas, among those up to the last one; zero if there is none.
func named[T interface {
	~int
	fmt.Stringer
}](name string, last T) T {
	for v := T(0); v <= last; v++ {
		if v.String() == name {
			return v
		}
	}
	return 0
}

// Reversed returns the format that subtracts times from m, as the schema language writes it: From is Largest if m is
// the default. It rejects layouts, and numbers that cannot represent the present in the width of m.
func Reversed(f codec.TimeFormat, m codec.Minuend) (codec.TimeFormat, error) {
	short := m == codec.MaxInt32 || m == codec.MaxUint32 // of 4 bytes
	want := "max_int64 or max_uint64"
	switch f.Kind {
	case codec.BinaryShortSeconds:
		want = "max_int32 or max_uint32"
	case codec.UnixSeconds:
		want = "max_int32, max_uint32, max_int64 or max_uint64"
	}
	switch {
	case f.Kind == codec.LayoutTime:
		return f, fmt.Errorf("time format %q cannot be reversed: want unix_s, unix_ms, unix_us, unix_ns or binary", f.Layout)
	case m != codec.Largest && f.InBytes() && short != (f.Width() == 4):
		return f, fmt.Errorf("time format %s has %d bytes, and %s has %d: want %s", f, f.Width(), m, 12-f.Width(), want)
	case short && f.Resolution() != time.Second:
		return f, fmt.Errorf("time format %s exceeds %s: want %s", f, m, want)
	case m == codec.MaxUint32 && f.InBytes(), m == codec.MaxInt64 && (f.InBytes() || f.Kind == codec.UnixNanos):
		m = codec.Largest // the default
	}
	f.Reverse, f.From = true, m
	return f, nil
}

// number matches the label of numbered buckets.
var number = regexp.MustCompile(`^([^%]*)%(?:0([1-9]|1[0-8]))?d([^%]*)$`)

// ParseLabel parses a label in a schema: a number with %d, or padded with %01d to %018d
// (week%d, week%04d); iso_week; or a format for [ParseTime].
func ParseLabel(s string) (codec.Label, error) {
	if iso := (codec.Label{Kind: codec.ISOWeekLabel}); s == iso.String() {
		return iso, nil
	}
	if m := number.FindStringSubmatch(s); m != nil {
		pad, _ := strconv.Atoi(m[2]) // 0 if there is none
		return codec.Label{Kind: codec.NumberLabel, Prefix: m[1], Suffix: m[3], Pad: pad}, nil
	}
	if strings.Contains(s, "%") {
		return codec.Label{}, fmt.Errorf("bucket label %q: want one number, %%d or %%01d to %%0%dd", s, maxPad)
	}
	f, err := ParseTime(s)
	if err != nil {
		return codec.Label{}, fmt.Errorf("bucket label: %w, or iso_week, or a number such as week%%04d", err)
	}
	return codec.Label{Kind: codec.TimeLabel, Format: f}, nil
}

// CheckBucket reports whether a bucket has a valid width and origin and its labels are distinct. The error says what to
// write instead.
func CheckBucket(b codec.Bucket) error {
	if b.Endless() {
		return nil
	}
	if err := checkWidth(b); err != nil {
		return err
	}
	origin := b.Origin.UTC()
	if b.Origin.IsZero() {
		origin = codec.Bucket{Every: b.Every, Months: b.Months}.Min()
	}
	if err := checkOrigin(b, origin); err != nil {
		return err
	}
	switch b.Label.Kind {
	case codec.NumberLabel:
		return nil
	case codec.ISOWeekLabel:
		if b.Every != week || origin.Weekday() != time.Monday || !codec.Truncate(origin, 24*time.Hour).Equal(origin) {
			return errors.New("bucket label iso_week requires a bucket of one week (1w) with an origin on a Monday")
		}
		return nil
	}
	return checkTimeLabel(b, origin)
}

func checkWidth(b codec.Bucket) error {
	switch {
	case (b.Every != 0) == (b.Months != 0):
		return errors.New("bucket: want either a fixed width, such as 1w, or months, such as 1mo")
	case b.Months != 0 && (b.Months < 0 || b.Months > 1200):
		return fmt.Errorf("bucket of %d months is not supported: want 1mo to 100y", b.Months)
	case b.Months != 0 && 12%b.Months != 0 && b.Months%12 != 0:
		return fmt.Errorf("bucket of %d months does not line up with the years: "+
			"want 1mo, 2mo, 3mo, 4mo, 6mo or whole years", b.Months)
	case b.Months == 0 && b.Every < time.Minute:
		return fmt.Errorf("bucket of %s is too narrow: want at least 1m", b.Every)
	case b.Every%time.Second != 0:
		return fmt.Errorf("bucket of %s has a fraction of a second: want whole seconds", b.Every)
	}
	return nil
}

func checkOrigin(b codec.Bucket, origin time.Time) error {
	shown := origin.Format(time.RFC3339Nano)
	switch {
	case origin.Year() < 1970 || origin.Year() > 9999:
		return fmt.Errorf("bucket origin %s is out of range: want a time from 1970 to 9999", shown)
	case origin.Nanosecond() != 0:
		return fmt.Errorf("bucket origin %s has a fraction of a second: want whole seconds", shown)
	case b.Months > 0 && !(codec.Bucket{Months: 1}).Start(origin).Equal(origin):
		return fmt.Errorf("bucket origin %s is not the start of a month, as buckets of months require; want %s",
			shown, origin.Format("2006-01")+"-01")
	}
	return nil
}

// checkTimeLabel rejects a label that is the same for several buckets.
func checkTimeLabel(b codec.Bucket, origin time.Time) error {
	f := b.Label.Format
	if b.Months > 0 {
		if f.Months() == 12 && (b.Months%12 != 0 || origin.Month() != time.January) {
			return fmt.Errorf("bucket label %s is the same for all buckets of a year: want 2006-01", f)
		}
		return nil
	}
	for _, other := range []codec.TimeFormat{f, {Layout: "2006-01-02"}, {Layout: "2006-01-02-15"}, {Layout: "2006-01-02-1504"}, {Layout: "2006-01-02-150405"}} {
		// Every bucket starts at a time that the format can represent exactly.
		if r := other.Resolution(); r > 0 && b.Every%r == 0 && codec.Truncate(origin, r).Equal(origin) {
			if other == f {
				return nil
			}
			return fmt.Errorf("bucket label %s does not distinguish buckets of %s: want %s", f, schema.FormatDuration(b.Every), other)
		}
	}
	return nil // one of seconds represents all
}
