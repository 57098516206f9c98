package explain

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// cheaper is a layout by time for later events, which takes much less storage.
type cheaper struct {
	pattern string
	since   string // says when it begins; empty for a draft
	// lines are the fields, if they get numbers, and the table, in the language of schemas. SINCE
	// stands for the time of the first event with the layout.
	lines []string
}

// When a layout is proposed; our judgment. Events that live shorter are soon gone, and the change
// takes care. Compressed sizes of cells and blobs differ by less than stored ones.
const (
	longLived        = 90 * 24 * time.Hour
	muchLess         = 0.5 // of the bytes before compression
	muchLessMeasured = 0.7 // of the compressed ones
)

// laterLayout returns the layout that may be proposed for later events of a table: one value per
// event and bucket, if the table has cells that live long. It returns nil if that is impossible.
func laterLayout(s *schema.Schema, index int, l *layout.Layout, t *layout.Table) *cheaper {
	e := estimate.Of(l, t)
	cells := t.Pattern.Naming() == codec.NamedByField && !t.Serialized() && e.CellsPerEvent > 1
	if !cells || t.Older != nil || t.WriteOnly || e.Retention > 0 && e.Retention < longLived {
		return nil
	}
	v := variants{schema: s, index: index, layout: l, table: t}
	p := codec.BucketSerialized
	alone := v.with(p, v.width(p))
	later := *s // with fields that have numbers
	later.Fields, later.Tables = slices.Clone(s.Fields), slices.Clone(s.Tables)
	table := &later.Tables[index]
	*table = alone.Tables[0]
	v.serialize(&later, table)
	out := &cheaper{}
	out.pattern, _ = designOf(&alone.Tables[0])
	var starts []time.Time
	if !t.Draft {
		starts = v.starts(alone)
		table.Before = []schema.Table{s.Tables[index]}
		table.Before[0].Name = schema.Value[string]{Pos: table.Name.Pos}
		table.Since = schema.Value[time.Time]{V: starts[0], Pos: table.Name.Pos}
		out.since = sinceText(starts)
	}
	if !fits(&later, table) {
		return nil
	}
	out.lines = proposal(s, &later, table)
	return out
}

// fits reports whether a schema has no errors. It removes what a table no longer needs to allow.
func fits(s *schema.Schema, table *schema.Table) bool {
	check := func() (diag.List, bool) {
		l, found := layout.Resolve(s)
		if !found.HasErrors() {
			found = append(found, lint.Check(s, l)...)
		}
		return found, !found.HasErrors()
	}
	found, ok := check()
	table.Allow = slices.DeleteFunc(slices.Clone(table.Allow), func(a schema.Allow) bool {
		return slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Pos == a.Rule.Pos && d.Rule == "" })
	})
	return ok
}

// starts returns the next two days in the future at which buckets of the table and of a variant begin;
// of a table without buckets, any day.
func (v *variants) starts(alone *schema.Schema) []time.Time {
	l, _ := layout.Resolve(alone) // what is wrong is found in the whole schema
	var out []time.Time
	for day, end := firstSince, firstSince.AddDate(3, 0, 0); len(out) < 2 && day.Before(end); day = day.AddDate(0, 0, 1) {
		within := func(t *layout.Table) bool { return t.Pattern.Bucketed() && !t.Bucket.Start(day).Equal(day) }
		if !within(v.table) && !within(l.Tables[0]) {
			out = append(out, day)
		}
	}
	if out == nil {
		out = []time.Time{firstSince} // which is refused
	}
	return out
}

// firstSince is the first time at which a layout is proposed to begin. An explanation does not depend on
// the clock.
var firstSince = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// sinceText says what SINCE stands for.
func sinceText(starts []time.Time) string {
	text, first := " Stored events need not move: later ones can have another layout, from a time on by which all programs run the new code, SINCE", starts[0].Format(time.DateOnly)
	switch {
	case len(starts) == 1:
		return text + ", at a time at which buckets of both layouts begin, such as " + first + "."
	case starts[1].Sub(starts[0]) == 24*time.Hour:
		return text + ", such as " + first + "."
	}
	return text + ", at a time at which buckets of both layouts begin, such as " + first + " and next on " + starts[1].Format(time.DateOnly) + "; for another time, btgen lint names the nearest."
}

// proposal returns the lines of a schema with a table in place of one of another schema: the fields, if
// they get numbers, and the table.
func proposal(was, s *schema.Schema, table *schema.Table) []string {
	var out []string
	unnumbered := func(f schema.Field) bool { return !f.Number.IsSet() }
	if slices.ContainsFunc(was.Fields, unnumbered) && table.Blob.Format.V != string(layout.JSONText) {
		out = append(out, "fields:")
		for _, f := range s.Fields {
			out = append(out, "  "+schema.Quoted(f.Name.V)+": "+f.String())
		}
	}
	out = append(out, "tables:")
	for _, line := range table.Whole() {
		out = append(out, "  "+line)
	}
	if len(table.Before) > 0 {
		out = append(out, "    since: SINCE", "    before: ["+table.Before[0].EarlierText(table)+"]")
	}
	return out
}

// cheaper proposes a later layout, if it takes much less than the chosen one.
func (b *builder) cheaper(of *Section, later *cheaper, all []*choice) {
	if later == nil {
		return
	}
	i := slices.IndexFunc(all, func(c *choice) bool { return c.pattern == later.pattern && c.table != nil })
	if i < 0 || all[0].table == nil {
		return
	}
	now, then := &all[0].year, &all[i].year
	least, what := muchLess, "before compression"
	if now.Compressed != nil && then.Compressed != nil {
		least, what = muchLessMeasured, "compressed"
	}
	if then.middle() > least*now.middle() {
		return
	}
	out := of.begin("a cheaper layout for later events")
	out.paragraph("Events live long here, and a year of them takes about " + words.Size(then.middle()) + " instead of " + words.Size(now.middle()) + ", " + what +
		", if each is one value." + later.since + " Write this in the schema, in place of what it has under these names:")
	out.Parts = append(out.Parts, Part{Code: later.lines})
}
