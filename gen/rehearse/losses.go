package rehearse

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Loss is something that a program showed of stored events and that the next one does not show, shows otherwise, or
// shows again though it was deleted.
type Loss struct {
	Schema string        // the name
	Read   string        // the read that shows it
	Field  string        // the ID; empty for events, and for the number of events of a window
	Width  time.Duration // of windows; 0 for events
	From   string        // the name of the table that served the read; empty if none did
	To     string        // the name of the table that serves it now; empty if none does
	Causes []Cause       // by what the facts of the two programs differ that may have to do with it
	Stored *Column       // of fields of events, where the value is that was shown; nil if there is none
	Found  *Column       // likewise the value that is shown now
	Kept   bool          // the next program looks for the field where Stored is
	Since  time.Time     // when the layout of the event begins, for the next program
	Was    string        // what was shown; empty for nothing
	Is     string        // what is shown now
	Story  []string      // what happened to the event, one act after the other
}

// Cause is a kind of difference between the facts of two programs. It explains a loss to people, and decides nothing.
type Cause string

// The causes.
const (
	SchemaRemoved   Cause = "schema-removed"
	Deleted         Cause = "deleted"    // deleted events, or windows of them, are back
	Foreign         Cause = "foreign"    // events of another schema
	ReadMoved       Cause = "read-moved" // another table serves the read
	RowsChanged     Cause = "rows"       // other row keys, another pattern, another table, or another format of events
	LayoutRemoved   Cause = "layout"     // the event has a layout of another time, or none
	FamiliesChanged Cause = "families"   // other families
	LifeChanged     Cause = "life"       // another time to live
	RollupChanged   Cause = "rollup"     // another rollup, or none
	ColumnsChanged  Cause = "columns"    // other columns, codings, defaults or values of enums
)

// Losses returns the losses of an epoch against those that it follows, of which there is at least one. Of equal
// losses there is one.
func Losses(next *Epoch) []Loss {
	var out []Loss
	for _, n := range parts(next) {
		part := next.cut(n.only, map[*Epoch]*Epoch{})
		for _, f := range n.fieldsOf(part) {
			for _, l := range losses(part.cut(f.only, map[*Epoch]*Epoch{})) {
				if !slices.ContainsFunc(out, l.Same) {
					out = append(out, l)
				}
			}
		}
	}
	slices.SortStableFunc(out, compareLosses)
	return out
}

// compareLosses sorts losses: of events before those of windows, and of whole ones before those of fields.
func compareLosses(a, b Loss) int {
	return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Read, b.Read), cmp.Compare(a.Width, b.Width), cmp.Compare(a.Field, b.Field))
}

// Same reports whether two losses are of the same things, for the same reason.
func (l Loss) Same(o Loss) bool {
	return l.Schema == o.Schema && l.Read == o.Read && l.Field == o.Field && (l.Width == 0) == (o.Width == 0) && l.Since.Equal(o.Since) &&
		(l.Found == nil) == (o.Found == nil) && l.Back() == o.Back() && l.Kept == o.Kept
}

// Back reports whether a field shows a value that it had before.
func (l Loss) Back() bool { return l.Found != nil && (l.Is == l.Field || l.Is == l.Field+"'") }

// Moves reports whether another table serves the read than before.
func (l Loss) Moves() bool { return l.From != "" && l.To != "" && l.From != l.To }

// comparison compares a program with the one before it.
type comparison struct {
	*stage
	prev     *Epoch
	played   map[*Epoch]*outcome
	old, new *side
	pairs    []pair
	out      []Loss
}

// losses rehearses an epoch with all fields that its programs have.
func losses(next *Epoch) []Loss {
	s := newStage(next)
	played := map[*Epoch]*outcome{}
	var out []Loss
	for _, prev := range next.After {
		was := s.play(prev, "", played)
		c := &comparison{stage: s, prev: prev, played: played}
		c.old, c.new = was.world, s.side(&next.Program, was.world.rules.setup(&next.Program))
		start := s.begin(was, prev, next)
		c.pairs = s.pairs(start, c.old, c.new)
		for n := range c.pairs {
			if c.pairs[n].from < 0 {
				c.foreign(n)
			}
			c.compare(n)
		}
		out = append(out, c.out...)
	}
	return out
}

// foreign adds the losses of reads that show events of another schema, and did not.
func (c *comparison) foreign(n int) {
	was, is := c.states[c.pairs[n].was], c.states[c.pairs[n].is]
	for k := range c.new.program.Schemas {
		p := &c.new.program.Schemas[k]
		if p.Name == is.schema || !c.meets(p, is) {
			continue
		}
		before := c.old.program.schema(p.Name)
		saw := map[string]string{}
		if before != nil {
			for i, shown := range c.old.show(before, was) {
				if what := c.old.looksOf(before)[i]; what.field == "" && what.width == 0 {
					saw[what.read] = shown
				}
			}
		}
		for i, shown := range c.new.show(p, is) {
			if what := c.new.looksOf(p)[i]; what.field == "" && what.width == 0 && shown != None && saw[what.read] == None {
				c.add(Loss{Schema: p.Name, Read: what.read, From: serving(before, what.read), To: serving(p, what.read), Causes: []Cause{Foreign}, Is: "an event of " + is.schema}, n)
			}
		}
	}
}

// meets reports whether an event has cells in tables of a schema.
func (c *comparison) meets(p *Schema, e *state) bool {
	for l := range p.layouts() {
		if slices.ContainsFunc(e.cells, func(o cell) bool { return c.places.all[o.key].table == l.Place && l.knows(c.places.all[o.key].family) }) {
			return true
		}
	}
	return false
}

// serving returns the name of the table that serves a read; empty if none does.
func serving(p *Schema, read string) string {
	if p == nil {
		return ""
	}
	if t := p.table(read); t != nil {
		return t.Name
	}
	return ""
}

// add adds a loss of a pair, once.
func (c *comparison) add(l Loss, pair int) {
	if !slices.ContainsFunc(c.out, l.Same) {
		l.Story = c.story(c.pairs, pair)
		c.out = append(c.out, l)
	}
}

// compare adds the losses of a pair.
func (c *comparison) compare(n int) {
	was, is := c.states[c.pairs[n].was], c.states[c.pairs[n].is]
	p, q := c.old.program.schema(was.schema), c.new.program.schema(is.schema)
	if p == nil {
		return
	}
	before := c.old.see(p, c.pairs[n].was)
	if q == nil {
		for i, what := range c.old.looksOf(p) {
			if what.field == "" && what.width == 0 && !was.deleted && before[i] != None {
				c.add(Loss{Schema: p.Name, Read: what.read, From: serving(p, what.read), Causes: []Cause{SchemaRemoved}, Was: before[i]}, n)
			}
		}
		return
	}
	after := c.new.see(q, c.pairs[n].is)
	lost := map[look]bool{} // in this pair
	for i, what := range c.new.looksOf(q) {
		shown := after[i]
		if q.read(what.read).Aside || p.read(what.read) == nil && c.ends(q.table(what.read), is) {
			continue
		}
		saw, comparable := c.before(p, q, before, what, shown, c.pairs[n].was)
		if !comparable || !is.worse(what.field, saw, shown) {
			continue
		}
		lost[what] = true
		if what != (look{read: what.read}) && lost[look{read: what.read}] || what.width > 0 && what.field != "" && lost[look{read: what.read, field: what.field}] {
			continue // it follows from the loss of the event, or of the field
		}
		c.add(c.loss(p, q, what, saw, shown, was, is), n)
	}
}

// ends reports whether an event has expired in a table, which a new read need not find.
func (c *comparison) ends(t *Table, e *state) bool {
	l := t.at(c.new.starts[e.period])
	return l != nil && c.new.late(l, e)
}

// worse reports whether a read of an event shows less than was shown, or something else. field is the ID of what is
// shown; empty for the event, and for the number of events.
func (e *state) worse(field, was, is string) bool {
	empty := is == None || is == Absent || is == Inexact
	switch {
	case was == is:
		return false
	case e.deleted:
		return !empty
	case field != "" && e.has(field, is):
		return false
	case field != "" && empty && !e.has(field, was) && was != field && was != Inexact && !strings.HasPrefix(was, Fallback):
		return false // a wrong value is gone
	case was == Inexact:
		return is == None && !(field != "" && e.lacks(field))
	case was == None || strings.HasPrefix(was, Unread), was == Absent && strings.HasPrefix(is, Fallback):
		return false
	}
	return true
}

// has reports whether an event has the value that is shown of a field.
func (e *state) has(field, shown string) bool {
	own := field
	if e.again {
		own += "'"
	}
	return shown == own || shown == field+"."+e.label
}

// shown returns what a view has of a look; false if it has nothing of it.
func (w *side) shown(p *Schema, v view, what look) (string, bool) {
	if i := slices.Index(w.looksOf(p), what); i >= 0 {
		return v[i], true
	}
	return "", false
}

// before returns what was shown, before a change, of something that is shown now; false if there is nothing to
// compare.
func (c *comparison) before(p, q *Schema, before view, what look, shown string, was int) (string, bool) {
	read := q.read(what.read)
	what.read = p.instead(what.read)
	if saw, known := c.old.shown(p, before, what); known {
		return saw, true
	}
	if what.field == "" || p.field(what.field) != nil {
		return "", false
	}
	// A new field, or one that is back.
	if c.states[was].again && shown == what.field {
		return Absent, true // the event was replaced by one without it
	}
	if saw, known := c.earlier(c.prev, was, what, read.Idle); known {
		return saw, true
	}
	f := q.field(what.field)
	own := shown == None || shown == Absent || shown == Inexact || shown == Fallback+f.Default
	return Absent, !own
}

// earlier returns what the newest earlier program that had a field showed of it.
func (c *comparison) earlier(e *Epoch, was int, what look, idle bool) (string, bool) {
	for _, prev := range e.After {
		p := prev.Program.schema(c.states[was].schema)
		if p == nil || p.field(what.field) == nil || idle && p.read(what.read) == nil {
			if saw, known := c.earlier(prev, was, what, idle); known {
				return saw, known
			}
			continue
		}
		what.read = p.instead(what.read)
		w := c.played[prev].world
		saw, known := w.shown(p, w.see(p, was), what)
		return saw, known && saw != None
	}
	return "", false
}

// loss returns a loss with its causes.
func (c *comparison) loss(p, q *Schema, what look, saw, shown string, was, is *state) Loss {
	read := p.instead(what.read)
	from, to := p.table(read), q.table(what.read)
	out := Loss{Schema: q.Name, Read: what.read, Field: what.field, Width: what.width, Was: saw, Is: shown, From: serving(p, read), To: serving(q, what.read)}
	if from == nil || to == nil || from.Name != to.Name {
		out.Causes = []Cause{ReadMoved}
	} else {
		out.Causes = differences(from, to, c.starts[was.period], what.width > 0)
	}
	if was.deleted {
		out.Causes = append(out.Causes, Deleted)
	}
	var l *Layout
	if to != nil {
		l = to.at(c.starts[is.period])
	}
	if l != nil {
		out.Since = l.Since
	}
	if field := out.FieldOf(); field != "" && what.width == 0 {
		out.Stored = c.stored(c.prev, look{read: read, field: field}, was)
		out.Found = c.new.column(q, to, field, is)
		if l != nil && out.Stored != nil {
			out.Kept = slices.ContainsFunc(l.columns(field), func(o *Column) bool { return o.Key == out.Stored.Key && o.Family == out.Stored.Family })
		}
	}
	return out
}

// stored returns the column in which the newest program that had a field finds it in an event; nil if none does.
func (c *comparison) stored(e *Epoch, what look, was *state) *Column {
	p := e.Program.schema(was.schema)
	if p != nil && p.field(what.field) != nil {
		return c.played[e].world.column(p, p.table(p.instead(what.read)), what.field, was)
	}
	for _, prev := range e.After {
		if out := c.stored(prev, what, was); out != nil {
			return out
		}
	}
	return nil
}

// FieldOf returns the ID of the field that a loss is about: also of events that cannot be read without it; empty if it
// is about whole events.
func (l Loss) FieldOf() string {
	if field, failed := strings.CutPrefix(l.Is, Unread+without); failed {
		return field
	}
	return l.Field
}

// differences returns by what the layouts of two tables differ, for events from a time on.
func differences(from, to *Table, start time.Time, windows bool) []Cause {
	a, b := from.at(start), to.at(start)
	if a == nil || b == nil {
		return []Cause{LayoutRemoved}
	}
	family := func(x, y Family) bool { return x.Name == y.Name && x.Class == y.Class }
	life := func(f Family) bool { // of the same events
		has := slices.ContainsFunc(b.Families, func(o Family) bool { return o.Name == f.Name })
		return has && (!f.Life.Outlives(b.life(f.Name)) || !b.life(f.Name).Outlives(f.Life))
	}
	var out []Cause
	for _, d := range []struct {
		differ bool
		cause  Cause
	}{
		{!a.Since.Equal(b.Since) || !from.until(a).Equal(to.until(b)), LayoutRemoved},
		{a.Place != b.Place || a.Rows != b.Rows || a.Form != b.Form, RowsChanged},
		{!slices.EqualFunc(a.Families, b.Families, family), FamiliesChanged},
		{slices.ContainsFunc(a.Families, life) || windows && a.Rollup.agesOtherwise(b.Rollup), LifeChanged},
		{windows && !a.Rollup.alike(b.Rollup), RollupChanged},
	} {
		if d.differ {
			out = append(out, d.cause)
		}
	}
	return append(out, ColumnsChanged)
}

// agesOtherwise reports whether a rollup keeps its windows for another time than another one in the same family;
// both may be nil.
func (r *Rollup) agesOtherwise(o *Rollup) bool {
	return r != nil && o != nil && r.Family == o.Family && !r.GC.Equal(o.GC)
}

// alike reports whether two rollups, which may be nil, have the same windows in the same place, for as long as they
// are there.
func (r *Rollup) alike(o *Rollup) bool {
	if r == nil || o == nil {
		return r == o
	}
	return r.Family == o.Family && r.Every == o.Every && r.Idle == o.Idle && slices.Equal(r.Fields, o.Fields)
}
