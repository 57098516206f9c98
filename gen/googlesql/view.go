package googlesql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Suffix returns the end of the name of a view of an earlier layout; empty for the newest.
func Suffix(t *layout.Table) string {
	if t.Until.IsZero() {
		return ""
	}
	return "_until_" + strings.TrimSuffix(t.Until.Format("20060102t150405"), "t000000")
}

// Logical returns the query of a logical view of a layout of a table: its events.
func Logical(t *layout.StoredTable, l layout.StoredLayout) Query {
	v := newView(t, l)
	v.keyColumns()
	v.timeColumn()
	v.eventColumns()
	from := v.from()
	if t.Shared() {
		v.where = append(v.where, v.present())
	}
	return Query{v.selects() + from + v.conditions(), v.remarks}
}

// selects renders the list of columns.
func (v *view) selects() string {
	var columns []string
	for _, c := range v.columns {
		columns = append(columns, "  "+c.expr+" AS "+backquoted(c.name))
	}
	return "SELECT\n" + strings.Join(columns, ",\n") + "\n"
}

// conditions renders the WHERE clause.
func (v *view) conditions() string {
	var b strings.Builder
	for i, condition := range v.where {
		keyword := "WHERE"
		if i > 0 {
			keyword = "  AND"
		}
		fmt.Fprintf(&b, "%s %s\n", keyword, condition)
	}
	return b.String()
}

// view collects the parts of a query.
type view struct {
	schema  *layout.Layout
	table   *layout.Table
	bundle  string // the schema bundle of the table; empty for none
	columns []viewColumn
	where   []string
	remarks []string
}

// viewColumn is a column of a view.
type viewColumn struct{ name, expr string }

// newView returns the view of a layout of a table, without columns.
func newView(t *layout.StoredTable, l layout.StoredLayout) *view {
	v := &view{schema: l.Schema, table: l.Table}
	if !t.Bundle.Drop {
		v.bundle = t.Bundle.ID
	}
	return v
}

// add adds a column, with another name if its own is taken.
func (v *view) add(name string, value sqlValue) {
	name = words.Free(name, func(name string) bool {
		return slices.ContainsFunc(v.columns, func(c viewColumn) bool { return strings.EqualFold(c.name, name) })
	})
	v.columns = append(v.columns, viewColumn{name, value.expr})
	if value.about != "" {
		v.remarks = append(v.remarks, fmt.Sprintf("Column %s: %s", name, value.about))
	}
}

// keyColumns adds the segments of the row key, except constants, which restrict the rows.
func (v *view) keyColumns() {
	for i, g := range v.table.Segments {
		if g.Kind != codec.ConstSegment && g.Kind != codec.TimeSegment { // see timeColumn
			v.add(v.table.KeyFields[i].Name, v.segment(i))
		}
	}
	v.constants()
}

// constants restricts the rows to those with the constants of the row key.
func (v *view) constants() {
	for i, g := range v.table.Segments {
		if g.Kind == codec.ConstSegment {
			v.where = append(v.where, backquoted(v.table.KeyFields[i].Name)+" = "+stringLiteral(g.Const))
		}
	}
}

// segment returns the value of a segment of the row key.
func (v *view) segment(i int) sqlValue {
	g, field := v.table.Segments[i], v.table.KeyFields[i]
	part := sqlValue{expr: backquoted(field.Name), typ: "STRING"}
	if field.Bytes {
		part.typ = "BYTES"
	}
	switch g.Kind {
	case codec.SeriesSegment:
		return part.segment(&v.schema.Series[g.Series], g.Form)
	case codec.SaltSegment, codec.SequenceSegment:
		return part.cast("INT64")
	case codec.BucketSegment:
		if label := v.table.Bucket.Label; label.Kind == codec.TimeLabel {
			return part.time(label.Format)
		}
	case codec.TimeSegment:
		return part.time(v.table.Time)
	}
	return part
}

// time returns the time of the event; without an expression if rows are no events. It is a
// TIMESTAMP unless GoogleSQL cannot read it.
func (v *view) time() sqlValue {
	switch i := slices.IndexFunc(v.table.Segments, func(g codec.Segment) bool { return g.Kind == codec.TimeSegment }); {
	case i >= 0:
		return v.segment(i)
	case v.table.Pattern.Versioned():
		return sqlValue{expr: "_timestamp", typ: "TIMESTAMP"}
	}
	return sqlValue{}
}

// timeColumn adds the time of the event, and restricts the rows to those of the layout.
func (v *view) timeColumn() {
	if at := v.time(); at.expr != "" {
		v.add("time", at)
	}
	v.period()
}

// period restricts the rows to those of the layout.
func (v *view) period() {
	at := v.time()
	if at.typ != "TIMESTAMP" {
		return
	}
	if !v.table.Since.IsZero() {
		v.where = append(v.where, at.expr+" >= "+timestampLiteral(v.table.Since))
	}
	if !v.table.Until.IsZero() {
		v.where = append(v.where, at.expr+" < "+timestampLiteral(v.table.Until))
	}
}

// eventColumns adds the columns of events. Where values or times name the columns in Bigtable,
// these are families as a whole.
func (v *view) eventColumns() {
	if naming := v.table.Pattern.Naming(); naming != codec.NamedByField {
		about := "each key is the value of an event as text, with the time of the event as the timestamp of an empty cell."
		if naming == codec.NamedByTime {
			about = "each key is the time of an event in its bucket, in binary, and each value a value of the event."
		}
		for _, f := range v.table.Families {
			v.add(f.Name, sqlValue{expr: backquoted(f.Name), about: about})
		}
		return
	}
	for i := range v.table.Columns {
		switch c := &v.table.Columns[i]; {
		case c.Field == layout.WholeEvent && (v.table.Blob == layout.JSONText || v.bundle != ""):
			v.eventFields(v.column(c))
		default:
			v.add(ColumnName(v.schema, c), v.column(c))
		}
	}
}

// column returns the value of a column: from the family of its class, or from where older events
// have it.
func (v *view) column(c *layout.Column) sqlValue {
	families := []int{c.Family}
	if v.table.HasClasses() {
		families = families[:0]
		for i := range v.table.Families {
			families = append(families, i)
		}
	}
	var values []sqlValue
	for k, each := range append([]layout.Column{*c}, c.Older...) {
		for _, i := range families {
			if k > 0 && len(families) == 1 {
				i = each.Family
			}
			value := cell(v.table.Families[i].Name, each.Qualifier).decoded(v.schema, v.table, &each)
			if k > 0 {
				value = value.cast(values[0].typ)
			}
			values = append(values, value)
		}
	}
	out := values[0]
	if len(values) > 1 {
		var exprs []string
		for _, value := range values {
			exprs = append(exprs, value.expr)
		}
		out.expr = "COALESCE(" + strings.Join(exprs, ", ") + ")"
	}
	return out
}

// present is the condition that a row has cells of the schema.
func (v *view) present() string {
	var conditions []string
	for _, f := range v.table.Families {
		conditions = append(conditions, backquoted(f.Name)+" IS NOT NULL")
	}
	if len(conditions) == 1 {
		return conditions[0]
	}
	return "(" + strings.Join(conditions, " OR ") + ")"
}

// from renders the FROM clause: all cells where they are events, else the newest.
func (v *view) from() string {
	table := backquoted(v.table.ID)
	switch p := v.table.Pattern; {
	case p.Naming() != codec.NamedByField:
		return "FROM " + table + "(with_history => TRUE)\n"
	case !p.Versioned():
		return "FROM " + table + "\n"
	}
	var inner []string
	for _, f := range v.table.KeyFields {
		inner = append(inner, backquoted(f.Name))
	}
	for _, f := range v.table.Families {
		inner = append(inner, backquoted(f.Name))
	}
	return "FROM UNPACK((\n  SELECT " + strings.Join(inner, ", ") + "\n  FROM " + table + "(with_history => TRUE)\n))\n"
}

// backquoted returns an identifier in backquotes. Names of tables, families and columns have no
// characters that need an escape.
func backquoted(name string) string { return "`" + name + "`" }

// stringLiteral returns a string literal.
func stringLiteral(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, c := range s {
		switch {
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(c))
		case strconv.IsPrint(c):
			b.WriteRune(c)
		case c <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}
	return b.String() + "'"
}

// bytesLiteral returns a literal of bytes.
func bytesLiteral(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, `\x%02x`, c)
	}
	return "b'" + b.String() + "'"
}

// timestampLiteral returns a literal of a time.
func timestampLiteral(t time.Time) string {
	return "TIMESTAMP '" + t.UTC().Format("2006-01-02 15:04:05.999999") + "+00'"
}
