package explain

import (
	"strconv"
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// Comparisons have all settings, in the language of schemas, so that schemas without a difference mean the same;
// TestCompareSettings demands it.

// settings adds what a schema states about its events and reads.
func (b *builder) settings(s *schema.Schema, l *layout.Layout) {
	b.fact("precision", "", schema.FormatDuration(l.Precision))
	if l.Expect.Lateness > 0 {
		b.fact("lateness", "", schema.FormatDuration(l.Expect.Lateness))
	}
	if l.Expect.Clusters > 0 {
		b.fact("clusters", "", strconv.FormatInt(l.Expect.Clusters, 10))
	}
	for _, f := range s.Series {
		f.Doc = ""
		b.fact("series value "+f.Name.V, "", f.String())
	}
	for _, f := range s.Fields {
		f.Doc = ""
		b.fact("field "+f.Name.V, "", f.String())
	}
	for i := range l.Queries {
		b.fact(l.Queries[i].Name+" selects", "", givenWords(l, &l.Queries[i]))
	}
	for i := range s.Queries {
		b.querySettings(&s.Queries[i])
	}
}

// querySettings adds what a query states, apart from what callers give.
func (b *builder) querySettings(q *schema.Query) {
	add := func(name, text string, stated bool) {
		if stated {
			b.fact(q.Name.V+" "+name, "", oneLine(text))
		}
	}
	add("table", q.Table.V, q.Table.IsSet())
	add("series", "true", q.Series.V)
	add("delete", "true", q.Delete.V)
	add("scan", q.Scan.V, q.Scan.V != "")
	for _, a := range q.Allow {
		add("allows "+a.Rule.V, a.Reason, true)
	}
}

// tableSettings adds what a table states, with its earlier layouts.
func (b *builder) tableSettings(s *schema.Table, t *layout.Table) {
	newest := *s
	newest.Doc = ""
	b.lines(t, newest.Whole()[1:], "")
	for i, p := range s.Periods()[1:] {
		until := " until " + instant(t.Older[i].Until)
		b.fact("table"+until, t.ID, p.Name.V)
		b.lines(t, p.Lines("", p.SegmentTexts())[1:], until)
	}
}

// lines adds the lines of a layout in the language.
func (b *builder) lines(t *layout.Table, lines []string, until string) {
	for _, line := range lines {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		b.fact(strings.ReplaceAll(key, "_", " ")+until, t.ID, oneLine(value))
	}
}
