package evolve

import (
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
)

// besideHint returns how to keep the layout of a table beside the new one: until a time, or in a
// second table. It proposes only what was tried.
func (c *Comparison) besideHint(p *pair, s *schema.Schema, table *schema.Table) string {
	parts := layoutParts(p.old.Newest(), p.facts.Newest())
	if parts == nil {
		return "keep this table, add a second table with the new layout, backfill it, and then remove this one:\n" + secondTable(table)
	}
	before := "before: [{" + strings.Join(parts, ", ") + "}]"
	byTime := withBefore(*table, before)
	restored := byTime.Periods()[1]
	restored.Since, restored.Before, restored.Allow = table.Since, table.Before, table.Allow
	second := *table
	second.Name.V += "_2"
	second.Since, second.Before = schema.Value[time.Time]{}, nil

	restore := "restore " + listed(parts) + dropped(table, &restored)
	var ways []string
	if c.tried(p, s, byTime) {
		ways = append(ways, "start the new layout at a future time, with since and "+diag.Code(before))
	}
	switch {
	case c.tried(p, s, restored, second):
		ways = append(ways, restore+", add a second table with the new layout, backfill it, and then remove this one:\n"+secondTable(table))
	case c.tried(p, s, restored):
		ways = append(ways, restore+", and write the new layout with a second schema")
	default:
		ways = append(ways, restore+", with all that the schema had for it, such as series values; write the new layout with a second schema")
	}
	return strings.Join(ways, "; or ")
}

// secondTable returns a second table with the layout of one, to paste.
func secondTable(t *schema.Table) string {
	return strings.Join(t.Lines(t.Name.V+"_2", t.SegmentTexts()), "\n")
}

// listed returns text to paste, part by part.
func listed(parts []string) string {
	out := make([]string, len(parts))
	for i, part := range parts {
		out[i] = diag.Code(part)
	}
	return strings.Join(out, " and ")
}

// dropped returns which keys a table must not have with the layout that it had.
func dropped(is, was *schema.Table) string {
	out := ""
	if is.Blob.Pos.IsValid() && !was.Blob.Pos.IsValid() {
		out += ", without `blob`"
	}
	if is.Bucket.Pos.IsValid() && !was.Bucket.Pos.IsValid() {
		out += ", without `bucket`"
	}
	return out
}

// layoutParts returns what the layout of a table was that has changed, in the schema language.
func layoutParts(old, new *lock.Layout) []string {
	var out []string
	if old.Pattern != new.Pattern {
		out = append(out, "pattern: "+old.Pattern.String())
	}
	if is := keyRestore(old); is != keyRestore(new) || old.Sequence != new.Sequence {
		out = append(out, is)
	}
	if old.Pattern.Bucketed() && (!new.Pattern.Bucketed() || old.BucketFact() != new.BucketFact()) {
		out = append(out, "bucket: "+bucketText(old.Bucket))
	}
	if text := blobRestore(old); old.Blob != new.Blob && text != "" {
		out = append(out, text)
	}
	return out
}

// trialStart is when a layout begins that is tried: the start of a bucket of most widths.
var trialStart = time.Date(2029, 1, 1, 0, 0, 0, 0, time.UTC)

// withBefore returns a table whose layout begins at a time, with an earlier one as in the text.
func withBefore(t schema.Table, before string) schema.Table {
	const head = "btgen: v1\npackage: a\nname: A\ntables:\n  t:\n    "
	s, _ := schema.Parse("", []byte(head+before+"\n")) // it lacks the rest
	if len(s.Tables) != 1 || len(s.Tables[0].Before) != 1 {
		return t
	}
	t.Before = append(slices.Clone(s.Tables[0].Before), t.Before...)
	t.Before[0].Since = t.Since
	t.Since = set(trialStart)
	return t
}

// tried reports whether a schema with tables in place of that of a pair has no errors, and
// stores events where they are.
func (c *Comparison) tried(p *pair, s *schema.Schema, tables ...schema.Table) bool {
	edited := *s
	i := slices.IndexFunc(s.Tables, func(t schema.Table) bool { return t.Name.V == p.table.ID })
	if i < 0 {
		return false
	}
	edited.Tables = slices.Concat(s.Tables[:i], tables, s.Tables[i+1:])
	l, found := layout.Resolve(&edited)
	if found.HasErrors() {
		return false
	}
	in := c.in
	in.Schema, in.Locked, in.Now = nil, nil, time.Time{}
	in.Layouts = slices.Clone(c.in.Layouts)
	for k, o := range in.Layouts {
		if o == p.layout {
			in.Layouts[k] = l
		}
	}
	return !slices.ContainsFunc(byRules(in, c.heads).Findings, func(f Finding) bool {
		return f.pair != nil && f.pair.table != nil && f.pair.table.ID == p.table.ID && f.Rule.shows == "rows"
	})
}
