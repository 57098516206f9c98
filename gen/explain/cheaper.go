package explain

import (
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Cheaper is a layout by time for later events, which takes much less storage.
type Cheaper struct {
	Pattern string `json:"pattern"`
	Bucket  string `json:"bucket"`
	Means   string `json:"means"`
	// Lines are entries of the table in the schema. SINCE stands for the time of the first event
	// with the layout.
	Lines []string `json:"lines"`
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
func laterLayout(s *schema.Schema, index int, l *layout.Layout, t *layout.Table) *Cheaper {
	e := estimate.Of(l, t)
	cells := t.Pattern.Naming() == codec.NamedByField && !t.Serialized() && e.CellsPerEvent > 1
	if !cells || t.Older != nil || t.WriteOnly || e.Retention > 0 && e.Retention < longLived {
		return nil
	}
	v := variants{schema: s, index: index, layout: l, table: t}
	p := codec.BucketSerialized
	later := v.with(p, v.width(p))
	table := &later.Tables[0]
	lines := table.Lines(t.ID, table.SegmentTexts())[1:]
	if !t.Draft {
		earlier := s.Tables[index]
		earlier.Name = schema.Value[string]{Pos: table.Name.Pos}
		if !v.changes(later, earlier) {
			return nil
		}
		lines = append(lines, "  since: SINCE", "  before: ["+earlier.EarlierText(table)+"]")
	}
	out := &Cheaper{Lines: lines}
	out.Pattern, out.Bucket = designOf(later)
	if slices.ContainsFunc(s.Fields, func(f schema.Field) bool { return !f.Number.IsSet() }) && table.Blob.Format.V != string(layout.JSONText) {
		out.Means = " Give each field a number, as in {type: int64, number: 1}."
	}
	return out
}

// changes reports whether the table can have a layout for later events, after an earlier one: from
// some boundary of both their buckets on.
func (v *variants) changes(later *schema.Schema, earlier schema.Table) bool {
	alone, found := layout.Resolve(later)
	if found.HasErrors() {
		return false
	}
	all := *v.schema
	all.Fields = later.Fields
	all.Tables = slices.Clone(v.schema.Tables)
	table := later.Tables[0]
	table.Before = []schema.Table{earlier}
	table.Since = schema.Value[time.Time]{V: boundary(alone.Tables[0], v.table), Pos: table.Name.Pos}
	all.Tables[v.index] = table
	l, found := layout.Resolve(&all)
	return !found.HasErrors() && !lint.Check(&all, l).HasErrors()
}

// boundary returns a day in the future at which buckets of both tables begin, if there is one soon.
func boundary(tables ...*layout.Table) time.Time {
	day := time.Date(2050, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 366 {
		apart := func(t *layout.Table) bool { return t.Pattern.Bucketed() && !t.Bucket.Start(day).Equal(day) }
		if !slices.ContainsFunc(tables, apart) {
			break
		}
		day = day.AddDate(0, 0, 1)
	}
	return day
}

// weigh sets whether the later layout is proposed: if it takes much less than the table does.
func (t *Table) weigh() {
	t.Cheaper = nil
	if t.layout == nil {
		return
	}
	i := slices.IndexFunc(t.Choices, func(c Choice) bool { return c.Pattern == t.layout.Pattern && c.Year != nil })
	if i < 0 || t.Choices[0].Year == nil {
		return
	}
	now, then := t.Choices[0].Year, t.Choices[i].Year
	least, what := muchLess, "before compression"
	if now.Compressed != nil && then.Compressed != nil {
		least, what = muchLessMeasured, "compressed"
	}
	if then.middle() > least*now.middle() {
		return
	}
	proposal := *t.layout
	proposal.Means = "Events live long here, and a year of them takes about " + words.Size(then.middle()) + " instead of " + words.Size(now.middle()) + ", " + what +
		", if each is one value. Stored events need not move: later ones can have another layout, from a time on by which all programs run the new code, SINCE." + proposal.Means
	t.Cheaper = &proposal
}

// cheaperTitle introduces the proposal.
const cheaperTitle = "a cheaper layout for later events"

// cheaper writes the proposal, if there is one.
func (w *textWriter) cheaper(t *Table) {
	if t.Cheaper == nil {
		return
	}
	w.heading(cheaperTitle)
	w.wrapped("    ", plain, t.Cheaper.Means)
	for _, line := range t.Cheaper.Lines {
		w.wrapped("    ", plain, line)
	}
}

// cheaper writes the proposal, if there is one.
func (w *markdownWriter) cheaper(t *Table) {
	if t.Cheaper == nil {
		return
	}
	w.section(title(cheaperTitle))
	w.paragraph(t.Cheaper.Means)
	w.line("\n```yaml\n%s\n```", strings.Join(t.Cheaper.Lines, "\n"))
}
