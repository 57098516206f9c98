package evolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Input is the input of [Diff].
type Input struct {
	Old     *lock.Lock
	Layouts []*layout.Layout // without errors
	Whole   bool             // whether the layouts are those of all schemas of the lock
	// Now determines which layouts of a table have begun, and which contain only expired
	// events; zero if it is unknown.
	Now time.Time
	// Schema returns the schema of a layout, for hints; nil if there is none.
	Schema func(file string) *schema.Schema
	// Gone returns the position at which to report a table that is in no schema.
	Gone func(t *lock.Table) diag.Pos
}

// Finding is a change at a position in a schema.
type Finding struct {
	Class      Class
	Name       string          // the name for --accept, such as "E04:balloon_buckets"
	Diagnostic diag.Diagnostic // without how to accept the change; see Report
	Old, New   string          // an example of what is stored; may be empty
	Accepted   string          // the reason, if the change is accepted in a lock; else empty

	pair *pair
}

// Comparison is the result of [Diff].
type Comparison struct {
	Findings []Finding // the worst first, then by place
	in       Input
	pairs    []pair
}

// pair is a table before and after.
type pair struct {
	old    *lock.Table // nil if it is new
	facts  *lock.Table // nil if it is in no schema, or a draft
	layout *layout.Layout
	table  *layout.Table // nil if it is in no schema
}

// Diff compares the tables of schemas with those of a lock.
func Diff(in Input) *Comparison {
	c := &Comparison{in: in}
	c.match()
	for i := range c.pairs {
		c.comparePair(&c.pairs[i])
	}
	c.agree()
	c.sort()
	return c
}

// sort sorts the findings.
func (c *Comparison) sort() {
	slices.SortStableFunc(c.Findings, func(a, b Finding) int {
		p, q := a.Diagnostic.Pos, b.Diagnostic.Pos
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column), cmp.Compare(a.Name, b.Name))
	})
}

// match pairs the tables of the lock with those of the schemas: by shared families and, if the
// input has all schemas, the remaining tables by name.
func (c *Comparison) match() {
	old := map[string][]*lock.Table{}
	for i := range c.in.Old.Tables {
		t := &c.in.Old.Tables[i]
		old[t.Name] = append(old[t.Name], t)
	}
	taken := map[*lock.Table]bool{}
	take := func(p *pair, fits func(t *lock.Table) bool) {
		if p.old != nil {
			return
		}
		i := slices.IndexFunc(old[p.facts.Name], func(t *lock.Table) bool { return !taken[t] && fits(t) })
		if i >= 0 {
			p.old = old[p.facts.Name][i]
			taken[p.old] = true
		}
	}
	for _, l := range c.in.Layouts {
		for _, t := range l.Tables {
			facts := lock.Of(l, t)
			c.pairs = append(c.pairs, pair{facts: &facts, layout: l, table: t})
		}
	}
	for i := range c.pairs {
		p := &c.pairs[i]
		take(p, func(t *lock.Table) bool { return t.Family == p.facts.Family })
	}
	for i := range c.pairs {
		p := &c.pairs[i]
		take(p, func(t *lock.Table) bool {
			return shareFamily(t, p.facts) && keyText(t.Newest()) == keyText(p.facts.Newest())
		})
	}
	for i := range c.pairs {
		p := &c.pairs[i]
		take(p, func(t *lock.Table) bool { return shareFamily(t, p.facts) && !otherKind(t, p.facts) })
	}
	if c.in.Whole {
		for i := range c.pairs {
			take(&c.pairs[i], func(t *lock.Table) bool { return t.Removed == "" })
		}
	}
	for i := range c.in.Old.Tables {
		if t := &c.in.Old.Tables[i]; !taken[t] {
			c.pairs = append(c.pairs, pair{old: t})
		}
	}
	for i := range c.pairs {
		if p := &c.pairs[i]; p.table != nil && p.table.Draft {
			p.facts = nil
		}
	}
}

// shareFamily reports whether a layout of one table and a layout of the other have a family in
// common. All layouts count: the newest may have a new family.
func shareFamily(a, b *lock.Table) bool {
	families := map[string]bool{}
	for i := range a.Layouts {
		for _, f := range a.Layouts[i].Families {
			families[f.Name] = true
		}
	}
	return slices.ContainsFunc(b.Layouts, func(l lock.Layout) bool {
		return slices.ContainsFunc(l.Families, func(f lock.Family) bool { return families[f.Name] })
	})
}

// otherKind reports whether two tables are about different kinds of records in one family.
func otherKind(a, b *lock.Table) bool {
	return a.Family != b.Family && strings.Contains(a.Family, ":") && strings.Contains(b.Family, ":")
}

// comparePair adds the findings of a table.
func (c *Comparison) comparePair(p *pair) {
	switch {
	case p.old == nil && p.facts == nil: // a draft
	case p.old == nil:
		if c.known(p.layout) {
			c.add(p, Change{Rule: "E30", place: atTable, Message: fmt.Sprintf("table %q is added: it contains no earlier events%s", p.table.ID, c.serves(p))}, false)
		}
	case p.table == nil && (!c.in.Whole || p.old.Removed != ""):
	case p.table == nil:
		c.gone(p)
	case p.facts == nil && p.old.Removed == "":
		c.add(p, Change{Rule: "E02", place: atTable, Keys: true, Message: fmt.Sprintf("table %q becomes a draft, but may contain events: its layout could change unnoticed", p.table.ID), way: way{text: "remove `draft: true`"}}, false)
	case p.facts != nil:
		c.comparePeriods(p)
		if p.old.Removed != "" {
			c.add(p, Change{Rule: "E30", place: atTable, Message: fmt.Sprintf("table %q is used again: it lacks the events that were written in the meantime", p.table.ID)}, false)
		}
	}
}

// known reports whether events of a schema are stored in any table of the lock.
func (c *Comparison) known(l *layout.Layout) bool {
	return slices.ContainsFunc(c.pairs, func(p pair) bool { return p.layout == l && p.old != nil && p.old.Removed == "" })
}

// serves names the reads that use a new table.
func (c *Comparison) serves(p *pair) string {
	if p.layout.Read == p.table {
		return ", and Read uses it: write to it and backfill it before programs read from it"
	}
	for i := range p.layout.Queries {
		if q := &p.layout.Queries[i]; q.Table == p.table {
			return fmt.Sprintf(", and query %s uses it: write to it and backfill it before programs read from it", q.Name)
		}
	}
	return ": run setup before programs write to it"
}

// gone adds the finding for a table that is in no schema.
func (c *Comparison) gone(p *pair) {
	change := Change{Rule: "E01", place: atTable, Keys: true, Message: fmt.Sprintf("table %q is removed: its stored events are no longer read", p.old.Name), way: way{text: "keep the table until its events have expired"}}
	if slices.ContainsFunc(c.pairs, func(o pair) bool { return o.facts != nil && o.facts.Name == p.old.Name }) {
		change.Item = p.old.Family
		change.Message = fmt.Sprintf("family %q of table %q is removed: its stored events are no longer read", p.old.Family, p.old.Name)
	}
	if i := slices.IndexFunc(c.pairs, func(o pair) bool {
		return o.old == nil && o.facts != nil && o.facts.Newest().Equal(p.old.Newest())
	}); i >= 0 {
		change.Message = fmt.Sprintf("table %q becomes %q: a table cannot be renamed, and its stored events are no longer read", p.old.Name, c.pairs[i].facts.Name)
		change.way.text = "keep the name `" + p.old.Name + "`"
	}
	c.add(p, change, false)
}

// add adds a change as a finding. twoTables reports whether a second table is an alternative.
func (c *Comparison) add(p *pair, change Change, twoTables bool) { c.addTo(p, p, change, twoTables) }

// addTo adds a change of p, which is one layout of table of.
func (c *Comparison) addTo(of, p *pair, change Change, twoTables bool) {
	name := change.name(c.tableName(of))
	f := Finding{Class: ClassOf(change.Rule), Name: name, Old: change.Old, New: change.New, pair: of}
	if change.Keys {
		f.Old, f.New = examples(p, change.Rule)
	} else if change.Rule == "E08" || change.Rule == "E09" || change.Rule == "E10" || change.Rule == "E17" && change.column != "" {
		f.Old, f.New = cells(p, &change)
	}
	f.Diagnostic = diag.Diagnostic{
		Pos: c.position(p, &change), Severity: f.Class.Severity(), Class: f.Class.String(), Rule: change.Rule, Message: change.Message, Note: note(f.Old, f.New),
	}
	if f.Class == Data {
		f.Diagnostic.Hint = c.hint(p, &change, twoTables)
	}
	c.Findings = append(c.Findings, f)
}

// tableName returns the ID of a table.
func (c *Comparison) tableName(p *pair) string {
	if p.table != nil {
		return p.table.ID
	}
	return p.old.Name
}

// note shows an example before and after.
func note(old, new string) string {
	switch {
	case old == "" && new == "":
		return ""
	case new == "":
		return "stored: " + old
	case old == "":
		return "new: " + new
	}
	return "stored: " + old + "\nnew:    " + new
}

// position returns the place of a change in the schema.
func (c *Comparison) position(p *pair, change *Change) diag.Pos {
	t := p.table
	if t == nil {
		return c.in.Gone(p.old)
	}
	switch change.place {
	case atSince:
		return firstPos(t.SincePos, t.Pos)
	case atPattern:
		return t.PatternPos
	case atKey:
		if 0 < change.segment && change.segment <= len(t.Segments) {
			return firstPos(t.Segments[change.segment-1].Pos, t.KeyPos)
		}
		return t.KeyPos
	case atBucket:
		return firstPos(t.WidthPos, t.BucketPos, t.Pos)
	case atFamily, atAge:
		for _, f := range t.Families {
			if f.Name == change.family && change.place == atAge {
				return firstPos(f.GCPos, t.Pos)
			} else if f.Name == change.family {
				return firstPos(f.Pos, t.Pos)
			}
		}
	case atColumn, atEnum:
		return columnPos(p, change)
	}
	return t.Pos
}

func firstPos(all ...diag.Pos) diag.Pos {
	for _, p := range all {
		if p.IsValid() {
			return p
		}
	}
	return diag.Pos{}
}

// columnPos returns the place of a field, or of an enum value.
func columnPos(p *pair, change *Change) diag.Pos {
	fields := slices.Concat(p.layout.Fields, p.layout.Series)
	for i := range fields {
		f := &fields[i]
		if f.Name != change.Item && f.Name != fieldName(p, change.column) {
			continue
		}
		for j, v := range f.Enum {
			if change.place == atEnum && v.Name == change.value && j < len(f.EnumPos) {
				return f.EnumPos[j]
			}
		}
		return f.Pos
	}
	for _, col := range p.table.Columns {
		if col.Qualifier == change.column {
			return col.Pos
		}
	}
	return p.table.Pos
}

// fieldName returns the name of the field in a column.
func fieldName(p *pair, column string) string {
	for _, c := range p.table.Columns {
		if c.Field >= 0 && (c.Qualifier == column || p.table.Pattern == codec.BucketOffsets) {
			return p.layout.Fields[c.Field].Name
		}
	}
	return ""
}
