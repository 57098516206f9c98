package layout

import (
	"fmt"
	"slices"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Where is a condition of a query on a field.
type Where struct {
	Pos   diag.Pos
	Field int
	Equal bool // the caller gives a value; else, a range
}

// TakesRange reports whether the query takes a prefix or a range of a series value, or values of
// fields.
func (q *Query) TakesRange() bool { return q.Selection.Partial || len(q.Where) > 0 }

// ColumnOf returns the column of a table that stores a field separately; nil if there is none.
func (t *Table) ColumnOf(field int) *Column {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Field == field })
	if i < 0 {
		return nil
	}
	return &t.Columns[i]
}

// refusesWhere returns why the server cannot select the events of a table by a condition, and what
// to write instead; empty if it can.
func (t *Table) refusesWhere(l *Layout, w Where) (why, instead string) {
	f, c := &l.Fields[w.Field], t.ColumnOf(w.Field)
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
	case t.Pattern.Bucketed() && slices.ContainsFunc(t.Families, func(f Family) bool { return countsVersions(&f.GC) }):
		return "which events its ttl keeps depends on the number of newer ones, which would be skipped, too", "use a ttl without max_versions; or remove where"
	case t.HasClasses() && f.Default != nil:
		return fmt.Sprintf("%s has a default, and an event may be in any of several families", f.Name), "remove the default, or where"
	}
	return refusesValues(f, c, w)
}

// countsVersions reports whether a rule depends on the number of newer cells.
func countsVersions(r *codec.GCRule) bool {
	return r.Kind == codec.GCMaxVersions || slices.ContainsFunc(r.Rules, func(r codec.GCRule) bool { return countsVersions(&r) })
}

// refusesValues returns why encoded values of a column cannot be selected by a condition, and what
// to write instead; empty if they can.
func refusesValues(f *Field, c *Column, w Where) (why, instead string) {
	for _, older := range c.Older {
		if older.Was.Type != f.Type || older.Values != c.Values {
			return fmt.Sprintf("older events have %s in another type or encoding, as column %q", f.Name, older.Qualifier),
				"remove where until these events have expired, and skip the other events after reading them"
		}
	}
	own := f.Type.Traits()
	const binary = "give the field values: binary, in a new table if it stores events already; or remove where"
	switch {
	case own.NotEqual:
		return fmt.Sprintf("equal values of %s may be written in several ways as JSON", f.Name), "select by a field of another type"
	case w.Equal && own.Number == schema.Floating:
		return fmt.Sprintf("%s is a floating-point number, which is rarely equal to another", f.Name), "write " + diag.Code(f.Name+": range")
	case w.Equal && c.Values.Text() && !own.OneText:
		return fmt.Sprintf("%s is stored as text, which may be written in several ways, as in 5 and +5", f.Name), binary
	case w.Equal:
		return "", ""
	case c.Values == codec.LittleEndianValues && own.Sized > 0:
		return fmt.Sprintf("%s is stored with its lowest byte first, which does not sort like its values", f.Name), binary
	case own.Unordered:
		return fmt.Sprintf("values of type %s, of %s, have no order", f.Type, f.Name), "write " + diag.Code(f.Name+": equal")
	case c.Values.Text() && f.Type != schema.String:
		return fmt.Sprintf("%s is stored as text, which does not sort like its values: 10 sorts before 9", f.Name), binary
	}
	return "", ""
}
