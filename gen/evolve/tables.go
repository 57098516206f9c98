package evolve

import (
	"cmp"
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
	// Locked are the tables that the lock had when the code on disk was generated, as
	// "table/family".
	Locked []string
	// Now determines which layouts of a table have begun, and which contain only expired
	// events; zero if it is unknown.
	Now time.Time
	// Kept returns the lock of another project that still has a table of a schema, and how to take
	// its facts over; empty if there is none. It may be nil.
	Kept func(l *layout.Layout, t *lock.Table) (file, way string)
	// Command is the command line of btgen generate with which this is the comparison; empty if it
	// has no arguments.
	Command string
	// Schema returns the schema of a layout, for hints; nil if there is none.
	Schema func(file string) *schema.Schema
	// Gone returns the position at which to report a table that is in no schema.
	Gone func(t *lock.Table) diag.Pos
}

// Finding is a change at a position in a schema.
type Finding struct {
	Rule       *Rule
	Name       string          // the name for --accept, such as "E04:balloon_buckets"
	Diagnostic diag.Diagnostic // without how to accept the change; see Report
	Old, New   string          // an example of what is stored; may be empty
	Accepted   string          // the reason, if the change is accepted in a lock; else empty
	// Accept is the command that accepts the change, up to the reason; empty if none does.
	Accept string

	pair  *pair
	field string // that it is about; empty if it is about more
	fill  bool   // it is no loss once the table is backfilled
}

// Comparison is the result of [Diff].
type Comparison struct {
	Findings []Finding // the worst first, then by place
	in       Input
	pairs    []pair
	renamed  map[string]string // old names of schemas to new ones
	heads    []*lock.Epoch     // the last ones of the lock: several after a merge
	accepted [][]Finding       // since each side of a merge: those that the other side has accepted
}

// pair is a table before and after.
type pair struct {
	old    *lock.Table // nil if it is new
	facts  *lock.Table // nil if it is in no schema, or a draft
	layout *layout.Layout
	table  *layout.Table // nil if it is in no schema
	// planned are the layouts of the lock that have not begun, and that old therefore lacks, if the change is of them.
	planned []lock.Layout
	locked  *lock.Table // old with these; nil if there are none
}

// Diff compares the tables of schemas with those of a lock: what its epochs say together, and what each of the last ones
// says, if there are several after a merge.
func Diff(in Input) *Comparison {
	c := byRules(in, in.Old.Heads())
	if len(c.heads) > 1 {
		for i := range c.heads {
			c.accepted = append(c.accepted, c.since(i))
		}
	}
	c.rehearsed()
	c.Findings = slices.DeleteFunc(slices.Clone(c.Findings), c.overruled)
	c.sort()
	for i := range c.Findings {
		if f := &c.Findings[i]; f.Rule.Class == Data && !f.Rule.NoAccept {
			f.Accept = c.accepting(f.Name)
		}
	}
	return c
}

// overruled reports whether there is a finding of class Data about what another one is about: the field that is
// added, or the part of a rollup.
func (c *Comparison) overruled(f Finding) bool {
	_, name, _ := strings.Cut(f.Name, ":")
	return f.Rule.Class != Data && slices.ContainsFunc(c.Findings, func(o Finding) bool {
		windows := o.Name == windowsLost.ID+":"+name
		return o.pair == f.pair && o.Rule.Class == Data && (windows || f.Rule == fieldAdded && o.field == f.field)
	})
}

// byRules compares the tables of schemas with what a lock says, fact by fact.
func byRules(in Input, heads []*lock.Epoch) *Comparison {
	c := &Comparison{in: in, heads: heads}
	c.match()
	c.withdraw()
	c.rename()
	for i := range c.pairs {
		c.comparePair(&c.pairs[i])
	}
	c.owners()
	c.lostLock()
	return c
}

// sort sorts the findings.
func (c *Comparison) sort() {
	slices.SortStableFunc(c.Findings, func(a, b Finding) int {
		p, q := a.Diagnostic.Pos, b.Diagnostic.Pos
		return cmp.Or(cmp.Compare(a.Rule.Class, b.Rule.Class), cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column), cmp.Compare(a.Name, b.Name))
	})
}

// comparePair adds the findings of a table.
func (c *Comparison) comparePair(p *pair) {
	switch {
	case p.old == nil && p.facts == nil: // a draft
	case p.old == nil && c.kept(p):
	case p.old == nil && c.lostTable(p.facts):
		c.lost(p)
	case p.old == nil:
		if c.known(p.layout) {
			c.add(p, Change{}, "table-added", p.table.ID)
		}
	case c.dropped(p) && p.old.Newest().Pattern.NewestOnly():
		c.stateGone(p)
	case c.dropped(p):
		c.gone(p)
	case p.table == nil:
	case p.facts == nil && !tableDraft.named(p.old.Removed):
		c.becomesDraft(p)
	case p.facts != nil:
		c.comparePeriods(p)
		if p.old.Removed != "" {
			c.add(p, Change{}, "table-again", p.table.ID)
		}
	}
}

// becomesDraft adds the finding for a table with stored events that is a draft now, even if it was
// removed in between: its events are still there.
func (c *Comparison) becomesDraft(p *pair) {
	verb, way := "becomes", way{text: "remove `draft: true`"}
	if p.old.Removed != "" {
		verb, way.text = "was removed and returns as", "remove `draft: true`, or give the table another name"
	}
	c.add(p, Change{way: way}, "table-draft", p.table.ID, verb)
}

// known reports whether events of a schema are stored in any table of the lock.
func (c *Comparison) known(l *layout.Layout) bool {
	return slices.ContainsFunc(c.pairs, func(p pair) bool { return p.layout == l && p.old != nil && p.old.Removed == "" })
}

// includes reports whether the input has the schema of a table in the lock.
func (c *Comparison) includes(t *lock.Table) bool {
	return slices.ContainsFunc(c.in.Layouts, func(l *layout.Layout) bool { return lock.SchemaOf(l) == c.owner(t) })
}

// dropped reports whether a table that was in a schema is in none, as far as the input tells.
func (c *Comparison) dropped(p *pair) bool {
	return p.old != nil && p.table == nil && p.old.Removed == "" && (c.in.Whole || c.includes(p.old))
}

// stateGone adds the finding for a table with the newest events that is in no schema: other tables have
// its events.
func (c *Comparison) stateGone(p *pair) {
	if len(p.old.Serves) == 0 {
		c.add(p, Change{}, "table-unused", p.old.Name)
		return
	}
	c.add(p, Change{}, "latest-removed", p.old.Name)
}

// gone adds the finding for a table that is in no schema.
func (c *Comparison) gone(p *pair) {
	change := Change{way: way{text: "keep the table until its events have expired"}}
	if !c.includes(p.old) {
		change.way.text += "; if the schema has moved to another project, run btgen generate once with the schemas of both"
	}
	heir := slices.IndexFunc(c.pairs, func(o pair) bool {
		return o.old == nil && o.facts != nil && o.facts.Newest().Equal(p.old.Newest())
	})
	switch {
	case heir >= 0:
		change.way.text = "keep the name `" + p.old.Name + "`"
		c.add(p, change, "table-becomes", p.old.Name, c.pairs[heir].facts.Name)
	case slices.ContainsFunc(c.pairs, func(o pair) bool { return o.facts != nil && o.facts.Name == p.old.Name }):
		c.add(p, change, "events-removed", p.old.Family, p.old.Name)
	default:
		c.add(p, change, "table-removed", p.old.Name)
	}
}

// add adds a change that a sentence says as a finding.
func (c *Comparison) add(p *pair, change Change, name string, args ...any) {
	c.addTo(p, p, change.as(name, args...))
}

// addTo adds a change of p, which is one layout of table of.
func (c *Comparison) addTo(of, p *pair, change Change) {
	switch {
	case change.Rule.shows == "rows" && change.Old == "" && change.New == "":
		change.Old, change.New = examples(p, &change)
	case change.Rule.shows == "cells":
		change.Old, change.New = cells(p, &change)
	}
	if change.Rule.Class == Data {
		change.way.text = c.hint(p, &change)
	}
	f := finding(c.tableName(of), c.position(p, &change), change)
	f.pair = of
	f.field = fieldOf(&change)
	c.Findings = append(c.Findings, f)
}

// fieldOf returns the name of the field that a change is about; empty if it is about more.
func fieldOf(change *Change) string {
	if change.place == atColumn || change.place == atEnum || change.place == atSummary {
		return cmp.Or(change.field, change.Item)
	}
	return ""
}

// finding returns the finding for a change of a table.
func finding(table string, pos diag.Pos, change Change) Finding {
	class := change.Rule.Class
	f := Finding{Rule: change.Rule, Name: change.name(table), Old: change.Old, New: change.New}
	f.Diagnostic = diag.Diagnostic{
		Pos: pos, Severity: class.Severity(), Class: class.String(), Rule: change.Rule.ID, Message: change.Message, Note: note(f.Old, f.New),
	}
	if class == Data {
		f.Diagnostic.Hint = change.way.text
	}
	return f
}

// idOf returns the ID of a table.
func idOf(p *pair) string {
	if p.table != nil {
		return p.table.ID
	}
	return p.old.Name
}

// tableName returns the ID of a table, and the family by which one is distinguished that several
// schemas share: an acceptance is for the events of one of them.
func (c *Comparison) tableName(p *pair) string {
	id := idOf(p)
	owners := 0
	for i := range c.pairs {
		if idOf(&c.pairs[i]) == id {
			owners++
		}
	}
	switch {
	case owners < 2:
		return id
	case p.old != nil:
		return id + "/" + p.old.Family
	case p.facts == nil:
		return id
	}
	return id + "/" + p.facts.Family
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
	var at []diag.Pos // the first of them that there is
	switch change.place {
	case atSince:
		at = []diag.Pos{t.SincePos}
	case atServes:
		at = []diag.Pos{t.WriteOnlyPos}
	case atRollup, atSummary:
		at = []diag.Pos{t.RollupPos}
	case atPattern:
		at = []diag.Pos{t.PatternPos}
	case atKey:
		if 0 < change.segment && change.segment <= len(t.Segments) {
			at = []diag.Pos{t.Source(&t.Segments[change.segment-1]).Pos}
		}
		at = append(at, t.KeyPos)
	case atBucket:
		at = []diag.Pos{t.WidthPos, t.BucketPos}
	case atFamily, atAge:
		i := slices.IndexFunc(t.AllFamilies(), func(f layout.Family) bool { return f.Name == change.family })
		switch {
		case i >= 0 && change.place == atAge:
			at = []diag.Pos{t.AllFamilies()[i].GCPos}
		case i >= 0:
			at = []diag.Pos{t.AllFamilies()[i].Pos}
		}
	case atColumn, atEnum:
		return columnPos(p, change)
	}
	return firstPos(append(at, t.Pos)...)
}

// firstPos returns the first of some positions that is one.
func firstPos(all ...diag.Pos) diag.Pos {
	i := slices.IndexFunc(all, diag.Pos.IsValid)
	if i < 0 {
		return diag.Pos{}
	}
	return all[i]
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
		if c.Field >= 0 && (c.Qualifier == column || p.table.Pattern.Naming() == codec.NamedByTime) {
			return p.layout.Fields[c.Field].Name
		}
	}
	return ""
}
