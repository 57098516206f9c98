package layout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// key resolves the segments of the row key.
func (r *resolver) key(t *Table, s *schema.Table) {
	seen := map[string]diag.Pos{}
	for i := range s.Segments {
		segment, name, ok := r.segment(t, s, &s.Segments[i])
		if !ok {
			t.Unknown = true // it may be any of those that are missing
			continue
		}
		if first, twice := seen[name]; twice && segment.Kind != ConstSegment {
			r.errorf(segment.Pos, "leave one of them out", "%s is in the key twice, first at line %d", name, first.Line)
		}
		seen[name] = segment.Pos
		if segment.Kind == SequenceSegment && t.Pattern == codec.BucketOffsets {
			t.Sequence = true // it follows the time, in the qualifier
			continue
		}
		t.Segments = append(t.Segments, segment)
	}
	r.checkSegments(t, s, seen)
}

// segment resolves one segment, and returns what it is called in messages.
func (r *resolver) segment(t *Table, s *schema.Table, g *schema.Segment) (Segment, string, bool) {
	out := Segment{Pos: g.Pos, Text: g.String()}
	switch g.Kind {
	case schema.SegmentHash:
		return r.salt(g)
	case schema.SegmentSequence:
		out.Kind = SequenceSegment
		r.layout.Sequence = true
		if t.Pattern.Bucketed() && t.Pattern != codec.BucketOffsets {
			r.errorf(g.Pos, "use `pattern: bucket_offsets`, or one with a row per event, or a finer time precision",
				"pattern %s has a row per bucket: a tie-breaker of single events has no place in its key", t.Pattern)
		}
		return out, "the sequence", true
	case schema.SegmentConst:
		out.Kind, out.Const = ConstSegment, g.Const.V
		return out, fmt.Sprintf("the text %q", out.Const), true
	case schema.SegmentBucket:
		out.Kind = BucketSegment
		return out, "the bucket", true
	case schema.SegmentTime:
		out.Kind = TimeSegment
		r.timeKey(t, g)
		return out, "the time", true
	}
	return r.named(t, s, g)
}

// salt resolves a segment that spreads series over the tablets.
func (r *resolver) salt(g *schema.Segment) (Segment, string, bool) {
	out := Segment{Pos: g.Pos, Text: g.String(), Kind: SaltSegment, Buckets: g.Buckets.V}
	for _, name := range g.Hash {
		i := slices.IndexFunc(r.layout.Series, func(f Field) bool { return f.Name == name.V })
		if i < 0 {
			r.errorf(name.Pos, r.seriesHint(name.V), "%q is not a series value: a reader could not know the salt", name.V)
			continue
		}
		out.Salted = append(out.Salted, i)
	}
	return out, "the hash", true
}

// segmentTypes are the codec's types of key segments.
var segmentTypes = map[schema.Type]codec.SegmentType{
	schema.String: codec.StringSegment, schema.Bytes: codec.BytesSegment, schema.Bool: codec.BoolSegment,
	schema.Int32: codec.Int32Segment, schema.Int64: codec.Int64Segment, schema.Uint32: codec.Uint32Segment, schema.Uint64: codec.Uint64Segment,
	schema.Duration: codec.DurationSegment, schema.Timestamp: codec.TimestampSegment, schema.UUID: codec.UUIDSegment, schema.Enum: codec.EnumSegment,
}

// named resolves a segment with a name: a series value, or the metric.
func (r *resolver) named(t *Table, s *schema.Table, g *schema.Segment) (Segment, string, bool) {
	out := Segment{Pos: g.Pos, Text: g.String()}
	name := g.Name.V
	out.Series = slices.IndexFunc(r.layout.Series, func(f Field) bool { return f.Name == name })
	if out.Series >= 0 {
		r.form(t, &out, g)
		return out, fmt.Sprintf("series value %q", name), true
	}
	if name == "metric" {
		for _, pos := range []diag.Pos{g.Encoding.Pos, g.Pad.Pos, g.Escape.Pos, g.Reverse.Pos} {
			if pos.IsValid() {
				r.errorf(pos, "leave it out", "the metric is a column name, and stands in the key as it is")
			}
		}
		out.Kind = MetricSegment
		return out, "the metric", true
	}
	hint := "a segment is a series value, bucket, time, metric or {const: text}"
	if near, ok := diag.Nearest(name, r.segmentNames()); ok {
		hint = fmt.Sprintf("did you mean %s?", diag.Code(near))
	}
	switch strings.ToLower(name) {
	case "timestamp", "ts", "datetime", "event_time", "date", "hour", "day", "week", "month", "year":
		hint = timeHint(t, s)
	}
	if slices.ContainsFunc(r.layout.Fields, func(f Field) bool { return f.Name == name }) {
		hint = fmt.Sprintf("%q is a field of the event; move it to series if it tells one series from another", name)
	}
	r.errorf(g.Pos, hint, "key segment %q is not a series value", name)
	return out, "", false
}

// timeHint says how the time of the event is written in a key.
func timeHint(t *Table, s *schema.Table) string {
	switch {
	case slices.ContainsFunc(s.Segments, func(g schema.Segment) bool { return g.Kind == schema.SegmentTime || g.Kind == schema.SegmentBucket }):
		return "leave it out: the key has the time of the event already"
	case t.Pattern.Bucketed():
		return "the bucket of the event's time is `bucket`, or as in {bucket: unix_ms}"
	}
	return "the time of the event is `time`, or as in {time: unix_ms}"
}

// form resolves how a series value is written.
func (r *resolver) form(t *Table, out *Segment, g *schema.Segment) {
	typ, ok := segmentTypes[r.layout.Series[out.Series].Type]
	if !ok {
		return // reported with the series
	}
	pos := g.Pos
	if g.Encoding.IsSet() {
		encoding, err := codec.ParseKeyEncoding(g.Encoding.V)
		if err != nil {
			return // the language has no other
		}
		out.Form.Encoding, pos = encoding, g.Encoding.Pos
	} else if t.Delimiter == "" {
		out.Form.Encoding = binaryEncoding(typ)
	}
	out.Form.Pad, out.Form.Reverse, out.Form.Escape = g.Pad.V, g.Reverse.V, g.Escape.V
	if err := out.Form.Validate(typ, t.Delimiter); err != nil {
		message, hint := wanted(err)
		r.errorf(pos, hint, "series value %q: %s", g.Name.V, strings.TrimPrefix(message, codec.ErrForm.Error()+": "))
		return
	}
	if typ == codec.EnumSegment && out.Form.Pad > 0 {
		r.enumFits(&r.layout.Series[out.Series], out.Form, g.Pad.Pos)
	}
}

// enumFits refuses a pad that the number of an enum value does not fit.
func (r *resolver) enumFits(f *Field, form codec.KeyForm, pos diag.Pos) {
	base := 10
	if form.Encoding == codec.KeyHex {
		base = 16
	}
	for _, v := range f.Enum {
		if n := len(strconv.FormatInt(v.Number, base)); n > form.Pad {
			r.errorf(pos, fmt.Sprintf("write %s, or more if the enum will grow", diag.Code(fmt.Sprintf("pad: %d", n))),
				"series value %q: the number %d of %q has %d digits as %s: the writer would refuse it", f.Name, v.Number, v.Name, n, form.Encoding)
			return
		}
	}
}

// FixedSize returns the number of bytes that a segment has in every key as far as
// that is known: those of fixed text, and of a series value of a fixed width.
func (l *Layout) FixedSize(g Segment) int {
	if g.Kind != SeriesSegment {
		return len(g.Const)
	}
	typ, ok := segmentTypes[l.Series[g.Series].Type]
	if !ok {
		return 0
	}
	return g.Form.Fixed(typ)
}

// binaryEncoding is what a type is written in where the key has no delimiter and
// the schema says nothing.
func binaryEncoding(t codec.SegmentType) codec.KeyEncoding {
	switch t {
	case codec.StringSegment:
		return codec.KeyText
	case codec.BytesSegment:
		return codec.KeyRaw
	}
	return codec.KeyBinary
}

// segmentNames lists what a segment can be called.
func (r *resolver) segmentNames() []string {
	names := []string{"bucket", "time", "metric"}
	for _, f := range r.layout.Series {
		names = append(names, f.Name)
	}
	return names
}

// timeKey resolves the format of the time in the key.
func (r *resolver) timeKey(t *Table, g *schema.Segment) {
	text := g.Format.V
	if !g.Format.IsSet() {
		text = r.defaultTime(t)
	}
	format, err := codec.ParseTimeFormat(text)
	if err != nil {
		r.errorf(g.Format.Pos, goLayout(text, r.layoutFor(t)), "%q is no time format for a key", text)
		return
	}
	t.TimeKey = format
	if g.Reverse.V {
		t.TimeKey = r.reversed(format, g.Reverse.Pos)
	}
	if resolution := format.Resolution(); resolution == 0 || r.layout.Precision%resolution != 0 {
		pos := g.Format.Pos
		if !pos.IsValid() {
			pos = g.Pos
		}
		r.found.Errorf(pos, "a time of the form %q cannot tell events apart that are %s from each other: the later one would overwrite the other",
			text, schema.FormatDuration(r.layout.Precision)).Rule = "K13"
		r.found[len(r.found)-1].Hint = r.finerTime(t, resolution)
	}
}

// strftime are the parts of times as C and Python write them, and as Go does.
var strftime = strings.NewReplacer("%Y", "2006", "%m", "01", "%d", "02", "%j", "002", "%H", "15", "%M", "04", "%S", "05", "%F", "2006-01-02", "%T", "15:04:05")

// goLayout returns the hint for a time format that is none: the same as Go writes it, if
// it is written as for strftime, or a usual one.
func goLayout(text, usual string) string {
	layout := strftime.Replace(text)
	if _, err := codec.ParseTimeFormat(layout); err == nil && layout != text {
		return fmt.Sprintf("write %s, the time layout of Go with the parts of 2006-01-02 15:04:05", diag.Code(schema.Quoted(layout)))
	}
	return fmt.Sprintf("write a time layout of Go from the year on, such as %s, or unix_s, unix_ms, unix_us, unix_ns or binary", diag.Code(schema.Quoted(usual)))
}

// defaultTime is the format of a time where the schema does not say: as fine as
// the events are.
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

// reversed returns a format whose newest time comes first.
func (r *resolver) reversed(f codec.TimeFormat, pos diag.Pos) codec.TimeFormat {
	if f.Kind == codec.LayoutTime {
		r.errorf(pos, "use a number, as in {time: unix_ms, reverse: true} or {bucket: unix_s, reverse: true}", "a time of the form %q cannot be reversed", f)
		return f
	}
	f.Reverse = true
	return f
}

// layouts are the layouts of times that are proposed, the coarsest first.
var layouts = []string{"2006-01-02", "2006-01-02-15", "2006-01-02-1504", "2006-01-02-150405"}

// layoutFor returns a layout of times that is as fine as events are, or else the format
// of a time where the schema does not say.
func (r *resolver) layoutFor(t *Table) string {
	for _, layout := range layouts {
		f, err := codec.ParseTimeFormat(layout)
		if err == nil && (t.Delimiter == "" || !strings.Contains(layout, t.Delimiter)) && r.layout.Precision%f.Resolution() == 0 {
			return layout
		}
	}
	return r.defaultTime(t)
}

// finerTime says how to make the time in the key, of a resolution, and the precision
// agree: by a format that is as fine as events are, or coarser events.
func (r *resolver) finerTime(t *Table, resolution time.Duration) string {
	format := r.defaultTime(t)
	if t.TimeKey.Kind == codec.LayoutTime {
		format = r.layoutFor(t)
	}
	hint := "use a finer format: " + diag.Code("time: "+schema.Quoted(format))
	if day := 24 * time.Hour; resolution > 0 && resolution <= day && day%resolution == 0 {
		hint += ", or let the writer truncate times, at the top: " + diag.Code("time: {precision: "+schema.FormatDuration(resolution)+"}")
	}
	return hint
}

// checkSegments checks the key as a whole.
func (r *resolver) checkSegments(t *Table, s *schema.Table, seen map[string]diag.Pos) {
	last, want := "the time", TimeSegment
	if t.Pattern.Bucketed() {
		last, want = "the bucket", BucketSegment
	}
	for i, g := range t.Segments {
		isTime := g.Kind == TimeSegment || g.Kind == BucketSegment
		switch {
		case isTime && g.Kind != want:
			other := map[SegmentKind]string{BucketSegment: "the bucket", TimeSegment: "the time"}[g.Kind]
			r.errorf(g.Pos, "write "+diag.Code(strings.TrimPrefix(last, "the ")), "pattern %s has %s in its key, not %s", t.Pattern, last, other)
		case g.Kind == MetricSegment && !t.Metrics():
			r.errorf(g.Pos, "leave metric out, or use pattern bucket_new_columns", "pattern %s keeps all fields of an event in one row: there is no metric in its key", t.Pattern)
		case g.Kind == SequenceSegment && slices.ContainsFunc(t.Segments[i+1:], func(g Segment) bool { return g.Kind == SeriesSegment }):
			r.errorf(g.Pos, "put it last: "+r.sequenceLast(s), "a tie-breaker before a series value: the rows of a series could not be told from those of another without a look at each")
		case g.Kind == SequenceSegment && t.timeIndex() > slices.Index(t.kinds(), SequenceSegment):
			r.errorf(g.Pos, "put it last: "+r.sequenceLast(s), "a tie-breaker before the time would keep events of a series apart")
		}
	}
	if _, ok := seen[last]; !ok {
		word := strings.TrimPrefix(last, "the ")
		r.errorf(s.Key, "end the segments with it: "+diag.Code(SegmentsText(append(s.SegmentTexts(), word))), "the key of a %s table needs %s", t.Pattern, last)
	}
	if _, ok := seen["the metric"]; !ok && t.Metrics() {
		r.errorf(s.Key, "add it before the bucket: "+diag.Code(SegmentsText(beforeTime(s, "metric"))), "the key of a bucket_new_columns table needs the metric: each field has a row of its own")
	}
	r.checkAllSeries(t, s, seen)
	r.checkBinaryBucket(t)
}

// checkAllSeries refuses a key that lacks series values.
func (r *resolver) checkAllSeries(t *Table, s *schema.Table, seen map[string]diag.Pos) {
	var missing, names []string
	for _, f := range r.layout.Series {
		if _, ok := seen[fmt.Sprintf("series value %q", f.Name)]; !ok {
			missing, names = append(missing, f.Name), append(names, strconv.Quote(f.Name))
		}
	}
	if missing != nil && !t.Unknown {
		r.errorf(s.Key, "add "+plural(len(missing), "it: ", "them: ")+diag.Code(SegmentsText(beforeTime(s, missing...))),
			"series %s not in the key: events of different series would overwrite each other", plural(len(missing), "value "+list(names)+" is", "values "+list(names)+" are"))
	}
}

// beforeTime returns the segments of a key with more of them in front of the time.
func beforeTime(s *schema.Table, more ...string) []string {
	i := slices.IndexFunc(s.Segments, func(g schema.Segment) bool { return g.Kind == schema.SegmentTime || g.Kind == schema.SegmentBucket })
	texts := s.SegmentTexts()
	if i < 0 {
		i = len(texts)
	}
	return slices.Insert(texts, i, more...)
}

// sequenceLast proposes the segments of a key with the tie-breaker at their end.
func (r *resolver) sequenceLast(s *schema.Table) string {
	const sequence = "{sequence: true}"
	texts := slices.DeleteFunc(s.SegmentTexts(), func(text string) bool { return text == sequence })
	return diag.Code(SegmentsText(append(texts, sequence)))
}

// seriesHint says what to write instead of a name that is no series value.
func (r *resolver) seriesHint(name string) string {
	var names []string
	for _, f := range r.layout.Series {
		names = append(names, f.Name)
	}
	if near, ok := diag.Nearest(name, names); ok {
		return "did you mean " + diag.Code(near) + "?"
	}
	return "the series values are " + list(names)
}

// checkBinaryBucket refuses a label of no fixed width in a key without delimiter.
func (r *resolver) checkBinaryBucket(t *Table) {
	if t.Delimiter == "" && t.Pattern.Bucketed() && t.BucketPos.IsValid() && t.Bucket.Width() == 0 && t.Bucket.Validate() == nil {
		l := t.Bucket.Label
		r.errorf(t.BucketPos, "pad it: "+diag.Code(schema.Quoted(l.Prefix+"%04d"+l.Suffix)), "the label %q has no fixed width: a key without a delimiter could not be taken apart", t.Bucket.Label)
	}
}

// kinds lists the kinds of the segments.
func (t *Table) kinds() []SegmentKind {
	out := make([]SegmentKind, len(t.Segments))
	for i, g := range t.Segments {
		out[i] = g.Kind
	}
	return out
}

// timeIndex returns where the time or the bucket stands in the key.
func (t *Table) timeIndex() int {
	return slices.IndexFunc(t.Segments, func(g Segment) bool { return g.Kind == TimeSegment || g.Kind == BucketSegment })
}

// BeforeTime and AfterTime return the segments on the two sides of the time or
// the bucket.
func (t *Table) BeforeTime() []Segment { return t.Segments[:max(0, t.timeIndex())] }

// AfterTime returns the segments after the time or the bucket.
func (t *Table) AfterTime() []Segment { return t.Segments[t.timeIndex()+1:] }

// saltSplits returns where a new table is split whose keys begin with a salt: in
// front of each salt but the first, or of as many as Bigtable takes, evenly.
func saltSplits(t *Table) []string {
	if len(t.Segments) == 0 || t.Segments[0].Kind != SaltSegment {
		return nil
	}
	buckets := t.Segments[0].Buckets
	parts := min(buckets, codec.MaxSplits+1)
	var out []string
	for i := 1; i < parts; i++ {
		w := t.KeyWriter()
		w.SaltNumber(buckets, i*buckets/parts)
		if prefix, err := w.Prefix(); err == nil {
			out = append(out, string(prefix))
		}
	}
	return out
}

// Sorted reports whether the keys of the table sort as the values of a segment
// with a series value do.
func (t *Table) Sorted(l *Layout, g Segment) bool {
	return g.Form.Sorts(segmentTypes[l.Series[g.Series].Type], t.Delimiter)
}

// Width returns the bytes that a segment other than the time takes, whatever its
// value; 0 if that varies.
func (t *Table) Width(l *Layout, g Segment) int {
	switch g.Kind {
	case SeriesSegment:
		return g.Form.Fixed(segmentTypes[l.Series[g.Series].Type])
	case ConstSegment:
		return len(g.Const)
	case SaltSegment:
		return codec.SaltWidth(g.Buckets, t.Delimiter)
	case SequenceSegment:
		return codec.SequenceForm(t.Delimiter).Fixed(codec.Uint32Segment)
	}
	return 0
}

// HasSequence reports whether the table has the tie-breaker of an event: in its keys or
// in the names of its columns.
func (t *Table) HasSequence() bool {
	return t.Sequence || slices.Contains(t.kinds(), SequenceSegment)
}

// Ties returns how many bytes a key has from the tie-breaker on, where the time stands
// reversed and a tie-breaker after it; else 0.
func (t *Table) Ties(l *Layout) int {
	first := slices.Index(t.kinds(), SequenceSegment)
	if first < 0 || !t.TimeKey.Reverse {
		return 0
	}
	n := 0
	for _, g := range t.Segments[first:] {
		n += t.Width(l, g)
	}
	return n + len(t.Delimiter)*(len(t.Segments)-first-1)
}

// SegmentName is what a segment is called in pictures.
func (t *Table) SegmentName(l *Layout, g Segment) string {
	switch g.Kind {
	case SeriesSegment:
		return l.Series[g.Series].Name
	case MetricSegment:
		return "metric"
	case ConstSegment:
		return g.Const
	case SaltSegment:
		return "salt"
	case SequenceSegment:
		return "sequence"
	case BucketSegment:
		return "bucket"
	default:
		return "time"
	}
}

// KeyWriter returns a writer of the table's keys, or of their beginnings and ends.
func (t *Table) KeyWriter() codec.KeyWriter {
	w := codec.NewKeyWriter(nil, t.Delimiter)
	if t.KeyFields != nil {
		w.Structured()
	}
	return w
}

// FormOf returns how a series value is written in the key.
func (t *Table) FormOf(series int) codec.KeyForm {
	for _, g := range t.Segments {
		if g.Kind == SeriesSegment && g.Series == series {
			return g.Form
		}
	}
	return codec.KeyForm{}
}
