package infer

import (
	"fmt"
	"slices"
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

	at     []time.Time   // of values that have the form
	bucket *codec.Bucket // that labels count; nil for others
	doubt  string        // a question about it
}

// binary reports whether the form has a number of bytes, not of characters.
func (f *timeForm) binary() bool { return strings.HasPrefix(f.format, "binary") }

// label reports whether the form is a label of buckets, not a number.
func (f *timeForm) label() bool {
	return f.bucket != nil || f.format == "iso_week" || strings.HasPrefix(f.format, "2006")
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

// width returns the period that a time of the form stands for.
func (f *timeForm) width() time.Duration {
	if f.months > 0 {
		return time.Duration(f.months) * 31 * day
	}
	return f.unit
}

// of returns the form with the times that values are; nil if some are none.
func (f *timeForm) of(values []string) *timeForm {
	with := *f
	with.at = make([]time.Time, len(values))
	for i, v := range values {
		at, ok := f.parse(v)
		if !ok {
			return nil
		}
		with.at[i] = at
	}
	return &with
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

// forms are the forms of times that count from 1970, of those that a number minus such a time is, and of weeks.
var forms = func() (out []*timeForm) {
	for kind := codec.UnixSeconds; kind <= codec.BinaryShortSeconds; kind++ {
		plain := codec.TimeFormat{Kind: kind}
		rank := plain.Width()
		if plain.InBytes() {
			rank *= 2
		}
		out = append(out, formOf(plain, rank))
		for from := codec.Largest; from <= codec.MaxUint64; from++ {
			if c, err := plain.Reversed(from); err == nil && c.From == from {
				out = append(out, formOf(c, rank))
			}
		}
	}
	week := codec.Bucket{Every: 7 * day, Label: codec.Label{Kind: codec.ISOWeekLabel}}
	return append(out, &timeForm{format: "iso_week", unit: week.Every, rank: 12, parse: func(s string) (time.Time, bool) {
		t, err := week.ParseLabel(s)
		return t, err == nil && plausible(t)
	}})
}()

// timeForms returns the forms of times that all of some values have.
func timeForms(values []string) (out []*timeForm) {
	layout := layoutOf(values[0])
	for _, f := range append(forms[:len(forms):len(forms)], layout) {
		if f != nil {
			if f = f.of(values); f != nil {
				out = append(out, f)
			}
		}
	}
	return out
}

// elements are the elements of a layout of package time, in order. The year is followed by the
// month or by the day of the year.
var elements = []string{"2006", "01", "02", "15", "04", "05"}

// layoutOf returns the layout of package time that a value has: its runs of digits are years, months, days and so
// on. It is nil if there is none.
func layoutOf(s string) *timeForm {
	var b strings.Builder
	next, rank := 0, 0 // in elements
	for s != "" {
		n := len(s) - len(strings.TrimLeft(s, "0123456789"))
		switch {
		case n == 0:
			if b.WriteByte(s[0]); strings.Contains("-_/:.T", s[:1]) {
				rank = 5
			}
			s = s[1:]
			continue
		case next == len(elements) && strings.HasSuffix(b.String(), "."):
			b.WriteString(strings.Repeat("0", n))
			s = s[n:]
			continue
		case next == 1 && n == 3:
			b.WriteString("002")
			next, s, n = 3, s[n:], 0
		}
		for n > 0 && next < len(elements) && n >= len(elements[next]) {
			e := elements[next]
			b.WriteString(e)
			next, n, s = next+1, n-len(e), s[len(e):]
		}
		if n > 0 {
			return nil
		}
	}
	format, err := codec.ParseTimeFormat(b.String())
	if b.Len() == 0 || err != nil {
		return nil
	}
	return formOf(format, rank+b.Len())
}

// spanWords are the names of buckets in labels.
var spanWords = strings.Fields("week wk w day d hour hr h month mon m bucket b block chunk year y")

// countedForm returns the form of labels that count buckets, such as week%d, whose rows bear it out; nil if there is none. A label
// has the name of a unit, or is one of several numbers.
func countedForm(rows []row, p *part) *timeForm {
	first := p.values[0]
	begin := max(0, strings.IndexAny(first, "0123456789"))
	end := len(first) - len(strings.TrimLeft(first[begin:], "0123456789"))
	prefix, suffix := first[:begin], first[end:]
	numbers, padded, same := make([]int64, len(p.values)), false, true
	for r, v := range p.values {
		v = strings.TrimSuffix(strings.TrimPrefix(v, prefix), suffix)
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n <= 0 || !isDigits(v) || len(v) > 18 || prefix+v+suffix != p.values[r] {
			return nil
		}
		numbers[r], padded, same = n, padded || v[0] == '0', same && len(v) == end-begin
	}
	text := "%d"
	if padded {
		text = fmt.Sprintf("%%0%dd", end-begin)
	}
	word := strings.ToLower(strings.Trim(prefix+suffix, "-_. "))
	if padded && !same || prefix+suffix == "" && p.distinct <= 2 || prefix+suffix != "" && !slices.Contains(spanWords, word) {
		return nil
	}
	f := countedBuckets(rows, numbers)
	if f != nil {
		f.format = prefix + text + suffix
	}
	return f
}
