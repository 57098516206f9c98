package evolve

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/rehearse"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// troupes returns the pairs that are rehearsed together, as their schemas have tables of Bigtable in common, before
// or after the change: in their order.
func (c *Comparison) troupes() (out [][]*pair) {
	by := map[string][]int{} // pairs by what they share
	for i := range c.pairs {
		for _, key := range c.ties(&c.pairs[i]) {
			by[key] = append(by[key], i)
		}
	}
	seen := make([]bool, len(c.pairs))
	for i := range c.pairs {
		if seen[i] {
			continue
		}
		all := []int{i}
		for n := 0; n < len(all); n++ {
			seen[all[n]] = true
			for _, key := range c.ties(&c.pairs[all[n]]) {
				all = append(all, by[key]...)
				delete(by, key)
			}
		}
		slices.Sort(all)
		var troupe []*pair
		for _, k := range slices.Compact(all) {
			troupe = append(troupe, &c.pairs[k])
		}
		out = append(out, troupe)
	}
	return out
}

// ties returns what a pair shares with others: tables of Bigtable, and schemas.
func (c *Comparison) ties(p *pair) (out []string) {
	add := func(t *lock.Table, schema string) {
		out = append(out, "schema "+schema)
		for i := range t.Layouts {
			out = append(out, "table "+placeOf(t, &t.Layouts[i]))
		}
	}
	if p.old != nil {
		add(p.old, c.owner(p.old))
	}
	if p.table != nil {
		facts := p.now()
		add(facts, facts.Schema)
	}
	return out
}

// now returns the facts of a table of a schema, also of a draft.
func (p *pair) now() *lock.Table {
	if p.facts != nil {
		return p.facts
	}
	facts := lock.Of(p.layout, p.table)
	return &facts
}

// rehearsed adds the losses of the change that no rule has named.
func (c *Comparison) rehearsed() {
	servers := c.servers()
	for _, t := range c.troupes() {
		if slices.ContainsFunc(t, func(p *pair) bool { return p.old != nil }) {
			(&rewind{c: c, pairs: t, servers: servers, codings: map[string]coding{}, done: map[*lock.Epoch]*rehearse.Epoch{}}).rehearse()
		}
	}
	c.harmlessMoves(servers)
}

// rehearse adds the losses of schemas that share tables: those of the change, and those that remain if the tables are
// filled that lack events.
func (r *rewind) rehearse() {
	next := r.next()
	if next == nil {
		return
	}
	sides := r.lacking(next)
	alike := func(o, l rehearse.Loss) bool { return lossItem(o) == lossItem(l) && r.of(o) == r.of(l) }
	for i, side := range sides {
		names := r.c.Findings
		if r.c.accepted != nil {
			names = slices.Concat(names, r.c.accepted[i])
		}
		sides[i] = slices.DeleteFunc(slices.Clone(side), func(l rehearse.Loss) bool { return r.named(l, names) })
	}
	var unnamed []rehearse.Loss
	for i, side := range sides {
		for _, l := range side {
			if p := r.of(l); p == nil || !r.explain(p, l, i) {
				unnamed = append(unnamed, l)
			}
		}
	}
	for i, l := range unnamed {
		if slices.ContainsFunc(unnamed[:i], func(o rehearse.Loss) bool { return alike(o, l) }) {
			continue
		}
		all := l
		if all.Read = lock.ReadName; l.Read != lock.ReadName && slices.ContainsFunc(unnamed, func(o rehearse.Loss) bool { return alike(o, all) }) {
			continue // what is true of all reads of a table is said once
		}
		if p := r.of(l); p != nil && !r.moves(p, l) {
			r.c.addLoss(p, l)
		}
	}
}

// losses returns the losses of an epoch against each of those that it follows.
func (r *rewind) losses(next *rehearse.Epoch) (out [][]rehearse.Loss) {
	for i, before := range next.After {
		one := *next
		one.After = []*rehearse.Epoch{before}
		one.Filled = slices.Concat(next.Filled, r.filledBeside(i))
		out = append(out, rehearse.Losses(&one))
	}
	return out
}

// filledBeside returns the tables that another side of a merge has filled, and to which programs of a side write, too.
func (r *rewind) filledBeside(side int) (out []string) {
	for _, p := range r.pairs {
		if len(r.c.heads) < 2 || p.old == nil {
			continue
		}
		t := r.c.heads[side].Table(p.old.Key())
		if t != nil && t.Removed == "" && r.c.acceptedSince(side, (&Change{Rule: readLacks}).name(r.c.tableName(p))) {
			out = append(out, nameOf(p))
		}
	}
	return out
}

// nameOf returns the name of a table in programs: that which it has in the lock, if it is there.
func nameOf(p *pair) string {
	if p.old != nil {
		return p.old.Name
	}
	return p.table.ID
}

// lossItem returns what is lost, as a part of the name of a change.
func lossItem(l rehearse.Loss) string {
	if strings.HasPrefix(l.Read, idle) {
		l.Read = "copies"
	}
	switch {
	case l.Width > 0:
		return l.Read + "/windows"
	case l.Field != "":
		return l.Read + "/" + l.Field
	}
	return l.Read
}

// next returns the programs of the schemas and of the lock; nil if the schemas change nothing.
func (r *rewind) next() *rehearse.Epoch {
	heads := r.heads()
	next := &rehearse.Epoch{Program: (&actor{codings: r.codings}).program(r.castNow()), Now: r.c.in.Now}
	if !slices.ContainsFunc(heads, func(is *past) bool { return !reflect.DeepEqual(next.Program.Schemas, r.program(is).Schemas) }) {
		return nil
	}
	for i, is := range heads {
		next.After = append(next.After, r.epoch(r.c.heads[i], is))
	}
	return next
}

// program returns a program of schemas with tables.
func (a *actor) program(cast map[string][]tableNow) rehearse.Program {
	out := rehearse.Program{Reads: a.readable}
	for _, name := range slices.Sorted(maps.Keys(cast)) {
		if s := a.schema(name, cast[name]); len(s.Tables) > 0 {
			out.Schemas = append(out.Schemas, s)
		}
	}
	return out
}

// castNow returns the tables of the schemas, drafts included, and those of the lock whose schemas are not at hand.
func (r *rewind) castNow() map[string][]tableNow {
	out := map[string][]tableNow{}
	for _, p := range r.pairs {
		switch {
		case p.table != nil:
			facts := p.now()
			out[facts.Schema] = append(out[facts.Schema], tableNow{nameOf(p), placed(facts, used(facts.Periods())), facts.Serves})
		case p.old != nil && p.old.Removed == "" && !r.c.dropped(p):
			name := r.c.owner(p.old)
			out[name] = append(out[name], tableNow{p.old.Name, stageAt(p.old, 0), p.old.Serves})
		}
	}
	return out
}

// seriesNames returns the earlier names of series values that have another one in a later layout.
func seriesNames(old, new *lock.Layout) map[string]string {
	out := map[string]string{}
	for i := range min(len(old.Segments), len(new.Segments)) {
		if old.Segments[i].Kind == codec.SeriesSegment && renamedSegment(old, new, i) {
			out[new.Segments[i].Name] = old.Segments[i].Name
		}
	}
	return out
}

// otherField follows the name of a field that is none of an earlier one.
const otherField = " (new)"

// identities returns the fields of schemas that continue one of another name, and those that continue none although
// there was one of their name.
func identities(sites map[string][]map[string][]origin) map[[2]string]string {
	out := map[[2]string]string{}
	for schema, all := range sites {
		was := map[string]string{} // the earlier field, by the present name
		var names []string
		for _, s := range all {
			for _, name := range slices.Sorted(maps.Keys(s)) {
				from := continued(name, s[name])
				if from != "" && was[name] == "" {
					names = append(names, name)
				}
				if from == name || from != "" && was[name] == "" { // another table has it under that name
					was[name] = from
				}
			}
		}
		taken := map[string]string{} // the present name, by the earlier field
		slices.Sort(names)
		for _, name := range names {
			if from := was[name]; from == name || taken[from] == "" {
				taken[from] = name
			}
		}
		for from, name := range taken {
			if from != name {
				out[[2]string{schema, name}] = from
			}
		}
		for _, s := range all { // a field under the name of one that goes on under another
			for name := range s {
				if heir := taken[name]; heir != "" && heir != name && out[[2]string{schema, name}] == "" {
					out[[2]string{schema, name}] = name + otherField
				}
			}
		}
	}
	return out
}

// of returns the pair of the table that a loss is about: the one that serves the read now, or else the one that did.
func (r *rewind) of(l rehearse.Loss) *pair {
	for _, name := range []string{l.To, l.From} {
		for _, p := range r.pairs {
			if p.table != nil && nameOf(p) == name && lock.SchemaOf(p.layout) == l.Schema {
				return p
			}
		}
	}
	return r.served(l)
}

// served returns the pair of the table that served the read of a loss; nil if the lock has none.
func (r *rewind) served(l rehearse.Loss) *pair {
	for _, p := range r.pairs {
		if p.old != nil && nameOf(p) == l.From {
			return p
		}
	}
	return nil
}

// named reports whether one of some findings is of class Data and names a loss.
func (r *rewind) named(l rehearse.Loss, by []Finding) bool {
	return slices.ContainsFunc(by, func(f Finding) bool {
		if f.Rule.Class != Data || f.pair == nil || !slices.Contains(r.pairs, f.pair) {
			return false
		}
		name := nameOf(f.pair)
		causes := func(cause rehearse.Cause) bool {
			return slices.Contains(f.Rule.explains, string(cause)) && (cause != rehearse.ColumnsChanged || l.Width == 0 || f.field != "")
		}
		return f.explains(l) && (r.searches(l, f.pair) || (name == l.From || name == l.To) && slices.ContainsFunc(l.Causes, causes))
	})
}

// searches reports whether a read of the newest events, which has lost something, looks for older ones in a table.
func (r *rewind) searches(l rehearse.Loss, in *pair) bool {
	at := r.of(l)
	return at != nil && at.table != nil && in.table != nil && at.layout == in.layout && at.table.Pattern.NewestOnly() && in.layout.Read == in.table
}

// addLoss adds the finding for a loss.
func (c *Comparison) addLoss(p *pair, l rehearse.Loss) {
	change := Change{Item: lossItem(l), place: atServes, Old: shownText(l, l.Was), New: shownText(l, l.Is), way: way{text: lossWay(l)}}
	if p.table != nil && p.table.Draft && l.From != "" && l.From != l.To {
		c.add(p, change, "draft-takes-over", p.table.ID, readText(l.Read), l.From)
		return
	}
	c.add(p, change, "loss", readText(l.Read), change.New, change.Old, strings.Join(l.Story, ", "))
}

// shownText describes what is shown of a field, of an event, or of a window.
func shownText(l rehearse.Loss, shown string) string {
	what := "an event"
	if l.Field != "" {
		what = "the value of " + quoted(l.Field)
	}
	if l.Width > 0 {
		what = "windows with " + what
	}
	name, isName := strings.CutPrefix(shown, l.Field+".")
	switch {
	case shown == rehearse.None && l.Width > 0:
		return "no windows"
	case shown == rehearse.None:
		return "nothing"
	case shown == rehearse.Inexact:
		return "inexact windows"
	case shown == rehearse.Present || shown == l.Field:
		return what
	case shown == l.Field+"'":
		return what + " when it was written last"
	case l.Field != "" && isName:
		return quoted(name) + " as " + what
	case strings.HasPrefix(shown, rehearse.Unread):
		return what + " that " + shown
	case shown == rehearse.Absent:
		return "an event without " + quoted(l.Field)
	case l.Field != "" && !strings.HasPrefix(shown, rehearse.Fallback):
		return "the value of " + quoted(strings.TrimSuffix(shown, "'"))
	}
	return shown
}

// lossWay returns the way out of a loss.
func lossWay(l rehearse.Loss) string {
	switch {
	case l.Was == rehearse.Absent && l.Is == l.Field && l.Width == 0: // a removed field is back
		return "if no event was written again while the field was removed, accept the change; otherwise, give the field another name"
	case l.Was == rehearse.Absent && l.Width == 0: // and it has values of another one
		return "give the field another column, or number, in which no events have values"
	case slices.Contains(l.Causes, rehearse.ReadMoved):
		return stayWay(l.Read, l.From, l.To)
	case l.Is == rehearse.None && l.Field == "" && l.Width == 0 && slices.Equal(l.Causes, []rehearse.Cause{rehearse.ColumnsChanged}):
		return "keep the fields that events may have alone, or add one that all events have, and wait until those without it have expired"
	case l.Width > 0:
		return "let a new layout begin with the change and another family of events, with since and before"
	}
	return "undo the change, or make it in a second table, backfill that, and let it serve the reads then"
}
