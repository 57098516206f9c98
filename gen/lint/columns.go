package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Thresholds; our judgment.
const (
	longFamily    = 8    // C02: bytes of a family name, exclusive
	longQualifier = 16   // C02: bytes of a column name, exclusive
	manyCells     = 1000 // C02: cells per row, inclusive
	tinyFrom      = 5    // C01: cells per event, inclusive
)

// tinyCells is C01: the overhead per cell is a multiple of the values.
func tinyCells(l *layout.Layout, t *layout.Table, report reporter) {
	if !t.Pattern.FieldColumns() || t.Pattern.NewestOnly() {
		return
	}
	e := report.size()
	if around := e.Event.Typical - e.Values; e.CellsPerEvent >= tinyFrom && around > 4*e.Values {
		report.at(t.PatternPos, "overhead", e.CellsPerEvent, size(e.Values), size(around), layout.SerializedOf(t.Pattern))
	}
}

// longNames is C02.
func longNames(l *layout.Layout, t *layout.Table, report reporter) {
	e := report.size()
	if e.CellsPerRow < manyCells {
		return
	}
	for i, f := range t.Families {
		cells := e.EventsPerRow * float64(columnsOf(t, i)) / float64(e.RowsPerEvent)
		if n := len(f.Name); n > longFamily && cells > 0 {
			report.at(f.Pos, "family", n, size(float64(n)*cells), cells, map[bool]string{true: ": `family: m`"}[len(t.Families) == 1])
		}
	}
	if t.Pattern.Naming() != codec.NamedByField {
		return // columns are named by data
	}
	var long []string
	var lines []string
	pos, bytes := t.PatternPos, 0
	for _, c := range t.Columns {
		if n := len(c.Qualifier); n > longQualifier {
			if long == nil {
				pos = c.Pos
			}
			long, bytes = append(long, strconv.Quote(c.Qualifier)), bytes+n
			lines = append(lines, report.shortColumn(t, c, lines)...)
		}
	}
	if long != nil {
		if lines != nil {
			lines = append([]string{":", "fields:"}, lines...)
		}
		report.at(pos, "columns", longQualifier, size(float64(bytes)*e.EventsPerRow), layout.FirstOf(long), strings.Join(lines, "\n"))
	}
}

// shortColumn returns the line of a field with a shorter column name, made of the first
// letters of its words and unique among the lines. It returns nil for a column that
// belongs to no field.
func (r reporter) shortColumn(t *layout.Table, c layout.Column, lines []string) []string {
	if c.Field < 0 {
		return nil
	}
	f := r.schema.Fields[c.Field]
	short := ""
	for word := range strings.FieldsFuncSeq(f.Name.V, func(c rune) bool { return c == '_' }) {
		short += strings.ToLower(word[:1])
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(t.Columns, func(c layout.Column) bool { return c.Qualifier == name }) ||
			slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "column: "+schema.Quoted(name)) })
	}
	for n, first := 2, short; taken(short); n++ {
		short = first + strconv.Itoa(n)
	}
	f.Column = schema.Value[string]{V: short, Pos: f.Name.Pos}
	return []string{"  " + f.Name.V + ": " + f.String()}
}

// columnsOf returns how many columns of an event are in a family. With ttl classes, it
// assumes that all events are of that class.
func columnsOf(t *layout.Table, family int) int {
	if t.Families[family].Class > 0 {
		return len(t.Columns)
	}
	n := 0
	for _, c := range t.Columns {
		if c.Family == family {
			n++
		}
	}
	return n
}

// manyColumns is C05: values that rarely repeat become column names.
func manyColumns(l *layout.Layout, t *layout.Table, report reporter) {
	if t.Pattern.Naming() != codec.NamedByValue {
		return
	}
	var names []string
	pos := t.PatternPos
	for _, c := range t.Columns {
		if c.Field < 0 {
			continue // the write time, which T04 and T05 report
		}
		if f := l.Fields[c.Field]; f.Type.Traits().Rare {
			if names == nil {
				pos = f.Pos
			}
			names = append(names, f.Name)
		}
	}
	if names != nil {
		key := slices.DeleteFunc(segmentsOf(t), func(text string) bool { return text == "metric" })
		report.at(pos, "rare", layout.FirstOf(names), t.ID, inTable(t.ID, "pattern: "+layout.PatternWith(layout.BucketOfColumns).String(), report.keyEntry(t, key)))
	}
}

// severalRows is C07: a crash between two rows leaves a partial event.
func severalRows(l *layout.Layout, t *layout.Table, report reporter) {
	if n := t.RowsPerEvent(); n > 1 {
		report.at(t.PatternPos, "rows", n, t.ID)
	}
	if len(l.Tables) > 1 && t == l.Tables[1] {
		report.at(t.Pos, "tables", len(l.Tables), t.ID, l.Tables[0].ID)
	}
}
