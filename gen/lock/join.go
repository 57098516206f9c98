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
	case base != nil && slices.Equal(b.lines, before.lines):
		return ours, nil
	case base != nil && slices.Equal(a.lines, before.lines):
		return theirs, nil
	case !slices.EqualFunc(ours.Layouts, theirs.Layouts, func(a, b Layout) bool { return a.Number == b.Number }):
		return nil, contradiction(file, ours, fmt.Sprintf("both sides have changed it, and only one of them has added or removed a layout (%s and %s)", ours.numbers(), theirs.numbers()))
	}
	keys := slices.Clone(a.keys)
	at := 0
	for _, key := range b.keys { // each after the fact that it follows in theirs
		if i := slices.Index(keys, key); i >= 0 {
			at = i + 1
			continue
		}
		keys = slices.Insert(keys, at, key)
		at++
	}
	p := parser{file: file}
	for _, key := range keys {
		line, ok := choose(key, before.of(key), a.of(key), b.of(key), before.about(key))
		if !ok {
			return nil, contradiction(file, ours, fmt.Sprintf("%q and %q", a.of(key), b.of(key)))
		}
		if line == "" {
			continue
		}
		if err := p.line(ours.Key() + " " + line); err != nil {
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

// choose returns the line of a fact, given those of the base and of both sides, which are empty
// if they lack it. known tells whether the base has facts of this kind. It reports whether the
// sides agree.
func choose(key, base, ours, theirs string, known bool) (string, bool) {
	kind := kindOf(key)
	switch {
	case ours == theirs:
		return ours, true
	case (ours == "" || theirs == "") && (kind == keptFact || kind == setFact && !known):
		return ours + theirs, true
	case kind == keptFact:
		line, ok := choose("", live(base), live(ours), live(theirs), base != "")
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

// factKind tells how facts are joined.
type factKind int

const (
	singleFact factKind = iota // one that only one side may have changed
	setFact                    // one of a set
	keptFact                   // one that a lock never forgets
)

// kindOf returns the kind of a fact.
func kindOf(key string) factKind {
	word, rest, _ := strings.Cut(key, " ")
	if layoutOf(key) != "" {
		word, rest, _ = strings.Cut(rest, " ")
	}
	switch {
	case slices.Contains([]string{"accepted", "column", "number", "name"}, word), word == "key" && strings.Contains(rest, " enum "):
		return keptFact
	case word == "lacks" || word == "serves":
		return setFact
	}
	return singleFact
}

// layoutOf returns the number of the layout that a fact is about; empty if it is about the table.
func layoutOf(key string) string {
	word, _, _ := strings.Cut(key, " ")
	if strings.Trim(word, "0123456789") != "" {
		return ""
	}
	return word
}

// facts are the lines of a table, without the name of the table, by their keys.
type facts struct {
	keys, lines []string
}

func (f *facts) of(key string) string {
	if i := slices.Index(f.keys, key); i >= 0 {
		return f.lines[i]
	}
	return ""
}

// about reports whether the facts have the layout that a fact is about, or the table.
func (f *facts) about(key string) bool {
	return slices.ContainsFunc(f.keys, func(k string) bool { return layoutOf(key) == "" || layoutOf(k) == layoutOf(key) })
}

// factsOfTable returns the facts of a table. The key of a fact tells what it is about.
func factsOfTable(t *Table) facts {
	var out facts
	prefix := t.Key() + " "
	lines := t.lines()
	column := ""
	for _, line := range lines[:len(lines)-1] { // without the checksum
		line = strings.TrimPrefix(line, prefix)
		key := keyOf(line, &column)
		for n, once := 2, key; slices.Contains(out.keys, key); n++ { // accepted twice
			key = once + " again " + itoa(n)
		}
		out.keys, out.lines = append(out.keys, key), append(out.lines, line)
	}
	return out
}

// keyOf returns what the line of a fact is about. column is the key of the last column.
func keyOf(line string, column *string) string {
	words, _ := split(line) // btgen has written it
	from := 0
	if layoutOf(line) != "" {
		from = 1
	}
	first := func(n int) string { return strings.Join(words[:min(from+n, len(words))], " ") }
	switch words[from] {
	case "serves", "lacks", "accepted":
		return line
	case "family":
		return first(2)
	case "key":
		if words[from+2] == "enum" {
			return first(5)
		}
		return first(2)
	case "column", "number", "name":
		if words[from+2] == "enum" && len(words) > from+3 && startsNumber(words[from+3]) {
			return *column + " enum " + strings.Join(words[from+3:from+5], " ")
		}
		*column = first(2)
		for _, w := range words[from+2:] {
			if strings.HasPrefix(w, "family=") {
				*column += " " + w
			}
		}
		return *column
	}
	return first(1)
}
