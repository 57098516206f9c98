package lock

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The file is a list of epochs, and only grows. An epoch is what one run of btgen generate has changed: facts that it
// has added to tables, and facts that it has removed, after the epochs that were there. What the lock says is the sum.
//
//   - An epoch never changes: its ID is a digest of its changes and of the epochs that it follows.
//   - Each line names its table and its epoch, so that the lines of an epoch may be anywhere: the union of the lines
//     of two files is the merge of both, whatever git makes of it, with or without markers of conflicts. Lines are
//     sorted by table, so that changes of different tables do not even meet.
//   - After a merge, two epochs are the last ones. What both say together is joined from their common ancestor; the
//     schemas are compared with each of them, too, and the next epoch follows both.
//   - An epoch that follows one which the file lacks was picked alone, or the other one was reverted: the file is refused.

// Epoch is what one run of btgen generate has locked, and what the file said then.
type Epoch struct {
	ID      string   // empty if the file has none
	After   []*Epoch // those that it follows: none if it is the first, several after a merge
	Changes []Change // sorted by table

	follows []string // the IDs of those that it follows
	place   int      // among the epochs of the file
	line    int      // the first one in the file
	tables  map[string]*Table
	facts   state // of these; nil of a lock that was not parsed
}

// Change is a fact that an epoch has added, or removed.
type Change struct {
	Table string // Table.Key
	Gone  bool   // it is removed
	Fact  string // a line of the file, from the number of the layout on
}

// digest returns the ID of the epoch.
func (e *Epoch) digest() string {
	text := []byte("after " + strings.Join(e.follows, " ") + "\n")
	for i := range e.Changes {
		c := &e.Changes[i]
		text = append(append(append(append(text, c.Table...), c.sign()...), c.Fact...), '\n')
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:5])
}

// sign returns what is before the fact in the line of a change.
func (c *Change) sign() string {
	if c.Gone {
		return " - "
	}
	return " + "
}

// state is what epochs say: the facts of tables, by their keys.
type state map[string][]string

// stateOf returns the facts of tables.
func stateOf(tables []Table) state {
	out := state{}
	for i := range tables {
		out[tables[i].Key()] = tables[i].facts()
	}
	return out
}

// keys returns the keys of tables of one or the other of two states, sorted.
func (s state) keys(other state) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(s)), maps.Keys(other))
	slices.Sort(all)
	return slices.Compact(all)
}

// changes returns what an epoch adds to a state, and removes from it.
func (s state) changes(to state) (out []Change) {
	for _, key := range s.keys(to) {
		was, is := s[key], to[key]
		if slices.Equal(was, is) {
			continue
		}
		for _, fact := range slices.Compact(without(was, is)) { // each line of the file is there once
			if !slices.Contains(is, fact) {
				out = append(out, Change{key, true, fact})
			}
		}
		for _, fact := range slices.Compact(without(is, was)) { // what was accepted twice at once was accepted once
			out = append(out, Change{key, false, fact})
		}
	}
	return out
}

// without returns the facts that others do not have; one that is there twice only if they have it once.
func without(facts, others []string) (out []string) {
	n := map[string]int{}
	for _, fact := range others {
		n[fact]++
	}
	for _, fact := range facts {
		if n[fact]--; n[fact] < 0 {
			out = append(out, fact)
		}
	}
	return out
}

// after returns the state after an epoch. It returns false if the state lacks what the epoch removes.
func (s state) after(e *Epoch) (state, bool) {
	out := maps.Clone(s)
	for i := 0; i < len(e.Changes); {
		key := e.Changes[i].Table
		facts, first := slices.Clone(out[key]), out[key] == nil
		for ; i < len(e.Changes) && e.Changes[i].Table == key; i++ {
			c := &e.Changes[i]
			if !c.Gone {
				facts = append(facts, c.Fact)
				continue
			}
			n := len(facts)
			if facts = slices.DeleteFunc(facts, func(fact string) bool { return fact == c.Fact }); len(facts) == n {
				return nil, false
			}
		}
		if out[key] = facts; len(facts) == 0 {
			delete(out, key)
		} else if !first {
			sortFacts(facts)
		}
	}
	return out, true
}

// Next returns the lock with an epoch after all others, which makes the tables of it; none if nothing has changed.
func (l *Lock) Next(tables []Table) *Lock {
	out := &Lock{Tables: tables, Epochs: slices.Clip(l.Epochs)}
	if len(l.Epochs) == 0 {
		out.add(l.Tables) // of a file without epochs
	}
	out.add(tables)
	return out
}

// add adds an epoch with some tables, if they are others than before.
func (l *Lock) add(tables []Table) {
	e := epochOf(tables)
	e.After, e.place, e.facts = heads(l.Epochs), len(l.Epochs), stateOf(tables)
	for _, o := range e.After {
		e.follows = append(e.follows, o.ID)
	}
	before, _ := joined("", e.After) // as when the file was parsed
	if e.Changes = before.changes(e.facts); len(e.Changes) > 0 {
		e.ID = e.digest()
		l.Epochs = append(l.Epochs, e)
	}
}

// epochOf returns an epoch of a lock that was not parsed.
func epochOf(tables []Table) *Epoch {
	e := &Epoch{tables: map[string]*Table{}}
	for i := range tables {
		e.tables[tables[i].Key()] = &tables[i]
	}
	return e
}

// Missing returns the epochs of another lock that the lock does not have: it is no later version of that.
func (l *Lock) Missing(other *Lock) (out []*Epoch) {
	return slices.DeleteFunc(slices.Clone(other.Epochs), func(e *Epoch) bool {
		return slices.ContainsFunc(l.Epochs, func(o *Epoch) bool { return o.ID == e.ID })
	})
}

// Heads returns the last epochs: one, or several after a merge; none if nothing was locked.
func (l *Lock) Heads() []*Epoch {
	if len(l.Epochs) == 0 && len(l.Tables) > 0 {
		return []*Epoch{epochOf(l.Tables)}
	}
	return heads(l.Epochs)
}

// heads returns the epochs that no other one follows.
func heads(all []*Epoch) []*Epoch {
	followed := map[*Epoch]bool{}
	for _, e := range all {
		for _, before := range e.After {
			followed[before] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(e *Epoch) bool { return followed[e] })
}

// until returns an epoch and all that are before it.
func (e *Epoch) until() map[*Epoch]bool {
	out := map[*Epoch]bool{e: true}
	for line := []*Epoch{e}; len(line) > 0; line = line[1:] {
		for _, before := range line[0].After {
			if !out[before] {
				out[before] = true
				line = append(line, before)
			}
		}
	}
	return out
}

// Common returns the last epoch that two have in common; nil if there is none.
func (e *Epoch) Common(other *Epoch) *Epoch { return last(e.until(), other.until()) }

// last returns the last epoch of two sets; nil if there is none.
func last(a, b map[*Epoch]bool) (out *Epoch) {
	for e := range a {
		if b[e] && (out == nil || e.place > out.place) {
			out = e
		}
	}
	return out
}

// joined returns what some epochs say together. The error is an *Error if they contradict each other.
func joined(file string, all []*Epoch) (out state, err error) {
	out = state{}
	known := map[*Epoch]bool{}
	for i, e := range all {
		own := e.until()
		base := state{}
		if common := last(known, own); common != nil {
			base = common.facts
		}
		if i == 0 {
			out = e.facts
		} else if out, err = join(file, base, out, e.facts); err != nil {
			return nil, err
		}
		maps.Copy(known, own)
	}
	return out, nil
}

// derive finds out what the file said after an epoch, given those before it. A table that this did not change is
// that of before. The error is an *Error.
func (e *Epoch) derive(file string) error {
	before, err := joined(file, e.After)
	if err != nil {
		return err
	}
	ok := false
	if e.facts, ok = before.after(e); !ok {
		return &Error{File: file, Reason: fmt.Sprintf("epoch %s removes what no other one has added", e.ID)}
	}
	e.tables = map[string]*Table{}
	for key, is := range e.facts {
		for _, o := range e.After {
			if was := o.facts[key]; len(was) == len(is) && &was[0] == &is[0] {
				e.tables[key] = o.tables[key]
			}
		}
		if e.tables[key] != nil {
			continue
		}
		if e.tables[key], err = parseTable(key, is); err != nil {
			return unknown(file, key, err)
		}
	}
	return nil
}

// Accepted returns how often a change was accepted until then.
func (e *Epoch) Accepted(name string) (n int) {
	for _, t := range e.tables {
		n += len(t.Reasons(name))
	}
	return n
}

// Table returns a table by its key; nil if the file did not have it.
func (e *Epoch) Table(key string) *Table { return e.tables[key] }

// Has reports whether the file had a table, given its key.
func (e *Epoch) Has(key string) bool { return e.tables[key] != nil }

// Tables returns all tables, by their keys.
func (e *Epoch) Tables() map[string]*Table { return e.tables }

// Lock returns the lock without what was before.
func (e *Epoch) Lock() *Lock {
	out := &Lock{}
	for _, t := range e.tables {
		out.Tables = append(out.Tables, *t)
	}
	out.Sort()
	return out
}

// Reasons returns why a change of a table was accepted, each time, the last reason at the end.
func (t *Table) Reasons(name string) (out []string) {
	all := slices.Clone(t.Accepted)
	for _, l := range slices.Backward(t.Layouts) {
		all = append(all, l.Accepted...)
	}
	for _, a := range all {
		if a.Change == name {
			out = append(out, a.Reason)
		}
	}
	if reason, ok := strings.CutPrefix(t.Removed, name+": "); ok {
		out = append(out, reason)
	}
	return out
}
