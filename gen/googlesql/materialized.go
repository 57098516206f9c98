package googlesql

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// View is a continuous materialized view of a layout of a table.
type View struct {
	Query
	ID       string // the declared one, with a suffix for earlier layouts
	Declared *layout.MaterializedView
	Of       *layout.Table // the newest layout, which declares it
	Layout   layout.StoredLayout
	Groups   []string // what tells its rows apart, in words
}

// truncations are the parts of TIMESTAMP_TRUNC for windows of fixed width. Weeks begin on Monday.
var truncations = map[time.Duration]string{
	time.Minute: "MINUTE", time.Hour: "HOUR", 24 * time.Hour: "DAY", 7 * 24 * time.Hour: "ISOWEEK",
}

// truncation returns the part of TIMESTAMP_TRUNC for windows of a width.
func truncation(width schema.Span) string {
	switch width.Months {
	case 0:
		return truncations[width.Fixed]
	case 12:
		return "YEAR"
	}
	return "MONTH"
}

// Unreadable returns why materialized views cannot have the events of a layout of a table with a schema
// bundle, and what to change; empty if they can.
func Unreadable(t *layout.Table, bundle schema.Bundle) (why, hint string) {
	switch {
	case t.Pattern.Naming() != codec.NamedByField:
		return "the events: columns of " + t.Pattern.String() + " are not named by fields", "remove the view, or use a pattern whose columns are named by fields"
	case t.KeyFields == nil:
		return "the series values: the table has no row key schema", "add `row_key_schema: true`"
	case t.Blob == layout.Protobuf && (bundle.ID == "" || bundle.Drop):
		return "the fields: events are in protobuf, without a schema bundle", "add `schema_bundle: events`"
	}
	return "", ""
}

// Layouts returns the layouts of a table that its materialized views have: each has views of its own.
func Layouts(t *layout.Table) []*layout.Table {
	return slices.DeleteFunc(t.Periods(), func(p *layout.Table) bool {
		why, _ := Unreadable(p, t.Bundle)
		return p.ID != t.ID || why != ""
	})
}

// Materialized returns the continuous materialized views of tables that are no drafts, for each layout
// that they can read, and what an instance would refuse.
func Materialized(tables []layout.StoredTable) ([]View, diag.List) {
	var out []View
	var found diag.List
	taken := map[string]string{} // what has an ID, in lower case
	for _, t := range tables {
		taken[strings.ToLower(t.ID)] = fmt.Sprintf("table %q", t.ID)
	}
	for _, t := range tables {
		for _, l := range t.Layouts {
			for _, v := range declared(&t, l) {
				if other, is := taken[strings.ToLower(v.ID)]; is {
					found.Errorf(v.Declared.Pos, "materialized view %q has the ID of %s", v.ID, other).Hint = "rename it: views and tables of an instance share their IDs"
				}
				taken[strings.ToLower(v.ID)] = fmt.Sprintf("materialized view %q", v.ID)
				v.write(&t, &found)
				out = append(out, v)
			}
		}
	}
	return out, found
}

// declared returns the views of a layout of a table, without their queries.
func declared(t *layout.StoredTable, l layout.StoredLayout) []View {
	var out []View
	for _, of := range l.Schema.Tables {
		if t.Draft || !slices.Contains(Layouts(of), l.Table) {
			continue
		}
		for i := range of.Views {
			d := &of.Views[i]
			out = append(out, View{ID: d.ID + Suffix(l.Table), Declared: d, Of: of, Layout: l})
		}
	}
	return out
}

// write writes the query of the view. Fields that GoogleSQL does not decode have no statistics.
func (m *View) write(t *layout.StoredTable, found *diag.List) {
	v := newView(t, m.Layout)
	v.constants()
	v.period()
	if t.Shared() {
		v.where = append(v.where, v.present())
	}
	m.groups(v, found)
	groups := len(v.columns)
	v.add("events", sqlValue{expr: "COUNT(*)"})
	for _, i := range m.Declared.Fields {
		v.statistics(i)
	}
	var ordinals []string
	for i := range groups {
		ordinals = append(ordinals, fmt.Sprint(i+1))
	}
	m.Query = Query{v.selects() + v.from() + v.conditions() + "GROUP BY " + strings.Join(ordinals, ", ") + "\n", append(v.remarks, m.missing()...)}
}

// groups adds the columns that form groups.
func (m *View) groups(v *view, found *diag.List) {
	for _, series := range m.Declared.By {
		for i, g := range v.table.Segments {
			if g.Kind == codec.SeriesSegment && g.Series == series {
				v.add(v.schema.Series[series].Name, v.segment(i))
			}
		}
		m.Groups = append(m.Groups, v.schema.Series[series].Name)
	}
	part := truncation(m.Declared.Every)
	if part == "" {
		return
	}
	at := v.time()
	if at.typ != "TIMESTAMP" {
		found.Errorf(m.Declared.Pos, "GoogleSQL cannot read the times in the keys of table %q, so that materialized view %q has no windows", v.table.ID, m.Declared.ID).Hint = "remove `every`, or write the time as in {time: unix_ms}"
	}
	v.add("window_start", sqlValue{expr: "TIMESTAMP_TRUNC(" + at.expr + ", " + part + ", 'UTC')"})
	m.Groups = append(m.Groups, "window of "+m.Declared.Every.String())
}

// missing says which earlier events of the schema are in no view.
func (m *View) missing() []string {
	if m.Layout.Table != m.Of {
		return nil
	}
	var out []string
	for _, older := range m.Of.Older {
		if why := Missing(m.Of, older); why != "" {
			out = append(out, "No view has the "+why+".")
		}
	}
	return out
}

// Missing says why no view of a table has the events of an earlier layout; empty if one has.
func Missing(t, older *layout.Table) string {
	events := "events " + older.Period() + ", "
	if older.ID != t.ID {
		return events + "which are in table " + older.ID
	}
	if why, _ := Unreadable(older, t.Bundle); why != "" {
		return events + "because it cannot read " + why
	}
	return ""
}

// statistics adds the statistics of a field.
func (v *view) statistics(field int) {
	f, value := &v.schema.Fields[field], v.fieldValue(field)
	switch value.typ {
	case "FLOAT32", "FLOAT64":
		value = value.cast("FLOAT64").finite()
	case "INT64":
	default:
		v.remarks = append(v.remarks, fmt.Sprintf("Field %s has no statistics: %s", f.Name, value.about))
		return
	}
	if value.about != "" {
		v.remarks = append(v.remarks, fmt.Sprintf("Field %s: %s", f.Name, value.about))
	}
	for _, function := range []string{"COUNT", "SUM", "MIN", "MAX"} {
		v.add(f.Name+"_"+strings.ToLower(function), sqlValue{expr: function + "(" + value.expr + ")"})
	}
}

// Selected returns the columns of a layout that the query of a view reads of each row: with versions of
// cells, all, which become events before the query picks some.
func Selected(t *layout.Table, v *layout.MaterializedView) []layout.Column {
	if t.Pattern.Versioned() {
		return t.Columns
	}
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c layout.Column) bool {
		return c.Field != layout.WholeEvent && !slices.Contains(v.Fields, c.Field)
	})
}
