package evolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/lock"
)

// The rules that this file applies.
var (
	factForgotten = data(Rule{
		ID: "E23", Title: "btgen.lock forgets a fact about stored events",
		Reason:   "A column, number, enum value or layout that the file no longer has can be reused with another meaning, and nothing notices. Only btgen breaking with another version finds it: the file was deleted or reverted, or is the wrong side of a merge conflict.",
		Fix:      "Restore the file from that version, and run btgen generate, which adds the changes of your branch.",
		NoAccept: true,
	})
	tableForgotten = data(Rule{
		ID: "E24", Title: "btgen.lock lacks a table that it had",
		Reason: "The generated code was written together with a btgen.lock that has the table, or the lock of another folder has it, where the schema was before. A new file would not know what only the other one records: columns and enum values of removed fields, earlier layouts and accepted changes.",
		Fix:    "Restore the file from version control. If the schema has moved, generate both projects in one run: btgen generate ONE TWO. If the file is lost, and nothing is stored in the table, accept the change.",
	})
)

// AddForgotten adds the findings for facts of the old lock that the one of the new version lacks:
// btgen generate keeps all, so that the file was deleted, reverted, or is the wrong side of a
// conflict. The schemas do not tell what only the lock knew, such as columns of removed fields.
// at is the position of a table in the file, and restore says where the file with the lines is.
func (c *Comparison) AddForgotten(now *lock.Lock, at func(*lock.Table) diag.Pos, restore string) {
	add := func(t *lock.Table, all []lost) {
		for _, lost := range all {
			c.Findings = append(c.Findings, finding(t.Name, at(t), Change{
				Rule: factForgotten, Item: lost.item, Old: lost.was,
				Message: fmt.Sprintf("%s no longer has %s: later changes are not compared with it", lock.Name, lost.what),
				way:     way{text: fmt.Sprintf("restore the lines: %s, and run btgen generate, which adds the changes of this version", restore)},
			}))
		}
	}
	for i := range c.in.Old.Tables {
		add(&c.in.Old.Tables[i], c.forgotten(&c.in.Old.Tables[i], now))
	}
	for i := range c.pairs {
		if t := c.pairs[i].in(now); t != nil {
			add(t, c.pairs[i].unfilled(t))
		}
	}
	c.sort()
}

// in returns the table of a pair in the lock of the new version; nil if that lacks it.
func (p *pair) in(now *lock.Lock) *lock.Table {
	if p.facts == nil {
		return nil
	}
	i := p.index(now, p.facts.Family)
	if p.old != nil && (i < 0 || p.facts.Name == p.old.Name) {
		if k := p.index(now, p.old.Family); k >= 0 {
			i = k
		}
	}
	if i < 0 {
		return nil
	}
	return &now.Tables[i]
}

// index returns the index of the table of a pair with a family in a lock; -1 if that lacks it.
func (p *pair) index(l *lock.Lock, family string) int {
	return slices.IndexFunc(l.Tables, func(t lock.Table) bool { return t.Name == p.facts.Name && t.Family == family })
}

// unfilled returns the reasons for which a table must not serve reads since this change, and that
// the lock of the new version does not have.
func (p *pair) unfilled(now *lock.Table) []lost {
	var old lock.Table
	if p.old != nil {
		old = *p.old
	}
	var out []lost
	for _, reason := range p.lacks {
		if !slices.Contains(old.Lacks, reason) && !slices.Contains(now.Lacks, reason) && len(now.Accepted) <= len(old.Accepted) {
			out = append(out, lost{"lacks-" + string(reason), fmt.Sprintf("that table %q may lack events (%s)", now.Name, reason), ""})
		}
	}
	return out
}

// kept adds the finding for a table that is about to be locked, although another project still has
// its facts. It reports whether there is one.
func (c *Comparison) kept(p *pair) bool {
	if c.in.Kept == nil {
		return false
	}
	file, text := c.in.Kept(p.layout, p.facts)
	if file == "" {
		return false
	}
	c.add(p, tableForgotten, Change{way: way{text: text}}, "table %q is locked in %s: a second lock would not know what only that one records", p.facts.Name, file)
	return true
}

// lostTable reports whether a lock that lacks a table had it when the code was generated.
func (c *Comparison) lostTable(t *lock.Table) bool {
	if slices.Contains(c.in.Locked, t.Key()) {
		return true
	}
	other := slices.ContainsFunc(c.in.Old.Tables, func(o lock.Table) bool { return o.Name == t.Name })
	return !other && slices.ContainsFunc(c.in.Locked, func(key string) bool { return strings.HasPrefix(key, t.Name+"/") })
}

// lost adds the finding for a table that the lock has lost.
func (c *Comparison) lost(p *pair) {
	c.add(p, tableForgotten, Change{way: way{text: restoreLock}}, "%s lacks table %q, but had it when the code was generated: a new start forgets what is stored", lock.Name, p.facts.Name)
}

// restoreLock is the way out for a lock that has lost a table.
const restoreLock = "restore the file: `git checkout HEAD -- " + lock.Name + "`; in a merge, restore the conflict: `git checkout -m -- " + lock.Name + "`, and run btgen generate; if the schema has moved from another project, generate both in one run"

// lostLock adds the findings for tables that neither an empty lock nor the schemas have, and the
// generated code has: the lock was lost, and the removal of the tables would not be noticed.
func (c *Comparison) lostLock() {
	if !c.in.Whole || len(c.in.Old.Tables) > 0 {
		return
	}
	for _, key := range c.in.Locked {
		name, _, _ := strings.Cut(key, "/")
		if slices.ContainsFunc(c.pairs, func(p pair) bool { return p.table != nil && p.table.ID == name }) {
			continue
		}
		c.Findings = append(c.Findings, finding(name, diag.Pos{File: lock.Name}, Change{
			Rule: tableForgotten, way: way{text: restoreLock},
			Message: fmt.Sprintf("%s does not exist, but had table %q when the code was generated, and the schemas have it no longer", lock.Name, name),
		}))
	}
}

// lost is a fact that a lock has forgotten.
type lost struct {
	item string // in the name of the change
	what string
	was  string // an example of what is stored; may be empty
}

// forgotten returns the facts of a table that the lock of the new version lacks. Facts that
// changed are none of them: the comparison with the schemas finds these.
func (c *Comparison) forgotten(old *lock.Table, now *lock.Lock) []lost {
	i := slices.IndexFunc(now.Tables, func(t lock.Table) bool { return t.Name == old.Name && t.Family == old.Family })
	p := c.continuation(old)
	if i < 0 && p != nil { // the table may have another name, which the schemas say
		i = p.index(now, p.facts.Family)
	}
	if i < 0 { // or a newer layout is in another table
		i = slices.IndexFunc(now.Tables, func(t lock.Table) bool {
			return slices.ContainsFunc(t.Layouts, func(l lock.Layout) bool {
				return l.Table == old.Name && l.Number == old.Newest().Number && shareFamilies(&l, old.Newest())
			})
		})
	}
	if i < 0 && p != nil { // or the table has another name again
		i = p.index(now, old.Family)
	}
	if i < 0 {
		return []lost{{old.Family, fmt.Sprintf("table %q with family %q", old.Name, old.Family), ""}}
	}
	out := forgottenOf(old, &now.Tables[i], now)
	for k := range old.Layouts {
		l := &old.Layouts[k]
		if c.over(old, k) {
			continue
		}
		j := slices.IndexFunc(now.Tables[i].Layouts, func(o lock.Layout) bool { return o.Number == l.Number })
		if j < 0 {
			out = append(out, lost{fmt.Sprintf("%s/%d", old.Family, l.Number), fmt.Sprintf("layout %d of table %q", l.Number, old.Name), ""})
			continue
		}
		unstated := now.Tables[i].Removed != "" || j >= len(now.Tables[i].Periods())
		out = append(out, forgottenIn(old.Name, l, &now.Tables[i].Layouts[j], unstated)...)
	}
	return out
}

// continuation returns the pair of an old table that the schemas have, perhaps under another name;
// nil if they have none.
func (c *Comparison) continuation(old *lock.Table) *pair {
	i := slices.IndexFunc(c.pairs, func(p pair) bool {
		return p.facts != nil && p.old != nil && (p.old.Key() == old.Key() || p.locked != nil && p.locked.Key() == old.Key())
	})
	if i < 0 {
		return nil
	}
	return &c.pairs[i]
}

// forgottenOf returns the facts of a table, apart from its layouts, that it has no longer: why it
// may lack events, unless that was accepted or there was no other table, and accepted changes.
func forgottenOf(old, new *lock.Table, now *lock.Lock) []lost {
	var out []lost
	name := ""
	stated := false
	for _, a := range new.Accepted {
		more := len(named(new.Accepted, a.Change)) > len(named(old.Accepted, a.Change))
		stated = stated || more && readLacks.named(a.Change)
	}
	for _, a := range old.Accepted {
		if a.Change != name && len(named(new.Accepted, a.Change)) < len(named(old.Accepted, a.Change)) {
			name = a.Change
			out = append(out, lost{"accepted-" + strings.ReplaceAll(name, ":", "-"), fmt.Sprintf("the accepted change %s of table %q", name, old.Name), ""})
		}
	}
	others := slices.ContainsFunc(now.Tables, func(t lock.Table) bool {
		return t.Schema == new.Schema && t.Key() != new.Key()
	})
	for _, reason := range old.Lacks {
		if !slices.Contains(new.Lacks, reason) && !stated && others && new.Removed == "" {
			out = append(out, lost{"lacks-" + string(reason), fmt.Sprintf("the note that table %q may lack the events %s", old.Name, lackText(reason)), ""})
		}
	}
	return out
}

// over reports whether a layout by time may be removed from a lock: it has not begun, or its
// events have expired.
func (c *Comparison) over(t *lock.Table, i int) bool {
	current := t.Periods()
	switch now := c.in.Now; {
	case now.IsZero() || i >= len(current):
		return false
	case now.Before(current[i].Since):
		return true
	}
	return i > 0 && c.expired(&current[i], current[i-1].Since)
}

// forgottenIn returns the facts of a layout that it has no longer. The schemas state the facts of a
// layout, and are compared with the old lock, except those of removed fields, and of a layout that
// is unstated: one of a removed table, or one that an accepted change replaced.
func forgottenIn(table string, old, new *lock.Layout, unstated bool) []lost {
	var out []lost
	for _, a := range old.Accepted {
		if !slices.ContainsFunc(new.Accepted, func(o lock.Acceptance) bool { return o.Change == a.Change }) {
			name := strings.ReplaceAll(a.Change, ":", "-")
			out = append(out, lost{"accepted-" + name, fmt.Sprintf("the accepted change %s of table %q", a.Change, table), ""})
		}
	}
	out = append(out, forgottenRollups(table, old, new)...)
	if old.Blob != new.Blob {
		return out // another finding, and the keys of columns mean something else
	}
	c := comparer{old: old, new: new}
	for _, col := range old.Columns {
		i := slices.IndexFunc(new.Columns, func(o lock.Column) bool { return o.Key == col.Key && o.Family == col.Family })
		if i < 0 {
			out = append(out, lost{item(col), fmt.Sprintf("%s of table %q", c.place(col), table), c.show(col)})
			continue
		}
		now := new.Columns[i]
		out = append(out, forgottenValues(item(col), col.Enum, now.Enum)...)
		if (unstated || now.Retired) && c.misstates(col, now) {
			out = append(out, lost{item(col), fmt.Sprintf("%s of table %q, but %s", c.show(col), table, c.in(new, now)), c.show(col)})
		}
	}
	if unstated {
		out = append(out, misstated(table, old, new)...)
	}
	for i, g := range old.Segments {
		if i < len(new.Segments) && g.Type == new.Segments[i].Type {
			out = append(out, forgottenValues(g.Name, g.Enum, new.Segments[i].Enum)...)
		}
	}
	return out
}

// misstates reports whether the facts of a column differ from those with which events were written:
// how values are read, or what it means that events lack one. Values of enums are compared by name,
// and another name of the field is none of the facts of stored events: it is accepted, or written in was.
func (c *comparer) misstates(old, now lock.Column) bool {
	old.Enum, now.Enum = nil, nil
	old.Field = now.Field
	return c.misreads(old, now) || otherDefault(old, now) || c.implicit(old) && !c.implicit(now)
}

// misstated returns what a layout that no schema states says of rows otherwise than before. Its
// columns are compared one by one.
func misstated(table string, old, new *lock.Layout) []lost {
	var out []lost
	c := &comparer{old: old, new: new}
	c.rows()
	for _, change := range c.changes {
		if change.Rule.Class == Data {
			name := change.Rule.ID + "-" + table
			if change.Item != "" {
				name += "-" + change.Item
			}
			out = append(out, lost{name, fmt.Sprintf("the facts of table %q: %s", table, change.Message), change.Old})
		}
	}
	return out
}

// forgottenValues returns the values of an enum that it has no longer.
func forgottenValues(of string, old, new []lock.EnumValue) []lost {
	var out []lost
	for _, v := range old {
		if !slices.ContainsFunc(new, func(o lock.EnumValue) bool { return o.Number == v.Number && o.Name == v.Name }) {
			out = append(out, lost{of + "/" + v.Name, fmt.Sprintf("the value %s of enum %q", v.Name, of), valueText(v)})
		}
	}
	return out
}
