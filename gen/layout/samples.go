package layout

import (
	"fmt"
	"strings"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Samples returns strings that together contain every byte that the segment can have in
// a key, and a description of the segment. There are none if only the writer can check
// values, or if readers do not search for the delimiter.
func (t *Table) Samples(l *Layout, g codec.Segment) (samples []string, what string) {
	switch g.Kind {
	case codec.ConstSegment:
		return []string{g.Const}, "the text"
	case codec.MetricSegment:
		for _, c := range t.AllColumns() {
			samples = append(samples, c.Qualifier)
		}
		return samples, "the metric"
	case codec.BucketSegment:
		return labelSamples(t), "the bucket"
	case codec.TimeSegment:
		return timeSamples(t.Time), "the time"
	case codec.SaltSegment:
		return digits(), "the salt"
	case codec.SequenceSegment:
		return digits(), "the sequence"
	}
	f := &l.Series[g.Series]
	return valueSamples(f, g.Form), fmt.Sprintf("series value %q", f.Name)
}

// valueSamples returns strings that together contain every character that a value can
// have in a key; none if that is unknown, or if readers do not search for the delimiter.
func valueSamples(f *Field, form codec.KeyForm) (out []string) {
	switch own := f.Type.Traits(); {
	case form.Escape, form.Encoding == codec.KeyRaw, form.Encoding >= codec.KeyBinary, f.Type == schema.String && form.Pad > 0:
		return nil // read by its width, or escaped
	case form.Encoding.Alphabet() != "":
		return strings.Split(form.Encoding.Alphabet(), "")
	case form.Encoding == codec.KeyDecimal, form.Pad > 0:
		return digits()
	case own.Words != nil:
		return own.Words
	case own.KeyTexts != nil:
		return own.KeyTexts
	}
	for _, v := range f.Enum {
		out = append(out, v.Name)
	}
	return out // none of a string, since the writer checks each value
}

func digits() []string { return strings.Split("0123456789", "") }

// labelSamples returns the literal characters of a bucket label, and the digits.
func labelSamples(t *Table) []string {
	label := t.Bucket.Label
	switch label.Kind {
	case codec.NumberLabel:
		return append(digits(), label.Prefix, label.Suffix)
	case codec.ISOWeekLabel:
		return append(digits(), "-W")
	default:
		return timeSamples(label.Format)
	}
}

// timeSamples returns the literal characters of a time, and the digits.
func timeSamples(f codec.TimeFormat) []string {
	if f.InBytes() {
		return nil // read by its width
	}
	return append(digits(), strings.FieldsFunc(f.Layout, func(r rune) bool { return r >= '0' && r <= '9' })...)
}
