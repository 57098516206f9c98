// Package explain says what the tables of a layout look like and what its queries
// ask for, for people. It reads the layout, and takes examples of keys and ranges
// through the code that readers and writers use.
package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/templates/codec"
)

// Text explains schemas, one after the other, in lines of plain text.
func Text(layouts []*layout.Layout) string {
	var b strings.Builder
	for i, l := range layouts {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s (%s)\n", l.Name, l.File)
		for _, t := range l.Tables {
			table(&b, l, t)
		}
		queries(&b, l)
	}
	return b.String()
}

// line writes a label and what it is.
func line(b *strings.Builder, label, format string, args ...any) {
	fmt.Fprintf(b, "    %-10s %s\n", label, fmt.Sprintf(format, args...))
}

// table explains a table.
func table(b *strings.Builder, l *layout.Layout, t *layout.Table) {
	fmt.Fprintf(b, "\n  table %s: %s\n", t.ID, t.Pattern)
	line(b, "row key", "%s", t.Picture(l))
	if key := t.ExampleKey(l); key != "" {
		line(b, "", "%s", layout.ShowKey(key))
	}
	for _, g := range t.Segments {
		if g.Kind != layout.SeriesSegment || g.Form != (codec.KeyForm{}) {
			line(b, "", "%s", t.Describe(l, g))
		}
	}
	if len(t.Splits) > 0 {
		line(b, "splits", "%d, from %s to %s", len(t.Splits), layout.ShowKey(t.Splits[0]), layout.ShowKey(t.Splits[len(t.Splits)-1]))
	}
	line(b, "columns", "%s", strings.Join(columns(l, t), ", "))
	for i := range t.Families {
		f := &t.Families[i]
		label := "family " + f.Name
		if f.Class > 0 {
			label += ", class " + l.Classes[f.Class-1]
		}
		line(b, "", "%s: events expire %s", label, f.Describe())
	}
}

// columns says what the columns of a table are.
func columns(l *layout.Layout, t *layout.Table) []string {
	var out []string
	for _, c := range t.Columns {
		switch {
		case c.Field == layout.WrittenAt:
			out = append(out, c.Qualifier+" (the time of writing)")
		case t.Pattern == layout.BucketOffsets:
			offset := t.Offset(l)
			bytes := offset.Append(nil, t.ExampleTime(), 0)
			out = append(out, fmt.Sprintf("one for each event: its time within the bucket, in %d bytes (%x at %s)", len(bytes), bytes, t.ExampleTime().Format("15:04:05")))
		case t.Metrics():
			out = append(out, "one for each value of "+c.Qualifier)
		case c.Field == layout.WholeEvent:
			out = append(out, fmt.Sprintf("%s (all fields, %s)", c.Qualifier, t.Blob))
		default:
			out = append(out, fmt.Sprintf("%s (%s)", c.Qualifier, l.Fields[c.Field].Type))
		}
	}
	return out
}

// queries explains what a reader asks for.
func queries(b *strings.Builder, l *layout.Layout) {
	b.WriteString("\n  reads\n")
	for _, q := range slices.Concat([]layout.Query{l.ReadQuery()}, l.Queries) {
		var given []string
		for _, i := range q.By {
			given = append(given, l.Series[i].Name)
		}
		fmt.Fprintf(b, "    %s(%s)\n", q.Name, strings.Join(given, ", "))
		fmt.Fprintf(b, "      table %s: %s\n      events come %s\n", q.Table.ID, q.Ranges(), q.Order(l))
		from := q.Table.ExampleTime()
		ranges := q.ExampleRows(l, from, from.Add(2*time.Hour))
		for i, rows := range ranges {
			if i == 3 {
				fmt.Fprintf(b, "      … and %d more\n", len(ranges)-i)
				break
			}
			fmt.Fprintf(b, "      %s\n", showRows(rows))
		}
	}
}

// showRows writes a range or a list of rows.
func showRows(rows codec.Rows) string {
	if rows.Keys != nil {
		var keys []string
		for _, key := range rows.Keys {
			keys = append(keys, layout.ShowKey(key))
		}
		return "rows " + strings.Join(keys, ", ")
	}
	end := "the end"
	if rows.End != "" {
		end = layout.ShowKey(rows.End)
	}
	return fmt.Sprintf("rows from %s to %s", layout.ShowKey(rows.Start), end)
}
