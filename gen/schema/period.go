package schema

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// sinceKey is the key of a layout that is not the oldest of its table.
var sinceKey = put("since", instantForm("since: 2027-01-11"), func(t *Table) *Value[time.Time] { return &t.Since })

// periodBlock is an earlier layout of a table: what differs from the one above it.
var periodBlock = block[Table]{
	what:  "an earlier layout",
	begin: func(pos diag.Pos, t *Table) { t.Name.Pos = pos },
	keys:  slices.Concat([]key[Table]{periodTableKey, sinceKey}, optional(layoutKeys)),
}

// periodTableKey names the table of an earlier layout.
var periodTableKey = put("table", filled("a table ID"), func(t *Table) *Value[string] { return &t.Name })

// optional returns keys of which none is required.
func optional[T any](keys []key[T]) []key[T] {
	out := slices.Clone(keys)
	for i := range out {
		out[i].required = false
	}
	return out
}

// Periods returns the layouts of the table, each complete, newest first.
func (t *Table) Periods() []Table {
	newest := *t
	newest.Before = nil
	out := []Table{newest}
	for i := range t.Before {
		out = append(out, t.Before[i].over(&out[i]))
	}
	return out
}

// over returns an earlier layout with what it has in common with the one above it.
func (t Table) over(above *Table) Table {
	if t.Name.V == "" {
		t.Name.V = above.Name.V
	}
	if t.Name.V == above.Name.V {
		t.Doc, t.Splits, t.Allow = above.Doc, above.Splits, above.Allow
		t.RowKeySchema, t.DeletionProtection, t.Tier, t.Draft = above.RowKeySchema, above.DeletionProtection, above.Tier, above.Draft
	}
	t.Pattern = orAbove(t.Pattern, above.Pattern, !t.Pattern.IsSet())
	if !t.Key.IsValid() {
		t.Key, t.Delimiter, t.Segments = above.Key, above.Delimiter, above.Segments
	}
	p, same := codec.ParsePattern(t.Pattern.V), t.Pattern.V == above.Pattern.V // values and blob depend on the pattern
	t.Bucket = orAbove(t.Bucket, above.Bucket, p.Bucketed() && !t.Bucket.Pos.IsValid())
	t.Blob = orAbove(t.Blob, above.Blob, !t.Blob.Pos.IsValid() && (same || p.Serialized()))
	t.Values = orAbove(t.Values, above.Values, !t.Values.IsSet() && (same || !p.OneValue()))
	if !t.Family.IsSet() && t.Families == nil {
		t.Family, t.Families = above.Family, above.Families
	}
	t.TTL = orAbove(t.TTL, above.TTL, t.TTL == nil && len(t.Families) == 0)
	t.Rollup = orAbove(t.Rollup, above.Rollup, !t.Rollup.Pos.IsValid())
	return t
}

// orAbove returns what a layout has, or takes over from the one above it.
func orAbove[T any](own, above T, takesOver bool) T {
	if takesOver {
		return above
	}
	return own
}

// FormatInstant writes a time as in since: only the date if it is midnight in UTC.
func FormatInstant(t time.Time) string {
	if t.Equal(t.Truncate(day)) {
		return t.Format(time.DateOnly)
	}
	return t.Format(time.RFC3339)
}
