package explain

import (
	"fmt"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/document"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// When a layout is proposed; our judgment. Events that live shorter are soon gone, and the change
// takes care. Compressed sizes of cells and blobs differ by less than stored ones.
const (
	longLived        = 90 * 24 * time.Hour
	muchLess         = 0.5 // of the bytes before compression
	muchLessMeasured = 0.7 // of the compressed ones
)

// cheaper proposes a layout for later events of a table whose cells live long: one value per event and bucket, if that
// is possible and takes much less storage.
func cheaper(of *document.Section, s *schema.Schema, index int, t *layout.Table, all []*choice) {
	i := slices.IndexFunc(all, func(c *choice) bool {
		return c.pattern == codec.BucketSerialized.String() && c.table != nil
	})
	if i < 0 || all[0].table == nil {
		return
	}
	now, then := all[0], all[i]
	cells := t.Pattern.Naming() == codec.NamedByField && !t.Serialized() && now.size.CellsPerEvent > 1
	if !cells || t.Older != nil || t.WriteOnly || now.size.Retention > 0 && now.size.Retention < longLived {
		return
	}
	least, what := muchLess, "before compression"
	if now.year.Compressed != nil && then.year.Compressed != nil {
		least, what = muchLessMeasured, "compressed"
	}
	is, was := then.year.best().Typical, now.year.best().Typical
	if is > least*was {
		return
	}
	lines, begin := later(s, index, t, then)
	if lines == nil {
		return
	}
	text := fmt.Sprintf("Events live long here, and a year of them takes about %s instead of %s, %s, if each is one value.",
		words.Size(is), words.Size(was), what)
	if !t.Draft {
		text += ` Stored events need not move: later ones can have another layout, from a time on by which all programs run
			the new code, SINCE. Buckets of both layouts must begin then, as on ` + begin.Format(time.DateOnly) + `; for another
			time, btgen lint names the nearest.`
	}
	out := of.Section("a cheaper layout for later events")
	out.Say(text + " Write this in the schema, in place of what it has under these names:")
	out.Add(document.Part{Code: lines})
}

// later returns the fields, if they get numbers, and the table with a later layout, in the language of schemas; nil if
// that is no valid schema. SINCE stands for the time of the first event with the layout, such as begin.
func later(s *schema.Schema, index int, t *layout.Table, then *choice) (lines []string, begin time.Time) {
	out := *s // with fields that have numbers
	out.Fields, out.Tables = slices.Clone(s.Fields), slices.Clone(s.Tables)
	table := &out.Tables[index]
	*table = then.schema.Tables[0]
	serialize(&out, table)
	if !t.Draft {
		begin = firstBegin(t, then.table)
		table.Before = []schema.Table{s.Tables[index]}
		table.Before[0].Name = schema.Value[string]{Pos: table.Name.Pos}
		table.Since = schema.Value[time.Time]{V: begin, Pos: table.Name.Pos}
	}
	if !fits(&out, table) {
		return nil, begin
	}
	return proposal(s, &out, table), begin
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

// firstBegin returns the first day from 2030 on at which buckets of both layouts begin: an explanation does not depend
// on the clock. It is the start of that year, which is refused, if there is none soon.
func firstBegin(layouts ...*layout.Table) time.Time {
	begin := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range 3 * 365 {
		day := begin.AddDate(0, 0, n)
		within := func(t *layout.Table) bool { return t.Pattern.Bucketed() && !t.Bucket.Start(day).Equal(day) }
		if !slices.ContainsFunc(layouts, within) {
			return day
		}
	}
	return begin
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
