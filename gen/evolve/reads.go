package evolve

import (
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/rehearse"
	"github.com/btgen-dev/btgen/gen/words"
)

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

// lacking adds the findings for tables that lack events which reads find in other tables until now: nothing is lost if
// they have them. It returns what is lost then.
func (r *rewind) lacking(next *rehearse.Epoch) [][]rehearse.Loss {
	sides := r.losses(next)
	full := *next
	moved := slices.DeleteFunc(slices.Concat(sides...), func(l rehearse.Loss) bool {
		p := r.of(l) // without an old table, all of the schema may be elsewhere, as another finding says
		longer := p != nil && p.replaceable() && slices.Equal(l.Causes, []rehearse.Cause{rehearse.LifeChanged, rehearse.ColumnsChanged})
		return !l.Moves() && !longer || l.Width > 0 || l.Field != "" || p == nil || p.facts == nil || p.old == nil && !r.c.known(p.layout)
	})
	for _, l := range moved {
		if !slices.Contains(full.Filled, l.To) {
			full.Filled = append(full.Filled, l.To)
		}
	}
	left := r.losses(&full)
	moved = slices.DeleteFunc(moved, func(l rehearse.Loss) bool { return slices.ContainsFunc(slices.Concat(left...), l.Same) })
	for _, p := range r.pairs {
		if p.facts != nil {
			r.lacks(p, slices.DeleteFunc(slices.Clone(moved), func(l rehearse.Loss) bool { return r.of(l) != p }))
		}
	}
	return left
}

// lacks adds the finding for a table that lacks events, given what is lost without them.
func (r *rewind) lacks(p *pair, losses []rehearse.Loss) {
	var moves []move
	story := ""
	for _, l := range losses {
		if !slices.ContainsFunc(moves, func(m move) bool { return m.read == l.Read }) {
			moves = append(moves, move{l.Read, r.servers[l.Schema+" "+l.Read]})
			story = strings.Join(l.Story, ", ")
		}
	}
	if moves != nil {
		change := Change{place: atServes, Old: fromText(moves), New: "table " + p.table.ID + ", without these events", way: way{text: r.c.backfillHint(p, moves)}}
		r.c.add(p, change, "lacks-events", p.table.ID, readTexts(moves), story)
		r.c.Findings[len(r.c.Findings)-1].fill = true
	}
}

// Lacks reports whether a table may lack events that another one of its schema has, as far as the history of its
// lock tells: it moves to another lock, which does not have that.
func Lacks(l *lock.Lock, t *lock.Table) bool {
	seen := map[*lock.Epoch]bool{}
	for line := l.Heads(); len(line) > 0; line = line[1:] {
		r := line[0]
		if seen[r] {
			continue
		}
		seen[r] = true
		was := r.Table(t.Key())
		for _, other := range r.Tables() {
			if other.Key() != t.Key() && other.Removed == "" && other.Schema == t.Schema && !holds(was, t) {
				return true
			}
		}
		if filled(was) == 0 || slices.ContainsFunc(r.After, func(before *lock.Epoch) bool { return filled(before.Table(t.Key())) == filled(was) }) {
			line = append(line, r.After...)
		}
	}
	return t.Lacks
}

// holds reports whether a table has had all events of its schema since it was so, and for as long.
func holds(was, is *lock.Table) bool {
	age := func(a, b lock.Family) bool { return a.GC.Equal(b.GC) }
	return was != nil && was.Removed == "" && was.Schema == is.Schema && slices.EqualFunc(was.Newest().Families, is.Newest().Families, age)
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

// moves adds the finding for a loss of a read that another table serves from now on, even if that is filled.
func (r *rewind) moves(p *pair, l rehearse.Loss) bool {
	served := r.served(l)
	if !l.Moves() || served == nil || p.facts == nil || l.To != nameOf(p) || p.table.Draft {
		return false
	}
	from := idOf(served)
	change := Change{Item: l.Read, place: atServes, Old: "table " + from, New: "table " + p.table.ID, way: way{text: stayWay(l.Read, from, p.table.ID)}}
	if l.Width > 0 {
		r.c.add(p, change, "windows-moved", readText(l.Read), from, p.table.ID)
	} else {
		r.c.add(p, change, "shorter-table", readText(l.Read), from, p.table.ID, strings.Join(l.Story, ", "))
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
				c.add(p, Change{Item: read, place: atServes}, "other-table", readText(read), from.table.ID, p.table.ID)
			}
		}
	}
}

// class returns the TTL class of the events in a family; empty if they have none.
func class(f lock.Family) string {
	if f.Class {
		return f.Name
	}
	return ""
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
		return "keep table " + diag.Code(quoted(moves[i].from.old.Name)) + " with its reads, backfill this one, accept this change, and then remove the other"
	}
	instead := slices.ContainsFunc(c.pairs, func(o pair) bool {
		return o.layout == p.layout && o.table != p.table && !o.table.WriteOnly && o.table.HasClasses() == p.table.HasClasses()
	})
	if !instead {
		return "deploy only writers, backfill the table, and accept this change before you deploy readers"
	}
	first := "write " + diag.Code("serves: false")
	if i := slices.IndexFunc(moves, func(m move) bool { return m.from == nil }); i >= 0 && moves[i].read != lock.ReadName && moves[i].read != lock.LatestName {
		first = "remove " + readText(moves[i].read) + ", and " + first
	}
	return first + "; backfill the table, then undo this, and accept the change"
}

// stayWay returns how a read stays with its table.
func stayWay(read, from, to string) string {
	if read != lock.ReadName && read != lock.LatestName {
		return "keep " + readText(read) + " in table " + from + ": " + diag.Code("table: "+quoted(from))
	}
	return "write " + diag.Code("serves: false") + " in table " + to + ", so that table " + from + " serves " + readText(read) + " as before"
}
