package lock

import (
	"fmt"
	"slices"
	"strings"
)

// join returns the facts of both sides of a merge, with base as their common ancestor: no column, number, enum value,
// acceptance or table that one side knows is forgotten. A fact that only one side has changed is taken from that side.
// The error is an *Error, which names a fact that both have changed differently.
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
			t, err := joinTable(file, key, before, a, b)
			if err != nil {
				return nil, err
			}
			for _, l := range t.lines() {
				out[key] = append(out[key], l.text())
			}
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
func joinTable(file, key string, was, our, their []string) (*Table, error) {
	var sides [3]facts
	var tables [3]*Table
	for i, side := range [][]string{was, our, their} {
		if side == nil {
			continue
		}
		t, err := parseTable(key, side)
		if err != nil {
			return nil, unknown(file, key, err)
		}
		tables[i], sides[i] = t, factsOfTable(t)
	}
	base, ours, theirs := tables[0], tables[1], tables[2]
	before, a, b := sides[0], sides[1], sides[2]
	switch { // one side has accepted a change, and what the other side has changed is changed in the new layouts, too
	case base.replacedIn(ours) && base.numbers() == theirs.numbers():
		before, b, theirs = before.again(base), b.again(base), ours
	case base.replacedIn(theirs) && base.numbers() == ours.numbers():
		before, a, ours = before.again(base), a.again(base), theirs
	}
	switch was, our, their := before.layouts(), a.layouts(), b.layouts(); {
	case slices.Equal(our, was):
		a = slices.Concat(a[:len(a)-len(our)], their)
	case slices.Equal(their, was):
		b = slices.Concat(b[:len(b)-len(their)], our)
	case ours.numbers() != theirs.numbers():
		return nil, contradiction(file, ours, fmt.Sprintf("both sides have changed it, and only one of them has added or removed a layout (%s and %s)", ours.numbers(), theirs.numbers()))
	}
	all := slices.Clone(a)
	at := 0
	for _, fact := range b { // each after the fact that it follows in theirs
		if i := all.index(fact.key); i >= 0 {
			at = i + 1
			continue
		}
		all = slices.Insert(all, at, fact)
		at++
	}
	var joined []string
	for _, fact := range all {
		key := fact.key
		text, ok := choose(fact.joins, before.of(key), a.of(key), b.of(key), before.have(fact.layout))
		if !ok {
			return nil, contradiction(file, ours, fmt.Sprintf("%q and %q", a.of(key), b.of(key)))
		}
		if text != "" {
			joined = append(joined, text)
		}
	}
	t, err := parseTable(key, joined)
	if err != nil {
		return nil, contradiction(file, ours, err.Error())
	}
	return t, t.twice(file)
}

// replacedIn reports whether a side of a merge has put other layouts in place of those in use, by accepting a change.
func (t *Table) replacedIn(side *Table) bool {
	if t == nil {
		return false
	}
	live, older := len(t.Periods()), Table{Layouts: side.Layouts[min(len(side.Layouts), len(t.Periods())):]}
	return older.numbers() == t.numbers() && len(side.Periods()) == live && len(side.Newest().Accepted) > 0 && side.Newest().Number == t.Newest().Number+live
}

// numbers returns the numbers of the layouts, for messages.
func (t *Table) numbers() string {
	var out []string
	for i := range t.Layouts {
		out = append(out, itoa(t.Layouts[i].Number))
	}
	return strings.Join(out, " ")
}

// twice returns an error if both sides gave a number of an enum to different values.
func (t *Table) twice(file string) error {
	for i := range t.Layouts {
		for _, c := range t.Layouts[i].Columns {
			for k, v := range c.Enum {
				if k > 0 && !v.Retired && !c.Enum[k-1].Retired && c.Enum[k-1].Number == v.Number {
					return contradiction(file, t, fmt.Sprintf("enum of %q: %q and %q have the number %d", c.Key, c.Enum[k-1].Name, v.Name, v.Number))
				}
			}
		}
	}
	return nil
}

// contradiction returns the error for a table about which both sides say something else.
func contradiction(file string, t *Table, what string) *Error {
	return &Error{File: file, Problem: Conflicted, Reason: "table " + t.Name + ": " + what}
}

// joining tells how the two sides of a merge are joined in a fact.
type joining int

const (
	once  joining = iota // only one side may have changed it
	inSet                // it is one of a set
	kept                 // a lock never forgets it
)

// choose returns the line of a fact, given those of the base and of both sides, which are empty
// if they lack it. known tells whether the base has facts of this kind. It reports whether the
// sides agree.
func choose(joins joining, base, ours, theirs string, known bool) (string, bool) {
	switch {
	case ours == theirs:
		return ours, true
	case (ours == "" || theirs == "") && (joins == kept || joins == inSet && !known):
		return ours + theirs, true
	case joins == kept:
		line, ok := choose(once, live(base), live(ours), live(theirs), base != "")
		retired := ours != live(ours)
		if theirSide := theirs != live(theirs); retired != theirSide {
			retired = base != "" && base == live(base)
		}
		if retired {
			line += retiredFlag
		}
		return line, ok
	case known && ours == base:
		return theirs, true
	case known && theirs == base:
		return ours, true
	}
	return "", false
}

const retiredFlag = " retired"

// live returns the line of a fact without the note that it is no longer in use.
func live(line string) string { return strings.TrimSuffix(line, retiredFlag) }

// facts are the facts of a table, by what they are about.
type facts []keyed

// keyed is the line of a fact.
type keyed struct {
	key, text string
	layout    int // 0 if the fact is about the table itself
	joins     joining
}

func (f facts) index(key string) int {
	return slices.IndexFunc(f, func(k keyed) bool { return k.key == key })
}

// again returns the facts with those of the layouts in use once more, as they are before an accepted change replaces these.
func (f facts) again(base *Table) facts {
	out := slices.Clone(f)
	n := len(base.Periods())
	for _, k := range f {
		i := slices.IndexFunc(base.Periods(), func(l Layout) bool { return l.Number == k.layout })
		number := itoa(k.layout) + " "
		if i < 0 || strings.HasPrefix(k.text, number+"accepted ") {
			continue
		}
		k.layout += n
		later := itoa(k.layout) + " "
		k.text, k.key = later+strings.TrimPrefix(k.text, number), later+strings.TrimPrefix(k.key, number)
		out = append(out, k)
	}
	return out
}

// layouts returns the facts of layouts, which are after those of the table itself.
func (f facts) layouts() facts {
	i := slices.IndexFunc(f, func(k keyed) bool { return k.layout > 0 })
	return f[max(0, i):]
}

// of returns the line of a fact; empty if there is none.
func (f facts) of(key string) string {
	if i := f.index(key); i >= 0 {
		return f[i].text
	}
	return ""
}

// have reports whether there are facts, and some of a layout if the number is not 0.
func (f facts) have(layout int) bool {
	return slices.ContainsFunc(f, func(k keyed) bool { return layout == 0 || k.layout == layout })
}

// factsOfTable returns the facts of a table. What was accepted twice has two of them.
func factsOfTable(t *Table) facts {
	var out facts
	for _, l := range t.lines() {
		fact := keyed{l.key(), l.text(), l.layout, l.joins}
		for n, once := 2, fact.key; out.index(fact.key) >= 0; n++ {
			fact.key = once + " again " + itoa(n)
		}
		out = append(out, fact)
	}
	return out
}
