package evolve

import (
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/rehearse"
	"github.com/btgen-dev/btgen/gen/words"
)

// The rule that this file applies.
var readLacks = data(Rule{ID: "E21"})

// move is a read that another table serves than before.
type move struct {
	read string
	from *pair // nil if the read is new
}

// servers returns which table of the lock serves each read, by "schema read".
func (c *Comparison) servers() map[string]*pair {
	out := map[string]*pair{}
	for i := range c.pairs {
		if p := &c.pairs[i]; p.old != nil {
			for _, read := range p.old.Serves {
				out[c.owner(p.old)+" "+read] = p
			}
		}
	}
	return out
}

// lacking adds the findings for tables that lack events which reads find in other tables until now, and returns the names
// of these tables.
func (r *rewind) lacking(losses []rehearse.Loss) (names []string) {
	for _, p := range r.t.pairs {
		if p.facts == nil || p.old == nil && !r.c.known(p.layout) { // all of the schema is elsewhere, as another finding says
			continue
		}
		var moves []move
		reason := lock.Lack("")
		for _, l := range losses {
			if r.t.of(l) != p || l.To != nameOf(p) || l.From == "" || slices.ContainsFunc(moves, func(m move) bool { return m.read == l.Read }) {
				continue
			}
			if why := r.lack(p, l.From); why != "" {
				reason = why
				moves = append(moves, move{l.Read, r.servers[l.Schema+" "+l.Read]})
			}
		}
		if p.old != nil && slices.Contains(p.facts.Serves, lock.LatestName) && r.servers[p.facts.Schema+" "+lock.LatestName] == p && r.c.grows(p) {
			reason = lock.LacksExpired // it is asked for the series that have events within its time to live
			moves = append(moves, move{lock.LatestName, p})
		}
		if moves == nil {
			continue
		}
		text := lackText(reason)
		r.c.add(p, readLacks, Change{place: atServes, Old: fromText(moves), New: "table " + p.table.ID + ", without the events " + text, way: way{text: r.c.backfillHint(p, moves)}}, "lacks-events", p.table.ID, readTexts(moves), text)
		r.c.Findings[len(r.c.Findings)-1].fill = true
		names = append(names, nameOf(p))
	}
	return names
}

// lack returns why a table lacks events that another one has; empty if no earlier program tells.
func (r *rewind) lack(p *pair, name string) lock.Lack {
	i := slices.IndexFunc(r.t.pairs, func(o *pair) bool { return o.old != nil && nameOf(o) == name })
	if i < 0 || r.t.pairs[i] == p || p.taken && r.t.pairs[i].layout != p.layout { // of a table that is taken, too, it is said by itself
		return ""
	}
	from := r.t.pairs[i]
	for _, is := range r.seen {
		t, other := is.tables[p], is.tables[from]
		if is.depth[p] > 0 {
			t = nil
		}
		if other != nil && other.Removed == "" {
			own := t != nil && is.schema(t.Schema) == p.facts.Schema
			if own && t.Removed == "" && is.first && len(t.Lacks) > 0 {
				return t.Lacks[0]
			}
			if reason := lackBeside(t, other, p.facts, own); reason != "" {
				return reason
			}
		}
		if slices.Contains(is.filled, nameOf(p)) {
			return ""
		}
	}
	return ""
}

// lackBeside returns why a table lacks events that another one got at some time, given what it is later; empty if it got them,
// too. It may not have been there, or not have been that of its schema.
func lackBeside(t, other, later *lock.Table, own bool) lock.Lack {
	switch {
	case t == nil:
		return lock.LacksEarlier
	case t.Removed != "":
		return lock.LacksMeantime
	case !own:
		return lock.LacksOthers
	case !outlives(t, other) && outlives(later, other):
		return lock.LacksExpired
	}
	return ""
}

// Lacks returns why a table may lack events that another one of its schema has, as far as the history of its lock tells: it moves
// to another lock, which does not have that.
func Lacks(l *lock.Lock, t *lock.Table) []lock.Lack {
	out := lock.Table{Lacks: t.Lacks}
	seen := map[*lock.Revision]bool{}
	for line := l.Revisions(); len(line) > 0; line = line[1:] {
		r := line[0]
		if seen[r] {
			continue
		}
		seen[r] = true
		was := r.Table(t.Key())
		for _, other := range r.Tables() {
			if other.Key() == t.Key() || other.Removed != "" || other.Schema != t.Schema {
				continue
			}
			if reason := lackBeside(was, other, t, was != nil && was.Schema == t.Schema); reason != "" {
				out.Lack(reason)
			}
		}
		if filled(was) == 0 || slices.ContainsFunc(r.After, func(before *lock.Revision) bool { return filled(before.Table(t.Key())) == filled(was) }) {
			line = append(line, r.After...)
		}
	}
	return out.Lacks
}

// filled returns how often a table was said to have all events.
func filled(t *lock.Table) (n int) {
	if t == nil {
		return 0
	}
	for _, a := range t.Accepted {
		if readLacks.named(a.Change) {
			n++
		}
	}
	return n
}

// moves adds the finding for a loss of a read that another table serves from now on, if the facts of both tell why.
func (r *rewind) moves(p *pair, l rehearse.Loss) bool {
	i := slices.IndexFunc(r.t.pairs, func(o *pair) bool { return o.old != nil && o.facts != nil && nameOf(o) == l.From })
	if i < 0 || r.t.pairs[i] == p || p.facts == nil || l.To != nameOf(p) {
		return false
	}
	from := r.t.pairs[i]
	change := Change{Item: l.Read, place: atServes, Old: "table " + from.table.ID, New: "table " + p.table.ID, way: way{text: stayWay(l.Read, from.table.ID, p.table.ID)}}
	switch {
	case l.Width > 0 && windowsMove(from.old, p.facts):
		r.c.add(p, windowsLost, change, "windows-moved", readText(l.Read), from.table.ID, p.table.ID)
	case l.Width == 0 && !outlives(p.facts, from.old) && !p.table.Pattern.NewestOnly():
		change.way.text += "; or give both tables the same ttl"
		r.c.add(p, readLacks, change, "shorter-table", readText(l.Read), from.table.ID, p.table.ID)
	default:
		return false
	}
	return true
}

// harmlessMoves adds the findings for reads that other tables serve, and that find all that they found.
func (c *Comparison) harmlessMoves(before map[string]*pair) {
	lose := map[*pair]bool{}
	for _, f := range c.Findings {
		if slices.Contains([]*Rule{readLacks, windowsLost, lossUnnamed, tableTaken}, f.Rule) {
			lose[f.pair] = true
		}
	}
	for i := range c.pairs {
		p := &c.pairs[i]
		if p.facts == nil || lose[p] {
			continue
		}
		for _, read := range p.facts.Serves {
			if from := before[p.facts.Schema+" "+read]; from != nil && from != p && from.facts != nil && from.layout == p.layout {
				c.add(p, harmless, Change{Item: read, place: atServes}, "other-table", readText(read), from.table.ID, p.table.ID)
			}
		}
	}
}

// grows reports whether a table gets a longer time to live, and has lost events before that
// another table of its schema still has.
func (c *Comparison) grows(p *pair) bool {
	if outlives(p.old, p.facts) {
		return false
	}
	return slices.ContainsFunc(c.pairs, func(o pair) bool {
		return o.old != nil && o.old != p.old && c.owner(o.old) == p.facts.Schema && o.old.Removed == "" && !outlives(p.old, o.old)
	})
}

// outlives reports whether a table keeps all events at least as long as another one.
func outlives(a, b *lock.Table) bool {
	as, bs := a.Periods(), b.Periods()
	for i := range as {
		for k := range bs {
			apart := i > 0 && !as[i-1].Since.After(bs[k].Since) || k > 0 && !bs[k-1].Since.After(as[i].Since)
			if !apart && !keeps(&as[i], &bs[k]) {
				return false
			}
		}
	}
	return true
}

// keeps reports whether a layout keeps all events at least as long as another one.
func keeps(a, b *lock.Layout) bool {
	for _, o := range b.Families {
		longer := func(f lock.Family) bool {
			return class(f) == class(o) && lifetime(a, f).Outlives(lifetime(b, o))
		}
		if !slices.ContainsFunc(a.Families, longer) {
			return false
		}
	}
	return true
}

// class returns the TTL class of the events in a family; empty if they have none.
func class(f lock.Family) string {
	if f.Class {
		return f.Name
	}
	return ""
}

// lackText describes the events that a table may lack.
func lackText(reason lock.Lack) string {
	switch reason {
	case lock.LacksMeantime:
		return "written while no schema had the table"
	case lock.LacksExpired:
		return "that expired in it before its ttl became longer"
	case lock.LacksOthers:
		return "written before it became a table of this schema"
	}
	return "written before it was added"
}

// readText describes a read.
func readText(read string) string {
	switch read {
	case lock.ReadName:
		return "Read"
	case lock.LatestName:
		return "reads of the newest events"
	}
	if of, copies := strings.CutPrefix(read, idle); copies {
		return "table " + quoted(of)
	}
	return "query " + read
}

// readTexts describes reads.
func readTexts(moves []move) string {
	var out []string
	for _, m := range moves {
		out = append(out, readText(m.read))
	}
	return words.List(out, "and")
}

// fromText names the table that served the first of some reads until now; empty if none did.
func fromText(moves []move) string {
	for _, m := range moves {
		if m.from != nil {
			return "table " + idOf(m.from)
		}
	}
	return ""
}

// backfillHint returns how to give a table the events that it lacks, before it serves reads.
func (c *Comparison) backfillHint(p *pair, moves []move) string {
	if i := slices.IndexFunc(moves, func(m move) bool { return m.from != nil && m.from.table == nil }); i >= 0 {
		return "keep table " + quotedCode(quoted(moves[i].from.old.Name)) + " with its reads, backfill this one, accept this change, and then remove the other"
	}
	instead := slices.ContainsFunc(c.pairs, func(o pair) bool {
		return o.layout == p.layout && o.table != p.table && !o.table.WriteOnly && o.table.HasClasses() == p.table.HasClasses()
	})
	if !instead {
		return "deploy only writers, backfill the table, and accept this change before you deploy readers"
	}
	first := "write " + quotedCode("serves: false")
	if i := slices.IndexFunc(moves, func(m move) bool { return m.from == nil }); i >= 0 && moves[i].read != lock.ReadName && moves[i].read != lock.LatestName {
		first = "remove " + readText(moves[i].read) + ", and " + first
	}
	return first + "; backfill the table, then undo this, and accept the change"
}

// stayWay returns how a read stays with its table.
func stayWay(read, from, to string) string {
	if read != lock.ReadName && read != lock.LatestName {
		return "keep " + readText(read) + " in table " + from + ": " + quotedCode("table: "+quoted(from))
	}
	return "write " + quotedCode("serves: false") + " in table " + to + ", so that table " + from + " serves " + readText(read) + " as before"
}
