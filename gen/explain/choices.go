package explain

import (
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/document"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// choice is a pattern and bucket width for the load of a table.
type choice struct {
	pattern, bucket string
	chosen          bool
	// findings are errors or, if there are none, warnings. A choice with errors is impossible: it has no layout.
	findings    []Finding
	schema      *schema.Schema // with only this table
	layout      *layout.Layout
	table       *layout.Table
	size        estimate.Estimate
	day, newest estimate.Work // reads of one series; newest is a maximum
	year        Year
}

// Finding is a finding of a rule about a choice.
type Finding struct {
	Rule    string `json:"rule,omitempty"` // empty if the language does not allow such a table
	Message string `json:"message"`
}

// choices returns the table itself, its pattern with the usual bucket widths, and the
// other patterns, under the same load. Each is a separate schema, which is resolved and
// checked like any other.
func choices(s *schema.Schema, index int, l *layout.Layout, t *layout.Table) []*choice {
	if t.Pattern.NewestOnly() { // the others store all events, and it cannot be alone
		out := &choice{pattern: t.Pattern.String(), chosen: true}
		out.fill(l, t, l.LatestQuery())
		return []*choice{out}
	}
	v := variants{schema: s, index: index, layout: l, table: t}
	out := []*choice{choiceOf(v.alone())}
	out[0].chosen = true
	if t.Pattern.Bucketed() {
		for _, width := range usualWidths {
			if width != t.Bucket.Every {
				out = append(out, choiceOf(v.with(t.Pattern, schema.Span{Fixed: width})))
			}
		}
	}
	for _, other := range v.others() {
		out = append(out, choiceOf(other))
	}
	return out
}

// choiceOf estimates a variant.
func choiceOf(s *schema.Schema) *choice {
	out := &choice{schema: s}
	out.pattern, out.bucket = designOf(&s.Tables[0])
	l, found := resolved(s)
	out.findings = findingsOf(found)
	if !found.HasErrors() {
		out.fill(l, l.Tables[0], l.ReadQuery())
	}
	return out
}

// fill estimates a table without errors, and a query of it.
func (c *choice) fill(l *layout.Layout, t *layout.Table, q layout.Query) {
	from, to, now := sample.Day(t)
	c.layout, c.table, c.size = l, t, estimate.Of(l, t)
	c.day, c.newest = estimate.WorkOf(l, &q, now, from, to, nil), estimate.LatestWork(l, now)
	c.year = yearOf(t, &c.size)
}

// findingsOf returns the errors of a variant or, if it has none, its warnings, with one
// finding per rule. Advice and warnings about an unused allow are omitted.
func findingsOf(found diag.List) []Finding {
	severity := diag.Warning
	if found.HasErrors() {
		severity = diag.Error
	}
	var out []Finding
	for _, d := range found {
		known := slices.ContainsFunc(out, func(f Finding) bool { return f.Rule == d.Rule })
		if d.Severity == severity && !known && (d.Rule != "" || severity == diag.Error) {
			out = append(out, Finding{Rule: d.Rule, Message: oneLine(d.Message)})
		}
	}
	return out
}

// noBucket is the bucket of tables whose keys do not contain the time.
const noBucket = "none"

// name names the choice.
func (c *choice) name() string { return designName(c.pattern, c.bucket) }

// designName names a pattern with a bucket.
func designName(pattern, bucket string) string {
	switch bucket {
	case "":
		return pattern
	case noBucket:
		return pattern + ", one row"
	}
	return pattern + ", " + bucket
}

// rules lists the rules that the choice breaks.
func (c *choice) rules() string {
	var out []string
	for _, f := range c.findings {
		if f.Rule != "" {
			out = append(out, f.Rule)
		}
	}
	return strings.Join(out, ", ")
}

// reason explains why the choice is impossible: in full, unless a rule is the reason, which the
// notes explain.
func (c *choice) reason() string {
	var out []string
	if rules := c.rules(); rules != "" {
		out = append(out, rules)
	}
	for _, f := range c.findings {
		if f.Rule == "" {
			out = append(out, f.Message)
		}
	}
	return strings.Join(out, "; ")
}

// choiceData is the data of a choice.
type choiceData struct {
	Findings      []Finding       `json:"findings,omitempty"`
	Event         estimate.Bounds `json:"event_bytes"`
	RowsPerEvent  int64           `json:"rows_per_event"`
	CellsPerEvent int64           `json:"cells_per_event"`
	Row           estimate.Bounds `json:"row_bytes"`
	EventsPerRow  float64         `json:"events_per_row"`
	CellsPerRow   float64         `json:"cells_per_row"`
	Day           estimate.Work   `json:"read_day"`
	Newest        estimate.Work   `json:"read_latest"`
}

// patterns compares a table with other patterns and bucket widths.
func patterns(of *document.Section, all []*choice) {
	out := of.Section("the same load with other patterns and bucket widths")
	pictures(out, all)
	figures := document.Columns(document.Number, "event", "stored", "full row", "cells", "read a day", "latest")
	table := out.Table(slices.Concat([]document.Column{{}}, figures, []document.Column{document.Warning.Column("")})...)
	for _, c := range all {
		if c.table == nil {
			table.Row(c.findings, c.name(), "no: "+c.reason()).Style = document.Refused
			continue
		}
		e := &c.size
		data := choiceData{c.findings, e.Event, e.RowsPerEvent, e.CellsPerEvent, e.Row, e.EventsPerRow, e.CellsPerRow, c.day, c.newest}
		row := table.Row(data, c.name(), e.Event.String(), rowsAndCells(float64(e.RowsPerEvent), float64(e.CellsPerEvent)),
			e.Row.String(), words.Number(e.CellsPerRow), rowsAndCells(c.day.Rows, c.day.Cells),
			rowsAndCells(c.newest.Rows, c.newest.Cells), c.rules())
		if c.chosen {
			row.Style = document.Chosen
		}
	}
	out.Note(`Rows (r) and cells (c) are the numbers that store an event, and that a read of one series returns. For the
		latest event, they are upper bounds, if the series still reports.`)
	said := map[string]bool{}
	for _, c := range all {
		for _, f := range c.findings {
			if f.Rule != "" && !said[f.Rule] {
				said[f.Rule] = true
				out.Note(f.Rule + ": " + f.Message)
			}
		}
	}
	out.Add(document.Part{Paragraph: &document.Paragraph{
		Text:   all[0].name() + " is chosen. " + schema.Guidance(codec.ParsePattern(all[0].pattern)),
		Source: timeSeriesPage,
	}})
}

// timeSeriesPage is the page of Bigtable's documentation about patterns.
const timeSeriesPage = "https://cloud.google.com/bigtable/docs/schema-design-time-series"

// rowsAndCells shows numbers of rows and cells.
func rowsAndCells(rows, cells float64) string {
	return words.Number(rows) + "r " + words.Number(cells) + "c"
}
