package layout

import (
	"cmp"
	_ "embed"
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

// Resolve returns the layout of a schema, and its errors. The layout is complete if
// there are none. Package lint decides whether it is advisable.
func Resolve(s *schema.Schema) (*Layout, diag.List) {
	r := resolver{schema: s, layout: &Layout{
		File:      s.File,
		Package:   s.Package.V,
		Name:      s.Name.V,
		NamePos:   s.Name.Pos,
		Doc:       s.Doc,
		Precision: s.Time.Precision.V,
		Expect:    s.Expect,
	}}
	r.layout.Precision = cmp.Or(r.layout.Precision, time.Millisecond)
	r.layout.Series = fields(s.Series)
	r.layout.Fields = fields(s.Fields)
	r.was()
	r.checkSeries()
	for i := range s.Tables {
		r.layout.Tables = append(r.layout.Tables, r.periods(&s.Tables[i]))
	}
	r.checkNumbers()
	r.checkWas()
	r.checkFamilies()
	r.layout.Read = r.readable()
	r.nameRollupFields()
	r.states()
	r.sequences()
	r.queries()
	r.checkPeriods()
	r.deletes()
	return r.layout, r.found
}

// resolver contains the state of Resolve.
type resolver struct {
	schema   *schema.Schema
	layout   *Layout
	found    diag.List
	homeless bool // a field does not name its family
}

// messageText has the sentences of errors.
//
//go:embed messages.txt
var messageText string

var messages = diag.NewCatalog(messageText)

// reject adds an error of the catalog, with the arguments of the sentence and of the way out.
func (r *resolver) reject(pos diag.Pos, name string, args ...any) { r.refuse(pos, "", name, args...) }

// refuse is reject for an error of a rule.
func (r *resolver) refuse(pos diag.Pos, rule, name string, args ...any) {
	says, way := messages.Fill(name, args...)
	r.found = append(r.found, diag.Diagnostic{Pos: pos, Rule: rule, Message: says, Hint: way})
}

// wanted splits an error of the codec into the message and, if it says what it wants, a
// hint.
func wanted(err error) (message, hint string) {
	message = err.Error()
	if i := strings.LastIndex(message, "want "); i > len("; ") { // or ": "
		want := message[i+len("want "):]
		if !strings.Contains(want, " ") {
			want = diag.Code(schema.Quoted(want))
		}
		return message[:i-len("; ")], "write " + want
	}
	return message, ""
}

// fields resolves series values or fields.
func fields(in []schema.Field) []Field {
	out := make([]Field, len(in))
	for i, f := range in {
		out[i] = Field{Pos: f.Name.Pos, Name: f.Name.V, Type: f.Type.V, Options: f.Options, Number: f.Number.V}
		switch f.Type.V {
		case schema.Bool:
			out[i].Cardinality = 2
		case schema.Enum:
			out[i].Cardinality = int64(len(f.Of))
		}
		for _, v := range f.Of {
			out[i].Enum = append(out[i].Enum, codec.EnumName{Number: int64(v.Number.V), Name: v.Name.V})
			out[i].EnumPos = append(out[i].EnumPos, v.Name.Pos)
		}
	}
	return out
}

// checkSeries rejects series values of types that keys do not support, and
// cardinalities that are too small for the declared series.
func (r *resolver) checkSeries() {
	if most := r.layout.mostSeries(); most > 0 && r.layout.Expect.Series > most {
		r.reject(r.layout.Expect.SeriesPos, "too-many-series", r.layout.Expect.Series, most)
	}
	for _, f := range r.schema.Series {
		if f.Type.V.Traits().NoKey {
			r.reject(f.Type.Pos, "not-in-keys", f.Name.V, words.WithArticle(f.Type.V.String()))
		}
	}
}

// table resolves one table.
func (r *resolver) table(s *schema.Table) *Table {
	t := &Table{
		Pos: s.Name.Pos, ID: s.Name.V, Doc: s.Doc,
		Pattern: codec.ParsePattern(s.Pattern.V), PatternPos: s.Pattern.Pos,
		KeyPos: s.Key, Key: codec.Key{Delimiter: s.Delimiter.V},
		Allow:     s.Allow,
		WriteOnly: s.Serves.IsSet() && !s.Serves.V, WriteOnlyPos: s.Serves.Pos,
		Draft: s.Draft.V,
	}
	if s.DeletionProtection.IsSet() {
		t.Protected = &s.DeletionProtection.V
	}
	switch {
	case s.Tier.SSD:
		t.Tier, t.TierPos = codec.SSDOnly, s.Tier.Pos
	case s.Tier.Pos.IsValid():
		t.Tier, t.TierPos = codec.Tier(s.Tier.After.V), s.Tier.After.Pos
	}
	r.bucket(t, s)
	r.key(t, s)
	r.checkJoined(t)
	for _, split := range s.Splits {
		t.Splits = append(t.Splits, split.V)
	}
	if slices.Sort(t.Splits); t.Splits == nil {
		t.Splits = t.Key.Splits()
	}
	r.timing(t, s)
	r.families(t, s)
	r.columns(t, s)
	r.writtenAt(t, s)
	r.older(t)
	r.checkVersions(t)
	r.rollup(t, s)
	if s.RowKeySchema.V {
		r.keyFields(t)
		t.Structured = t.KeyFields != nil
	}
	return t
}

// bucket resolves the width and the label of a bucket.
func (r *resolver) bucket(t *Table, s *schema.Table) {
	t.BucketPos, t.WidthPos = s.Bucket.Pos, s.Bucket.Every.Pos
	if !t.Pattern.Bucketed() {
		if s.Bucket.Pos.IsValid() {
			r.reject(s.Bucket.Pos, "bucket-of-rows", t.Pattern)
		}
		return
	}
	if t.Pattern.NewestOnly() {
		t.BucketPos, t.WidthPos, t.Bucket = s.Pattern.Pos, s.Pattern.Pos, codec.EndlessBucket
		if s.Bucket.Pos.IsValid() {
			r.reject(s.Bucket.Pos, "bucket-of-series", t.Pattern)
		}
		return
	}
	if !s.Bucket.Every.IsSet() {
		r.reject(s.Pattern.Pos, "no-bucket", t.Pattern)
		return
	}
	if s.Bucket.Every.V.Endless() {
		r.endless(t, s)
		return
	}
	t.Bucket = codec.Bucket{Every: s.Bucket.Every.V.Fixed, Months: s.Bucket.Every.V.Months, Origin: s.Bucket.Origin.V}
	label := s.Bucket.Label
	g := find(s.Segments, func(g *schema.Segment) bool { return g.Kind == schema.SegmentBucket })
	if g != nil && g.Format.IsSet() {
		if label.IsSet() {
			r.reject(g.Format.Pos, "two-labels")
		}
		label = g.Format
	}
	if !label.IsSet() {
		label = schema.Value[string]{V: defaultLabel(t.Bucket, t.Delimiter), Pos: s.Bucket.Pos}
	}
	t.BucketPos = label.Pos
	parsed, err := ParseLabel(label.V)
	if err != nil {
		r.badLabel(t, label, err)
		return
	}
	if t.Bucket.Label = parsed; g != nil && g.Reverse.V {
		t.Bucket.Label.Format = r.reversed(parsed.Format, g)
	}
	if parsed.Kind == codec.NumberLabel && !s.Bucket.Origin.IsSet() {
		r.reject(label.Pos, "no-origin", label.V, originProposal(s, label.V))
		return
	}
	r.validateBucket(t, s, label.Pos)
}

// badLabel reports a label that cannot be parsed.
func (r *resolver) badLabel(t *Table, label schema.Value[string], err error) {
	if _, dated := ParseLabel("2006-" + label.V); dated == nil {
		r.refuse(label.Pos, "K14", "no-year", label.V, diag.Code(schema.Quoted("2006-"+label.V)))
		return
	}
	_, hint := wanted(err)
	switch {
	case translated(label.V) != "":
		hint = goLayout(label.V, "")
	case !strings.Contains(label.V, "%"):
		hint = fmt.Sprintf("write %s, another Go time layout that starts with the year, iso_week, or a number such as week%%04d", diag.Code(schema.Quoted(defaultLabel(t.Bucket, t.Delimiter))))
	}
	r.reject(label.Pos, "bad-label", label.V, hint)
}

// endless resolves a bucket that contains all events of a series.
func (r *resolver) endless(t *Table, s *schema.Table) {
	t.Bucket = codec.EndlessBucket
	switch {
	case s.Bucket.Origin.IsSet(), s.Bucket.Label.IsSet():
		r.reject(s.Bucket.Pos, "endless-label")
	case !t.Pattern.Versioned():
		per := "event"
		if t.Pattern.Naming() == codec.NamedByValue {
			per = "value"
		}
		r.refuse(s.Bucket.Pos, "K22", "latest-in-bucket", t.Pattern, per, patternsWith(codec.Pattern.Versioned))
	}
}

// originProposal proposes an origin for numbered buckets. If the key specifies the
// number, it contains only the key of the bucket.
func originProposal(s *schema.Table, label string) string {
	b := s.Bucket
	b.Origin = schema.Value[time.Time]{V: time.Date(2021, 3, 1, 0, 0, 0, 0, time.UTC), Pos: b.Pos}
	if !b.Label.IsSet() {
		return "origin: 2021-03-01, next to the width of the bucket"
	}
	return diag.Code("bucket: " + b.String())
}

// validateBucket rejects buckets whose labels are not distinct. pos is the position of
// the label.
func (r *resolver) validateBucket(t *Table, s *schema.Table, pos diag.Pos) {
	err := CheckBucket(t.Bucket)
	if err == nil {
		return
	}
	uncounted := t.Bucket
	uncounted.Origin = time.Time{}
	if s.Bucket.Origin.IsSet() && CheckBucket(uncounted) == nil {
		pos = s.Bucket.Origin.Pos // valid without it
	}
	message, hint := wanted(err)
	if t.Bucket.Label.Kind == codec.ISOWeekLabel {
		hint = cmp.Or(hint, "write `bucket: {every: 1w, label: iso_week}`, or remove label")
	}
	r.reject(pos, "bad-bucket", message, hint)
}

// defaultLabel is the start of the bucket in ISO form, as short as the width and the
// origin allow.
func defaultLabel(b codec.Bucket, delimiter string) string {
	label := ""
	for _, label = range []string{"2006", "2006-01", "2006-01-02", "2006-01-02T15", "2006-01-02T1504", "2006-01-02T150405"} {
		b.Label = codec.Label{Format: codec.TimeFormat{Layout: label}}
		if CheckBucket(b) == nil {
			break
		}
	}
	if strings.Contains(delimiter, "-") {
		return strings.ReplaceAll(label, "-", "")
	}
	return label
}

// columns resolves the columns of the fields.
func (r *resolver) columns(t *Table, s *schema.Table) {
	if Serializes(t.Pattern, s, len(r.schema.Fields)) {
		r.blob(t, s)
		return
	}
	if s.Blob.Pos.IsValid() {
		r.reject(s.Blob.Pos, "no-blob", t.Pattern, patternsWith(codec.Pattern.Serialized))
	}
	seen := map[string]string{}
	for i, f := range r.schema.Fields {
		c := Column{Pos: f.Name.Pos, Qualifier: f.Name.V, Field: i, Family: r.familyOf(t, s, &f), Values: valuesOf(s.Values, r.layout.Fields[i].Type)}
		if f.Column.IsSet() {
			c.Pos, c.Qualifier = f.Column.Pos, f.Column.V
		}
		if f.Values.IsSet() {
			c.Values = valuesOf(f.Values, r.layout.Fields[i].Type)
		}
		if other, twice := seen[c.Qualifier]; twice {
			r.reject(c.Pos, "same-columns", other, f.Name.V, c.Qualifier)
		}
		seen[c.Qualifier] = f.Name.V
		t.Columns = append(t.Columns, c)
	}
}

// Serializes reports whether a table with pattern p stores an event with the given number of
// fields as one value: always, never, or as the schema says.
func Serializes(p codec.Pattern, s *schema.Table, fields int) bool {
	if p.Serialized() || !p.OneValue() {
		return p.Serialized()
	}
	return s.Blob.Pos.IsValid() || fields > 1
}

// valuesOf returns the encoding of the values of a type: the plainest with the same bytes.
func valuesOf(v schema.Value[string], t schema.Type) codec.Values {
	as := named(v.V, codec.LittleEndianValues)
	own := t.Traits()
	if as == codec.BigEndianValues && (own.Sized == 0 || own.Sized == own.Width) || as == codec.LittleEndianValues && own.Sized == 0 {
		return codec.BinaryValues
	}
	return as
}

// blob resolves the column of a serialized event.
func (r *resolver) blob(t *Table, s *schema.Table) {
	if s.Values.IsSet() {
		r.reject(s.Values.Pos, "values-of-blob")
	}
	t.Blob = Protobuf
	if s.Blob.Format.IsSet() {
		t.Blob = Format(s.Blob.Format.V)
	}
	column := Column{Pos: s.Name.Pos, Qualifier: "event", Field: WholeEvent}
	if s.Blob.Column.IsSet() {
		column.Pos, column.Qualifier = s.Blob.Column.Pos, s.Blob.Column.V
		if t.Pattern.Naming() == codec.NamedByTime {
			r.reject(s.Blob.Column.Pos, "column-of-times", t.Pattern)
		}
	}
	t.Columns = []Column{column}
}

// checkNumbers rejects fields without a number if events are stored as protobuf.
func (r *resolver) checkNumbers() {
	var without, tables []string
	var pos diag.Pos
	lines, next := []string{"use blob: {format: json}, or number the fields, and never change or reuse a number:", "fields:"}, 1
	for _, f := range r.schema.Fields {
		next = max(next, f.Number.V+1)
	}
	for _, f := range r.schema.Fields {
		if f.Number.IsSet() {
			continue
		}
		if without == nil {
			pos = f.Name.Pos
		}
		without = append(without, strconv.Quote(f.Name.V))
		f.Number = schema.Value[int]{V: next, Pos: f.Name.Pos}
		lines = append(lines, "  "+f.Name.V+": "+f.String())
		next++
	}
	for _, t := range r.layout.AllPeriods() {
		if t.Blob == Protobuf {
			tables = append(tables, strconv.Quote(t.ID))
		}
	}
	if without != nil && tables != nil {
		fields, stores := FirstOf(without), FirstOf(tables)
		r.reject(pos, "no-numbers", words.Plural(len(without), "field "+fields+" has", "fields "+fields+" have"),
			words.Plural(len(tables), "table "+stores+" stores", "tables "+stores+" store"), strings.Join(lines, "\n"))
	}
}

// FirstOf lists names, and only the first few of many.
func FirstOf(names []string) string {
	const shown = 3
	if n := len(names) - shown; n > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), n)
	}
	return words.List(names, "and")
}

// timing checks that events of a series do not share a cell.
func (r *resolver) timing(t *Table, s *schema.Table) {
	t.MaxCells, t.Slots = 1, 1
	if t.Pattern.NewestOnly() {
		t.Slots = int64(t.Bucket.Widest() / r.layout.Precision)
		t.MaxCells = t.Slots
		return // see states
	}
	if !t.Pattern.Bucketed() || !s.Bucket.Every.IsSet() {
		return
	}
	precision, finest := r.layout.Precision, t.Finest()
	hint := "use `time: {precision: 1ms}`, or pattern " + patternsWith(FreeTimestamps) + ", or a single_… pattern with a time in unix_us"
	unit := "milliseconds"
	if FreeTimestamps(t.Pattern) {
		unit = "microseconds"
		hint = "use `time: {precision: 1us}`, or a single_… pattern with a time in unix_ns"
	}
	if precision%finest != 0 {
		r.reject(r.schema.Time.Precision.Pos, "coarse-timestamps", t.Pattern, unit, hint)
		return
	}
	if t.Bucket.Months == 0 && t.Bucket.Every%precision != 0 {
		b := s.Bucket
		b.Every.V.Fixed = max(precision, b.Every.V.Fixed.Truncate(precision))
		r.reject(s.Bucket.Every.Pos, "uneven-bucket", schema.FormatDuration(t.Bucket.Every), schema.FormatDuration(precision), diag.Code("bucket: "+b.String()))
	}
	t.Slots = int64(t.Bucket.Widest() / precision)
	if t.Pattern.EventTimed() {
		t.MaxCells = t.Slots
	}
}

// limitsVersions reports whether a cell is kept only if it is one of the newest of its column.
func (f *Family) limitsVersions() bool {
	return slices.ContainsFunc(f.Life.Retention, func(term codec.Term) bool { return term.Versions > 0 })
}

// checkVersions rejects a rule that would keep incomplete events.
func (r *resolver) checkVersions(t *Table) {
	if !t.Pattern.Versioned() || !t.Pattern.FieldColumns() || t.Pattern.NewestOnly() {
		return
	}
	for _, c := range t.Columns {
		f := &t.Families[c.Family]
		if c.Field < 0 || !f.limitsVersions() {
			continue
		}
		if len(c.Older) > 0 {
			r.reject(f.GCPos, "versions-of-columns", r.layout.Fields[c.Field].Name)
			return
		}
		if r.layout.Fields[c.Field].Optional {
			r.reject(f.GCPos, "versions-of-optional", r.layout.Fields[c.Field].Name)
			return
		}
	}
}
