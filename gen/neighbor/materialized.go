package neighbor

import (
	"fmt"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

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

// materializedViews renders the queries of continuous materialized views, for each layout in the
// table that has them.
func (r *renderer) materializedViews() {
	taken := map[string]string{} // what has an ID, in lower case
	for _, t := range r.tables {
		taken[strings.ToLower(t.ID)] = fmt.Sprintf("table %q", t.ID)
	}
	for _, t := range r.live() {
		for _, l := range t.Layouts {
			for _, of := range l.Schema.Tables {
				if of.ID != t.ID || !contains(of, l.Table) {
					continue
				}
				for i := range of.Views {
					m := &of.Views[i]
					name := m.ID + untilName(l.Table)
					if other, is := taken[strings.ToLower(name)]; is {
						r.found.Errorf(m.Pos, "materialized view %q has the ID of %s", name, other).Hint = "rename it: views and tables of an instance share their IDs"
						continue
					}
					taken[strings.ToLower(name)] = fmt.Sprintf("materialized view %q", name)
					of := t
					of.Layouts = []layout.StoredLayout{l}
					r.add("materialized_views/"+name+".sql", recordOf(of).HeadIn(output.SQL), r.materializedText(&t, l, m, name))
				}
			}
		}
	}
}

// contains reports whether a layout is one of those of a table.
func contains(t, period *layout.Table) bool {
	for _, p := range t.Periods() {
		if p == period {
			return true
		}
	}
	return false
}

// materializedText renders the query of one view. Fields that GoogleSQL does not decode have no
// statistics.
func (r *renderer) materializedText(t *layout.StoredTable, l layout.StoredLayout, m *layout.MaterializedView, name string) string {
	v := newView(l)
	v.bundle = r.bundle(t.ID)
	v.constants()
	v.period()
	if shared(t) {
		v.where = append(v.where, v.present())
	}
	groups := r.groups(v, m)
	v.add("events", sqlValue{expr: "COUNT(*)"})
	for _, i := range m.Fields {
		v.statistics(i)
	}
	var b strings.Builder
	b.WriteString(comment("--", "%s", materializedAbout(l, m)))
	b.WriteString("--\n-- To create the view, run:\n--\n")
	fmt.Fprintf(&b, "--   gcloud bigtable materialized-views create %s --instance=INSTANCE --query=\"$(cat %s.sql)\"\n--\n", name, name)
	b.WriteString(comment("--", "The view follows the garbage collection of the table: when Bigtable removes an event, its statistics change. Its query cannot be changed. It leaves out rows that the query does not fit, such as those with more than 1 MiB of these columns, or with numbers that overflow."))
	for _, about := range v.remarks {
		b.WriteString(comment("--", "%s", about))
	}
	b.WriteString(v.selects() + v.from(t.ID) + v.conditions())
	var ordinals []string
	for i := range groups {
		ordinals = append(ordinals, fmt.Sprint(i+1))
	}
	return b.String() + "GROUP BY " + strings.Join(ordinals, ", ") + "\n"
}

// groups adds the columns that form groups, and returns their number.
func (r *renderer) groups(v *view, m *layout.MaterializedView) int {
	for _, series := range m.By {
		for i, g := range v.table.Segments {
			if g.Kind == codec.SeriesSegment && g.Series == series {
				v.add(v.schema.Series[series].Name, v.segment(i))
			}
		}
	}
	if part := truncation(m.Every); part != "" {
		at := v.time()
		if at.typ != "TIMESTAMP" {
			r.found.Errorf(m.Pos, "GoogleSQL cannot read the times in the keys of table %q, so that materialized view %q has no windows", v.table.ID, m.ID).Hint = "remove `every`, or write the time as in {time: unix_ms}"
		}
		v.add("window_start", sqlValue{expr: "TIMESTAMP_TRUNC(" + at.expr + ", " + part + ", 'UTC')"})
	}
	return len(v.columns)
}

// statistics adds the statistics of a field.
func (v *view) statistics(field int) {
	f, value := &v.schema.Fields[field], v.fieldValue(field)
	switch value.typ {
	case "FLOAT32":
		value = value.cast("FLOAT64")
	case "INT64", "FLOAT64":
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

// materializedAbout describes the rows of a view.
func materializedAbout(l layout.StoredLayout, m *layout.MaterializedView) string {
	of := "events of " + l.Schema.Name
	if period := periodOf(l.Table); period != "" {
		of += " " + period
	}
	var groups []string
	for _, i := range m.By {
		groups = append(groups, l.Schema.Series[i].Name)
	}
	if part := truncation(m.Every); part != "" {
		groups = append(groups, "window of "+m.Every.String())
	}
	return fmt.Sprintf("Statistics of the %s in table %s, one row per %s.", of, l.Table.ID, words.List(groups, "and"))
}
