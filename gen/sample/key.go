package sample

import (
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Time returns a time that the table can store: 12:00 or later, some days after the
// origin of its buckets, if any.
func Time(t *layout.Table) time.Time {
	at := time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)
	if at.Before(t.Since) {
		at = t.Since.Add(12 * time.Hour)
	}
	if !t.Until.IsZero() && !at.Before(t.Until) {
		at = t.Until.Add(-12 * time.Hour)
	}
	if !t.Pattern.Bucketed() || t.Bucket.Widest() == 0 { // an invalid bucket is reported elsewhere
		return at
	}
	switch first, end := t.Bucket.Min(), t.Bucket.Max(); {
	case at.Before(first):
		return first
	case !at.Before(end):
		return t.Bucket.Start(end.Add(-1))
	}
	return at
}

// Key returns the row key of an example event, computed with the code that computes
// real keys; empty if it is invalid.
func Key(l *layout.Layout, t *layout.Table) string {
	return KeyAt(l, t, Time(t))
}

// KeyAt is [Key] for an event of a given time.
func KeyAt(l *layout.Layout, t *layout.Table, at time.Time) string {
	k := exampleKey(l, t)
	k.At = &at
	key, _ := t.Append(nil, k)
	return string(key)
}

// KeyTooLong reports whether a row key of the example values is longer than Bigtable allows: if
// fields are in keys, that of the field with the longest name.
func KeyTooLong(l *layout.Layout, t *layout.Table) bool {
	k := exampleKey(l, t)
	for _, metric := range t.MetricNames() {
		if len(metric) > len(*k.Metric) {
			k.Metric = &metric
		}
	}
	_, err := t.Append(nil, k)
	return errors.Is(err, codec.ErrKeyTooLong)
}

// KeyPart is one segment of an example key.
type KeyPart struct {
	Name  string // name of the segment, as in drawings
	Bytes string // its bytes in the key, without the delimiter
}

// KeyParts returns the segments of the example key; none if it is invalid.
func KeyParts(l *layout.Layout, t *layout.Table) []KeyPart {
	return keyParts(t, exampleKey(l, t))
}

// keyParts splits an example key.
func keyParts(t *layout.Table, k *codec.KeyValues) []KeyPart {
	if _, err := t.Append(nil, k); err != nil {
		return nil
	}
	var out []KeyPart
	for i := range t.Segments {
		part, _ := t.AppendPart(nil, i, i+1, k)
		out = append(out, KeyPart{t.Segments[i].Title(), string(part)})
	}
	return out
}

// exampleKey returns what the example key contains.
func exampleKey(l *layout.Layout, t *layout.Table) *codec.KeyValues {
	k, at := exampleValues(l, t), Time(t)
	k.At = &at
	if t.Metrics() {
		k.Metric = &t.Columns[0].Qualifier
	}
	return k
}

// exampleValues returns the series values of the examples of a table.
func exampleValues(l *layout.Layout, t *layout.Table) *codec.KeyValues {
	return &codec.KeyValues{Series: value.Pointers(l, exampleSeries(l, t), nil)}
}

// exampleSeries returns the series values of the examples of a table.
func exampleSeries(l *layout.Layout, t *layout.Table) []any {
	out := make([]any, len(l.Series))
	for i := range out {
		out[i] = SeriesValue(l, t, i)
	}
	return out
}

// ShowKey formats a key or a picture of one on one line: unchanged if it is printable,
// else as a quoted Go string.
func ShowKey(key string) string {
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return strconv.Quote(key)
	}
	return key
}

// KeyNames returns the names of the segments of a table as keys contain them, such as location#bucket, on one line.
func KeyNames(t *layout.Table) string {
	var out strings.Builder
	for i := range t.Segments {
		s := &t.Segments[i]
		after := t.DelimiterAfter(i)
		if after == "" && i < len(t.Segments)-1 && !(s.Kind == codec.ConstSegment && s.Joined) {
			after = " "
		}
		out.WriteString(s.Title() + after)
	}
	return ShowKey(out.String())
}

// SeriesValue returns the series value with an index that examples of the table
// have, typed as Field.Default.
func SeriesValue(l *layout.Layout, t *layout.Table, series int) any {
	return keyValue(&l.Series[series], t.FormOf(series))
}

// keyValue returns the example of a series value, or a likely one.
func keyValue(f *layout.Field, form codec.KeyForm) any {
	if f.Example != nil {
		return f.Example
	}
	return samplesOf(f.Type).key(f, form)
}

// SeriesTime is the example of a series value that is a time.
var SeriesTime = time.Date(2021, 3, 1, 0, 0, 0, 0, time.UTC)

// fitting returns the leading digits of a number that a padded form can hold.
func fitting(n int64, form codec.KeyForm) int64 {
	base := 10
	if form.Encoding == codec.KeyHex {
		base = 16
	}
	for form.Pad > 0 && len(strconv.FormatInt(n, base)) > form.Pad {
		n /= 10
	}
	return n
}

// exampleText returns a text, cut or repeated to the length that a form requires.
func exampleText(text string, form codec.KeyForm) string {
	if form.Pad == 0 || form.Encoding != codec.KeyText {
		return text
	}
	return strings.Repeat(text, form.Pad/len(text)+1)[:form.Pad]
}

// exampleBytes returns bytes of the length that a form requires.
func exampleBytes(form codec.KeyForm) []byte {
	out := []byte{0xca, 0xfe}
	for len(out) < form.Pad {
		out = append(out, 0)
	}
	if form.Pad > 0 {
		out = out[:form.Pad]
	}
	return out
}
