package infer

import (
	"fmt"
	"strconv"
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

// name names the form.
func (f *timeForm) name() string {
	if f.reverse != "" {
		return f.format + ", reversed"
	}
	return f.format
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

// formOf returns a form of the codec.
func formOf(c codec.TimeFormat, rank int) *timeForm {
	plain := c
	plain.Reverse, plain.From = false, codec.Largest
	f := &timeForm{format: plain.String(), unit: c.Resolution(), months: c.Months(), rank: rank}
	if c.Reverse {
		f.reverse = c.From.String()
	}
	f.parse = func(s string) (time.Time, bool) {
		if len(s) != c.Width() {
			return time.Time{}, false
		}
		t, err := c.Parse(s)
		return t, err == nil && plausible(t)
	}
	return f
}

// counted are the forms of times that count from 1970, and of those that a number minus such a time is.
var counted = func() (out []*timeForm) {
	add := func(c codec.TimeFormat) {
		rank := c.Width()
		if c.InBytes() {
			rank *= 2
		}
		out = append(out, formOf(c, rank))
	}
	for kind := codec.UnixSeconds; kind <= codec.BinaryShortSeconds; kind++ {
		plain := codec.TimeFormat{Kind: kind}
		add(plain)
		for from := codec.Largest; from <= codec.MaxUint64; from++ {
			if c, err := plain.Reversed(from); err == nil && c.From == from {
				add(c)
			}
		}
	}
	return out
}()

// timeForms returns the forms of times that all values have, the likeliest first.
func timeForms(values []string) []*timeForm {
	var out []*timeForm
	for _, f := range append(counted[:len(counted):len(counted)], layoutOf(values), isoWeek) {
		if f != nil && f.fits(values) {
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

// elements are the elements of a layout of package time, in order. The year is followed by the
// month or by the day of the year.
var elements = []string{"2006", "01", "02", "15", "04", "05"}

// layoutOf returns the layout of package time that the first of some values has; nil if there is none.
func layoutOf(values []string) *timeForm {
	if len(values) == 0 {
		return nil
	}
	layout := guessLayout(values[0])
	format, err := codec.ParseTimeFormat(layout)
	if layout == "" || err != nil {
		return nil
	}
	rank := len(layout)
	if strings.ContainsAny(layout, "-_/:.T") {
		rank += 5
	}
	return formOf(format, rank)
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
		c, err := strconv.ParseInt(v, 10, 64)
		if err != nil || c <= 0 || !isDigits(v) {
			return nil
		}
		padded = padded || v[0] == '0'
		same = same && len(v) == end-begin
		n.numbers = append(n.numbers, c)
	}
	if padded && !same || strings.Contains(n.prefix+n.suffix, "%") {
		return nil
	}
	if padded {
		n.pad = end - begin
	}
	return n
}

// isoWeek is the label of ISO 8601 weeks.
var isoWeek = func() *timeForm {
	b := codec.Bucket{Every: 7 * 24 * time.Hour, Label: codec.Label{Kind: codec.ISOWeekLabel}}
	return &timeForm{format: "iso_week", unit: b.Every, rank: 12, parse: func(s string) (time.Time, bool) {
		t, err := b.ParseLabel(s)
		return t, err == nil && plausible(t)
	}}
}()
