// Package explain describes tables and reads for people. [New] builds a document from the layouts. It contains example
// rows and requests as the generated code writes and sends them, and other designs under the same load; [Compare] shows
// two schemas side by side. Facts about tables come from the layout, and package document renders them.
package explain

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/document"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/protofile"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Options say what a document contains beside what schemas say.
type Options struct {
	Prices   capacity.Prices // for monthly costs
	Measured []Compression   // of tables, each at most once
	// Hotspots reports whether the loads of the first 100 tables are simulated, which takes most of the time.
	Hotspots bool
}

// New explains schemas. There is one layout per schema, without errors. The error is a *[CompressionError] if a
// measurement is not of one of the tables, or of other events.
func New(schemas []*schema.Schema, layouts []*layout.Layout, o Options) (*Explanation, error) {
	b := builder{Options: o, doc: &Explanation{Document: document.New()}}
	var err error
	if b.measured, err = match(o.Measured, schemas, layouts); err != nil {
		return nil, err
	}
	if o.Hotspots {
		b.heat = simulate(layouts)
	}
	var names []string
	for i, l := range layouts {
		names = append(names, l.Name)
		b.explain(schemas[i], l)
	}
	b.doc.Title = strings.Join(names, ", ") + " on Bigtable"
	return b.doc, nil
}

// Explanation explains the schemas of a project, each in a section.
type Explanation struct {
	document.Document

	// For [Compare]:
	file  string // of the schema
	facts []fact
}

// fact is a property of a schema or, unless table is empty, of one of its tables.
type fact struct{ name, table, text string }

// builder adds schemas to a document.
type builder struct {
	Options
	doc      *Explanation
	measured measurements
	heat     map[*layout.Table][]Heat // nil if nothing is simulated
}

// fact adds a property for [Compare], of a table unless it is empty.
func (b *builder) fact(name, table, text string) {
	if text == "" {
		text = none
	}
	b.doc.facts = append(b.doc.facts, fact{name, table, text})
}

// facts adds the rows of a table of properties: a name, and what is said about it.
func (b *builder) facts(table string, rows []document.Row) {
	for i := range rows {
		b.fact(rows[i].Cells[0], table, strings.TrimSuffix(strings.Join(rows[i].Cells[1:], ": "), ": "))
	}
}

// explain adds a schema.
func (b *builder) explain(s *schema.Schema, l *layout.Layout) {
	out := &document.Section{ID: document.Anchor(l.Package + "." + l.Name), Name: l.Name, Title: l.Name}
	b.doc.Sections = append(b.doc.Sections, out)
	load := loadWords(l)
	out.Say(oneLine(l.Doc))
	b.doc.file = oneLine(l.File)
	out.Note("From " + b.doc.file + ", for a load of " + load + ".")
	b.fact("load", "", load)
	b.settings(s, l)
	for i, t := range l.Tables {
		b.table(out, s, i, l, t)
	}
	b.reads(out, l)
	b.capacity(out, l)
}

// loadWords describes the load of estimates, and says which parts of it are assumed.
func loadWords(l *layout.Layout) string {
	load := l.Load()
	assumed := func(is bool) string {
		if is {
			return " (assumed)"
		}
		return ""
	}
	text := words.Number(float64(load.Series)) + " series" + assumed(load.AssumedSeries) +
		", " + words.Rate(load.Rate) + " each" + assumed(load.AssumedRate)
	switch load.Arrival {
	case schema.Bursts:
		text += ", in bursts"
	case schema.Daily:
		text += ", in a daily wave"
	}
	if load.Skew > 0 {
		text += ", skew " + words.Number(load.Skew)
	}
	if load.AssumedValueBytes && l.HasUndeclared() {
		text += fmt.Sprintf(", strings of %d bytes (assumed)", load.ValueBytes)
	}
	return text
}

// table adds the table of a schema with an index.
func (b *builder) table(of *document.Section, s *schema.Schema, index int, l *layout.Layout, t *layout.Table) {
	e := estimate.Of(l, t)
	out := of.Entry("table."+t.ID, t.ID, "table "+t.ID+": "+t.Pattern.String())
	out.Say(oneLine(t.Doc))
	out.Say(prose.Holds(l, t))
	if t.WriteOnly {
		out.Say("Events are written to this table but not read from it, because it has serves: false.")
	}
	out.Say(tierWords(t))
	out.Say(bundleWords(l, t))
	out.Say(rollupWords(t, &e))
	b.key(out, l, t)
	periods(out, l, t)
	examples(out, l, t)
	timeToLive(out, l, t)
	all := choices(s, index, l, t)
	b.tableSettings(&s.Tables[index], t)
	b.fact("findings", t.ID, all[0].rules())
	b.size(out, t, &e)
	b.hotspots(out, t)
	patterns(out, all)
	b.year(out, l, t, all)
	cheaper(out, s, index, t, all)
	allowed(out, t)
}

// bundleWords explains the schema bundle of a table; empty if the schema does not specify it.
func bundleWords(l *layout.Layout, t *layout.Table) string {
	switch id := t.Bundle.ID; {
	case id == "":
		return ""
	case t.Bundle.Drop:
		return "Setup deletes schema bundle " + id + ", if it is permitted by name."
	default:
		message := protofile.NameOf(l)
		return fmt.Sprintf("Schema bundle %[1]s has message %[2]s, so that GoogleSQL reads the fields of an event, "+
			"as in CAST(… AS %[1]s.%[2]s).field, and BigQuery reads events as JSON.", id, message)
	}
}

// key explains the row key.
func (b *builder) key(of *document.Section, l *layout.Layout, t *layout.Table) {
	out := of.Section("row key")
	out.Say(sample.KeyNames(t))
	key := keyOf(l, t)
	if key.Example.Hex != "" {
		out.Add(document.Part{Key: key})
	}
	out.Note(splitWords(t.Splits))
	var columns []string
	for _, f := range t.KeyFields {
		columns = append(columns, f.String())
	}
	if columns != nil {
		out.Note("Columns in GoogleSQL: " + strings.Join(columns, ", ") + ".")
	}
	b.fact("example key", t.ID, key.Example.Show+" ("+count(len(key.Example.Hex)/2, "byte")+")")
}

// keyOf returns the drawing of the row key.
func keyOf(l *layout.Layout, t *layout.Table) *document.Key {
	out := &document.Key{Delimiter: t.Delimiter, Example: bytesOf(sample.Key(l, t))}
	parts := sample.KeyParts(l, t)
	for i, g := range t.Segments {
		segment := document.Segment{Name: oneLine(g.Title()), Means: prose.Means(l, t, g), Joined: g.Joined}
		switch g.Kind {
		case codec.SeriesSegment, codec.MetricSegment, codec.ConstSegment:
			segment.Means = segment.Name + ": " + segment.Means
		}
		if g.Kind == codec.SeriesSegment && l.Series[g.Series].Doc != "" {
			segment.Means += " (" + oneLine(l.Series[g.Series].Doc) + ")"
		}
		if parts != nil {
			segment.Example = bytesOf(parts[i].Bytes)
		}
		out.Segments = append(out.Segments, segment)
	}
	return out
}

// longKey is how many columns of a key are shown where it is one of several things in a line.
const longKey = 48

// splitWords says at which keys a new table is split; nothing if it is not.
func splitWords(splits []string) string {
	var keys []string
	for _, s := range splits {
		keys = append(keys, words.Excerpt(sample.ShowKey(s), longKey))
	}
	switch n := len(keys); {
	case n == 0:
		return ""
	case n > 5:
		return fmt.Sprintf("A new table is split at %d keys, from %s to %s.", n, keys[0], keys[n-1])
	}
	return "A new table is split at " + strings.Join(keys, ", ") + "."
}

// periods explains the layouts of a table with several, newest first.
func periods(of *document.Section, l *layout.Layout, t *layout.Table) {
	if len(t.Older) == 0 {
		return
	}
	out := of.Section("layouts by event time")
	table := out.Table(document.Plain.Column("events"), document.Plain.Column("layout"), document.Code.Column("row key"),
		document.Muted.Column("time in the key"), document.Code.Column("example"))
	for _, p := range t.Periods() {
		means, family := "", ""
		for _, g := range p.Segments {
			if g.Kind == codec.BucketSegment || g.Kind == codec.TimeSegment {
				means = prose.Means(l, p, g)
			}
		}
		if len(p.Families) > 0 {
			family = p.Families[0].Name
		}
		table.Row(nil, spanWords(instant(p.Since), instant(p.Until)), p.Pattern.String()+" in "+p.ID+":"+family,
			sample.KeyNames(p), means, sample.ShowKey(sample.Key(l, p)))
	}
	out.Note(`The time of an event determines its layout, no matter when it is written.
		Reads continue from one layout to the next.`)
}

// instant returns a time in the form of schemas; empty for the zero time.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return schema.FormatInstant(t)
}

// spanWords describes the events of a time range, which may have no begin or end.
func spanWords(from, until string) string {
	switch {
	case from == "":
		return "before " + until
	case until == "":
		return "since " + from
	}
	return from + " to " + until
}

// timeToLive says for each family what the timestamps of cells are, which cells are garbage-collected, and which are
// read.
func timeToLive(of *document.Section, l *layout.Layout, t *layout.Table) {
	out := of.Section("time to live")
	table := out.Table(document.Plain.Column(""), document.Muted.Column(""), document.Plain.Column(""))
	table.Grouped = 1
	for i, f := range t.AllFamilies() {
		name, timestamp := "family "+f.Name, prose.Timestamp(&f)
		if f.Class > 0 {
			name += ", class " + l.Classes[f.Class-1]
		}
		if t.RollupFamily != nil && i == len(t.Families) {
			timestamp = "the end of the bucket"
		}
		table.Row(nil, name, "cell timestamp", timestamp)
		table.Row(nil, name, "garbage-collected", prose.Collected(&f)+": "+f.GC.String())
		table.Row(nil, name, "reads request", prose.ReadFilter(&f))
	}
	out.Note("Garbage collection can take up to a week. Until then, reads filter expired cells out.")
}

// size says how large events, rows and the table become.
func (b *builder) size(of *document.Section, t *layout.Table, e *estimate.Estimate) {
	out := of.Section("size and growth")
	table := out.Table(document.Plain.Column(""), document.Number.Column(""), document.Muted.Column(""))
	add := func(name string, size estimate.Bounds, means string) {
		table.Row(size, name, size.String(), means)
	}
	add("event", e.Event, count(e.CellsPerEvent, "cell")+" in "+count(e.RowsPerEvent, "row"))
	add("full row", e.Row, rowWords(e))
	add("one day", e.BytesADay, "written, all series")
	switch begin := e.Horizon + estimate.CollectionLag; {
	case e.Steady():
		add("table", e.Table, "steady state: "+retentionWords(e)+", plus a week until garbage collection")
	case e.Horizon > 0:
		yearly := e.StoredAfter(begin + oneYear).Minus(e.StoredAfter(begin))
		means := "by about " + words.Size(yearly.Typical) + " a year: windows of the rollup are kept forever"
		table.Row(yearly, "table", "grows", means)
	default:
		table.Row(nil, "table", "grows", "without limit, or until its events expire")
	}
	b.facts(t.ID, table.Rows)
	out.Note(`Bytes are before compression: each cell counts its row key, family, column name, 8-byte timestamp and value.
		The bounds differ in value sizes that expect does not declare with value_bytes; upper bounds also include data that
		awaits garbage collection.`)
}

// retentionWords says how long data lives before garbage collection, or how many events.
func retentionWords(e *estimate.Estimate) string {
	if e.Horizon != e.Retention {
		return count(e.LivePerRow, "event") + " a series"
	}
	return schema.FormatDuration(e.Retention)
}

// rowWords says what a full row contains.
func rowWords(e *estimate.Estimate) string {
	text := count(e.CellsPerRow, "cell")
	switch {
	case e.LivePerRow < e.EventsPerRow:
		text = count(e.LivePerRow, "event") + ", " + words.Number(e.EventsPerRow) +
			" before garbage collection, " + text
	case e.EventsPerRow > 1:
		text = count(e.EventsPerRow, "event") + ", " + text
	}
	return text + ", " + words.Number(float64(e.KeyBytes)) + "-byte key"
}

// allowed lists the findings that the schema allows.
func allowed(of *document.Section, t *layout.Table) {
	if len(t.Allow) == 0 {
		return
	}
	table := of.Section("allowed findings").Table(
		document.Warning.Column("rule"), document.Plain.Column("finding"), document.Muted.Column("reason"))
	rules := lint.Rules()
	for _, a := range t.Allow {
		title := ""
		if i := slices.IndexFunc(rules, func(r lint.Rule) bool { return r.ID == a.Rule.V }); i >= 0 {
			title = rules[i].Title
		}
		table.Row(nil, a.Rule.V, title, oneLine(a.Reason))
	}
}

// count formats a number of things; noun has a regular plural.
func count[N int | int64 | float64](n N, noun string) string {
	return words.Count(float64(n), noun, noun+"s")
}

// inHex returns bytes in hex.
func inHex(s string) string { return hex.EncodeToString([]byte(s)) }

// shown shows bytes as text, quoted as in Go if they are not printable, or in hex.
func shown(s string, asText bool) string {
	switch {
	case s == "":
		return ""
	case asText:
		return sample.ShowKey(s)
	}
	return "0x" + inHex(s)
}

// bytesOf returns bytes as text and in hex.
func bytesOf(s string) document.Bytes { return document.Bytes{Show: shown(s, true), Hex: inHex(s)} }

// showTime writes a time with as few digits as possible.
func showTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// oneLine returns a text of the schema as one line. Characters that are not printable or
// would control a terminal are escaped as in Go.
func oneLine(text string) string {
	return words.Printable(strings.Join(strings.Fields(text), " "))
}
