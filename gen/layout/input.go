package layout

import (
	"fmt"
	"slices"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Input is what callers give a query: a series value, or a field by whose values it selects
// events.
type Input struct {
	Pos   diag.Pos
	Index int             // in Layout.Series or, with Where, in Layout.Fields
	Where bool            // it is a field
	Form  codec.GivenPart // a value, a prefix of it, or a range
	Many  bool            // several values, prefixes or ranges
}

// Of returns the series value or the field.
func (in *Input) Of(l *Layout) *Field {
	if in.Where {
		return &l.Fields[in.Index]
	}
	return &l.Series[in.Index]
}

// From returns the value of the input among those of the series and of the fields.
func (in *Input) From(series, fields []any) any {
	if in.Where {
		return fields[in.Index]
	}
	return series[in.Index]
}

// Ends returns how many values describe one of what callers give: two for a range, whose end is
// excluded, else one.
func (in *Input) Ends() int {
	if in.Form == codec.GivenRange {
		return 2
	}
	return 1
}

// Same reports whether callers of two versions of a query give the same: an input of a layout, and one
// of another version of the layout.
func (in *Input) Same(l *Layout, other *Input, version *Layout) bool {
	same := in.Index == other.Index || in.Of(l).Name == other.Of(version).Name
	return same && in.Where == other.Where && in.Form == other.Form && in.Many == other.Many
}

// Words describes the input, as in "several prefixes of line".
func (in *Input) Words(l *Layout) string {
	forms := map[codec.GivenPart][2]string{
		codec.GivenValue: {"", "several values of "}, codec.GivenPrefix: {"a prefix of ", "several prefixes of "}, codec.GivenRange: {"a range of ", "several ranges of "},
	}[in.Form]
	if in.Many {
		return forms[1] + in.Of(l).Name
	}
	return forms[0] + in.Of(l).Name
}

// Where returns the inputs that are fields.
func (q *Query) Where() []Input {
	return slices.DeleteFunc(slices.Clone(q.Inputs), func(in Input) bool { return !in.Where })
}

// Part returns the series value of which callers give a prefix or a range; nil if there is none.
func (q *Query) Part() *Input {
	return find(q.Inputs, func(in *Input) bool { return !in.Where && in.Form != codec.GivenValue })
}

// Several returns the series value of which callers give several; nil if there is none.
func (q *Query) Several() *Input {
	return find(q.Inputs, func(in *Input) bool { return in.Many })
}

// inputs resolves what a query takes: whole values, a prefix or a range, and fields. It
// reports false if the schema has an error in them.
func (r *resolver) inputs(q *schema.Query) (out []Input, ok bool) {
	var parts []Input
	for _, by := range q.By {
		in := Input{Pos: by.Pos, Index: fieldNamed(r.layout.Series, by.V), Many: by.V == q.Many.V}
		switch by.V {
		case q.Prefix.V:
			in.Form = codec.GivenPrefix
		case q.Range.V:
			in.Form = codec.GivenRange
		}
		if in.Form == codec.GivenValue {
			out = append(out, in)
		} else {
			parts = append(parts, in)
		}
	}
	out = append(out, parts...)
	for _, w := range q.Where {
		in := Input{Pos: w.Field.Pos, Index: fieldNamed(r.layout.Fields, w.Field.V), Where: true, Form: codec.GivenRange}
		if w.Form.V == schema.EqualForm {
			in.Form = codec.GivenValue
		}
		out = append(out, in)
	}
	return out, len(parts) < 2 && !slices.ContainsFunc(out, func(in Input) bool { return in.Index < 0 })
}

// ColumnOf returns the column of a table that stores a field separately; nil if there is none.
func (t *Table) ColumnOf(field int) *Column {
	return find(t.Columns, func(c *Column) bool { return c.Field == field })
}

// refusesWhere returns why the server cannot select the events of a table by a condition, and what
// to write instead; empty if it can.
func (t *Table) refusesWhere(l *Layout, w *Input) (why, instead string) {
	f, c := w.Of(l), t.ColumnOf(w.Index)
	rows := "add a table with pattern: " + patternsWith(eventOfColumns) + "; or remove where, and skip the other events after reading them"
	switch {
	case t.Serialized() || c == nil && t.Pattern.OneValue():
		return fmt.Sprintf("events are single values, in which Bigtable cannot find %s", f.Name), rows
	case c == nil:
		return fmt.Sprintf("no column stores %s", f.Name), rows
	case t.Pattern.Naming() == codec.NamedByValue:
		return fmt.Sprintf("columns are named by the values of %s: it has no cells with values", f.Name), rows
	case t.Pattern.Naming() == codec.NamedByTime:
		return "columns are named by times, and Bigtable cannot select among the events of a row", rows
	case t.Pattern.Bucketed() && len(t.AllColumns()) > 1:
		return fmt.Sprintf("rows have many events with %d columns, and Bigtable cannot select the others by %s", len(t.AllColumns()), f.Name), rows
	case t.Pattern.Bucketed() && find(t.Families, (*Family).CountsVersions) != nil:
		return "which events its ttl keeps depends on the number of newer ones, which would be skipped, too", "use a ttl without max_versions; or remove where"
	case t.HasClasses() && f.Default != nil:
		return fmt.Sprintf("%s has a default, and an event may be in any of several families", f.Name), "remove the default, or where"
	}
	return refusesValues(f, c, w)
}

// CountsVersions reports whether which cells are kept depends on the number of newer ones.
func (f *Family) CountsVersions() bool {
	nested := func(r codec.GCRule) bool { return (&Family{GC: r}).CountsVersions() }
	return f.GC.Kind == codec.GCMaxVersions || slices.ContainsFunc(f.GC.Rules, nested)
}

// refusesValues returns why encoded values of a column cannot be selected by a condition, and what
// to write instead; empty if they can.
func refusesValues(f *Field, c *Column, w *Input) (why, instead string) {
	for _, older := range c.Older {
		if older.Was.Type != f.Type || older.Values != c.Values {
			return fmt.Sprintf("older events have %s in another type or encoding, as column %q", f.Name, older.Qualifier),
				"remove where until these events have expired, and skip the other events after reading them"
		}
	}
	own, equal := f.Type.Traits(), w.Form == codec.GivenValue
	const binary = "give the field values: binary, in a new table if it stores events already; or remove where"
	switch {
	case own.NotEqual:
		return fmt.Sprintf("equal values of %s may be written in several ways as JSON", f.Name), "select by a field of another type"
	case equal && own.Number == schema.Floating:
		return fmt.Sprintf("%s is a floating-point number, which is rarely equal to another", f.Name), "write " + diag.Code("where: {"+f.Name+": range}")
	case equal && c.Values.Text() && !own.OneText:
		return fmt.Sprintf("%s is stored as text, which may be written in several ways, as in 5 and +5", f.Name), binary
	case equal:
		return "", ""
	case c.Values == codec.LittleEndianValues && own.Sized > 0:
		return fmt.Sprintf("%s is stored with its lowest byte first, which does not sort like its values", f.Name), binary
	case own.Unordered:
		return fmt.Sprintf("values of type %s, of %s, have no order", f.Type, f.Name), "write " + diag.Code("where: {"+f.Name+": equal}")
	case c.Values.Text() && f.Type != schema.String:
		return fmt.Sprintf("%s is stored as text, which does not sort like its values: 10 sorts before 9", f.Name), binary
	}
	return "", ""
}
