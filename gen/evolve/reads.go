package evolve

import (
	"slices"

	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/rehearse"
	"github.com/btgen-dev/btgen/gen/words"
)

// The rule that this file applies.
var readLacks = data(Rule{
	ID: "E21", Title: "reads are served by a table that may lack events",
	Reason: "Read, or a query, is served by a table that was added later, was removed and used again, or kept events for a shorter time: it lacks events that other tables have. So may a table that is locked with `serves: false`.",
	Fix:    "Write `serves: false` until the table is backfilled. Then remove it, and accept the change: the lock notes that the table has all events. To keep a query in its present table, name that in `table`.",
	names:  []rehearse.Cause{rehearse.Deleted, rehearse.ReadMoved, rehearse.FamiliesChanged, rehearse.LifeChanged},
})

// move is a read that another table serves than before.
type move struct {
	read string
	from *pair // nil if the read is new
}

// reads adds the findings for reads that are served by another table, or are new: the table must
// have the events that the read is to find.
func (c *Comparison) reads() {
	c.lacking()
	before := map[string]*pair{} // by the schema and the read
	for i := range c.pairs {
		if p := &c.pairs[i]; p.old != nil {
			for _, read := range p.old.Serves {
				before[c.owner(p.old)+" "+read] = p
			}
		}
	}
	for i := range c.pairs {
		p := &c.pairs[i]
		if p.facts == nil || p.taken {
			continue
		}
		var moves []move
		for _, read := range p.facts.Serves {
			from := before[p.facts.Schema+" "+read]
			switch {
			case from == p && !p.joined() && !(read == lock.LatestName && c.grows(p)): // which finds rows of all series within its time to live
				continue
			case len(p.lacks) > 0: // whether events of the other table are read is another fact
			case from != nil && (from.facts == nil || from.layout != p.layout): // a change of that table says that its events are no longer read
				continue
			}
			moves = append(moves, move{read, from})
		}
		c.moves(p, moves)
	}
}

// joined reports whether a table serves reads in the lock though it was added later, or was removed for a while: so it is if
// two branches are merged.
func (p *pair) joined() bool {
	return slices.Contains(p.old.Lacks, lock.LacksEarlier) || slices.Contains(p.old.Lacks, lock.LacksMeantime)
}

// moves adds the findings for the reads that a table serves for the first time.
func (c *Comparison) moves(p *pair, moves []move) {
	lost := map[string]bool{}
	for _, m := range moves {
		if m.from != nil && m.from.table != nil && m.read != lock.LatestName && windowsMove(m.from.old, p.facts) {
			lost[m.read] = true
			keep := way{text: stayWay(m.read, m.from.table.ID, p.table.ID)}
			c.add(p, windowsLost, Change{Item: m.read, place: atServes, Old: "table " + m.from.table.ID, New: "table " + p.table.ID, way: keep},
				"%s moves from table %q, whose rollup has windows of expired events, to %q", readText(m.read), m.from.table.ID, p.table.ID)
		}
	}
	if len(p.lacks) > 0 && len(moves) > 0 {
		lacks := lackText(p.lacks[0])
		c.add(p, readLacks, Change{place: atServes, Old: fromText(moves), New: "table " + p.table.ID + ", without the events " + lacks, way: way{text: c.backfillHint(p, moves)}},
			"table %q serves %s, but lacks the events %s: reads do not find them", p.table.ID, readTexts(moves), lacks)
		return
	}
	for _, m := range moves {
		switch {
		case m.from == nil || lost[m.read]:
		case !outlives(p.facts, m.from.facts):
			keep := way{text: stayWay(m.read, m.from.table.ID, p.table.ID) + "; or give both tables the same ttl"}
			c.add(p, readLacks, Change{Item: m.read, place: atServes, Old: "table " + m.from.table.ID, New: "table " + p.table.ID, way: keep},
				"%s moves from table %q to %q, which does not keep all events as long: reads do not find those that have expired in it", readText(m.read), m.from.table.ID, p.table.ID)
		default:
			c.add(p, harmless, Change{Item: m.read, place: atServes}, "%s moves from table %q to %q, which has all events", readText(m.read), m.from.table.ID, p.table.ID)
		}
	}
}

// lacking finds out which tables may lack events of their schemas, after the change.
func (c *Comparison) lacking() {
	tables := map[string]int{} // by schema, including removed ones, which may come back
	for i := range c.pairs {
		switch p := &c.pairs[i]; {
		case p.facts != nil:
			tables[p.facts.Schema]++
		case p.old != nil:
			tables[c.owner(p.old)]++
		}
	}
	for i := range c.pairs {
		p := &c.pairs[i]
		if p.facts == nil {
			continue
		}
		t := lock.Table{Lacks: p.facts.Lacks}
		if p.old != nil {
			t.Lacks = p.old.Lacks
		}
		switch {
		case p.old == nil && c.known(p.layout):
			t.Lack(lock.LacksEarlier)
		case p.old != nil && p.taken:
			t.Lack(lock.LacksOthers)
		case p.old != nil && p.old.Removed != "":
			t.Lack(lock.LacksMeantime)
		case p.old != nil && c.grows(p):
			t.Lack(lock.LacksExpired)
		}
		if tables[p.facts.Schema] > 1 { // no other table ever had what the only one lacks
			p.lacks = t.Lacks
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
