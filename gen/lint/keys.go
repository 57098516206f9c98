package lint

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// keyBeginsWithTime is K01: all writers would be on the last tablet.
func keyBeginsWithTime(l *layout.Layout, t *layout.Table, report reporter) {
	first, ok := firstSegment(t)
	if !ok || t.Unknown {
		return
	}
	isTime := first.Kind == layout.BucketSegment || first.Kind == layout.TimeSegment ||
		first.Kind == layout.SeriesSegment && l.Series[first.Series].Type == schema.Timestamp
	if !isTime {
		return
	}
	other := rewrite(t, timeLast(l, t))
	proposal := segments(segmentsOf(other))
	if again, _ := firstSegment(other); again.Kind == layout.SeriesSegment && l.Series[again.Series].Type == schema.Timestamp {
		proposal = salted(l, other, again.Series) // there are only times
	}
	report.at(first.Pos, "begin with what has many values: "+proposal,
		"the row key begins with time: all writes go to the end of the table, on one node")
}

// unpaddedLabel is K04: week10 sorts before week2.
func unpaddedLabel(_ *layout.Layout, t *layout.Table, report reporter) {
	if !t.Pattern.Bucketed() || t.Bucket.Sorted() {
		return
	}
	l, entry := t.Bucket.Label, "label"
	if !report.written(t).Bucket.Label.IsSet() {
		entry = "bucket" // its format in the key
	}
	padded := code("%s: %s", entry, schema.Quoted(l.Prefix+"%04d"+l.Suffix))
	report.at(t.BucketPos, fmt.Sprintf("pad the number: %s; or keep it, and buckets are read key by key: %s", padded, allow("K04", "as in Google's example")),
		"the bucket label %[1]s%%d%[2]s is not padded: %[1]s10%[2]s sorts before %[1]s2%[2]s, so that no range of rows is a range of time", l.Prefix, l.Suffix)
}

// delimiters are those that are proposed, the usual one first.
var delimiters = []string{"#", "|", "~", "##"}

// delimiterInSegment is K05 for what is known before there is a value. The
// writer refuses a string that contains the delimiter.
func delimiterInSegment(l *layout.Layout, t *layout.Table, report reporter) {
	if t.Delimiter == "" {
		return
	}
	for _, g := range t.Segments {
		if text, what := delimited(l, t, g, t.Delimiter); text != "" {
			report.at(g.Pos, "use a delimiter that no segment can contain"+otherDelimiter(l, t),
				"%s can contain the delimiter %q, as in %q: two keys could not be told apart", what, t.Delimiter, text)
		}
	}
}

// otherDelimiter proposes a delimiter that no segment of the table can contain.
func otherDelimiter(l *layout.Layout, t *layout.Table) string {
	for _, delimiter := range delimiters {
		free := func(g layout.Segment) bool { text, _ := delimited(l, t, g, delimiter); return text == "" }
		if !slices.ContainsFunc(t.Segments, func(g layout.Segment) bool { return !free(g) }) {
			return ": " + code("delimiter: %q", delimiter)
		}
	}
	return ""
}

// delimited returns a text of the segment that contains a delimiter, and
// what the segment is; nothing where there is none.
func delimited(l *layout.Layout, t *layout.Table, g layout.Segment, delimiter string) (text, what string) {
	samples, what := t.Samples(l, g)
	for _, s := range samples {
		if strings.Index(s+delimiter, delimiter) != len(s) {
			return s, what
		}
	}
	return "", ""
}

// firstSegment returns the first segment that is not fixed text, which changes
// nothing; false if there is none.
func firstSegment(t *layout.Table) (layout.Segment, bool) {
	i := slices.IndexFunc(t.Segments, func(g layout.Segment) bool { return g.Kind != layout.ConstSegment })
	if i < 0 {
		return layout.Segment{}, false
	}
	return t.Segments[i], true
}

// sequentialID is K02: ids that are counted up are all made at one end.
func sequentialID(l *layout.Layout, t *layout.Table, report reporter) {
	first, ok := firstSegment(t)
	if !ok || t.Unknown || first.Kind != layout.SeriesSegment {
		return
	}
	switch f := l.Series[first.Series]; f.Type {
	case schema.Int32, schema.Int64, schema.Uint32, schema.Uint64:
		report.at(first.Pos, fmt.Sprintf("if it is, begin with a salt: %s; if not, say so: %s", salted(l, t, first.Series), allow("K02", "the numbers are random")),
			"the row key begins with the number %q: if it is sequential, all new series go to one end of the table, on one node", f.Name)
	}
}

// newestFirst is K10.
func newestFirst(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, g := range t.Segments {
		if g.Kind == layout.TimeSegment && t.TimeKey.Reverse || g.Kind == layout.BucketSegment && t.Bucket.Label.Format.Reverse {
			forwards := strings.Replace(g.Text, ", reverse: true", "", 1)
			report.at(g.Pos, "read with ReadOptions{NewestFirst: true} instead, and write "+withSegment(t, g, forwards),
				"the newest rows come first in the table: Bigtable scans backwards too, at some cost, so that times in ascending order serve both")
		}
	}
}

// rateAbovePrecision is K13 for a declared rate. It is the same for all tables, and
// said of the first.
func rateAbovePrecision(l *layout.Layout, t *layout.Table, report reporter) {
	perStep := l.Expect.Rate * l.Precision.Seconds()
	if !crowded(l.Expect.Rate, l.Precision) || l.Sequence || t != l.Tables[0] {
		return
	}
	lost := "only one of them stays"
	if t.Metrics() {
		lost = "those of equal values are one"
	}
	if perStep <= 1 {
		shared := 100 * (1 - (1-math.Exp(-perStep))/perStep)
		report.at(t.Pos, finerTime(l, t, report), "%s of a series at a precision of %s: if they come at random, %.2g%% have the time of an earlier one, and %s",
			rate(l.Expect.Rate), schema.FormatDuration(l.Precision), shared, lost)
		return
	}
	report.at(t.Pos, finerTime(l, t, report), "%s of a series at a precision of %s: events of the same %[2]s have the same key and time, and %s",
		rate(l.Expect.Rate), schema.FormatDuration(l.Precision), lost)
}

// crowded reports whether several events of a series are likely to have one time: there
// are more of them than times or, where times are parts of a second, which no clock keeps
// events apart by, more than one for ten times.
func crowded(rate float64, precision time.Duration) bool {
	perStep := rate * precision.Seconds()
	return perStep > 1 || precision < time.Second && perStep > 0.1
}

// finerTime proposes how to tell events of the declared rate apart: by a precision that
// all tables can hold or, where there is none, by a tie-breaker.
func finerTime(l *layout.Layout, t *layout.Table, report reporter) string {
	finest := time.Nanosecond
	for _, t := range l.Tables {
		finest = max(finest, t.Finest())
	}
	for _, precision := range []time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond} {
		if precision < l.Precision && precision >= finest && !crowded(l.Expect.Rate, precision) {
			return "use a finer time: " + code("time: {precision: %s}", schema.FormatDuration(precision))
		}
	}
	entries := []string{report.keyEntry(t, append(segmentsOf(t), "{sequence: true}"))}
	if t.Pattern.Bucketed() && t.Pattern != layout.BucketOffsets {
		entries = append([]string{"pattern: bucket_offsets"}, entries...)
	}
	return block("let events carry a tie-breaker, Sequence", inTable(t.ID, entries...)...)
}

// opaqueBytes is K16: nobody can read such keys in cbt or in the console.
func opaqueBytes(l *layout.Layout, t *layout.Table, report reporter) {
	if t.Delimiter == "" {
		report.at(t.KeyPos, fmt.Sprintf("write it as text: %s; or allow it: %s", code(`key: {delimiter: "#", %s}`, layout.SegmentsText(asText(l, t))), allow("K16", "a third of the size")),
			"the row key has no delimiter and is binary: people cannot read it in cbt, in the console or in Key Visualizer")
		return
	}
	for _, g := range t.Segments {
		if what, text := opaque(l, t, g); what != "" {
			report.at(g.Pos, "leave the encoding out, for text: "+withSegment(t, g, text), "%s is written as bytes: people cannot read them in cbt, in the console or in Key Visualizer", what)
		}
	}
}

// asText returns the segments of a key without a delimiter for one that has one: without
// the encodings that are not text.
func asText(l *layout.Layout, t *layout.Table) []string {
	out := segmentsOf(t)
	for i, g := range t.Segments {
		if what, text := opaque(l, t, g); what != "" {
			out[i] = text
		}
	}
	return out
}

// opaque names a segment that could be text and is not, and writes it as text; nothing
// if it is text, or bytes by themselves.
func opaque(l *layout.Layout, t *layout.Table, g layout.Segment) (what, text string) {
	switch g.Kind {
	case layout.SeriesSegment:
		f := l.Series[g.Series]
		binary := g.Form.Encoding == codec.KeyBinary || g.Form.Encoding == codec.KeyRaw
		if binary && f.Type != schema.Bytes || g.Form.Encoding == codec.KeyHex && f.Type == schema.String {
			return fmt.Sprintf("series value %q", f.Name), f.Name
		}
	case layout.BucketSegment:
		if t.Bucket.Label.Format.Kind == codec.BinaryTime {
			return "the bucket", "bucket"
		}
	case layout.TimeSegment:
		if t.TimeKey.Kind == codec.BinaryTime {
			return "the time", "time"
		}
	}
	return "", ""
}

// unsortedTies is K17: after the time, segments put events of one time in order.
func unsortedTies(l *layout.Layout, t *layout.Table, report reporter) {
	if t.Pattern.Bucketed() || t.Delimiter == "" {
		return
	}
	for _, g := range t.AfterTime() {
		if g.Kind != layout.SeriesSegment || t.Sorted(l, g) {
			continue
		}
		switch f := l.Series[g.Series]; f.Type {
		case schema.Int32, schema.Int64, schema.Uint32, schema.Uint64, schema.Duration:
			padded := fmt.Sprintf("{name: %s, encoding: decimal, pad: %d}", f.Name, digitsOf(f.Type))
			report.at(g.Pos, "if it is never negative, pad it: "+withSegment(t, g, padded),
				"%q follows the time as text: events of one time come as 10, 9, and negative numbers in descending order", f.Name)
		}
	}
}

// digitsOf returns how many decimal digits the largest number of a type has.
func digitsOf(t schema.Type) int {
	switch t {
	case schema.Int32, schema.Uint32:
		return 10
	case schema.Uint64:
		return 20
	}
	return 19
}
