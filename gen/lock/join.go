package lock

import (
	"fmt"
	"slices"
	"strings"
)

// Join returns the facts of both sides of a merge, with base as their common ancestor: no column,
// number, enum value, acceptance or table that one side knows is forgotten. A fact that only one
// side has changed is taken from that side. The error is an *Error, which names a fact that both
// have changed differently.
func Join(file string, base, ours, theirs *Lock) (*Lock, error) {
	out := &Lock{}
	for i := range ours.Tables {
		t := &ours.Tables[i]
		other := theirs.find(t)
		if other == nil {
			out.Tables = append(out.Tables, *t)
			continue
		}
		joined, err := join(file, base.find(t), t, other)
		if err != nil {
			return nil, err
		}
		out.Tables = append(out.Tables, *joined)
	}
	for _, t := range theirs.Tables {
		if ours.find(&t) == nil {
			out.Tables = append(out.Tables, t)
		}
	}
	out.serveOnce(ours)
	out.Sort()
	return Parse(file, out.Text())
}

// serveOnce leaves each read to one table, if possible to that of one side: the schemas tell which
// table serves it from now on.
func (l *Lock) serveOnce(side *Lock) {
	by := map[string]string{}
	for _, lock := range []*Lock{side, l} {
		for i := range lock.Tables {
			t := &lock.Tables[i]
			for _, read := range t.Serves {
				if at := l.find(t); by[t.Schema+" "+read] == "" && slices.Contains(at.Serves, read) {
					by[t.Schema+" "+read] = t.Key()
				}
			}
		}
	}
	for i := range l.Tables {
		t := &l.Tables[i]
		t.Serves = slices.DeleteFunc(slices.Clone(t.Serves), func(read string) bool { return by[t.Schema+" "+read] != t.Key() })
	}
}

// find returns the table with the key of another one; nil if there is none.
func (l *Lock) find(t *Table) *Table {
	for i := range l.Tables {
		if l.Tables[i].Key() == t.Key() {
			return &l.Tables[i]
		}
	}
	return nil
}

// join joins the facts of a table that both sides have. base is nil if they added it.
func join(file string, base, ours, theirs *Table) (*Table, error) {
	var before facts
	if base != nil {
		before = factsOfTable(base)
	}
	a, b := factsOfTable(ours), factsOfTable(theirs)
	switch {
	case base != nil && slices.Equal(b, before):
		return ours, nil
	case base != nil && slices.Equal(a, before):
		return theirs, nil
	case !slices.EqualFunc(ours.Layouts, theirs.Layouts, func(a, b Layout) bool { return a.Number == b.Number }):
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
	p := parser{file: file}
	for _, fact := range all {
		key := fact.key
		text, ok := choose(fact.joins, before.of(key), a.of(key), b.of(key), before.have(fact.layout))
		if !ok {
			return nil, contradiction(file, ours, fmt.Sprintf("%q and %q", a.of(key), b.of(key)))
		}
		if text == "" {
			continue
		}
		if err := p.line(ours.Key() + " " + text); err != nil {
			return nil, contradiction(file, ours, err.Error())
		}
	}
	t := &p.lock.Tables[0]
	slices.Sort(t.Lacks)
	slices.Sort(t.Serves)
	for i := range t.Layouts {
		l := &t.Layouts[i]
		l.SortColumns()
		for k := range l.Columns {
			SortValues(l.Columns[k].Enum)
		}
		for k := range l.Segments {
			SortValues(l.Segments[k].Enum)
		}
	}
	return t, t.twice(file)
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
