package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// columnChecks are about the columns of events.
var columnChecks = checks{
	"C01": func(r reporter) { // the overhead per cell is a multiple of the values
		if !r.t.Pattern.FieldColumns() || r.t.Pattern.NewestOnly() {
			return
		}
		e := r.size()
		if around := e.Event.Typical - e.Values; e.CellsPerEvent >= tinyFrom && around > 4*e.Values {
			r.at(r.t.PatternPos, "overhead", e.CellsPerEvent, size(e.Values), size(around), layout.SerializedOf(r.t.Pattern))
		}
	},
	"C02": func(r reporter) {
		e := r.size()
		if e.CellsPerRow < manyCells {
			return
		}
		for i, f := range r.t.Families {
			columns := slices.DeleteFunc(slices.Clone(r.t.Columns), func(c layout.Column) bool {
				return f.Class == 0 && c.Family != i // of a TTL class, all events may be
			})
			cells := e.EventsPerRow * float64(len(columns)) / float64(e.RowsPerEvent)
			if n := len(f.Name); n > longFamily && cells > 0 {
				r.at(f.Pos, "family", n, size(float64(n)*cells), cells, map[bool]string{true: ": `family: m`"}[len(r.t.Families) == 1])
			}
		}
		if r.t.Pattern.Naming() != codec.NamedByField {
			return // columns are named by data
		}
		long := slices.DeleteFunc(slices.Clone(r.t.Columns), func(c layout.Column) bool { return len(c.Qualifier) <= longQualifier })
		if len(long) == 0 {
			return
		}
		bytes, short := 0, ""
		var names []string
		for _, c := range long {
			bytes, names = bytes+len(c.Qualifier), append(names, strconv.Quote(c.Qualifier))
			short += r.shortColumn(c, short)
		}
		if short != "" {
			short = ":\nfields:" + short
		}
		r.at(long[0].Pos, "columns", longQualifier, size(float64(bytes)*e.EventsPerRow), layout.FirstOf(names), short)
	},
	"C05": func(r reporter) { // values that rarely repeat become column names
		if r.t.Pattern.Naming() != codec.NamedByValue {
			return
		}
		var rare []int
		for i, f := range r.l.Fields {
			if f.Type.Traits().Rare {
				rare = append(rare, i)
			}
		}
		if rare == nil {
			return
		}
		key := slices.DeleteFunc(r.t.SegmentTexts(), func(text string) bool { return text == "metric" })
		instead := inTable(r.t.ID, "pattern: "+layout.PatternWith(layout.BucketOfColumns).String(), r.keyEntry(r.t, key))
		r.at(r.l.Fields[rare[0]].Pos, "rare", layout.FirstOf(layout.NamesOf(r.l.Fields, rare)), r.t.ID, instead)
	},
	"C07": func(r reporter) { // a crash between two rows leaves a partial event
		if n := r.t.RowsPerEvent(); n > 1 {
			r.at(r.t.PatternPos, "rows", n, r.t.ID)
		}
		if len(r.l.Tables) > 1 && r.t == r.l.Tables[1] {
			r.at(r.t.Pos, "tables", len(r.l.Tables), r.t.ID, r.l.Tables[0].ID)
		}
	},
}

// Thresholds; our judgment.
const (
	longFamily    = 8    // C02: bytes of a family name, exclusive
	longQualifier = 16   // C02: bytes of a column name, exclusive
	manyCells     = 1000 // C02: cells per row, inclusive
	tinyFrom      = 5    // C01: cells per event, inclusive
)

// shortColumn returns the line of a field with a shorter column name, made of the first
// letters of its words and unique among other lines, after a line break. It returns nothing for a column that
// belongs to no field.
func (r reporter) shortColumn(c layout.Column, others string) string {
	if c.Field < 0 {
		return ""
	}
	f := r.schema.Fields[c.Field]
	first := ""
	for word := range strings.FieldsFuncSeq(f.Name.V, func(c rune) bool { return c == '_' }) {
		first += strings.ToLower(word[:1])
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(r.t.Columns, func(c layout.Column) bool { return c.Qualifier == name }) ||
			strings.Contains(others, "column: "+schema.Quoted(name))
	}
	f.Column = schema.Value[string]{V: first, Pos: f.Name.Pos}
	for n := 2; taken(f.Column.V); n++ {
		f.Column.V = first + strconv.Itoa(n)
	}
	return "\n  " + f.Name.V + ": " + f.String()
}
