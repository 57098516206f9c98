package lock

import (
	"slices"
	"strings"
)

// What both sides of a merge say is joined, so that no column, number, enum value, acceptance or table that one of them knows is
// forgotten. Which of two facts that contradict each other is taken does not matter: the schemas decide which one is so from
// now on, and they are compared with each side by itself.

// join returns the facts of both sides of a merge, with base as their common ancestor. A fact that only one side has changed
// is taken from that side. The error is an *Error.
func join(file string, base, ours, theirs state) (state, error) {
	out := state{}
	for _, key := range ours.keys(theirs) {
		a, b, before := ours[key], theirs[key], base[key]
		switch {
		case b == nil || a != nil && slices.Equal(b, before):
			out[key] = a
		case a == nil || slices.Equal(a, before) || slices.Equal(a, b):
			out[key] = b
		default:
			joined, err := joinTable(key, before, a, b)
			if err != nil {
				return nil, unknown(file, key, err)
			}
			out[key] = joined
		}
	}
	out.serveOnce(ours)
	return out, nil
}

// serves begins the fact that a table serves a read.
const serves = "serves "

// serveOnce leaves each read to one table, if possible to that of one side: the schemas tell which
// table serves it from now on.
func (s state) serveOnce(side state) {
	schema := func(key string) string {
		for _, fact := range s[key] {
			if strings.HasPrefix(fact, "schema ") {
				return fact
			}
		}
		return ""
	}
	by := map[string]string{}
	for _, of := range []state{side, s} {
		for _, key := range of.keys(nil) {
			for _, fact := range of[key] {
				if strings.HasPrefix(fact, serves) && slices.Contains(s[key], fact) && by[schema(key)+fact] == "" {
					by[schema(key)+fact] = key
				}
			}
		}
	}
	for key, facts := range s {
		of := schema(key)
		lost := func(fact string) bool { return strings.HasPrefix(fact, serves) && by[of+fact] != key }
		if slices.ContainsFunc(facts, lost) {
			s[key] = slices.DeleteFunc(slices.Clone(facts), lost)
		}
	}
}

// joinTable joins the facts of a table that both sides have. was is nil if they added it.
func joinTable(key string, was, our, their []string) ([]string, error) {
	var sides [3]lines
	var tables [3]*Table
	for i, side := range [][]string{was, our, their} {
		if side == nil {
			tables[i] = &Table{}
			continue
		}
		t, err := parseTable(key, side)
		if err != nil {
			return nil, err
		}
		tables[i], sides[i] = t, linesOf(t)
	}
	before, a, b := sides[0], sides[1], sides[2]
	others := tables[2].since(tables[0]) // layouts of their own
	if len(others) == 0 || len(tables[1].since(tables[0])) == 0 || a.sameLayouts(b, tables[0]) {
		others = nil
	} else {
		tables[2].Layouts = tables[2].Layouts[len(others):]
		b = linesOf(tables[2])
	}
	all := slices.Clone(a)
	for _, fact := range b {
		if a.index(fact.key) < 0 {
			all = append(all, fact)
		}
	}
	var joined []string
	for _, fact := range all {
		if l := fact.layout; before.have(l) && (!a.have(l) || !b.have(l)) {
			continue // one side has removed the layout
		}
		if text := choose(fact.joins, before.of(fact.key), a.of(fact.key), b.of(fact.key), before.have(fact.layout), a.have(fact.layout)); text != "" {
			joined = append(joined, text)
		}
	}
	sortFacts(joined)
	t, err := parseTable(key, joined)
	if err != nil {
		return nil, err
	}
	t.insert(others)
	joined = nil
	for _, l := range t.lines() {
		joined = append(joined, l.text())
	}
	return joined, nil
}

// since returns the layouts that a table has got since an earlier version of it.
func (t *Table) since(base *Table) []Layout {
	n := 0
	for n < len(t.Layouts) && (len(base.Layouts) == 0 || t.Layouts[n].Number > base.Newest().Number) {
		n++
	}
	return t.Layouts[:n]
}

// sameLayouts reports whether both sides have got the same layouts, but for facts of which a layout has several.
func (f lines) sameLayouts(other lines, base *Table) bool {
	all := func(f, other lines) bool {
		return !slices.ContainsFunc(f, func(k keyed) bool {
			return k.layout > 0 && k.joins == once && (len(base.Layouts) == 0 || k.layout > base.Newest().Number) && other.of(k.key) != k.text
		})
	}
	return all(f, other) && all(other, f)
}

// insert adds layouts after those that are in use, as if they were replaced by these.
func (t *Table) insert(others []Layout) {
	t.Layouts = slices.Insert(t.Layouts, len(t.Periods()), others...)
	for i := len(t.Layouts) - 2; i >= 0; i-- {
		t.Layouts[i].Number = max(t.Layouts[i].Number, t.Layouts[i+1].Number+1)
	}
}

// joining tells how the two sides of a merge are joined in a fact.
type joining int

const (
	once  joining = iota // only one side may have changed it
	inSet                // it is one of a set
	kept                 // a lock never forgets it
)

// choose returns the line of a fact, given those of the base and of both sides, which are empty if they lack it. known tells
// whether the base has facts of this kind, and own whether our side has. Of two that contradict each other, ours is taken.
func choose(joins joining, base, ours, theirs string, known, own bool) string {
	switch {
	case ours == theirs:
		return ours
	case (ours == "" || theirs == "") && (joins == kept || joins == inSet && !known):
		return ours + theirs
	case joins == kept:
		line := choose(once, live(base), live(ours), live(theirs), base != "", true)
		retired := ours != live(ours)
		if theirSide := theirs != live(theirs); retired != theirSide {
			retired = base != "" && base == live(base)
		}
		if retired {
			line += retiredFlag
		}
		return line
	case known && ours == base || !own:
		return theirs
	}
	return ours
}

const retiredFlag = " retired"

// live returns the line of a fact without the note that it is no longer in use.
func live(line string) string { return strings.TrimSuffix(line, retiredFlag) }

// lines are the lines of a table, by what they are about.
type lines []keyed

// keyed is the line of a fact.
type keyed struct {
	key, text string
	layout    int // 0 if the fact is about the table itself
	joins     joining
}

func (f lines) index(key string) int {
	return slices.IndexFunc(f, func(k keyed) bool { return k.key == key })
}

// of returns the line of a fact; empty if there is none.
func (f lines) of(key string) string {
	if i := f.index(key); i >= 0 {
		return f[i].text
	}
	return ""
}

// have reports whether there are facts, and some of a layout if the number is not 0.
func (f lines) have(layout int) bool {
	return slices.ContainsFunc(f, func(k keyed) bool { return layout == 0 || k.layout == layout })
}

// linesOf returns the facts of a table. What was accepted twice has two of them.
func linesOf(t *Table) lines {
	var out lines
	for _, l := range t.lines() {
		fact := keyed{l.key(), l.text(), l.layout, l.joins}
		for n, once := 2, fact.key; out.index(fact.key) >= 0; n++ {
			fact.key = once + " again " + itoa(n)
		}
		out = append(out, fact)
	}
	return out
}
