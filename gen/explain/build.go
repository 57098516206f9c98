package explain

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/internal/parallel"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// The numbers of example events in a bucket and in the next one.
const (
	examples     = 3
	moreExamples = 1
)

// New explains schemas. There is one layout per schema, without errors.
func New(schemas []*schema.Schema, layouts []*layout.Layout) Document {
	doc := Document{Version: Version, Schemas: []Schema{}}
	for i, l := range layouts {
		doc.Schemas = append(doc.Schemas, schemaOf(schemas[i], l))
	}
	return doc
}

// Price sets the monthly costs of the schemas, for the storage types with known prices. They are
// those of compressed bytes if [Document.Compress] was called before.
func (d *Document) Price(prices capacity.Prices) {
	for i := range d.Schemas {
		d.Schemas[i].Capacity.Price(prices)
		for j := range d.Schemas[i].Tables {
			for _, c := range d.Schemas[i].Tables[j].Choices {
				if c.Year != nil {
					c.Year.price(prices, d.Schemas[i].Capacity.Clusters)
				}
			}
		}
	}
}

// mostSimulated is how many tables are simulated, so that an explanation of very many takes
// seconds.
const mostSimulated = 100

// Simulate simulates the load of each of the first 100 tables, for [Table].Heat. layouts are
// those of [New].
func (d *Document) Simulate(layouts []*layout.Layout) {
	var all []simulation
	tables := 0
	for i, l := range layouts {
		for j, t := range l.Tables {
			if tables++; tables > mostSimulated {
				d.Schemas[i].Tables[j].NotSimulated = true
				continue
			}
			some := simulationsOf(l, t)
			heat := make([]Heat, len(some))
			d.Schemas[i].Tables[j].Heat = heat
			for k := range some {
				some[k].out = &heat[k]
			}
			all = append(all, some...)
		}
	}
	parallel.For(len(all), func(i int) { all[i].run() })
}

// schemaOf explains a schema.
func schemaOf(s *schema.Schema, l *layout.Layout) Schema {
	out := Schema{
		Name: l.Name, File: oneLine(l.File), Package: l.Package, Doc: oneLine(l.Doc),
		Precision: schema.FormatDuration(l.Precision), Load: loadOf(l), Reads: reads(l), Capacity: capacity.Of(l),
		settings: settingsOf(s, l),
	}
	for i, t := range l.Tables {
		out.Tables = append(out.Tables, tableOf(s, i, l, t))
	}
	return out
}

// loadOf explains the load.
func loadOf(l *layout.Layout) Load {
	load := l.Load()
	out := Load{Series: load.Series, EventsPerSecond: load.Rate, ValueBytes: load.ValueBytes, ValueWidths: load.Widths, Skew: load.Skew, Arrival: load.Arrival}
	for _, a := range []struct {
		name    string
		assumed bool
	}{{"series", load.AssumedSeries}, {"rate", load.AssumedRate}, {"value_bytes", load.AssumedValueBytes && l.HasUndeclared()}} {
		if a.assumed {
			out.Assumed = append(out.Assumed, a.name)
		}
	}
	return out
}

// tableOf explains the table of a schema with an index.
func tableOf(s *schema.Schema, index int, l *layout.Layout, t *layout.Table) Table {
	events := sample.Events(l, t, examples, moreExamples)
	size := estimate.Of(l, t)
	out := Table{
		Rollup: rollupOf(t, &size), ID: t.ID, Doc: oneLine(t.Doc), Pattern: t.Pattern.String(), Holds: prose.Holds(l, t), WriteOnly: t.WriteOnly, Tier: tierOf(t), Bundle: bundleOf(l, t), Key: keyOf(l, t),
		Events: []Event{}, Rows: []Row{},
		Size: sizeOf(size), Choices: choices(s, index, l, t), Guidance: guidanceOf(t),
		Periods: periodsOf(l, t),
	}
	for i := range t.Families {
		out.Families = append(out.Families, familyOf(l, &t.Families[i]))
	}
	if sums := t.SumFamily(); sums != nil {
		out.Families = append(out.Families, familyOf(l, sums))
	}
	if t.RollupFamily != nil {
		out.Families = append(out.Families, rollupFamily(t.RollupFamily))
	}
	for _, c := range t.AllColumns() {
		out.Columns = append(out.Columns, columnOf(l, t, c))
	}
	for i := range events {
		out.Events = append(out.Events, eventOf(l, &events[i]))
	}
	for _, row := range sample.Rows(l, t, events) {
		out.Rows = append(out.Rows, rowOf(l, t, row, events))
	}
	if t.Rollup != nil && len(events) > 0 {
		addRollup(l, t, out.Rows, events)
	}
	out.layout, out.settings = laterLayout(s, index, l, t), tableSettings(&s.Tables[index], l, t)
	out.weigh()
	for _, a := range t.Allow {
		out.Excused = append(out.Excused, Excuse{Rule: a.Rule, Title: titleOf(a.Rule), Reason: oneLine(a.Reason)})
	}
	return out
}

// titleOf returns the title of a rule; empty if there is no such rule.
func titleOf(id string) string {
	rules := lint.Rules()
	i := slices.IndexFunc(rules, func(r lint.Rule) bool { return r.ID == id })
	if i < 0 {
		return ""
	}
	return rules[i].Title
}

// keyOf explains the row key.
func keyOf(l *layout.Layout, t *layout.Table) Key {
	out := Key{Form: sample.ShowKey(t.Key.String()), Delimiter: t.Delimiter, Example: bytesOf(sample.Key(l, t))}
	parts := sample.KeyParts(l, t)
	for i, g := range t.Segments {
		segment := Segment{Name: oneLine(g.Title()), Kind: kinds[g.Kind], Means: prose.Means(l, t, g), Joined: g.Joined}
		if g.Kind == codec.SeriesSegment {
			segment.Doc = oneLine(l.Series[g.Series].Doc)
		}
		if parts != nil {
			segment.Example = bytesOf(parts[i].Bytes)
		}
		out.Segments = append(out.Segments, segment)
	}
	for _, split := range t.Splits {
		out.Splits = append(out.Splits, bytesOf(split))
	}
	for _, f := range t.KeyFields {
		out.SQL = append(out.SQL, f.String())
	}
	return out
}

// kinds are the names of the kinds of segments.
var kinds = map[codec.SegmentKind]string{
	codec.SeriesSegment: "series", codec.MetricSegment: "metric", codec.ConstSegment: "const", codec.BucketSegment: "bucket",
	codec.TimeSegment: "time", codec.SaltSegment: "salt", codec.SequenceSegment: "sequence",
}

// familyOf explains a family.
func familyOf(l *layout.Layout, f *layout.Family) Family {
	out := Family{Name: f.Name, TTL: string(f.Strategy), Timestamp: prose.Timestamp(f), GC: f.GC.String(), Collected: prose.Collected(f), Read: prose.ReadFilter(f)}
	if f.Class > 0 {
		out.Class = l.Classes[f.Class-1]
	}
	return out
}

// olderFields describes what older serialized events have in place of fields.
func olderFields(l *layout.Layout, format layout.Format) string {
	var parts []string
	for i := range l.Fields {
		f := &l.Fields[i]
		for _, older := range f.Older(format) {
			name := strconv.Quote(older.Name)
			if format == layout.Protobuf {
				name = fmt.Sprintf("number %d", older.Number)
			}
			parts = append(parts, fmt.Sprintf("%s as %s (%s)", f.Name, name, older.Type))
		}
	}
	if parts == nil {
		return ""
	}
	return "; older events have " + strings.Join(parts, ", ")
}

// columnOf explains a column.
func columnOf(l *layout.Layout, t *layout.Table, c layout.Column) Column {
	out := Column{Family: t.Families[c.Family].Name, Name: sample.ShowKey(c.Qualifier)}
	if len(l.Classes) > 0 && t.Families[0].Class > 0 {
		out.Family = "" // in the family of each class
	}
	as := c.Values.String()
	switch {
	case c.Field == layout.WrittenAt:
		out.Means = "the write time, as " + as
	case c.Field == layout.WholeEvent:
		out.Means = "all fields, as " + string(t.Blob) + olderFields(l, t.Blob)
	case c.Was != nil:
		out.Means = fmt.Sprintf("%s of older events: %s, as %s", l.Fields[c.Field].Name, c.Was.Type, as)
	default:
		f := &l.Fields[c.Field]
		out.Means = describeField(f) + ", as " + as
	}
	switch {
	case t.Pattern.Naming() == codec.NamedByTime && c.Field != layout.WrittenAt:
		out.Name, out.Means = "", "a column per event, named after its time in the bucket: "+out.Means
	case t.Pattern.Naming() == codec.NamedByValue:
		out.Means = "a column per value: " + out.Means
	}
	return out
}

// describeField describes the type of a field.
func describeField(f *layout.Field) string {
	text := f.Type.String()
	if f.Unit != "" {
		text += " in " + oneLine(f.Unit)
	}
	if f.Optional {
		text += ", optional"
	}
	return text
}

// eventOf shows an example event.
func eventOf(l *layout.Layout, e *sample.Event) Event {
	out := Event{Time: showTime(e.Time), WrittenAt: showTime(e.WrittenAt)}
	if l.Sequence {
		out.Sequence = &e.Sequence
	}
	if e.Class > 0 {
		out.Class = l.Classes[e.Class-1]
	}
	if e.TTL > 0 {
		out.TTL = schema.FormatDuration(e.TTL)
	}
	if !e.ExpiresAt.IsZero() {
		out.ExpiresAt = showTime(e.ExpiresAt)
	}
	for i, v := range e.Values {
		f := &l.Fields[i]
		out.Values = append(out.Values, Value{Field: f.Name, Unit: oneLine(f.Unit), Text: sample.ShowValue(f, v), None: v == nil})
	}
	return out
}

// rowOf shows a row.
func rowOf(l *layout.Layout, t *layout.Table, row sample.Row, events []sample.Event) Row {
	out := Row{Key: bytesOf(row.Key), Parts: []Bytes{}, Cells: []Stored{}}
	for _, p := range row.Parts {
		out.Parts = append(out.Parts, bytesOf(p.Bytes))
	}
	for _, c := range row.Cells {
		qualifier, value := bytesOf(c.Qualifier), bytesOf(string(c.Value))
		if naming := t.Pattern.Naming(); naming == codec.NamedByTime || naming == codec.NamedByValue && !sample.Readable(l, t, c.Column) {
			qualifier = binaryOf(c.Qualifier)
		}
		if !sample.Readable(l, t, c.Column) {
			value = binaryOf(string(c.Value))
		}
		out.Cells = append(out.Cells, Stored{
			Family: t.Families[c.Family].Name, Qualifier: qualifier, Timestamp: showTime(codec.FromMicros(c.Micros)), Micros: c.Micros,
			Value: value, Means: meaning(l, t, c, &events[c.Event]), Event: c.Event,
		})
	}
	return out
}

// meaning says what a cell contains.
func meaning(l *layout.Layout, t *layout.Table, c sample.Cell, e *sample.Event) string {
	column := t.Columns[c.Column]
	text := ""
	switch column.Field {
	case layout.WrittenAt:
		return "written at " + showTime(e.WrittenAt)
	case layout.WholeEvent:
		text = sample.ShowEvent(l, e)
	default:
		f := &l.Fields[column.Field]
		text = f.Name + " " + sample.ShowValue(f, e.Values[column.Field])
	}
	if t.Pattern.Naming() != codec.NamedByTime {
		return text
	}
	at := schema.FormatDuration(e.Time.Sub(t.Bucket.Start(e.Time))) + " into the bucket"
	if t.Sequence {
		at += fmt.Sprintf(", sequence %d", e.Sequence)
	}
	return at + ": " + text
}

// sizeOf shows an estimate.
func sizeOf(e estimate.Estimate) Size {
	out := Size{
		KeyBytes: e.KeyBytes, RowsPerEvent: e.RowsPerEvent, CellsPerEvent: e.CellsPerEvent,
		EventsPerRow: e.EventsPerRow, LivePerRow: e.LivePerRow,
		CellsPerRow: e.CellsPerRow, Cell: e.Cell, Event: Range(e.Event), Row: Range(e.Row), Day: Range(e.BytesADay),
	}
	if begin := e.Horizon + estimate.CollectionLag; e.Horizon > 0 && !e.Steady() {
		out.Yearly = new(Range(e.StoredAfter(begin + oneYear).Minus(e.StoredAfter(begin))))
	}
	if e.Steady() {
		out.Retention = schema.FormatDuration(e.Retention)
		if e.Horizon != e.Retention {
			out.Retention = words.Count(e.LivePerRow, "event", "events") + " a series"
		}
		table := Range(e.Table)
		out.Table = &table
	}
	return out
}

// bytesOf shows bytes as text.
func bytesOf(s string) Bytes {
	if s == "" {
		return Bytes{}
	}
	return Bytes{Show: sample.ShowKey(s), Hex: hex.EncodeToString([]byte(s))}
}

// binaryOf shows bytes in hex, even if they look like text.
func binaryOf(s string) Bytes {
	if s == "" {
		return Bytes{}
	}
	digits := hex.EncodeToString([]byte(s))
	return Bytes{Show: "0x" + digits, Hex: digits}
}

// showTime writes a time with as few digits as possible.
func showTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
