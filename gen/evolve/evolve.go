// Package evolve judges what a change of schemas does to stored events and to programs. Programs of all revisions of
// the lock are rehearsed, and what they see decides; rules compare facts to find what a rehearsal cannot see, such
// as the order of a rollout, and to explain what it finds. It does not read files: package lock stores facts, and
// package layout derives them from schemas.
package evolve

import (
	"slices"

	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
)

// placeKind is the kind of a place in a table of a schema.
type placeKind int

const (
	atTable placeKind = iota
	atPattern
	atKey
	atBucket
	atFamily // its name
	atAge    // its ttl
	atColumn
	atSince
	atServes
	atRollup
	atSummary // a field of a rollup
	atEnum    // a value of the enum of a column, or of a segment
)

// Change is a difference between two sets of facts.
type Change struct {
	Rule    *Rule
	Item    string // the part that changes, such as a column; empty for the whole table
	Message string // what changes, and the consequence
	// Old and New are examples of stored data before and after the change. For row keys they
	// are empty, and the caller derives the examples.
	Old, New string

	place   placeKind
	segment int    // the first segment that differs, counted from 1, for atKey; 0 for the key
	field   string // that it is about; empty if it is Item
	column  string // key of the column, for atColumn and atEnum
	value   string // enum value, for atEnum
	family  string // for atFamily and atAge
	way     way
}

// way describes how to avoid a change, as far as the facts determine it.
type way struct {
	restore string           // the previous schema text, to paste; empty if it is unknown
	text    string           // replaces the usual sentence
	beside  bool             // a second table is an alternative
	column  *lock.Column     // the old column
	read    *lock.Column     // the column that is read in place of it
	values  []lock.EnumValue // of an enum, to keep
	number  int              // a protobuf number that was never used
}

// name returns the name by which a change of a table is accepted.
func (c *Change) name(table string) string {
	if c.Item == "" {
		return c.Rule.ID + ":" + table
	}
	return c.Rule.ID + ":" + table + "/" + c.Item
}

// compare returns the changes between two sets of facts of the same table. It does not consider
// whether events are stored under the old facts.
func (c *comparer) compare() []Change {
	if c.pattern() {
		c.beside()
	} else {
		c.key()
		c.bucket()
		c.time()
		c.precision()
		c.columns(c.families())
	}
	c.rollups()
	return c.changes
}

// comparer collects changes.
type comparer struct {
	old, new *lock.Layout
	heirs    map[string]string // see Comparison.heirs
	changes  []Change
}

// add adds a change that a sentence says.
func (c *comparer) add(change Change, name string, args ...any) {
	c.changes = append(c.changes, change.as(name, args...))
}

// at returns a change of the field in a new column, with what is stored now and before. way.column
// is the old column.
func (c *comparer) at(old, new lock.Column) Change {
	return Change{Item: item(new), place: atColumn, column: new.Key, Old: c.in(c.old, old), New: c.in(c.new, new), way: way{column: &old}}
}

// pattern compares the meaning of rows and cells. It reports whether they differ; rows and
// columns are not comparable then.
func (c *comparer) pattern() bool {
	switch {
	case c.old.Pattern != c.new.Pattern:
		c.add(Change{place: atPattern, way: way{restore: "pattern: " + c.old.Pattern.String(), beside: true}}, "pattern", c.old.Pattern, c.new.Pattern)
	case c.old.Blob != c.new.Blob:
		c.add(Change{place: atPattern, Old: blobText(c.old), New: blobText(c.new), way: way{restore: blobRestore(c.old), beside: true}}, "format", blobText(c.old), blobText(c.new))
	default:
		if c.old.BlobColumn != c.new.BlobColumn {
			c.add(Change{
				Item: c.new.BlobColumn, place: atPattern, Old: "column " + c.old.BlobColumn, New: "column " + c.new.BlobColumn,
				way: way{restore: "blob: {column: " + quoted(c.old.BlobColumn) + "}"},
			}, "blob-column", c.old.BlobColumn, c.new.BlobColumn)
		}
		return false
	}
	return true
}

func blobText(l *lock.Layout) string {
	if l.Blob == "" {
		return "single values"
	}
	return string(l.Blob)
}

func blobRestore(l *lock.Layout) string {
	if l.Blob == "" {
		return ""
	}
	return "blob: {format: " + string(l.Blob) + "}"
}

// merge returns the new facts plus all columns and enum values of the old ones, so that none is
// reused with a different meaning.
func merge(old, new *lock.Layout) lock.Layout {
	out := *new
	out.Number, out.Accepted = old.Number, old.Accepted
	out.Rollups = withRetired(old.Rollups, new.Rollups, func(a, b lock.Rollup) bool { return a.Family == b.Family }, func(r *lock.Rollup) { r.Retired = true })
	out.Summaries = withRetired(old.Summaries, new.Summaries, func(a, b lock.Summary) bool { return a.Name == b.Name }, func(s *lock.Summary) { s.Retired = true })
	out.Columns = slices.Clone(new.Columns)
	if old.Blob != new.Blob { // the keys of the columns have a different meaning
		out.Sort()
		return out
	}
	for _, was := range old.Columns {
		i := slices.IndexFunc(out.Columns, func(c lock.Column) bool { return c.Key == was.Key && c.Family == was.Family })
		if i < 0 {
			was.Retired = true
			if was.Was != "" && find(new.Columns, was.Was, false) >= 0 {
				was.Was = "" // the field no longer has it
			}
			out.Columns = append(out.Columns, was)
			continue
		}
		out.Columns[i].Enum = mergeEnum(was.Enum, out.Columns[i].Enum)
	}
	out.Segments = slices.Clone(new.Segments)
	for i := range out.Segments {
		if i < len(old.Segments) && (old.Segments[i].Name == out.Segments[i].Name || renamedSegment(old, new, i)) {
			out.Segments[i].Enum = mergeEnum(old.Segments[i].Enum, out.Segments[i].Enum)
		}
	}
	out.Sort()
	return out
}

// renamedSegment reports whether a series value in the row key has only another name.
func renamedSegment(old, new *lock.Layout, i int) bool {
	named := func(l *lock.Layout, name string) bool {
		return slices.ContainsFunc(l.Segments, func(g lock.Segment) bool { return g.Name == name })
	}
	was, is := &old.Segments[i], &new.Segments[i]
	return was.Kind == is.Kind && was.Type == is.Type && !named(new, was.Name) && !named(old, is.Name)
}

// mergeEnum returns the new values and the old ones that are no longer used.
func mergeEnum(old, new []lock.EnumValue) []lock.EnumValue {
	same := func(a, b lock.EnumValue) bool { return a.Number == b.Number && a.Name == b.Name }
	return withRetired(old, new, same, func(v *lock.EnumValue) { v.Retired = true })
}

// withRetired returns the new facts and the old ones that are no longer used.
func withRetired[T any](old, new []T, same func(a, b T) bool, retire func(*T)) []T {
	out := slices.Clone(new)
	for _, was := range old {
		if !slices.ContainsFunc(new, func(is T) bool { return same(was, is) }) {
			retire(&was)
			out = append(out, was)
		}
	}
	return out
}

// quoted returns a string for a message that is pasted into a schema.
func quoted(s string) string { return schema.Quoted(s) }
