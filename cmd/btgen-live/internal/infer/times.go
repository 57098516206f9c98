package infer

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// timeForm is a way to write times in row keys, which is that of labels of buckets, and the times that values are.
type timeForm struct {
	codec.Label
	at     []time.Time
	bucket *codec.Bucket // that numbers count; nil for others
	doubt  string        // a question about it
}

// weeks are the buckets that ISO weeks name.
var weeks = codec.Bucket{Every: 7 * day, Label: codec.Label{Kind: codec.ISOWeekLabel}}

func (f *timeForm) parse(s string) (t time.Time, err error) {
	if f.Kind == codec.ISOWeekLabel {
		return weeks.ParseLabel(s)
	}
	return f.Format.Parse(s)
}

// binary reports whether the form has a number of bytes, not of characters.
func (f *timeForm) binary() bool { return f.Format.InBytes() }

// named reports whether the form is a label of buckets, not a number that counts from 1970.
func (f *timeForm) named() bool {
	return f.Kind != codec.TimeLabel || f.Format.Kind == codec.LayoutTime
}

// unit returns the period that a time stands for; 0 if it is a month or a year.
func (f *timeForm) unit() time.Duration {
	switch f.Kind {
	case codec.ISOWeekLabel:
		return weeks.Every
	case codec.NumberLabel:
		return f.bucket.Every
	}
	return f.Format.Resolution()
}

// width returns the longest period that a time stands for.
func (f *timeForm) width() time.Duration {
	return max(f.unit(), time.Duration(f.Format.Months())*31*day)
}

// segment returns a segment with the form in the schema language; kind is time or bucket.
func (f *timeForm) segment(kind string) string {
	plain, reverse := f.Label, ""
	if plain.Format.Reverse {
		reverse = ", reverse: " + plain.Format.From.String()
		plain.Format.Reverse, plain.Format.From = false, codec.Largest
	}
	return "{" + kind + ": " + schema.Quoted(plain.String()) + reverse + "}"
}

// The times that a sample plausibly contains.
var (
	earliest = time.Date(1995, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

func plausible(t time.Time) bool { return !t.Before(earliest) && t.Before(latest) }

// forms are the forms of times that count from 1970, of those that a number minus such a time is, and of weeks.
var forms = func() (out []codec.Label) {
	for kind := codec.UnixSeconds; kind <= codec.BinaryShortSeconds; kind++ {
		plain := codec.TimeFormat{Kind: kind}
		out = append(out, codec.Label{Format: plain})
		for from := codec.Largest; from <= codec.MaxUint64; from++ {
			if reversed, err := layout.Reversed(plain, from); err == nil && reversed.From == from {
				out = append(out, codec.Label{Format: reversed})
			}
		}
	}
	return append(out, weeks.Label)
}()

// timeForms returns the forms of times that all of some values have.
func timeForms(values []string) (out []*timeForm) {
	all := forms[:len(forms):len(forms)]
	if format, err := layout.ParseTime(layoutOf(values[0])); err == nil && format.Kind == codec.LayoutTime {
		all = append(all, codec.Label{Format: format})
	}
	for _, label := range all {
		f := &timeForm{Label: label}
		if !slices.ContainsFunc(values, func(v string) bool {
			at, err := f.parse(v)
			f.at = append(f.at, at)
			return err != nil || !plausible(at)
		}) {
			out = append(out, f)
		}
	}
	return out
}

// layoutOf returns the layout of package time that a value has: its runs of digits are years, months, days and so on.
func layoutOf(s string) string {
	elements := []string{"2006", "01", "02", "15", "04", "05"}
	layout := ""
	for s != "" {
		n := len(s) - len(strings.TrimLeft(s, "0123456789"))
		switch {
		case n == 0:
			layout, s = layout+s[:1], s[1:]
			continue
		case len(elements) == 0:
			layout += strings.Repeat("0", n) // a fraction, or no layout
		case n == 3 && len(elements) == 5:
			layout, elements = layout+"002", elements[2:]
		default:
			for digits := n; digits > 0; elements = elements[1:] {
				if len(elements) == 0 || digits < len(elements[0]) {
					return ""
				}
				layout, digits = layout+elements[0], digits-len(elements[0])
			}
		}
		s = s[n:]
	}
	return layout
}

// numbered matches labels that count buckets, such as week12.
var numbered = regexp.MustCompile(`^([^0-9]*)([0-9]{1,18})([^0-9]*)$`)

// spanWords are the names of buckets in labels.
var spanWords = strings.Fields("week wk w day d hour hr h month mon m bucket b block chunk year y")

// countedForm returns the form of labels that count buckets, such as week%d, whose rows bear it out; nil if there is none. A label
// has the name of a unit, or is one of several numbers.
func countedForm(rows []row, p *part) *timeForm {
	first := append(numbered.FindStringSubmatch(p.values[0]), "", "", "", "")
	label := codec.Label{Kind: codec.NumberLabel, Prefix: first[1], Suffix: first[3]}
	numbers, same := make([]int64, len(p.values)), true
	for r, v := range p.values {
		m := numbered.FindStringSubmatch(v)
		if m == nil || m[1] != first[1] || m[3] != first[3] {
			return nil
		}
		if numbers[r], _ = strconv.ParseInt(m[2], 10, 64); numbers[r] == 0 {
			return nil
		}
		if m[2][0] == '0' {
			label.Pad = len(first[2])
		}
		same = same && len(m[2]) == len(first[2])
	}
	words := label.Prefix + label.Suffix
	likely := p.distinct > 2
	if words != "" {
		likely = slices.Contains(spanWords, strings.ToLower(strings.Trim(words, "-_. ")))
	}
	if label.Pad > 0 && !same || !likely {
		return nil
	}
	return countedBuckets(rows, label, numbers)
}

// widths are the usual widths of buckets, in ascending order.
var widths = func() (out []codec.Bucket) {
	for _, minutes := range []time.Duration{1, 5, 10, 15, 30, 60, 2 * 60, 3 * 60, 4 * 60, 6 * 60, 12 * 60, 24 * 60, 7 * 24 * 60} {
		out = append(out, codec.Bucket{Every: minutes * time.Minute})
	}
	return append(out, codec.Bucket{Months: 1}, codec.Bucket{Months: 3}, codec.Bucket{Months: 12})
}()

// bucketOf returns the widest usual bucket that begins at the times in the keys and contains the
// rows, as inside reports; or else one as wide as the times are apart. It is false if there is
// none. The doubt is a question about the width.
func (k *key) bucketOf(inside func(b codec.Bucket, start time.Time, r *row) bool) (b codec.Bucket, doubt string, ok bool) {
	f := k.time
	if f.bucket != nil {
		return *f.bucket, f.doubt, true
	}
	fits := func(b codec.Bucket) bool {
		for r, at := range f.at {
			if !b.Start(at).Equal(at) || !inside(b, at, &k.rows[r]) {
				return false
			}
		}
		return true
	}
	gap := k.gap()
	fitting := slices.DeleteFunc(slices.Clone(widths), func(b codec.Bucket) bool {
		return gap > 0 && (b.Every > gap || time.Duration(b.Months)*28*day > gap) || !f.names(b) || !fits(b)
	})
	last, distinct := len(fitting)-1, k.parts[k.at].distinct
	switch b = (codec.Bucket{Every: gap}); {
	case last == 0 || last > 0 && distinct > 2:
		return fitting[last], "", true
	case last > 0:
		return fitting[0], fmt.Sprintf("Is it wider? The sample has %d different buckets.", distinct), true
	case gap < time.Minute || gap%time.Minute != 0 || f.unit() == 0 || gap%f.unit() != 0:
		return b, "", false
	case !fits(b):
		b.Origin = slices.MinFunc(f.at, time.Time.Compare)
		return b, "", b.Origin.Equal(b.Origin.Truncate(time.Minute)) && fits(b) // others are times of events, or minus another number
	}
	return b, "", true
}

// names reports whether the form of the times can name the buckets, and none that is shorter can.
func (f *timeForm) names(b codec.Bucket) bool {
	switch months := f.Format.Months(); {
	case months > 0:
		return b.Months > 0 && b.Months%months == 0 && (months == 12 || b.Months < 12)
	case b.Months > 0:
		return f.unit() < time.Hour || f.unit() == day
	}
	return b.Every%f.unit() == 0 && (!f.named() || f.unit() >= day || b.Every < day)
}

// gap returns the shortest time between two rows that differ in their time alone; 0 if there are none.
func (k *key) gap() (least time.Duration) {
	last := map[string]time.Time{}
	for r, at := range k.time.at {
		id := k.id(r, nil)
		if d := at.Sub(last[id]).Abs(); !last[id].IsZero() && d > 0 && (least == 0 || d < least) {
			least = d
		}
		last[id] = at
	}
	return least
}

// cellsInside reports whether the timestamps of a row are in its bucket.
func cellsInside(b codec.Bucket, start time.Time, r *row) bool {
	return r.oldest >= start.UnixMicro() && r.newest < b.End(start).UnixMicro()
}

// countedBuckets returns the form of the buckets that numbers count: those with the narrowest usual width for
// which some origin puts all cells into their buckets, and the roundest such origin.
func countedBuckets(rows []row, label codec.Label, numbers []int64) *timeForm {
	for _, b := range widths[:len(widths)-3] {
		after, until := int64(math.MinInt64), int64(math.MaxInt64) // the origin, in microseconds
		every := b.Every.Microseconds()
		for r, n := range numbers {
			if !plausible(codec.FromMicros(rows[r].oldest)) || !plausible(codec.FromMicros(rows[r].newest)) || n > math.MaxInt64/2/every {
				return nil
			}
			after, until = max(after, rows[r].newest-n*every), min(until, rows[r].oldest-(n-1)*every)
		}
		var ok bool
		if b.Origin, ok = roundest(after, until); !ok {
			continue
		}
		f := &timeForm{Label: label, bucket: &b}
		for _, n := range numbers {
			f.at = append(f.at, codec.FromMicros(b.Origin.UnixMicro()+(n-1)*every))
		}
		slices.Sort(numbers)
		most := numbers[len(numbers)-1]
		if distinct := len(slices.Compact(numbers)); distinct < 2 || (until-after)*10 > every*9 && distinct < 4 {
			f.doubt = fmt.Sprintf("Is this the width, and the start of bucket 1? The sample has %d different buckets.", distinct)
		}
		if of := restarts(b.Every, after, until, most); of != "" {
			f.doubt = strings.TrimSpace(fmt.Sprintf("Do the numbers begin again each %s? Labels must not [K24]. %s", of, f.doubt))
		}
		return f
	}
	return nil
}

// restarts returns the period in which numbers of buckets may begin again, as those of days in a
// month do; empty if there is none. Bucket 1 begins after one time and not after another, in
// microseconds. The period may begin at bucket 0, in the middle of a bucket, on a Sunday, and in local time.
func restarts(every time.Duration, after, until, most int64) string {
	for _, p := range []struct {
		name string
		codec.Bucket
	}{{"year", codec.Bucket{Months: 12}}, {"quarter", codec.Bucket{Months: 3}}, {"month", codec.Bucket{Months: 1}},
		{"week", codec.Bucket{Every: 7 * day}}, {"day", codec.Bucket{Every: day}}, {"hour", codec.Bucket{Every: time.Hour}}} {
		start, slack := p.Start(codec.FromMicros(until).Add(every+zones)), every+zones
		if p.Every == 7*day {
			slack += day
		}
		if p.Widest() >= 2*every && most <= int64(p.Widest()/every)+2 && !start.Before(codec.FromMicros(after).Add(-slack)) {
			return p.name
		}
	}
	return ""
}

// roundest returns the roundest instant after one time and not after another, in microseconds:
// a Monday if there is one, else a midnight or a full hour; false if there is none.
func roundest(after, until int64) (time.Time, bool) {
	for _, every := range []time.Duration{7 * day, day, time.Hour, time.Minute} {
		at := codec.Bucket{Every: every}.Start(codec.FromMicros(max(0, until)))
		if until >= 0 && at.UnixMicro() > after && at.Unix() >= 0 {
			return at, true
		}
	}
	return time.Time{}, false
}
