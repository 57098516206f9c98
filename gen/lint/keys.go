package lint

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/hotspot"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// keyBeginsWithTime is K01: all writes go to the last tablet.
func keyBeginsWithTime(l *layout.Layout, t *layout.Table, report reporter) {
	first, ok := firstSegment(t)
	if !ok || t.Unknown {
		return
	}
	if !hotspot.InOnePlace(l, t) {
		return
	}
	other := hotspot.WithSegments(t, timeLast(l, t))
	proposal := segments(segmentsOf(other))
	if again, _ := firstSegment(other); again.Kind == codec.SeriesSegment && l.Series[again.Series].Type == schema.Timestamp {
		proposal = salted(l, other, again.Series) // there are only times
	}
	report.at(t.Source(&first).Pos, "begin with a high-cardinality value: "+proposal,
		"the row key begins with time: %s go to the end of the table, on one node", allWrites(l.Load()))
}

// unpaddedLabel is K04: week10 sorts before week2.
func unpaddedLabel(_ *layout.Layout, t *layout.Table, report reporter) {
	if !t.Pattern.Bucketed() || t.Bucket.Sorted() {
		return
	}
	l, entry := t.Bucket.Label, "label"
	if !report.written(t).Bucket.Label.IsSet() {
		entry = "bucket" // the label is in the key
	}
	padded := code("%s: %s", entry, schema.Quoted(l.Prefix+"%04d"+l.Suffix))
	report.at(t.BucketPos, fmt.Sprintf("pad the number: %s; or allow it, and each bucket is read by its key: %s", padded, allow("K04", "as in Google's example")),
		"the bucket label %[1]s%%d%[2]s is not padded: %[1]s10%[2]s sorts before %[1]s2%[2]s, so a row range is not a time range", l.Prefix, l.Suffix)
}

// delimiters are candidates for proposals, the preferred one first.
var delimiters = []string{"#", "|", "~", "##"}

// delimiterInSegment is K05 for segments whose possible values are known. The writer
// checks strings.
func delimiterInSegment(l *layout.Layout, t *layout.Table, report reporter) {
	if t.Delimiter == "" {
		return
	}
	for _, g := range t.Segments {
		if text, what := delimited(l, t, g, t.Delimiter); text != "" && !g.Joined {
			report.at(t.Source(&g).Pos, "use a delimiter that no segment can contain"+otherDelimiter(l, t),
				"%s can contain the delimiter %q, as in %q: row keys would be ambiguous", what, t.Delimiter, text)
		}
	}
}

// otherDelimiter proposes a delimiter that no segment of the table can contain.
func otherDelimiter(l *layout.Layout, t *layout.Table) string {
	for _, delimiter := range delimiters {
		free := func(g codec.Segment) bool { text, _ := delimited(l, t, g, delimiter); return text == "" }
		if !slices.ContainsFunc(t.Segments, func(g codec.Segment) bool { return !free(g) }) {
			return ": " + code("delimiter: %q", delimiter)
		}
	}
	return ""
}

// delimited returns a value of the segment that contains the delimiter, and a description
// of the segment. Both are empty if no value does.
func delimited(l *layout.Layout, t *layout.Table, g codec.Segment, delimiter string) (text, what string) {
	samples, what := t.Samples(l, g)
	for _, s := range samples {
		if strings.Index(s+delimiter, delimiter) != len(s) {
			return s, what
		}
	}
	return "", ""
}

// firstSegment returns the first segment that is not constant, and whether there is one.
func firstSegment(t *layout.Table) (codec.Segment, bool) {
	i := slices.IndexFunc(t.Segments, func(g codec.Segment) bool { return g.Kind != codec.ConstSegment })
	if i < 0 {
		return codec.Segment{}, false
	}
	return t.Segments[i], true
}

// sequentialID is K02: sequential IDs put all new series at one end of the table.
func sequentialID(l *layout.Layout, t *layout.Table, report reporter) {
	first, ok := firstSegment(t)
	if !ok || t.Unknown {
		return
	}
	if share := hotspot.NewShare(l, t, l.Load()); share >= hotspot.HotShare {
		place := "one node"
		if share < 1 { // and the rest to others
			place = "one tablet"
		}
		report.at(t.Source(&first).Pos, fmt.Sprintf("if it is sequential, begin with a salt: %s; otherwise, allow the rule: %s", salted(l, t, first.Series), allow("K02", "the numbers are random")),
			"the row key begins with the number %q: if it is sequential, %.0f%% of the writes of new series go to %s", l.Series[first.Series].Name, 100*share, place)
	}
}

// newestFirst is K10: reverse scans make a reversed time unnecessary.
func newestFirst(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, g := range t.Segments {
		if g.Kind == codec.TimeSegment && t.Time.Reverse || g.Kind == codec.BucketSegment && t.Bucket.Label.Format.Reverse {
			before, after, _ := strings.Cut(t.Source(&g).Text, ", reverse: ")
			forwards := before + strings.TrimLeft(after, "abcdefghijklmnopqrstuvwxyz_0123456789")
			report.at(t.Source(&g).Pos, "read with ReadOptions{NewestFirst: true} instead, and write "+withSegment(t, &g, forwards),
				"a reversed time sorts the newest rows first: Bigtable also scans in reverse, at some extra cost, so ascending times serve both orders")
		}
	}
}

// shortTime is K19: a number that is full in 2038 or 2106.
func shortTime(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, g := range t.Segments {
		format := t.Time
		switch g.Kind {
		case codec.BucketSegment:
			format = t.Bucket.Label.Format
		case codec.TimeSegment:
		default:
			continue
		}
		if last := format.Max(); last.Year() < 2200 {
			longer := "unix_s"
			if format.InBytes() {
				longer = "binary_s"
			}
			proposal := withSegment(t, &g, fmt.Sprintf("{%s: %s}", g.Title(), longer))
			if report.written(t).Bucket.Label.IsSet() {
				proposal = code("label: %s", longer)
			}
			report.at(t.Source(&g).Pos, fmt.Sprintf("in a new table, write %s; for one that exists, allow it: %s", proposal, allow("K19", "as other programs write it")),
				"the time %s ends at %s: the writer refuses later events", format, last.Format(time.RFC3339))
		}
	}
}

// rateAbovePrecision is K13 for a declared rate. All tables would have the same finding,
// so it is reported for the first one only.
func rateAbovePrecision(l *layout.Layout, t *layout.Table, report reporter) {
	perStep := l.Expect.Rate * l.Precision.Seconds()
	if !crowded(l.Expect.Rate, l.Precision) || l.Sequence || t != l.Tables[0] {
		return
	}
	lost := "only one is kept"
	if t.Pattern.Appends() {
		lost = "equal values are merged"
	}
	if perStep <= 1 {
		shared := 100 * (1 - (1-math.Exp(-perStep))/perStep)
		report.at(t.Pos, finerTime(l, report), "%s per series at precision %s: at random times, %.2g%% share the time of an earlier event, and %s",
			rate(l.Expect.Rate), schema.FormatDuration(l.Precision), shared, lost)
		return
	}
	report.at(t.Pos, finerTime(l, report), "%s per series at precision %s: events within %[2]s share a key and time, and %s",
		rate(l.Expect.Rate), schema.FormatDuration(l.Precision), lost)
}

// crowded reports whether events of a series are likely to share a time: if there is more
// than one per time step or, for steps below a second, where events come at random, more
// than one per ten steps. rate is in events per second.
func crowded(rate float64, precision time.Duration) bool {
	perStep := rate * precision.Seconds()
	return perStep > 1 || precision < time.Second && perStep > 0.1
}

// finerTime proposes how to keep events at the declared rate distinct: a precision that
// all tables support or, if there is none, a tie-breaker.
func finerTime(l *layout.Layout, report reporter) string {
	finest := time.Nanosecond
	for _, t := range l.Tables {
		finest = max(finest, t.Finest())
	}
	for _, precision := range []time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond} {
		if precision < l.Precision && precision >= finest && !crowded(l.Expect.Rate, precision) {
			return "use a finer precision: " + code("time: {precision: %s}", schema.FormatDuration(precision))
		}
	}
	lines := []string{"tables:"}
	for _, t := range l.Tables { // a tie-breaker belongs in all of them
		if t.HasSequence() || t.Pattern.NewestOnly() {
			continue
		}
		entries := []string{report.keyEntry(t, append(segmentsOf(t), "{sequence: true}"))}
		if t.Pattern.EventTimed() {
			entries = append([]string{"pattern: " + layout.PatternWith(layout.FreeTimestamps).String()}, entries...)
		}
		lines = append(lines, inTable(t.ID, entries...)[1:]...)
	}
	return block("add the tie-breaker Sequence to events", lines...)
}

// opaqueBytes is K16: binary keys are not human-readable.
func opaqueBytes(l *layout.Layout, t *layout.Table, report reporter) {
	if t.Delimiter == "" {
		report.at(t.KeyPos, fmt.Sprintf("write it as text: %s; or allow it: %s", code(`key: {delimiter: "#", %s}`, layout.SegmentsText(asText(l, t))), allow("K16", "a third of the size")),
			"the row key has no delimiter, so it is binary: unreadable in cbt, the console and Key Visualizer")
		return
	}
	for _, g := range t.Segments {
		if what, text := opaque(l, t, g); what != "" {
			report.at(t.Source(&g).Pos, "omit the encoding, for text: "+withSegment(t, &g, text), "%s is written as bytes: unreadable in cbt, the console and Key Visualizer", what)
		}
	}
}

// asText returns the segments of a key without binary encodings, for use with a delimiter.
func asText(l *layout.Layout, t *layout.Table) []string {
	out := segmentsOf(t)
	for i, g := range t.Segments {
		if what, text := opaque(l, t, g); what != "" {
			out[i] = text
		}
	}
	return out
}

// opaque returns a description of a segment that is binary but could be text, and the
// segment as text. Both are empty for text and for fields of type bytes.
func opaque(l *layout.Layout, t *layout.Table, g codec.Segment) (what, text string) {
	switch g.Kind {
	case codec.SeriesSegment:
		f := l.Series[g.Series]
		binary := g.Form.Encoding >= codec.KeyRaw
		if binary && f.Type != schema.Bytes || g.Form.Encoding.Alphabet() != "" && f.Type == schema.String {
			return fmt.Sprintf("series value %q", f.Name), f.Name
		}
	case codec.BucketSegment:
		if t.Bucket.Label.Format.InBytes() {
			return "the bucket", "bucket"
		}
	case codec.TimeSegment:
		if t.Time.InBytes() {
			return "the time", "time"
		}
	}
	return "", ""
}

// unsortedTies is K17: segments after the time order the events with equal times.
func unsortedTies(l *layout.Layout, t *layout.Table, report reporter) {
	if t.Pattern.Bucketed() || t.Delimiter == "" {
		return
	}
	for _, g := range t.AfterTime() {
		if g.Kind != codec.SeriesSegment || g.Form.Encoding >= codec.KeyBinary || t.Sorts(&g) {
			continue
		}
		if f := l.Series[g.Series]; f.Type.Traits().Integer() || f.Type == schema.Duration {
			padded := fmt.Sprintf("{name: %s, encoding: decimal, pad: %d}", f.Name, digitsOf(f.Type))
			report.at(t.Source(&g).Pos, "if it is never negative, pad it: "+withSegment(t, &g, padded),
				"%q follows the time as text: among events with equal times, 10 sorts before 9, and -1 before -2", f.Name)
		}
	}
}

// digitsOf returns the number of decimal digits of the type's largest value.
func digitsOf(t schema.Type) int {
	own := t.Traits()
	switch {
	case own.Bits == 32:
		return 10
	case own.Number == schema.Unsigned:
		return 20
	}
	return 19
}

// equalLayouts is K27: layouts by time that setup would record as it records the next older one.
func equalLayouts(l *layout.Layout, t *layout.Table, report reporter) {
	record := func(period *layout.Table) string {
		always := *period
		always.Since, always.Until, always.Draft = time.Time{}, time.Time{}, false
		return lock.Record(l, &always)
	}
	for i, older := range t.Older {
		newer := t.Periods()[i]
		if newer.ID == older.ID && newer.Complete() && older.Complete() && record(newer) == record(older) {
			report.at(newer.SincePos, "remove the entry of before and, if there is no other, since",
				"the layout of table %q since %s stores events as the one before it does", t.ID, schema.FormatInstant(newer.Since))
		}
	}
}
