package layout

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// key resolves the segments of the row key.
func (r *resolver) key(t *Table, s *schema.Table) {
	seen := map[string]diag.Pos{}
	var meant []string
	t.sources = map[string]Source{}
	for i := range s.Segments {
		g := &s.Segments[i]
		segment, name, ok := r.segment(t, s, g)
		if !ok {
			t.Unknown = true // the segment may be any of the missing ones
			meant = append(meant, name)
			continue
		}
		if first, twice := seen[name]; twice && segment.Kind != codec.ConstSegment {
			r.reject(g.Pos, "twice", name, first.Line)
		}
		seen[name] = g.Pos
		if segment.Kind == codec.SequenceSegment && t.Pattern.Naming() == codec.NamedByTime {
			t.Sequence = true // it follows the time in the qualifier
			continue
		}
		t.Segments = append(t.Segments, segment)
		t.sources[idOf(&segment)] = Source{g.Pos, g.String()}
	}
	for _, name := range meant {
		if _, ok := seen[name]; !ok {
			seen[name] = s.Key
		}
	}
	r.checkSegments(t, s, seen)
}

// segment resolves one segment and returns its description for messages or, if it is
// invalid, that of the segment that it is probably meant to be; it may be empty.
func (r *resolver) segment(t *Table, s *schema.Table, g *schema.Segment) (codec.Segment, string, bool) {
	out := codec.Segment{Joined: g.Joined.V}
	switch g.Kind {
	case schema.SegmentHash:
		return r.salt(g)
	case schema.SegmentSequence:
		out.Kind = codec.SequenceSegment
		r.layout.Sequence = true
		if t.Pattern.EventTimed() {
			r.reject(g.Pos, "sequence-in-bucket", t.Pattern, diag.Code("pattern: "+patternsWith(FreeTimestamps)))
		}
		return out, "the sequence", true
	case schema.SegmentConst:
		out.Kind, out.Const, out.Tells = codec.ConstSegment, g.Const.V, g.Tells.V
		return out, fmt.Sprintf("the text %q", out.Const), true
	case schema.SegmentBucket:
		out.Kind = codec.BucketSegment
		return out, "the bucket", true
	case schema.SegmentTime:
		out.Kind = codec.TimeSegment
		r.timeKey(t, g)
		return out, "the time", true
	}
	return r.named(t, s, g)
}

// salt resolves a segment that distributes series over the tablets.
func (r *resolver) salt(g *schema.Segment) (codec.Segment, string, bool) {
	out := codec.Segment{Kind: codec.SaltSegment, Buckets: g.Buckets.V}
	for _, name := range g.Hash {
		i := fieldNamed(r.layout.Series, name.V)
		if i < 0 {
			r.reject(name.Pos, "salt-of-unknown", name.V, r.seriesHint(name.V))
			continue
		}
		out.Salted = append(out.Salted, i)
	}
	return out, "the hash", true
}

// InKey sets what a segment has of a series value, except its encoding.
func (f *Field) InKey(g *codec.Segment) {
	g.Name, g.Type, g.Enum = f.Name, f.Type.Traits().Segment, f.Enum
}

// named resolves a named segment: a series value or the metric.
func (r *resolver) named(t *Table, s *schema.Table, g *schema.Segment) (codec.Segment, string, bool) {
	name := g.Name.V
	out := codec.Segment{Joined: g.Joined.V, Series: fieldNamed(r.layout.Series, name)}
	if out.Series >= 0 {
		r.layout.Series[out.Series].InKey(&out)
		r.form(t, &out, g)
		return out, fmt.Sprintf("series value %q", name), true
	}
	if name == "metric" {
		for _, pos := range []diag.Pos{g.Encoding.Pos, g.Pad.Pos, g.Escape.Pos, g.Reverse.Pos, g.Joined.Pos} {
			if pos.IsValid() {
				r.reject(pos, "metric-encoded")
			}
		}
		return codec.Segment{Kind: codec.MetricSegment}, "the metric", true
	}
	hint, meant := r.segmentHint(t, s, name)
	r.reject(g.Pos, "unknown-segment", name, hint)
	return out, meant, false
}

// segmentHint says what to write instead of an unknown segment, and describes the segment
// that it is probably meant to be, if that is the time, the bucket or the sequence.
func (r *resolver) segmentHint(t *Table, s *schema.Table, name string) (hint, meant string) {
	at := "the time"
	if t.Pattern.Bucketed() {
		at = "the bucket"
	}
	if fieldNamed(r.layout.Fields, name) >= 0 {
		return fmt.Sprintf("%q is a field of the event; move it to series if it identifies the series", name), ""
	}
	switch strings.ToLower(name) {
	case "timestamp", "ts", "datetime", "event_time", "date", "hour", "day", "week", "month", "year":
		timed := func(g schema.Segment) bool { return g.Kind == schema.SegmentTime || g.Kind == schema.SegmentBucket }
		switch {
		case slices.ContainsFunc(s.Segments, timed):
			return "remove it: the key already contains the time of the event", at
		case t.Pattern.Bucketed():
			return "the bucket of the event's time is `bucket`, or as in {bucket: unix_ms}", at
		}
		return "the time of the event is `time`, or as in {time: unix_ms}", at
	case "reverse_timestamp", "reversed_timestamp", "reverse_time", "reverse_ts", "inverted_timestamp":
		return "for the newest first, write " + diag.Code("{"+strings.TrimPrefix(at, "the ")+": unix_ms, reverse: true}"), at
	case "sequence", "seq", "counter":
		return "for a tie-breaker, write " + diag.Code("{sequence: true}"), "the sequence"
	case "hash", "salt", "shard":
		if len(r.layout.Series) > 0 {
			return "write " + diag.Code(r.layout.SaltText(r.layout.AllSeries(), UsualSalt)), ""
		}
	}
	if near, ok := diag.Nearest(name, append([]string{"bucket", "time", "metric"}, NamesOf(r.layout.Series, r.layout.AllSeries())...)); ok {
		if "the "+near == at {
			meant = at
		}
		return fmt.Sprintf("did you mean %s?", diag.Code(near)), meant
	}
	return "write a series value, bucket, time, metric or {const: text}", ""
}

// form resolves the encoding of a series value.
func (r *resolver) form(t *Table, out *codec.Segment, g *schema.Segment) {
	f, form, pos := &r.layout.Series[out.Series], &out.Form, g.Pos
	if f.Type == schema.Invalid || f.Type.Traits().NoKey {
		return // reported at the series value
	}
	switch {
	case g.Encoding.IsSet():
		i := slices.Index(codec.KeyEncodings(), g.Encoding.V)
		if i < 0 {
			return // the language has no other encodings
		}
		form.Encoding, pos = codec.KeyEncoding(i), g.Encoding.Pos
	case t.Delimiter != "" || out.Type == codec.StringSegment:
	case out.Type == codec.BytesSegment:
		form.Encoding = codec.KeyRaw
	default:
		form.Encoding = codec.KeyBinary
	}
	form.Pad, form.Reverse, form.Escape = g.Pad.V, g.Reverse.V, g.Escape.V
	if err := form.Validate(out.Type, t.Delimiter); err != nil {
		message, hint := wanted(err)
		r.reject(pos, "bad-form", g.Name.V, strings.TrimPrefix(message, codec.ErrForm.Error()+": "), hint)
	} else if out.Type == codec.EnumSegment && form.Pad > 0 {
		r.enumFits(f, *form, g.Pad.Pos)
	}
}

// enumFits rejects a pad that is too small for the number of an enum value.
func (r *resolver) enumFits(f *Field, form codec.KeyForm, pos diag.Pos) {
	base := 10
	if form.Encoding == codec.KeyHex {
		base = 16
	}
	for _, v := range f.Enum {
		if n := len(strconv.FormatInt(v.Number, base)); n > form.Pad {
			r.reject(pos, "short-pad", f.Name, v.Number, v.Name, n, form.Encoding, diag.Code(fmt.Sprintf("pad: %d", n)))
			return
		}
	}
}

// timeKey resolves the format of the time in the key.
func (r *resolver) timeKey(t *Table, g *schema.Segment) {
	text := g.Format.V
	if !g.Format.IsSet() {
		text = r.defaultTime(t)
	}
	format, err := ParseTime(text)
	if err != nil {
		r.refuse(g.Format.Pos, "K24", "bad-time", text, goLayout(text, r.layoutFor(t)))
		return
	}
	t.Time = format
	if g.Reverse.V {
		t.Time = r.reversed(format, g)
	}
	if resolution := format.Resolution(); resolution == 0 || r.layout.Precision%resolution != 0 {
		r.refuse(cmp.Or(g.Format.Pos, g.Pos), "K13", "coarse-time", text, schema.FormatDuration(r.layout.Precision), r.finerTime(t, resolution))
	}
}

// strftime maps the time elements of C and Python to those of Go.
var strftime = strings.NewReplacer("%Y", "2006", "%m", "01", "%d", "02", "%j", "002", "%H", "15", "%M", "04", "%S", "05", "%F", "2006-01-02", "%T", "15:04:05")

// datePatterns maps the time elements of Java, SQL and JavaScript to those of Go.
var datePatterns = strings.NewReplacer("yyyy", "2006", "YYYY", "2006", "MM", "01", "dd", "02", "DD", "02", "DDD", "002", "HH", "15", "hh24", "15", "HH24", "15",
	"mm", "04", "mi", "04", "MI", "04", "ss", "05", "SS", "05", "SSS", "000", "'T'", "T", "\"T\"", "T")

// goLayout returns a hint for an invalid time format: what it is in Go, or else a usual
// format.
func goLayout(text, usual string) string {
	if layout := translated(text); layout != "" {
		return fmt.Sprintf("write %s: Go's time layouts consist of parts of 2006-01-02 15:04:05", diag.Code(schema.Quoted(layout)))
	}
	if hint := schema.InsteadOf(text, "a time format"); hint != "" {
		return hint
	}
	if lower := strings.ToLower(text); strings.Contains(lower, "little") || strings.HasSuffix(lower, "_le") {
		return "little-endian times do not sort; for a new table, write " + diag.Code(schema.Quoted("binary_ms"))
	}
	return fmt.Sprintf("write %s, another of unix_s, unix_ms, unix_us, unix_ns, binary and binary_ms, or a Go time layout that starts with the year", diag.Code(schema.Quoted(usual)))
}

// zones removes the zone from time layouts: times in keys are in UTC.
var zones = strings.NewReplacer("Z07:00", "", "-07:00", "", "-0700", "", " MST", "")

// translated returns a time format in the syntax of another language, or with a zone, as a layout
// of Go in UTC, or "" if it is none.
func translated(text string) string {
	for _, layout := range []string{strftime.Replace(text), datePatterns.Replace(text), zones.Replace(text), text} {
		layout = strings.ReplaceAll(layout, " ", "T")
		if _, err := ParseTime(layout); err == nil && layout != text {
			return layout
		}
	}
	return ""
}

// defaultTime returns the default format of a time, which is as fine as the schema's
// precision.
func (r *resolver) defaultTime(t *Table) string {
	switch {
	case r.layout.Precision%time.Microsecond != 0:
		return "unix_ns"
	case t.Delimiter == "":
		return "binary"
	case r.layout.Precision%time.Millisecond != 0:
		return "unix_us"
	}
	return "unix_ms"
}

// reversed returns the format with the newest time first, as the segment requests it.
func (r *resolver) reversed(f codec.TimeFormat, g *schema.Segment) codec.TimeFormat {
	if f.Kind == codec.LayoutTime {
		r.reject(g.Reverse.Pos, "reversed-format", f)
		return f
	}
	out, err := Reversed(f, ParseMinuend(g.From.V))
	if err != nil {
		message, hint := wanted(err)
		r.reject(g.From.Pos, "bad-layout", message, hint)
		return f
	}
	return out
}

// layouts are the proposed time layouts, coarsest first.
var layouts = []string{"2006-01-02", "2006-01-02-15", "2006-01-02-1504", "2006-01-02-150405"}

// layoutFor returns a time layout that is as fine as the schema's precision, or else
// the default format.
func (r *resolver) layoutFor(t *Table) string {
	for _, layout := range layouts {
		f, err := ParseTime(layout)
		if err == nil && (t.Delimiter == "" || !strings.Contains(layout, t.Delimiter)) && r.layout.Precision%f.Resolution() == 0 {
			return layout
		}
	}
	return r.defaultTime(t)
}

// finerTime proposes how to make the time in the key, of the given resolution, agree
// with the precision: a finer format or a coarser precision.
func (r *resolver) finerTime(t *Table, resolution time.Duration) string {
	format := r.defaultTime(t)
	if t.Time.Kind == codec.LayoutTime {
		format = r.layoutFor(t)
	}
	hint := "use a finer format: " + diag.Code("time: "+schema.Quoted(format))
	if day := 24 * time.Hour; resolution > 0 && resolution <= day && day%resolution == 0 {
		hint += ", or truncate times in the writer, at the top of the schema: " + diag.Code("time: {precision: "+schema.FormatDuration(resolution)+"}")
	}
	return hint
}

// checkSegments checks the key as a whole.
func (r *resolver) checkSegments(t *Table, s *schema.Table, seen map[string]diag.Pos) {
	last, other, want := "the time", "the bucket", codec.TimeSegment
	if t.Pattern.Bucketed() {
		last, other, want = other, last, codec.BucketSegment
	}
	wanted := diag.Code(SegmentsText(r.wantedSegments(t, s, seen)))
	for i, g := range t.Segments {
		pos := t.Source(&g).Pos
		isTime := g.Kind == codec.TimeSegment || g.Kind == codec.BucketSegment
		switch {
		case isTime && t.Pattern.NewestOnly():
			r.reject(pos, "time-in-state", t.Pattern)
		case isTime && t.Endless():
			r.reject(pos, "time-in-endless")
		case isTime && g.Kind != want:
			r.reject(pos, "other-time", t.Pattern, last, other, wanted)
			seen[last] = pos // it is meant to be that
		case g.Kind == codec.MetricSegment && !t.Metrics():
			r.reject(pos, "metric-in-rows", t.Pattern, patternsWith(codec.Pattern.RowPerField))
		case g.Kind == codec.SequenceSegment && t.Pattern.EventTimed(): // which was rejected
		case g.Kind == codec.SequenceSegment && slices.ContainsFunc(t.Segments[i+1:], func(g codec.Segment) bool { return g.Kind == codec.SeriesSegment }):
			r.reject(pos, "sequence-before-series", wanted)
		case g.Kind == codec.SequenceSegment && t.TimeIndex() > i:
			r.reject(pos, "sequence-before-time", wanted)
		}
	}
	if _, ok := seen[last]; !ok && !t.Endless() {
		r.refuse(s.Key, "K22", "no-time", t.Pattern, last, wanted, PatternWith(codec.Pattern.Versioned).String())
	}
	if _, ok := seen["the metric"]; !ok && t.Metrics() {
		r.reject(s.Key, "no-metric", t.Pattern, wanted)
	}
	r.checkAllSeries(t, s, wanted, seen)
	if bucket := t.Bucket; t.Delimiter == "" && t.Pattern.Bucketed() && !t.Endless() && t.BucketPos.IsValid() && bucket.Width() == 0 && CheckBucket(bucket) == nil {
		r.reject(t.BucketPos, "wide-label", bucket.Label, diag.Code(schema.Quoted(bucket.Label.Prefix+"%04d"+bucket.Label.Suffix)))
	}
}

// lacking returns the series values that a key lacks; none if it has a segment that may be any of them.
func (r *resolver) lacking(t *Table, seen map[string]diag.Pos) (out []Field) {
	for _, f := range r.layout.Series {
		if _, ok := seen[fmt.Sprintf("series value %q", f.Name)]; !ok && !t.Unknown {
			out = append(out, f)
		}
	}
	return out
}

// checkAllSeries rejects a key that lacks series values.
func (r *resolver) checkAllSeries(t *Table, s *schema.Table, wanted string, seen map[string]diag.Pos) {
	var names, times []string
	for _, f := range r.lacking(t, seen) {
		names = append(names, strconv.Quote(f.Name))
		if f.Type == schema.Timestamp {
			times = append(times, strconv.Quote(f.Name))
		}
	}
	if names == nil {
		return
	}
	hint := "add " + words.Plural(len(names), "it: ", "them: ") + wanted
	if times != nil {
		hint = "remove " + FirstOf(times) + " from series if it is the time of the event, which every event has; otherwise, " + hint
	}
	r.reject(s.Key, "no-series", words.Plural(len(names), "value "+FirstOf(names)+" is", "values "+FirstOf(names)+" are"), hint)
}

// wantedSegments returns the segments of a key as the pattern wants them: without others and repeated ones, with those that are
// missing before the bucket or the time, and with the sequence at the end.
func (r *resolver) wantedSegments(t *Table, s *schema.Table, seen map[string]diag.Pos) []string {
	var texts, more []string
	at, timed, sequence, names := -1, false, false, map[string]bool{}
	kind, word := schema.SegmentTime, "time"
	if t.Pattern.Bucketed() {
		kind, word = schema.SegmentBucket, "bucket"
	}
	for i, text := range s.SegmentTexts() {
		switch g := &s.Segments[i]; {
		case g.Kind == kind && !timed:
			word, at, timed = text, len(texts), true
		case g.Kind == schema.SegmentTime || g.Kind == schema.SegmentBucket:
			if at < 0 {
				at = len(texts)
			}
		case g.Kind == schema.SegmentSequence:
			sequence = !t.Pattern.EventTimed()
		case g.Name.V != "" && names[g.Name.V] || g.Name.V == "metric" && !t.Metrics():
		default:
			names[g.Name.V] = true
			texts = append(texts, text)
		}
	}
	if _, ok := seen["the metric"]; !ok && t.Metrics() {
		more = append(more, "metric")
	}
	for _, f := range r.lacking(t, seen) {
		more = append(more, f.Name)
	}
	if !t.Endless() && !t.Pattern.NewestOnly() {
		more = append(more, word)
	}
	if at < 0 {
		at = len(texts)
	}
	texts = slices.Insert(texts, at, more...)
	if sequence {
		texts = append(texts, "{sequence: true}")
	}
	return texts
}

// seriesHint proposes a series value instead of an unknown name.
func (r *resolver) seriesHint(name string) string {
	names := NamesOf(r.layout.Series, r.layout.AllSeries())
	if near, ok := diag.Nearest(name, names); ok {
		return "did you mean " + diag.Code(near) + "?"
	}
	if len(names) == 1 {
		return "write " + diag.Code(names[0])
	}
	return "the series values are " + FirstOf(names)
}

// checkJoined rejects keys in which a reader could not tell where a segment ends that the
// next one joins.
func (r *resolver) checkJoined(t *Table) {
	last := len(t.Segments) - 1
	for i, g := range t.Segments {
		pos := t.Source(&g).Pos
		switch {
		case !g.Joined:
		case i == last && t.Endless() && t.Width(&g) == 0: // it is the rest of the key
		case i == last:
			r.refuse(pos, "K20", "joined-end")
		case t.Width(&g) > 0 || t.Unknown:
		case i >= t.TimeIndex() && t.TimeIndex() >= 0:
			r.refuse(pos, "K20", "joined-after-time")
		case slices.ContainsFunc(t.Segments[i+1:], func(next codec.Segment) bool { return t.Width(&next) == 0 }):
			r.refuse(pos, "K20", "joined-widths", g.Title())
		}
	}
}

// BeforeTime returns the segments before the time or the bucket.
func (t *Table) BeforeTime() []codec.Segment { return t.Segments[:max(0, t.TimeIndex())] }

// AfterTime returns the segments after the time or the bucket.
func (t *Table) AfterTime() []codec.Segment {
	return t.Segments[min(t.TimeIndex()+1, len(t.Segments)):]
}

// sequences rejects tables without the sequence that another one stores: it is part of what tells events apart,
// as the series and the time are, which each table stores on its own.
func (r *resolver) sequences() {
	with := slices.IndexFunc(r.layout.Tables, func(t *Table) bool { return t.HasSequence() })
	if with < 0 {
		return
	}
	for _, t := range r.layout.Tables {
		if !t.HasSequence() && !t.Pattern.NewestOnly() { // which has a separate error
			r.refuse(t.KeyPos, "K29", "no-sequence", t.ID, r.layout.Tables[with].ID)
		}
	}
}

// HasSequence reports whether the table stores the sequence of an event, in its keys or
// column names.
func (t *Table) HasSequence() bool {
	return t.Sequence || t.Has(codec.SequenceSegment)
}

// FormOf returns the encoding of a series value in the key.
func (t *Table) FormOf(series int) codec.KeyForm {
	if i := t.SegmentOf(series); i >= 0 {
		return t.Segments[i].Form
	}
	return codec.KeyForm{}
}

// Source is a key segment as the schema has it.
type Source struct {
	Pos  diag.Pos
	Text string
}

// idOf tells the segments of a key apart. Equal constants are one.
func idOf(g *codec.Segment) string { return fmt.Sprint(g.Kind, g.Series, g.Buckets, g.Joined, g.Const) }

// Source returns a segment of the key as the schema has it. Another salt or bucket has no position,
// and the text that the schema would have.
func (t *Table) Source(g *codec.Segment) Source {
	if source, ok := t.sources[idOf(g)]; ok {
		return source
	}
	if g.Kind != codec.SaltSegment {
		return Source{Text: g.Title()}
	}
	var names []string
	for _, series := range g.Salted {
		if i := t.SegmentOf(series); i >= 0 {
			names = append(names, t.Segments[i].Name)
		}
	}
	return Source{Text: saltText(names, g.Buckets)}
}

// SegmentTexts returns the segments of the key as the schema has them. A tie-breaker that is in qualifiers is the last one.
func (t *Table) SegmentTexts() (out []string) {
	for i := range t.Segments {
		out = append(out, t.Source(&t.Segments[i]).Text)
	}
	if t.Sequence {
		out = append(out, "{sequence: true}")
	}
	return out
}

// saltText formats a salt of series values.
func saltText(names []string, buckets int) string {
	return fmt.Sprintf("{hash: [%s], buckets: %d}", strings.Join(names, ", "), buckets)
}
