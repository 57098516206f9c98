package evolve

import (
	"slices"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/rehearse"
)

// What a rehearsal finds decides; this file explains it: by the rule for what has become of a field, and its way out.

// explain adds the finding for a loss of a field: its values are no longer read, or others in their place. It reports
// whether there is one.
func (r *rewind) explain(p *pair, l rehearse.Loss) bool {
	if p.facts == nil || p.old == nil || l.Width > 0 || l.Back() {
		return false
	}
	m, known := p.match(l)
	live := m.new[0].Live()
	i := slices.IndexFunc(live, func(col lock.Column) bool { return !col.Written && item(col) == l.FieldOf() })
	if !known || i < 0 || l.Found == nil && l.Stored == nil {
		return false
	}
	c := &comparer{old: &m.old[0], new: &m.new[0]}
	explanation := c.forgotten
	if l.Found != nil {
		explanation = c.reused
	}
	change := explanation(live[i], l)
	if !slices.ContainsFunc(r.c.Findings, func(f Finding) bool { return f.pair == p && f.Rule == change.Rule && f.field == change.Item }) {
		r.c.addPeriod(p, p.period(m), change)
	}
	return true
}

// match returns the layouts that a loss is about; false if the lock has none for these events.
func (p *pair) match(l rehearse.Loss) (match, bool) {
	all, _ := p.matches()
	i := slices.IndexFunc(all, func(m match) bool { return m.new[0].Since.Equal(l.Since) })
	if i < 0 {
		return match{new: p.facts.Layouts}, false
	}
	return all[i], true
}

// reused returns the change of a field that is read from a column with other values.
func (c *comparer) reused(field lock.Column, l rehearse.Loss) Change {
	at := lock.Column{Key: l.Found.Key, Family: l.Found.Family}
	stored, known := c.stored(l.Found)
	out := Change{
		Item: item(field), place: atColumn, column: field.Key, Old: c.show(stored), New: "read as " + quoted(item(field)), way: way{number: c.free(), read: &stored},
	}
	switch {
	case !l.Found.Older && known && !stored.Retired && item(stored) == item(field):
		out.way.text = lossWay(l)
		return out.as("other-encoding", "column", at.Key)
	case !l.Found.Older:
		return out.as("place-reused", c.place(at), item(field))
	case known && l.Stored != nil && l.Stored.Key == at.Key && l.Stored.Family == at.Family:
		out.way.text = "name the type and the encoding in was: " + diag.Code(c.wasText(stored, nil))
		return out.as("older-encoding", item(field), c.place(at))
	}
	out.way.text = "leave " + c.place(at) + " out of was"
	return out.as("read-from-other", item(field), c.place(at))
}

// forgotten returns the change of a field that is not read from where it is stored, or of the field that has its place.
func (c *comparer) forgotten(field lock.Column, l rehearse.Loss) Change {
	stored, known := c.stored(l.Stored)
	if i := find(c.new.Columns, stored.Key, false); i >= 0 && c.new.Columns[i].Family == stored.Family && i != find(c.new.Columns, field.Key, false) {
		own := *l.Stored
		own.Older, l.Is, l.Found = false, l.FieldOf(), &own
		return c.reused(c.new.Columns[i], l)
	}
	out := c.unread(stored, field, "add %s until these events have expired", diag.Code(c.wasText(stored, &field)))
	if convertible := stored.Type == field.Type || layout.Converts(stored.Type, field.Type); !known || !convertible {
		out.way.text = lossWay(l)
	}
	return out.as("not-read", item(field), c.place(stored))
}

// stored returns the facts about a column of a program; false if the newest layout does not know it.
func (c *comparer) stored(of *rehearse.Column) (lock.Column, bool) {
	out, known := inPlace(c.old, of.Key, of.Family)
	if !known {
		out.Field = of.Field
	}
	return out, known
}

// explains reports whether a finding says why a loss is one. What is read in place of a value is explained only by what
// is said of the field, and by no finding that its values are not read; the loss of a field, or of its windows, by no finding about
// another one. That values expire is no reason for not looking where they are.
func (f *Finding) explains(l rehearse.Loss) bool {
	id := l.FieldOf()
	switch {
	case l.Width > 0:
		return f.field == "" || f.field == l.Field
	case id == "":
		return true
	case f.field == "":
		return l.Found == nil && (l.Kept || l.Stored == nil || f.Rule.about != "expiry")
	case l.Found != nil && f.Rule.about == "unread values":
		return false
	}
	return f.field == id
}
