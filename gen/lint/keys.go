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

// keyChecks are about row keys.
var keyChecks = checks{
	"K01": func(r reporter) { // all writes go to the last tablet
		first, ok := firstSegment(r.t)
		if !ok || !hotspot.InOnePlace(r.l, r.t) {
			return
		}
		other := hotspot.WithSegments(r.t, timeLast(r.l, r.t))
		proposal := segments(other.SegmentTexts())
		if again, _ := firstSegment(other); again.Kind == codec.SeriesSegment && r.l.Series[again.Series].Type == schema.Timestamp {
			proposal = salted(r.l, other, again.Series) // there are only times
		}
		all, load := "100% of the writes", r.l.Load()
		if !load.AssumedSeries && !load.AssumedRate {
			all += ", " + writes(load) + ","
		}
		r.at(r.t.Source(&first).Pos, "end", all, proposal)
	},
	"K04": func(r reporter) { // week10 sorts before week2
		if !r.t.Pattern.Bucketed() || r.t.Bucket.Sorted() {
			return
		}
		label, entry := r.t.Bucket.Label, "label"
		if !r.written(r.t).Bucket.Label.IsSet() {
			entry = "bucket" // the label is in the key
		}
		r.at(r.t.BucketPos, "unpadded", label.Prefix, label.Suffix, code("%s: %s", entry, schema.Quoted(label.Prefix+"%04d"+label.Suffix)))
	},
	// For segments whose possible values are known. The writer checks strings.
	"K05": func(r reporter) {
		if r.t.Delimiter == "" {
			return
		}
		for _, g := range r.t.Segments {
			if text, what := r.delimited(g, r.t.Delimiter); text != "" && !g.Joined {
				r.at(r.t.Source(&g).Pos, "contained", what, r.t.Delimiter, text, r.otherDelimiter())
			}
		}
	},
	"K02": func(r reporter) { // sequential IDs put all new series at one end of the table
		first, ok := firstSegment(r.t)
		if share := hotspot.NewShare(r.l, r.t, r.l.Load()); ok && share >= hotspot.HotShare {
			place := "one node"
			if share < 1 { // and the rest to others
				place = "one tablet"
			}
			r.at(r.t.Source(&first).Pos, "sequential", r.l.Series[first.Series].Name, 100*share, place, salted(r.l, r.t, first.Series))
		}
	},
	"K10": func(r reporter) { // reverse scans make a reversed time unnecessary
		for _, g := range r.t.Segments {
			if format, _ := formatOf(r.t, g); format.Reverse {
				before, after, _ := strings.Cut(r.t.Source(&g).Text, ", reverse: ")
				forwards := before + strings.TrimLeft(after, "abcdefghijklmnopqrstuvwxyz_0123456789")
				r.at(r.t.Source(&g).Pos, "reversed", withSegment(r.t, &g, forwards))
			}
		}
	},
	"K19": func(r reporter) { // a number that is full in 2038 or 2106
		for _, g := range r.t.Segments {
			format, is := formatOf(r.t, g)
			if last := format.Max(); is && last.Year() < 2200 {
				longer := "unix_s"
				if format.InBytes() {
					longer = "binary_s"
				}
				proposal := withSegment(r.t, &g, fmt.Sprintf("{%s: %s}", g.Title(), longer))
				if r.written(r.t).Bucket.Label.IsSet() {
					proposal = code("label: %s", longer)
				}
				r.at(r.t.Source(&g).Pos, "ends", format, last.Format(time.RFC3339), proposal)
			}
		}
	},
	// For a declared rate. All tables would have the same finding, so it is reported for the first one only.
	"K13": func(r reporter) {
		perStep := r.l.Expect.Rate * r.l.Precision.Seconds()
		if !crowded(r.l.Expect.Rate, r.l.Precision) || r.l.Sequence || r.t != r.l.Tables[0] {
			return
		}
		lost := "only one is kept"
		if r.t.Pattern.Appends() {
			lost = "equal values are merged"
		}
		if shared := 100 * (1 - (1-math.Exp(-perStep))/perStep); perStep <= 1 {
			r.at(r.t.Pos, "often", rate(r.l.Expect.Rate), r.l.Precision, shared, lost, r.finerTime())
		} else {
			r.at(r.t.Pos, "always", rate(r.l.Expect.Rate), r.l.Precision, lost, r.finerTime())
		}
	},
	"K16": func(r reporter) { // binary keys are not human-readable
		texts := r.t.SegmentTexts() // without binary encodings, for use with a delimiter
		for i, g := range r.t.Segments {
			what, text := r.opaque(g)
			if what == "" {
				continue
			}
			if texts[i] = text; r.t.Delimiter != "" {
				r.at(r.t.Source(&g).Pos, "segment", what, withSegment(r.t, &g, text))
			}
		}
		if r.t.Delimiter == "" {
			r.at(r.t.KeyPos, "key", code(`key: {delimiter: "#", %s}`, layout.SegmentsText(texts)))
		}
	},
	"K17": func(r reporter) { // segments after the time order the events with equal times
		if r.t.Pattern.Bucketed() || r.t.Delimiter == "" {
			return
		}
		for _, g := range r.t.AfterTime() {
			if g.Kind != codec.SeriesSegment || g.Form.Encoding >= codec.KeyBinary || r.t.Sorts(&g) {
				continue
			}
			if f := r.l.Series[g.Series]; f.Type.Traits().Integer() || f.Type == schema.Duration {
				digits := 19 // of the largest value
				if own := f.Type.Traits(); own.Bits == 32 {
					digits = 10
				} else if own.Number == schema.Unsigned {
					digits = 20
				}
				padded := fmt.Sprintf("{name: %s, encoding: decimal, pad: %d}", f.Name, digits)
				r.at(r.t.Source(&g).Pos, "unpadded", f.Name, withSegment(r.t, &g, padded))
			}
		}
	},
	"K27": func(r reporter) { // layouts by time that setup would record as it records the next older one
		record := func(period *layout.Table) string {
			always := *period
			always.Since, always.Until, always.Draft = time.Time{}, time.Time{}, false
			return lock.Record(r.l, &always)
		}
		for i, older := range r.t.Older {
			newer := r.t.Periods()[i]
			if newer.ID == older.ID && newer.Complete() && older.Complete() && record(newer) == record(older) {
				r.at(newer.SincePos, "equal", r.t.ID, schema.FormatInstant(newer.Since))
			}
		}
	},
}

// otherDelimiter proposes a delimiter that no segment of the table can contain.
func (r reporter) otherDelimiter() string {
	for _, delimiter := range []string{"#", "|", "~", "##"} {
		contains := func(g codec.Segment) bool { text, _ := r.delimited(g, delimiter); return text != "" }
		if !slices.ContainsFunc(r.t.Segments, contains) {
			return ": " + code("delimiter: %q", delimiter)
		}
	}
	return ""
}

// delimited returns a value of the segment that contains the delimiter, and a description
// of the segment. Both are empty if no value does.
func (r reporter) delimited(g codec.Segment, delimiter string) (text, what string) {
	samples, what := r.t.Samples(r.l, g)
	for _, s := range samples {
		if strings.Index(s+delimiter, delimiter) != len(s) {
			return s, what
		}
	}
	return "", ""
}

// firstSegment returns the first segment that is not constant, and whether it is known.
func firstSegment(t *layout.Table) (codec.Segment, bool) {
	i := slices.IndexFunc(t.Segments, func(g codec.Segment) bool { return g.Kind != codec.ConstSegment })
	if i < 0 || t.Unknown {
		return codec.Segment{}, false
	}
	return t.Segments[i], true
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
func (r reporter) finerTime() string {
	finest := time.Nanosecond
	for _, t := range r.l.Tables {
		finest = max(finest, t.Finest())
	}
	for _, precision := range []time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond} {
		if precision < r.l.Precision && precision >= finest && !crowded(r.l.Expect.Rate, precision) {
			return "use a finer precision: " + code("time: {precision: %s}", schema.FormatDuration(precision))
		}
	}
	lines := block{"tables:"}
	for _, t := range r.l.Tables { // a tie-breaker belongs in all of them
		if t.HasSequence() || t.Pattern.NewestOnly() {
			continue
		}
		entries := []string{r.keyEntry(t, append(t.SegmentTexts(), "{sequence: true}"))}
		if t.Pattern.EventTimed() {
			entries = append([]string{"pattern: " + layout.PatternWith(layout.FreeTimestamps).String()}, entries...)
		}
		lines = append(lines, inTable(t.ID, entries...)[1:]...)
	}
	return "add the tie-breaker Sequence to events:" + lines.String()
}

// opaque returns a description of a segment that is binary but could be text, and the
// segment as text. Both are empty for text and for fields of type bytes.
func (r reporter) opaque(g codec.Segment) (what, text string) {
	if format, is := formatOf(r.t, g); is && format.InBytes() {
		return "the " + g.Title(), g.Title()
	}
	if g.Kind != codec.SeriesSegment {
		return "", ""
	}
	f := r.l.Series[g.Series]
	if g.Form.Encoding >= codec.KeyRaw && f.Type != schema.Bytes || g.Form.Encoding.Alphabet() != "" && f.Type == schema.String {
		return fmt.Sprintf("series value %q", f.Name), f.Name
	}
	return "", ""
}

// formatOf returns the format of a segment with the time or the bucket; false for others.
func formatOf(t *layout.Table, g codec.Segment) (format codec.TimeFormat, is bool) {
	switch g.Kind {
	case codec.BucketSegment:
		return t.Bucket.Label.Format, true
	case codec.TimeSegment:
		return t.Time, true
	}
	return format, false
}
