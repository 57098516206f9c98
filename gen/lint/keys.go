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
	report.at(t.Source(&first).Pos, "end", allWrites(l.Load()), proposal)
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
	report.at(t.BucketPos, "unpadded", l.Prefix, l.Suffix, code("%s: %s", entry, schema.Quoted(l.Prefix+"%04d"+l.Suffix)))
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
			report.at(t.Source(&g).Pos, "contained", what, t.Delimiter, text, otherDelimiter(l, t))
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
		report.at(t.Source(&first).Pos, "sequential", l.Series[first.Series].Name, 100*share, place, salted(l, t, first.Series))
	}
}

// newestFirst is K10: reverse scans make a reversed time unnecessary.
func newestFirst(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, g := range t.Segments {
		if g.Kind == codec.TimeSegment && t.Time.Reverse || g.Kind == codec.BucketSegment && t.Bucket.Label.Format.Reverse {
			before, after, _ := strings.Cut(t.Source(&g).Text, ", reverse: ")
			forwards := before + strings.TrimLeft(after, "abcdefghijklmnopqrstuvwxyz_0123456789")
			report.at(t.Source(&g).Pos, "reversed", withSegment(t, &g, forwards))
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
			report.at(t.Source(&g).Pos, "ends", format, last.Format(time.RFC3339), proposal)
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
		report.at(t.Pos, "often", rate(l.Expect.Rate), l.Precision, shared, lost, finerTime(l, report))
		return
	}
	report.at(t.Pos, "always", rate(l.Expect.Rate), l.Precision, lost, finerTime(l, report))
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
	lines := block{"tables:"}
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
	return "add the tie-breaker Sequence to events:" + lines.String()
}

// opaqueBytes is K16: binary keys are not human-readable.
func opaqueBytes(l *layout.Layout, t *layout.Table, report reporter) {
	texts := segmentsOf(t) // without binary encodings, for use with a delimiter
	for i, g := range t.Segments {
		what, text := opaque(l, t, g)
		if what == "" {
			continue
		}
		if texts[i] = text; t.Delimiter != "" {
			report.at(t.Source(&g).Pos, "segment", what, withSegment(t, &g, text))
		}
	}
	if t.Delimiter == "" {
		report.at(t.KeyPos, "key", code(`key: {delimiter: "#", %s}`, layout.SegmentsText(texts)))
	}
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
			report.at(t.Source(&g).Pos, "unpadded", f.Name, withSegment(t, &g, padded))
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
			report.at(newer.SincePos, "equal", t.ID, schema.FormatInstant(newer.Since))
		}
	}
}
