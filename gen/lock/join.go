package lock

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// What both sides of a merge say is joined, so that no column, number, enum value, acceptance or table that one of
// them knows is forgotten. Which of two facts that contradict each other is taken does not matter: the schemas
// decide which one is so from now on, and they are compared with each side by itself.

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
	var sides [3]*Table
	for i, side := range [][]string{was, our, their} {
		if sides[i] = new(Table); side == nil {
			continue
		}
		t, err := parseTable(key, side)
		if err != nil {
			return nil, err
		}
		sides[i] = t
	}
	base, ours, theirs := sides[0], sides[1], sides[2]
	before, a, b := base.claims(), ours.claims(), theirs.claims()
	others := theirs.since(base) // layouts of their own
	if len(others) == 0 || len(ours.since(base)) == 0 || a.sameLayouts(b, base) && b.sameLayouts(a, base) {
		others = nil
	} else {
		theirs.Layouts = theirs.Layouts[len(others):]
		b = theirs.claims()
	}
	var joined []string
	all := maps.Clone(b)
	maps.Copy(all, a)
	for key, c := range all {
		l := c.layout
		if base.has(l) && (!ours.has(l) || !theirs.has(l)) {
			continue // one side has removed the layout
		}
		if text := choose(c.joins, before[key].text, a[key].text, b[key].text, base.has(l), ours.has(l)); text != "" {
			joined = append(joined, text)
		}
	}
	slices.Sort(joined)
	sortFacts(joined)
	t, err := parseTable(key, joined)
	if err != nil {
		return nil, err
	}
	t.insert(others)
	return t.facts(), nil
}

// has reports whether a table is known, and has a layout if the number is not 0.
func (t *Table) has(layout int) bool {
	if layout == 0 {
		return t.Name != ""
	}
	return slices.ContainsFunc(t.Layouts, func(l Layout) bool { return l.Number == layout })
}

// since returns the layouts that a table has got since an earlier version of it.
func (t *Table) since(base *Table) []Layout {
	n := 0
	for n < len(t.Layouts) && (len(base.Layouts) == 0 || t.Layouts[n].Number > base.Newest().Number) {
		n++
	}
	return t.Layouts[:n]
}

// sameLayouts reports whether another side has what a side says of its own layouts, but for facts of which a layout
// has several.
func (cs claims) sameLayouts(other claims, base *Table) bool {
	for key, c := range cs {
		if c.layout > 0 && c.joins == once && (len(base.Layouts) == 0 || c.layout > base.Newest().Number) && other[key].text != c.text {
			return false
		}
	}
	return true
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

// claim is a fact of one side.
type claim struct {
	layout int // its number; 0 if the fact is about the table itself
	joins  joining
	text   string
}

// claims are the facts of one side, by what they are about.
type claims map[string]claim

// claims returns the facts of a table. No two of them are about the same, but for changes that were accepted twice.
func (t *Table) claims() claims {
	out := claims{}
	for _, fact := range t.facts() {
		about, c := claimOf(fact)
		key := about
		for n := 2; out[key].text != ""; n++ {
			key = about + " again " + itoa(n)
		}
		out[key] = c
	}
	return out
}

// claimOf returns a fact, and what it is about. Two families may have columns of one name.
func claimOf(fact string) (about string, c claim) {
	words, _ := split(fact) // that was written
	c.text = fact
	var n int
	if layout, err := strconv.Atoi(words[0]); err == nil {
		c.layout, words = layout, words[1:]
		kind := &layoutFacts[kindOf(layoutFacts, words[0])]
		c.joins, n = kind.joins, kind.about
	} else {
		kind := &tableFacts[kindOf(tableFacts, words[0])]
		c.joins, n = kind.joins, kind.about
	}
	rest := words[1:]
	if isEnum(rest) {
		c.joins, n = kept, 4
	}
	key := append([]string{itoa(c.layout), words[0]}, rest[:min(n, len(rest))]...)
	if i := slices.IndexFunc(rest, func(word string) bool { return strings.HasPrefix(word, "family=") }); i >= 0 {
		key = append(key, rest[i])
	}
	return strings.Join(key, " "), c
}
