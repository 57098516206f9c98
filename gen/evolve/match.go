package evolve

import (
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/lock"
)

// match pairs the tables of schemas with those of the lock that have their events: those with
// their families, then those in which an earlier layout is, then removed ones in which only an
// earlier layout is, or, if the input has all schemas, any of the same name.
func (c *Comparison) match() {
	for _, l := range c.in.Layouts {
		for _, t := range l.Tables {
			facts := lock.Of(l, t)
			c.pairs = append(c.pairs, pair{facts: &facts, layout: l, table: t})
		}
	}
	taken := map[*lock.Table]bool{}
	// take gives each pair that has no table of the lock the first one that fits.
	take := func(fits func(p *pair, t *lock.Table) bool) {
		for i := range c.pairs {
			p := &c.pairs[i]
			for k := 0; p.old == nil && k < len(c.in.Old.Tables); k++ {
				if t := &c.in.Old.Tables[k]; !taken[t] && fits(p, t) {
					p.old, taken[t] = t, true
				}
			}
		}
	}
	schemas := c.schemas()
	// A table that was removed may have passed its earlier layouts on to another one, so that comes first.
	for _, removed := range []bool{false, true} {
		may := func(p *pair, t *lock.Table) bool {
			return removed || t.Removed == "" || meet(t, p.facts, t.Layouts, p.facts.Layouts[:1])
		}
		for _, fits := range fitting {
			named := func(p *pair, t *lock.Table) bool { return t.Name == p.facts.Name && fits(p, t) && may(p, t) }
			take(func(p *pair, t *lock.Table) bool { return t.Schema == p.facts.Schema && named(p, t) })
			take(named)
		}
		take(func(p *pair, t *lock.Table) bool {
			return t.Name != p.facts.Name && continues(p.facts, t) && may(p, t)
		})
	}
	if c.in.Whole {
		take(func(p *pair, t *lock.Table) bool {
			heir := !schemas.now[t.Schema] && !schemas.before[p.facts.Schema]
			return t.Name == p.facts.Name && t.Removed == "" && (t.Schema == p.facts.Schema || heir)
		})
	}
	for i := range c.in.Old.Tables {
		if t := &c.in.Old.Tables[i]; !taken[t] {
			c.pairs = append(c.pairs, pair{old: t})
		}
	}
	for i := range c.pairs {
		if p := &c.pairs[i]; p.table != nil && p.table.Draft {
			p.facts = nil
		}
	}
}

// fitting are the ways in which a table of the lock may be that of a schema, the best first.
var fitting = []func(p *pair, t *lock.Table) bool{
	func(p *pair, t *lock.Table) bool { return t.Family == p.facts.Family },
	func(p *pair, t *lock.Table) bool {
		return shareFamily(t, p.facts) && keyText(t.Newest()) == keyText(p.facts.Newest())
	},
	func(p *pair, t *lock.Table) bool { return shareFamily(t, p.facts) && !otherKind(t, p.facts) },
}

// placeOf returns the ID of the table of a layout.
func placeOf(t *lock.Table, l *lock.Layout) string {
	if l.Table == "" {
		return t.Name
	}
	return l.Table
}

// continues reports whether one of two tables of different names was the other: a layout by time
// of the one is that of the other.
func continues(a, b *lock.Table) bool { return meet(a, b, a.Periods(), b.Periods()) }

// shareFamily reports whether a layout of one table and a layout of the other have a family in
// common. All layouts count: the newest may have a new family.
func shareFamily(a, b *lock.Table) bool { return meet(a, b, a.Layouts, b.Layouts) }

// meet reports whether some layouts of one table and of another have a family of one table of
// Bigtable in common.
func meet(a, b *lock.Table, as, bs []lock.Layout) bool {
	for i := range as {
		for k := range bs {
			if placeOf(a, &as[i]) == placeOf(b, &bs[k]) && shareFamilies(&as[i], &bs[k]) {
				return true
			}
		}
	}
	return false
}

// shareFamilies reports whether two layouts have a family in common.
func shareFamilies(a, b *lock.Layout) bool {
	return slices.ContainsFunc(a.Families, func(f lock.Family) bool {
		return slices.ContainsFunc(b.Families, func(o lock.Family) bool { return o.Name == f.Name })
	})
}

// otherKind reports whether two tables are about different kinds of records in one family.
func otherKind(a, b *lock.Table) bool {
	return a.Family != b.Family && strings.Contains(a.Family, ":") && strings.Contains(b.Family, ":")
}
