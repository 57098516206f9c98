package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/btgen-dev/btgen/gen/sample"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// What is long for a name that is stored with every cell, and from how many cells
// in a row on that counts; and how many cells an event has that are many. Our
// judgement.
const (
	longFamily    = 8
	longQualifier = 16
	manyCells     = 1000
	tinyFrom      = 5
)

// tinyCells is C01: what is stored around the values is a multiple of them.
func tinyCells(l *layout.Layout, t *layout.Table, report reporter) {
	if t.Pattern != layout.BucketNewCells && t.Pattern != layout.SingleUnserialized {
		return
	}
	e := sample.EstimateOf(l, t)
	if around := e.Event.Upper - e.Values; e.CellsPerEvent >= tinyFrom && around > 4*e.Values {
		report.at(t.PatternPos, "if readers want whole events, use "+code("pattern: %s", serializedOf(t.Pattern))+"; single fields cannot be read then",
			"an event is %s cells with %s of values, and up to %s around them: serialized it is one cell", number(float64(e.CellsPerEvent)), size(e.Values), size(around))
	}
}

// serializedOf is the pattern that stores events as one value.
func serializedOf(p layout.Pattern) layout.Pattern {
	if p.Bucketed() {
		return layout.BucketSerialized
	}
	return layout.SingleSerialized
}

// longNames is C02.
func longNames(l *layout.Layout, t *layout.Table, report reporter) {
	e := sample.EstimateOf(l, t)
	if e.CellsPerRow < manyCells {
		return
	}
	for i, f := range t.Families {
		cells := e.EventsPerRow * float64(columnsOf(t, i)) / float64(e.RowsPerEvent)
		if n := len(f.Name); n > longFamily && cells > 0 {
			report.at(f.Pos, shorterFamily(t),
				"the family name has %d characters and is stored with every cell: %s in a row of %s cells", n, size(float64(n)*cells), number(cells))
		}
	}
	if t.Metrics() || t.Pattern == layout.BucketOffsets {
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
		report.at(pos, shorterColumns(lines),
			"column names of over %d characters are stored with every cell: %s in a row, of %s", longQualifier, size(float64(bytes)*e.EventsPerRow), few(long))
	}
}

// shorterFamily proposes a short family.
func shorterFamily(t *layout.Table) string {
	if len(t.Families) > 1 {
		return "shorten it: family names cannot be changed later"
	}
	return "shorten it, since family names cannot be changed later: " + code("family: m")
}

// shorterColumns proposes short columns, if there are lines for some.
func shorterColumns(lines []string) string {
	const hint = "give them short names: columns cannot be renamed later"
	if lines == nil {
		return hint
	}
	return block(hint, append([]string{"fields:"}, lines...)...)
}

// shortColumn writes the field of a column with a short column, which no other line
// has: the first letters of its words. A column that is none of a field has no line.
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

// columnsOf returns how many columns of an event are in a family; with TTL classes,
// if all events were of that class.
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

// few writes some names, and how many there are besides.
func few(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// manyColumns is C05: each value is a column.
func manyColumns(l *layout.Layout, t *layout.Table, report reporter) {
	if !t.Metrics() {
		return
	}
	var names []string
	pos := t.PatternPos
	for _, c := range t.Columns {
		if c.Field < 0 {
			continue // the write time, which T04 and T05 refuse
		}
		switch f := l.Fields[c.Field]; f.Type {
		case schema.Float32, schema.Float64, schema.String, schema.Bytes, schema.JSON, schema.UUID, schema.Timestamp, schema.Duration:
			if names == nil {
				pos = f.Pos
			}
			names = append(names, f.Name)
		}
	}
	if names != nil {
		key := slices.DeleteFunc(segmentsOf(t), func(text string) bool { return text == "metric" })
		report.at(pos, block("round the values to whole numbers, or use cells", inTable(t.ID, "pattern: bucket_new_cells", report.keyEntry(t, key))...),
			"values of %s become columns of table %q: they hardly repeat, and to delete one it must be named", few(names), t.ID)
	}
}

// severalRows is C07: a crash in between leaves a part of the event.
func severalRows(l *layout.Layout, t *layout.Table, report reporter) {
	hint := "write again what failed, until nothing fails, which is safe; if that will do, say so: " + allow("C07", "failed writes are repeated")
	if n := t.RowsPerEvent(); n > 1 {
		report.at(t.PatternPos, hint, "an event is %d rows of table %q, which are not written atomically: readers may see a part of it", n, t.ID)
	}
	if len(l.Tables) > 1 && t == l.Tables[1] {
		report.at(t.Pos, hint, "an event is written to %d tables, which is not atomic: %q may have it before or after %q", len(l.Tables), t.ID, l.Tables[0].ID)
	}
}
