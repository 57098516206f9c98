package evolve_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
)

// exchanges are the edits of projects with two schemas that draw parts of one for the other.
var exchanges = []struct {
	name string
	edit func(h *history, a, b *drawn)
}{
	{"exchange names of schemas", func(h *history, a, b *drawn) { *a, *b = *b, *a; a.name, b.name = b.name, a.name }},
	{"exchange tables", func(h *history, a, b *drawn) { h.exchange(a, b, func(to, from *drawnLayout) { to.table = from.table }) }},
	{"exchange families", func(h *history, a, b *drawn) {
		h.exchange(a, b, func(to, from *drawnLayout) { to.family, to.families = from.family, from.families })
	}},
	{"exchange tables and families", func(h *history, a, b *drawn) {
		h.exchange(a, b, func(to, from *drawnLayout) { to.table, to.family, to.families = from.table, from.family, from.families })
	}},
	{"move table to another schema", func(h *history, a, b *drawn) {
		if i := h.IntN(len(a.tables)); len(a.tables) > 1 {
			b.tables = slices.Insert(b.tables, h.IntN(len(b.tables)+1), a.tables[i])
			a.tables = slices.Delete(a.tables, i, i+1)
		}
	}},
	{"move family to another schema", func(h *history, a, b *drawn) {
		from, to := &a.tables[h.IntN(len(a.tables))].layouts[0], &b.tables[h.IntN(len(b.tables))].layouts[0]
		to.table, to.family = from.table, from.family
		from.family = one(h.random, families...)
	}},
}

// exchange exchanges parts of the newest layouts of two tables.
func (h *history) exchange(a, b *drawn, set func(to, from *drawnLayout)) {
	x, y := &a.tables[h.IntN(len(a.tables))].layouts[0], &b.tables[h.IntN(len(b.tables))].layouts[0]
	was := *x
	set(x, y)
	set(y, &was)
}

// Names of edits.
const (
	revertSchemas  = "revert schemas"
	oneSchema      = "run of one schema"
	mergedBranches = "merge of branches"
)

// staleLocks are the edits whose lock was not made from the one before.
var staleLocks = []string{"revert", "deleted lock", "wrong side of a conflict", "lock of another branch", mergedBranches}

// propose draws an edit; false if it is no schema, or changes nothing.
func (h *history) propose() (*proposal, bool) {
	schemas := make([]*drawn, len(h.lives))
	for i, l := range h.lives {
		schemas[i] = l.newest().drawn.clone()
	}
	p := &proposal{}
	switch n := h.IntN(20); {
	case n == 0 && len(h.past) > 1:
		return h.stale(p, schemas)
	case n == 1 && len(h.past) > 1: // git revert, without the lock
		p.name = revertSchemas
		for i, s := range one(h.random, h.past...).schemas {
			schemas[i] = s.clone()
		}
	case n < 7 && len(h.lives) > 1:
		i := h.IntN(2)
		e := one(h.random, exchanges...)
		if !slices.EqualFunc(schemas[0].series, schemas[1].series, func(a, b drawnField) bool { return a.typ == b.typ && slices.Equal(a.of, b.of) }) {
			e = exchanges[1+h.IntN(3)]
		}
		e.edit(h, schemas[i], schemas[1-i])
		p.name = e.name
		if h.chance(4) {
			p.add(h.lives[i].edit(schemas[i]))
		}
	default:
		for i, l := range h.lives {
			if i == 0 || h.chance(3) {
				l = h.lives[(i+n)%len(h.lives)]
				p.add(l.edit(schemas[(i+n)%len(h.lives)]))
			}
		}
	}
	if !h.fill(p, schemas) {
		return nil, false
	}
	if i := slices.Index(p.changed, true); h.chance(3) && len(p.changed) > 1 && !slices.Contains(p.changed[i+1:], true) {
		h.subset(p, i)
		return p, true
	}
	p.compared = h.diff(h.lock, p.versions, h.now)
	p.findings = p.compared.Findings
	return p, true
}

// subset runs generate for one of the schemas. CI runs check for all.
func (h *history) subset(p *proposal, i int) {
	p.add(oneSchema)
	p.compared = evolve.Diff(evolve.Input{Old: h.lock, Layouts: []*layout.Layout{p.versions[i].layout}, Gone: gone})
	p.findings = p.compared.Findings
	if refused(p.findings) {
		p.stale = slices.ContainsFunc(h.diff(h.lock, p.versions, h.now).Findings, func(f evolve.Finding) bool {
			known := func(o evolve.Finding) bool { return o.Name == f.Name }
			return f.Rule.Class == evolve.Data && !slices.ContainsFunc(p.findings, known)
		}) // people accept what they see, and CI, which has a clock, refuses the rest
		return
	}
	check := h.diff(p.compared.Next(nil), p.versions, time.Time{})
	p.findings = append(p.findings, check.Findings...)
	p.next = check.Next(nil)
	against := h.diff(h.lock, p.versions, h.now)
	against.AddForgotten(p.next, gone, "git checkout main --")
	p.findings = append(p.findings, against.Findings...)
	if refused(p.findings) {
		p.stale = true // people start again
	}
}

// add adds the name of an edit.
func (p *proposal) add(name string) {
	if p.name != "" {
		p.name += "; "
	}
	p.name += name
}

// fill resolves the schemas of an edit; false if they have errors or do not change.
func (h *history) fill(p *proposal, schemas []*drawn) bool {
	changed := p.stale
	for i, l := range h.lives {
		if !l.related(l.newest().drawn, schemas[i]) {
			return false
		}
		p.changed = append(p.changed, !bytes.Equal(schemas[i].YAML(), l.newest().text))
		changed = changed || p.changed[i]
	}
	if !changed {
		return false
	}
	versions, ok := h.resolve(schemas)
	p.versions = versions
	return ok
}

// stale draws an edit whose lock was not made from the one before: that of a revert, of the wrong
// side of a conflict, of another branch, one that was joined with that of another branch, or one
// that was deleted and made again. As in CI, the edit is compared with the lock before it.
func (h *history) stale(p *proposal, schemas []*drawn) (*proposal, bool) {
	p.stale = true
	past := h.past[max(0, len(h.past)-1-h.IntN(4)):]
	then := past[0]
	from := then.lock
	kind := h.IntN(len(staleLocks))
	p.name = staleLocks[kind]
	switch kind {
	case 0:
		for i, s := range then.schemas {
			schemas[i] = s.clone()
		}
	case 1:
		from = &lock.Lock{}
	case 3, 4:
		theirs := make([]*drawn, len(schemas))
		for i, s := range then.schemas {
			theirs[i] = s.clone()
			if kind == 3 {
				h.lives[i].edit(theirs[i])
			} else if i == 0 || h.chance(2) {
				p.add(h.both(h.lives[i], theirs[i], schemas[i]))
			}
		}
		var ok bool
		if from, ok = h.branch(then.lock, theirs); !ok {
			return nil, false
		}
		if kind == 4 {
			joined, err := lock.Parse(lock.Name, append(h.lock.Text(), from.Text()...))
			if err != nil { // people decide
				return nil, false
			}
			from = joined
		}
	}
	if kind > 0 && h.chance(2) {
		i := h.IntN(len(schemas))
		p.add(h.lives[i].edit(schemas[i]))
	}
	if !h.fill(p, schemas) {
		return nil, false
	}
	c := h.diff(from, p.versions, time.Time{})
	if refused(c.Findings) { // by generate
		return nil, false
	}
	p.next = from
	if kind > 0 {
		p.next = c.Next(nil)
	}
	p.compared = h.diff(h.lock, p.versions, h.now)
	p.compared.MarkAccepted(p.next, h.diff(p.next, p.versions, h.now))
	p.compared.AddForgotten(p.next, gone, "git checkout main --")
	p.findings = p.compared.Findings
	return p, true
}

// branch returns the lock after an edit of another branch, which was not deployed; false if it is no
// schema, or refused.
func (h *history) branch(old *lock.Lock, schemas []*drawn) (*lock.Lock, bool) {
	p := &proposal{}
	if !h.fill(p, schemas) {
		return nil, false
	}
	c := h.diff(old, p.versions, time.Time{})
	return c.Next(nil), !refused(c.Findings)
}

// both makes the same edit to two schemas, as far as they have the same parts, and returns its name.
func (h *history) both(l *life, a, b *drawn) (name string) {
	own, seed, next := h.random, h.Uint64(), h.next
	for _, s := range []*drawn{a, b} {
		h.random = &random{rand.New(rand.NewPCG(seed, 1)), next}
		name = l.edit(s)
		own.next = max(own.next, h.next)
	}
	h.random = own
	return name
}

// refused reports whether generate refuses changes.
func refused(findings []evolve.Finding) bool {
	return slices.ContainsFunc(findings, func(f evolve.Finding) bool { return f.Rule.Class == evolve.Data })
}
