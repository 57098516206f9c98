package evolve

import (
	"maps"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/rehearse"
)

// The lock knows what it said after each of its epochs, so that the programs of all of them can be rehearsed. Going back
// from the present one, step by step, each name is that of the same thing later: a table may have had another name, and so
// may a schema, a field and a series value. What was accepted as filled is so from then on.

// past is what a revision of the lock says of tables that are rehearsed together, and what its names mean today.
type past struct {
	tables  map[*pair]*lock.Table // nil for those that were not there
	facts   map[*pair]*lock.Table // in place of tables, what has the names; nil if these have
	depth   map[*pair]int         // how many steps before a table was locked: its facts tell of some; see stages
	schemas map[string]string     // the present name of a schema that had another one
	fields  map[[2]string]string  // the identity of a field that has another name, by its schema and the name then
	series  map[[2]string]string  // likewise of a series value
}

// rewind makes programs of the revisions of the lock.
type rewind struct {
	c       *Comparison
	pairs   []*pair
	servers map[string]*pair // which table of the lock serves each read, by "schema read"
	codings map[string]coding
	done    map[*lock.Epoch]*rehearse.Epoch
}

// heads returns what the last epochs of the lock say.
func (r *rewind) heads() (out []*past) {
	heads := r.c.heads
	now := &past{
		tables: map[*pair]*lock.Table{}, facts: map[*pair]*lock.Table{}, depth: map[*pair]int{},
		schemas: r.c.renamed, fields: map[[2]string]string{}, series: map[[2]string]string{},
	}
	for _, p := range r.pairs {
		if now.tables[p] = p.old; p.locked != nil {
			now.tables[p] = p.locked
		}
		if p.facts != nil { // the names are those of the schemas
			now.facts[p] = p.facts
		}
	}
	for _, head := range heads {
		is := r.before(now, func(string) bool { return true }, head)
		for p, t := range now.tables {
			if t != nil && !slices.ContainsFunc(heads, func(o *lock.Epoch) bool {
				was := o.Table(t.Key())
				return was != nil && (was.Removed == "") == (t.Removed == "")
			}) {
				is.tables[p] = t // it moves from one lock to another
				delete(is.depth, p)
			}
		}
		out = append(out, is)
	}
	return out
}

// epoch returns the program of a revision.
func (r *rewind) epoch(at *lock.Epoch, is *past) *rehearse.Epoch {
	if out := r.done[at]; out != nil {
		return out
	}
	out := &rehearse.Epoch{Program: r.program(is), Filled: r.filled(at, is)}
	if r.done[at] = out; at.ID != "" {
		out.Name = "epoch " + at.ID
	}
	for _, before := range at.After {
		out.After = append(out.After, r.epoch(before, r.before(is, at.Has, before)))
	}
	if len(at.After) == 0 {
		r.first(out, is)
	}
	return out
}

// before returns what an earlier revision says. kept tells which keys of tables the later one has.
func (r *rewind) before(later *past, kept func(key string) bool, at *lock.Epoch) *past {
	out := &past{tables: map[*pair]*lock.Table{}, depth: maps.Clone(later.depth), schemas: maps.Clone(later.schemas), fields: maps.Clone(later.fields), series: maps.Clone(later.series)}
	sites := map[string][]map[string][]origin{} // of the layouts of a schema
	names := map[string]map[string]bool{}       // the later names of a schema
	had, has := map[string]bool{}, map[string]bool{}
	before := map[*pair]*lock.Table{}
	for _, p := range r.pairs {
		before[p] = earlier(later.tables[p], kept, at)
	}
	arrived := arrivals(later.tables, before)
	for _, p := range r.pairs {
		is, was := later.tables[p], before[p]
		if was == nil && is != nil && (remembers(is) || arrived[is.Schema]) {
			out.tables[p] = is
			out.depth[p] = min(out.depth[p]+1, len(stages(is)))
			continue
		}
		out.tables[p] = was
		if later.facts[p] != nil {
			is = later.facts[p]
		}
		if is != nil {
			has[is.Schema] = true
		}
		if was == nil {
			continue
		}
		delete(out.depth, p) // this revision tells
		had[was.Schema] = true
		if names[was.Schema] == nil {
			names[was.Schema] = map[string]bool{}
		}
		names[was.Schema][is.Schema] = true
		if is == was || was.Removed != "" {
			continue
		}
		now := &lock.Table{Name: is.Name, Family: is.Family, Layouts: used(is.Periods())}
		schema := later.schema(is.Schema)
		for _, m := range matchesOf(was, now) {
			if all := originsIn(m); all != nil {
				sites[schema] = append(sites[schema], all)
			}
			for name, was := range seriesNames(&m.old[0], &m.new[0]) {
				out.series[[2]string{schema, was}] = identity(later.series, schema, name)
			}
		}
	}
	for schema, all := range names {
		if new := slices.Collect(maps.Keys(all)); len(new) == 1 && !has[schema] && !had[new[0]] {
			out.schemas[schema] = later.schema(new[0])
		}
	}
	heirs := identities(sites)
	for now := range heirs {
		out.fields[now] = identity(later.fields, now[0], now[1]) + " (earlier)" // which goes on under no name, but for those below
	}
	for now, was := range heirs {
		if !strings.HasSuffix(was, otherField) {
			out.fields[[2]string{now[0], was}] = identity(later.fields, now[0], now[1])
		}
	}
	return out
}

// arrivals returns the schemas that have no table before a revision, although this knows what was before: they come from
// another lock, or were locked when events were stored.
func arrivals(tables, before map[*pair]*lock.Table) map[string]bool {
	out := map[string]bool{}
	for _, t := range tables {
		if t != nil && (t.Lacks || remembers(t)) {
			out[t.Schema] = true
		}
	}
	for p, was := range before {
		if was != nil {
			delete(out, tables[p].Schema)
		}
	}
	return out
}

// earlier returns a table as it was in a revision, perhaps under another name; nil if it was not there.
func earlier(t *lock.Table, kept func(key string) bool, at *lock.Epoch) *lock.Table {
	if t == nil {
		return nil
	}
	if was := at.Table(t.Key()); was != nil {
		return was
	}
	var moved []string
	for key, was := range at.Tables() {
		if !kept(key) && continues(was, t) {
			moved = append(moved, key)
		}
	}
	if moved == nil {
		return nil
	}
	return at.Table(slices.Min(moved))
}

// schema returns the present name of a schema.
func (is *past) schema(name string) string {
	if now, renamed := is.schemas[name]; renamed {
		return now
	}
	return name
}

// filled returns the tables which a revision says to have all events, and those before it do not.
func (r *rewind) filled(at *lock.Epoch, is *past) (out []string) {
	for _, p := range r.pairs {
		n := 0
		for _, before := range at.After {
			n = max(n, filled(earlier(is.tables[p], at.Has, before)))
		}
		if filled(is.tables[p]) > n {
			out = append(out, nameOf(p))
		}
	}
	return out
}

// program returns the program of a revision, with what is in use of its tables.
func (r *rewind) program(is *past) rehearse.Program {
	cast := map[string][]tableNow{}
	for _, p := range r.pairs {
		if t := is.tables[p]; t != nil {
			name := is.schema(t.Schema)
			cast[name] = append(cast[name], tableNow{nameOf(p), stageAt(t, is.depth[p]), t.Serves})
		}
	}
	return (&actor{codings: r.codings, renamed: is.fields, series: is.series}).program(cast)
}

// stageAt returns what is in use of a table of the lock, or was some steps before the lock had it; nil if nothing was.
func stageAt(t *lock.Table, depth int) stageOf {
	if depth > 0 {
		earlier := stages(t)
		return earlier[min(depth, len(earlier))-1]
	}
	if t.Removed != "" {
		return nil
	}
	return placed(t, used(t.Periods()))
}

// placed returns layouts of a table with the tables of Bigtable in which they are.
func placed(t *lock.Table, all []lock.Layout) stageOf {
	out := slices.Clone(all)
	for i := range out {
		out[i].Table = placeOf(t, &out[i])
	}
	return out
}

// first adds the programs that may have written before the first revision: it may be of a file that does not tell in
// which order its facts were written. They are one before it with all of them, and one for each table whose earlier
// facts are not those of another one.
func (r *rewind) first(to *rehearse.Epoch, is *past) {
	deepest, several := 0, 0
	steps := map[*pair]int{}
	for _, p := range r.pairs {
		if t := is.tables[p]; t != nil {
			steps[p] = len(stages(t))
			deepest = max(deepest, steps[p])
			several += min(steps[p], 1)
		}
	}
	add := func(after *rehearse.Epoch, depth func(p *pair) int) *rehearse.Epoch {
		was := *is
		was.depth = map[*pair]int{}
		for p, n := range steps {
			was.depth[p] = min(n, depth(p))
		}
		e := &rehearse.Epoch{Program: r.program(&was)}
		after.After = append(after.After, e)
		return e
	}
	at := to
	for depth := range deepest { // what each table had so many steps ago
		at = add(at, func(p *pair) int { return depth + 1 })
	}
	for _, p := range r.pairs {
		if several > 1 && steps[p] > 0 { // the order of the steps is not known: each table alone
			add(to, func(o *pair) int {
				if o == p {
					return steps[o]
				}
				return 0
			})
		}
	}
}
