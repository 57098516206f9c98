// Package lock reads and writes btgen.lock, which records for each table the facts that
// determine how events are stored. It derives them from layouts. Package evolve decides
// which changes of facts are harmful.
package lock

import (
	"cmp"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Name is the name of the file.
const Name = "btgen.lock"

// Lock is the content of a btgen.lock.
type Lock struct {
	Tables []Table  // what all epochs say together, sorted by Name and Family
	Epochs []*Epoch // each after those that it follows; none if a file has none, or was not written yet
}

// Table describes how the events of one schema are stored in one table. A table that
// several schemas share occurs several times, with different families.
type Table struct {
	Name string // the table ID, without a prefix
	// Family is the first family that the table had when it was locked. It distinguishes
	// the schemas of a shared table, and never changes.
	Family string
	// Schema is the package and the name of the schema whose events the table has, as in
	// "weather.Balloon". Tables of equal layouts belong to different schemas.
	Schema string
	// Removed is the accepted change that removed the table from the schemas, with its
	// reason; empty if they have the table.
	Removed string
	// Accepted are the accepted changes of what the table stands for, apart from its layouts,
	// which have their own, sorted. A change that was accepted twice is there twice.
	Accepted []Acceptance
	// Lacks reports whether programs may have written events of its schema that the table does not have, before it was
	// locked here.
	Lacks bool
	// Serves are the reads that the table serves, sorted: names of queries, ReadName and LatestName.
	Serves  []string
	Layouts []Layout // newest first; never empty
}

// Key returns the name of a table in the file, "table/family", which is unique.
func (t Table) Key() string { return t.Name + "/" + t.Family }

// ReadName is the name, in Table.Serves, of the reads of single series: Read, Latest, and all
// others that are no queries.
const ReadName = "Read"

// LatestName is the name, in Table.Serves, of the reads of the newest events that a table of
// codec.Latest serves: Latest, LatestMany, and reads with LatestOnly.
const LatestName = "Latest"

// SchemaOf returns the name of a schema in a lock.
func SchemaOf(l *layout.Layout) string { return l.Package + "." + l.Name }

// Layout is one set of facts under which events are, or were, written to a table.
type Layout struct {
	Number     int       // counted from 1, the oldest
	Since      time.Time // of the first event; zero if there is no bound
	Table      string    // the ID of the table of an earlier layout; empty in the newest
	Pattern    codec.Pattern
	Precision  time.Duration // to which event times are truncated
	Delimiter  string
	Segments   []Segment        // of the row key
	Bucket     codec.Bucket     // patterns with a row per bucket
	TimeKey    codec.TimeFormat // patterns with a row per event
	Sequence   bool             // a tie-breaker follows the time in the qualifier
	Blob       layout.Format    // of serialized events; empty if fields are stored one by one
	BlobColumn string
	Families   []Family     // of events, sorted by name
	Rollups    []Rollup     // sorted by family: that of the layout, and those that it had
	Summaries  []Summary    // sorted by name: the fields in runs of the rollups
	Columns    []Column     // sorted by Key, including those no longer in use
	Accepted   []Acceptance // the changes from the next older layout, sorted by Change
}

// Segment is one segment of a row key.
type Segment struct {
	Kind    codec.SegmentKind
	Name    string        // SeriesSegment: the series value
	Type    schema.Type   // SeriesSegment
	Form    codec.KeyForm // SeriesSegment
	Enum    []EnumValue   // SeriesSegment of an enum
	Const   string        // ConstSegment
	Tells   bool          // ConstSegment: rows with other text are those of other schemas
	Joined  bool          // the next segment follows directly
	Salted  []string      // SaltSegment: the series values that it is computed from
	Buckets int           // SaltSegment
}

// Family is a column family.
type Family struct {
	Name      string
	GC        codec.GCRule
	Timestamp codec.TimestampSource // the meaning of its cell timestamps
	Default   time.Duration         // TimestampShifted: the lifetime of events that do not specify one
	Class     bool                  // whether it belongs to a TTL class
}

// Rollup is a family with windows of the events of a layout.
type Rollup struct {
	Family  string
	Every   time.Duration // width of windows
	GC      codec.GCRule
	Idle    bool // writers maintain it, and readers do not use it
	Retired bool // the layout no longer has it, but its family may have cells that say nothing about later events
}

// Summary is a field of events of which a rollup has statistics.
type Summary struct {
	Name     string // that of the field in runs
	Type     schema.Type
	Sketches schema.Sketches // that runs have
	Retired  bool            // later runs do not have it
}

// Rollup returns the rollup of the layout; nil if it has none.
func (l *Layout) Rollup() *Rollup {
	for i := range l.Rollups {
		if !l.Rollups[i].Retired {
			return &l.Rollups[i]
		}
	}
	return nil
}

// Column is how one field of the event is stored.
type Column struct {
	// Key identifies the field in stored events: the column's qualifier or metric, the
	// name in JSON, or the protobuf number in decimal.
	Key string
	// Field is the name of the field; empty if it is Key, except in protobuf and in offsets.
	Field    string
	Family   string // of fields that are stored individually, without TTL classes
	Type     schema.Type
	Written  bool         // the column stores the true write time; it has no Type
	Values   codec.Values // how the value is encoded
	Optional bool
	Default  *string     // as text; nil if there is none
	Enum     []EnumValue // sorted by Number and Name, including those no longer in use
	// Was is, for a column that only older events have, the Key of the column in which newer
	// events have the field; otherwise empty. A removed field keeps it, for its return.
	Was     string
	Retired bool // events are no longer written with the field, and it is no longer read
}

// EnumValue is one value of an enum.
type EnumValue struct {
	Number  int64
	Name    string
	Retired bool // it is no longer in the schema
}

// Acceptance is a change that the user has accepted.
type Acceptance struct {
	Change string // its name, such as "E04:balloon_buckets"
	Reason string
}

// Of returns the facts of a table that is new, including those of its earlier layouts. One that
// must not serve reads yet may lack events.
func Of(l *layout.Layout, t *layout.Table) Table {
	periods := t.Periods()
	out := Table{Name: t.ID, Schema: SchemaOf(l), Serves: served(l, t), Lacks: t.WriteOnly}
	for i, p := range periods {
		facts := factsOf(l, p)
		facts.Number = len(periods) - i
		out.Layouts = append(out.Layouts, facts)
	}
	out.Family = out.Layouts[0].Families[0].Name + t.Kinds()
	return out
}

// served returns the names of the reads that a table serves.
func served(l *layout.Layout, t *layout.Table) []string {
	var out []string
	if l.Read == t {
		out = append(out, ReadName)
	}
	if l.State == t && !t.WriteOnly {
		out = append(out, LatestName)
	}
	for i := range l.Queries {
		if l.Queries[i].Table == t {
			out = append(out, l.Queries[i].Name)
		}
	}
	slices.Sort(out)
	return out
}

// factsOf returns the facts of a layout of a table.
func factsOf(l *layout.Layout, t *layout.Table) Layout {
	facts := Layout{
		Since: t.Since, Table: tableOf(t), Pattern: t.Pattern, Precision: l.Precision, Delimiter: t.Delimiter, Segments: segmentsOf(l, t),
		Bucket: t.Bucket, TimeKey: t.Time, Sequence: t.Sequence, Blob: t.Blob,
	}
	if t.Pattern.Bucketed() {
		facts.TimeKey = codec.TimeFormat{}
	}
	for _, f := range t.Families {
		facts.Families = append(facts.Families, Family{f.Name, f.GC.Normalize(), f.Life.Timestamp, f.Life.Default, f.Class > 0})
	}
	if r := t.Rollup; r != nil {
		facts.Rollups = []Rollup{{Family: r.Family, Every: r.Every, GC: r.GC.Normalize(), Idle: r.Idle}}
		names, fields := l.FieldsOfRollup(t)
		for i, name := range names {
			f := fields[i]
			facts.Summaries = append(facts.Summaries, Summary{Name: name, Type: f.Type, Sketches: f.Sketches})
		}
	}
	for _, c := range t.Columns {
		if c.Field == layout.WholeEvent {
			facts.Columns = append(facts.Columns, serialized(l, t)...)
			if t.Pattern.Naming() != codec.NamedByTime {
				facts.BlobColumn = c.Qualifier
			}
			continue
		}
		facts.Columns = append(facts.Columns, columnOf(l, t, c))
		for _, older := range c.Older {
			facts.Columns = append(facts.Columns, olderOf(l, t, c, older))
		}
	}
	facts.Sort()
	return facts
}

// tableOf returns the table of an earlier layout.
func tableOf(t *layout.Table) string {
	if t.Until.IsZero() {
		return ""
	}
	return t.ID
}

// Periods returns the layouts by time that are in use, newest first. It omits layouts that
// an accepted change replaced.
func (t *Table) Periods() []Layout {
	n := 1
	for n < len(t.Layouts) && !t.Layouts[n-1].Since.IsZero() {
		n++
	}
	return t.Layouts[:n]
}

// Begun returns the layouts by time that began until a time, as "TABLE at TIME", and that follow
// earlier ones.
func (l *Lock) Begun(now time.Time) []string {
	var out []string
	for i := range l.Tables {
		t := &l.Tables[i]
		for k, p := range t.Periods() {
			if t.Removed == "" && k < len(t.Periods())-1 && !p.Since.IsZero() && !p.Since.After(now) {
				out = append(out, t.Name+" at "+schema.FormatInstant(p.Since))
				break // the earlier ones began before
			}
		}
	}
	return out
}

// compareColumns sorts columns. Protobuf numbers sort as numbers.
func compareColumns(a, b Column) int {
	return cmp.Or(cmp.Compare(len(number(a.Key)), len(number(b.Key))), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Family, b.Family))
}

// number returns a decimal number, or "" for other keys.
func number(key string) string {
	for _, r := range key {
		if r < '0' || r > '9' {
			return ""
		}
	}
	return key
}

// segmentsOf returns the segments of the row keys of a table.
func segmentsOf(l *layout.Layout, t *layout.Table) []Segment {
	var out []Segment
	for _, g := range t.Segments {
		s := Segment{Kind: g.Kind, Const: g.Const, Tells: g.Tells, Joined: g.Joined, Buckets: g.Buckets}
		if g.Kind == codec.SeriesSegment {
			f := &l.Series[g.Series]
			s.Name, s.Type, s.Form, s.Enum = f.Name, f.Type, g.Form, enumOf(f.Enum)
		}
		for _, i := range g.Salted {
			s.Salted = append(s.Salted, l.Series[i].Name)
		}
		out = append(out, s)
	}
	return out
}

// Plain returns the segments with equivalent encodings replaced by one of them.
func Plain(segments []Segment) []Segment {
	out := slices.Clone(segments)
	for i := range out {
		f := &out[i].Form
		switch t := out[i].Type; {
		case f.Encoding == codec.KeyDecimal && t != schema.Enum:
			f.Encoding = codec.KeyText
		case f.Encoding == codec.KeyHex && t == schema.Bytes:
			f.Encoding = codec.KeyText
		case f.Encoding == codec.KeyRaw && t != schema.Bytes:
			f.Encoding = codec.KeyBinary
		}
	}
	return out
}

// enumOf returns the values of an enum.
func enumOf(e codec.Enum) []EnumValue {
	var out []EnumValue
	for _, v := range e {
		out = append(out, EnumValue{Number: v.Number, Name: v.Name})
	}
	return out
}

// fieldOf returns the facts of a field that do not depend on the table.
func fieldOf(f *layout.Field) Column {
	c := Column{Type: f.Type, Optional: f.Optional, Enum: enumOf(f.Enum)}
	if f.Default != nil {
		text := showDefault(f)
		c.Default = &text
	}
	return c
}

// serialized returns the fields of events that are stored as one value.
func serialized(l *layout.Layout, t *layout.Table) []Column {
	var out []Column
	for i := range l.Fields {
		f := &l.Fields[i]
		c := serializedField(f, t.Blob)
		out = append(out, c)
		for _, older := range f.Older(t.Blob) {
			was := serializedField(&older, t.Blob)
			was.Field, was.Default, was.Was = f.Name, c.Default, c.Key
			out = append(out, was)
		}
	}
	return out
}

// serializedField returns one field of events that are stored as one value.
func serializedField(f *layout.Field, blob layout.Format) Column {
	c := fieldOf(f)
	c.Key, c.Field = f.Name, f.Name
	if blob == layout.Protobuf {
		c.Key = itoa(f.Number)
	}
	return c
}

// olderOf returns the facts of a column in which older events have the field of another one.
func olderOf(l *layout.Layout, t *layout.Table, c, older layout.Column) Column {
	out := columnOf(l, t, older)
	out.Type, out.Enum, out.Was = older.Was.Type, enumOf(older.Was.Enum), c.Qualifier
	if out.Key != "" {
		out.Field = "" // that of the column Was
	}
	return out
}

// columnOf returns the facts of a column that holds one field.
func columnOf(l *layout.Layout, t *layout.Table, c layout.Column) Column {
	out := Column{Written: true}
	if c.Field != layout.WrittenAt {
		out = fieldOf(&l.Fields[c.Field])
	}
	out.Key, out.Values = c.Qualifier, c.Values
	if t.Pattern.Naming() == codec.NamedByTime {
		out.Key = ""
	}
	if !out.Written && l.Fields[c.Field].Name != out.Key {
		out.Field = l.Fields[c.Field].Name
	}
	if !t.HasClasses() {
		out.Family = t.Families[c.Family].Name
	}
	return out
}

// Newest returns the layout in which new events are written.
func (t *Table) Newest() *Layout { return &t.Layouts[0] }

// Live returns the columns that new events have.
func (l *Layout) Live() []Column {
	return slices.DeleteFunc(slices.Clone(l.Columns), func(c Column) bool { return c.Retired || c.Was != "" })
}

// Older returns the columns that only older events have, and that are read.
func (l *Layout) Older() []Column {
	var out []Column // usually none
	for _, c := range l.Columns {
		if c.Was != "" && !c.Retired {
			out = append(out, c)
		}
	}
	return out
}

// Sort sorts what has an order.
func (l *Layout) Sort() {
	SortAccepted(l.Accepted)
	slices.SortFunc(l.Families, func(a, b Family) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(l.Rollups, func(a, b Rollup) int { return cmp.Compare(a.Family, b.Family) })
	slices.SortFunc(l.Summaries, func(a, b Summary) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(l.Columns, compareColumns)
	byNumber := func(a, b EnumValue) int { return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Name, b.Name)) }
	for i := range l.Columns {
		slices.SortFunc(l.Columns[i].Enum, byNumber)
	}
	for i := range l.Segments {
		slices.SortFunc(l.Segments[i].Enum, byNumber)
	}
}

// Sort sorts the tables.
func (l *Lock) Sort() {
	slices.SortFunc(l.Tables, func(a, b Table) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Family, b.Family))
	})
}
