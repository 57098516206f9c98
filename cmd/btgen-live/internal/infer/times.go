package infer

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// timeForm is a way to write a time in a row key.
type timeForm struct {
	format  string // in the schema language, such as unix_ms
	reverse string // in the schema language, such as true; empty if the oldest sorts first
	unit    time.Duration
	months  int // the unit, if it is a month or a year
	rank    int // how unlikely it is that something else looks like it
	parse   func(s string) (time.Time, bool)
}

// binary reports whether the form has a number of bytes, not of characters.
func (f *timeForm) binary() bool { return strings.HasPrefix(f.format, "binary") }

// label reports whether the form is a label of buckets, not a number.
func (f *timeForm) label() bool {
	return f.format == "iso_week" || strings.HasPrefix(f.format, "2006")
}

// segment returns a segment with the form in the schema language; kind is time or bucket.
func (f *timeForm) segment(kind string) string {
	s := kind + ": " + schema.Quoted(f.format)
	if f.reverse != "" {
		s += ", reverse: " + f.reverse
	}
	return "{" + s + "}"
}

// The times that a sample plausibly contains.
var (
	earliest = time.Date(1995, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

func plausible(t time.Time) bool { return !t.Before(earliest) && t.Before(latest) }

// counted are the forms of times that count from 1970. A reversed one is written as a
// maximum minus the count.
var counted = []struct {
	format, reverse string
	unit            time.Duration
	digits, bytes   int
	max             uint64 // 0 if the time is not reversed
}{
	{"unix_s", "", time.Second, 10, 0, 0},
	{"unix_ms", "", time.Millisecond, 13, 0, 0},
	{"unix_us", "", time.Microsecond, 16, 0, 0},
	{"unix_ns", "", time.Nanosecond, 19, 0, 0},
	{"unix_s", "true", time.Second, 10, 0, 1e10 - 1},
	{"unix_ms", "true", time.Millisecond, 13, 0, 1e13 - 1},
	{"unix_us", "true", time.Microsecond, 16, 0, 1e16 - 1},
	{"unix_ns", "true", time.Nanosecond, 19, 0, math.MaxInt64},
	{"unix_s", "max_int32", time.Second, 10, 0, math.MaxInt32},
	{"unix_s", "max_uint32", time.Second, 10, 0, math.MaxUint32},
	{"unix_s", "max_int64", time.Second, 19, 0, math.MaxInt64},
	{"unix_ms", "max_int64", time.Millisecond, 19, 0, math.MaxInt64},
	{"unix_us", "max_int64", time.Microsecond, 19, 0, math.MaxInt64},
	{"unix_s", "max_uint64", time.Second, 20, 0, math.MaxUint64},
	{"unix_ms", "max_uint64", time.Millisecond, 20, 0, math.MaxUint64},
	{"unix_us", "max_uint64", time.Microsecond, 20, 0, math.MaxUint64},
	{"binary", "", time.Microsecond, 0, 8, 0},
	{"binary_s", "", time.Second, 0, 8, 0},
	{"binary_ms", "", time.Millisecond, 0, 8, 0},
	{"binary_ns", "", time.Nanosecond, 0, 8, 0},
	{"binary", "true", time.Microsecond, 0, 8, math.MaxInt64},
	{"binary_s", "true", time.Second, 0, 8, math.MaxInt64},
	{"binary_ms", "true", time.Millisecond, 0, 8, math.MaxInt64},
	{"binary_ns", "true", time.Nanosecond, 0, 8, math.MaxInt64},
	{"binary_ms", "max_uint64", time.Millisecond, 0, 8, math.MaxUint64},
	{"binary", "max_uint64", time.Microsecond, 0, 8, math.MaxUint64},
	{"binary4_s", "", time.Second, 0, 4, 0},
	{"binary4_s", "max_int32", time.Second, 0, 4, math.MaxInt32},
	{"binary4_s", "true", time.Second, 0, 4, math.MaxUint32},
}

// timeForms returns the forms of times that all values have, the likeliest first.
func timeForms(values []string) []*timeForm {
	var out []*timeForm
	for i := range counted {
		c := &counted[i]
		f := &timeForm{format: c.format, reverse: c.reverse, unit: c.unit, rank: c.digits + 2*c.bytes}
		f.parse = func(s string) (time.Time, bool) {
			n, ok := count(s, c.digits, c.bytes)
			if c.max > 0 {
				ok, n = ok && n <= c.max, c.max-n
			}
			if !ok || n > math.MaxInt64 {
				return time.Time{}, false
			}
			per := int64(time.Second / c.unit)
			t := time.Unix(int64(n)/per, int64(n)%per*int64(c.unit)).UTC()
			return t, plausible(t)
		}
		if f.fits(values) {
			out = append(out, f)
		}
	}
	for _, f := range []*timeForm{layoutOf(values), isoWeek(values)} {
		if f != nil {
			out = append(out, f)
		}
	}
	return out
}

// fits reports whether all values are times of the form.
func (f *timeForm) fits(values []string) bool {
	for _, v := range values {
		if _, ok := f.parse(v); !ok {
			return false
		}
	}
	return len(values) > 0
}

// count parses a number of so many digits or bytes.
func count(s string, digits, bytes int) (uint64, bool) {
	switch {
	case digits > 0:
		if len(s) != digits {
			return 0, false
		}
		n := uint64(0)
		for i := range len(s) {
			d := uint64(s[i] - '0')
			if d > 9 || n > (math.MaxUint64-d)/10 {
				return 0, false
			}
			n = n*10 + d
		}
		return n, true
	case len(s) != bytes:
		return 0, false
	case bytes == 4:
		return uint64(binary.BigEndian.Uint32([]byte(s))), true
	}
	return binary.BigEndian.Uint64([]byte(s)), true
}

// elements are the elements of a layout of package time, in order. The year is followed by the
// month or by the day of the year.
var elements = []string{"2006", "01", "02", "15", "04", "05"}

// layoutOf returns the layout of package time that all values have; nil if there is none.
func layoutOf(values []string) *timeForm {
	if len(values) == 0 {
		return nil
	}
	layout := guessLayout(values[0])
	format, err := codec.ParseTimeFormat(layout)
	if layout == "" || err != nil {
		return nil
	}
	f := &timeForm{format: layout, unit: format.Resolution(), months: format.Months(), rank: len(layout)}
	f.parse = func(s string) (time.Time, bool) {
		t, err := format.Parse(s)
		return t, err == nil && plausible(t)
	}
	if strings.ContainsAny(layout, "-_/:.T") {
		f.rank += 5
	}
	if !f.fits(values) {
		return nil
	}
	return f
}

// guessLayout returns the layout of a value: its runs of digits are years, months, days and so
// on. It is empty if the value has other lengths.
func guessLayout(s string) string {
	var b strings.Builder
	next := 0 // in elements
	for s != "" {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		switch {
		case n == 0:
			b.WriteByte(s[0])
			s = s[1:]
			continue
		case next == len(elements) && strings.HasSuffix(b.String(), "."):
			b.WriteString(strings.Repeat("0", n))
			s = s[n:]
			continue
		case next == 1 && n == 3:
			b.WriteString("002")
			next, s = 3, s[n:]
			continue
		}
		for n > 0 && next < len(elements) && n >= len(elements[next]) {
			e := elements[next]
			b.WriteString(e)
			next, n, s = next+1, n-len(e), s[len(e):]
		}
		if n > 0 {
			return ""
		}
	}
	return b.String()
}

// number is a label of buckets that are counted, such as week%d.
type number struct {
	prefix, suffix string
	pad            int // 0 if the numbers are not padded
	numbers        []int64
}

// text returns the label in the schema language.
func (n *number) text() string {
	verb := "%d"
	if n.pad > 0 {
		verb = fmt.Sprintf("%%0%dd", n.pad)
	}
	return n.prefix + verb + n.suffix
}

// numberOf returns the label that all values have; nil if there is none.
func numberOf(values []string) *number {
	first := values[0]
	begin := strings.IndexAny(first, "0123456789")
	if begin < 0 {
		return nil
	}
	end := begin
	for end < len(first) && first[end] >= '0' && first[end] <= '9' {
		end++
	}
	n := &number{prefix: first[:begin], suffix: first[end:]}
	padded, same := false, true
	for _, v := range values {
		v, ok1 := strings.CutPrefix(v, n.prefix)
		v, ok2 := strings.CutSuffix(v, n.suffix)
		if !ok1 || !ok2 || v == "" || len(v) > 18 {
			return nil
		}
		c, ok := count(v, len(v), 0)
		if !ok || c == 0 {
			return nil
		}
		padded = padded || v[0] == '0'
		same = same && len(v) == end-begin
		n.numbers = append(n.numbers, int64(c))
	}
	if padded && !same || strings.Contains(n.prefix+n.suffix, "%") {
		return nil
	}
	if padded {
		n.pad = end - begin
	}
	return n
}

// isoWeek returns the label of ISO 8601 weeks, if all values have it; else nil.
func isoWeek(values []string) *timeForm {
	b := codec.Bucket{Every: 7 * 24 * time.Hour, Label: codec.Label{Kind: codec.ISOWeekLabel}}
	f := &timeForm{format: "iso_week", unit: b.Every, rank: 12, parse: func(s string) (time.Time, bool) {
		t, err := b.ParseLabel(s)
		return t, err == nil && plausible(t)
	}}
	if !f.fits(values) {
		return nil
	}
	return f
}
