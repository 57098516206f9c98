package evolve

import (
	"slices"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/rehearse"
	"github.com/btgen-dev/btgen/gen/schema"
)

// What a rehearsal finds decides; this file explains it: by the rule for what has become of a field, and its way out.

// explain adds the finding for a loss since one side of a merge, or since the lock: values of a field are no longer
// read, or others in their place, or windows are not. It reports whether there is one, or the other side has
// accepted it.
func (r *rewind) explain(p *pair, l rehearse.Loss, side int) bool {
	if p.facts == nil || p.old == nil || l.Back() {
		return false
	}
	m, known := p.match(l)
	if !known {
		return false
	}
	c := &comparer{old: &m.old[0], new: &m.new[0]}
	explanation := c.values
	if l.Width > 0 {
		explanation = c.windows
		if t := r.c.heads[side].Table(p.old.Key()); t != nil { // what both sides say together may have lost the rollup
			if i := slices.IndexFunc(t.Periods(), func(o lock.Layout) bool { return o.Since.Equal(c.old.Since) }); i >= 0 {
				c.old = &t.Layouts[i]
			}
		}
	}
	change, known := explanation(l)
	if !known {
		return false
	}
	field, n := fieldOf(&change), len(r.c.Findings)
	if slices.ContainsFunc(r.c.Findings, func(f Finding) bool { return f.pair == p && f.Rule == change.Rule && f.field == field }) {
		return true
	}
	r.c.addPeriod(p, p.period(m), change)
	if len(r.c.heads) > 1 && r.c.acceptedSince(side, r.c.Findings[n].Name) {
		r.c.Findings = r.c.Findings[:n]
	}
	return true
}

// values returns the change of a field of which values are lost; false if there is no such field.
func (c *comparer) values(l rehearse.Loss) (Change, bool) {
	live := c.new.Live()
	i := slices.IndexFunc(live, func(col lock.Column) bool { return !col.Written && item(col) == l.FieldOf() })
	switch {
	case i < 0 || l.Found == nil && l.Stored == nil:
		return Change{}, false
	case l.Found != nil:
		return c.reused(live[i], l), true
	}
	return c.forgotten(live[i], l), true
}

// windows returns the change of a rollup for which windows are lost; false if they are for another reason.
func (c *comparer) windows(l rehearse.Loss) (Change, bool) {
	new := c.new.Rollup()
	active := slices.DeleteFunc(slices.Clone(c.old.Rollups), func(r lock.Rollup) bool { return r.Retired || r.Idle })
	other := slices.IndexFunc(active, func(r lock.Rollup) bool { return new == nil || r.Family != new.Family })
	switch {
	case l.Moves() || len(active) == 0:
		return Change{}, false
	case other >= 0:
		at := c.atRollup(active[other].Family)
		at.Old, at.New = "family "+active[other].Family, "not read"
		return at.as("windows-removed", active[other].Family), true
	}
	old, at := active[0], c.atRollup(new.Family)
	if new.Idle {
		at.Old, at.New = "serves", "serves: false"
		return at.as("windows-unused", new.Family), true
	}
	if every := schema.FormatDuration(new.Every); old.Every != new.Every {
		at.Item += "/every"
		at.Old, at.New = schema.FormatDuration(old.Every), every
		if new.Every%old.Every == 0 {
			return at.as("windows-replaced", new.Family, at.New, at.Old), true
		}
		return at.as("windows-unknown", new.Family, at.New, at.Old), true
	}
	for _, s := range c.old.Summaries {
		of, known := column(c.old, s.Name)
		if i := c.now(of.Key); known && !s.Retired && i >= 0 && item(c.new.Columns[i]) == l.Field {
			return c.windowsOf(s, of, l.Field)
		}
	}
	return Change{}, false
}

// windowsOf returns the change of the statistics of a field; false if they mean the same.
func (c *comparer) windowsOf(s lock.Summary, old lock.Column, field string) (Change, bool) {
	at := c.atSummary(c.new.Rollup().Family, s.Name, old)
	at.field, at.Old = field, s.Type.String()
	i := slices.IndexFunc(c.new.Summaries, func(o lock.Summary) bool { return o.Name == s.Name })
	if i < 0 {
		at.New = "not read"
		if _, moves := older(c.new, old); moves {
			at.way.text = "keep the column of the field"
		}
		return at.as("rollup-lacks-field", s.Name), true
	}
	if is := c.new.Summaries[i].Type; !reads(s.Type, is) {
		at.New, at.way.text = is.String(), "keep the type, and add a field for the new values"
		return at.as("rollup-type", s.Name, at.Old, at.New), true
	}
	if new, is := column(c.new, s.Name); is {
		return c.meaning(at, old, new)
	}
	return Change{}, false
}

// meaning returns the change of what stored statistics of a field mean: of which events, and of which values of an enum; false if
// they mean the same.
func (c *comparer) meaning(at Change, old, new lock.Column) (Change, bool) {
	at.way = way{text: "keep it as it was, and add a field"}
	if old.Default == nil && new.Default != nil && old.Optional {
		at.Old, at.New = presenceText(old), presenceText(new)
		return at.as("rollup-default", item(new)), true
	}
	for _, v := range live(new.Enum) {
		k := slices.IndexFunc(old.Enum, func(o lock.EnumValue) bool { return o.Number == v.Number && o.Name != v.Name })
		if k >= 0 && !slices.Contains(old.Enum, v) && storesNames(c.old, old) {
			at.Old, at.New = valueText(old.Enum[k]), valueText(v)
			return at.as("rollup-number", v.Number, item(new), old.Enum[k].Name, v.Name), true
		}
	}
	return Change{}, false
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
	out := Change{
		Item: item(field), place: atColumn, column: field.Key, Old: c.show(stored), New: "not read",
		way: way{text: "add " + diag.Code(c.wasText(stored, &field)) + " until these events have expired"},
	}
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

// explains reports whether a finding says why a loss is one. What is read in place of a value is explained only by
// what is said of the field, and by no finding that its values are not read; the loss of a field, or of its windows,
// by no finding about another one. That values expire is no reason for not looking where they are.
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
