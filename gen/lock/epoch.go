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

// Epoch is what one run of btgen generate has locked.
type Epoch struct {
	ID      string
	After   []string // IDs of the epochs that it follows: none if it is the first, several after a merge
	Changes []Change // sorted by table
}

// Change is a fact that an epoch has added, or removed.
type Change struct {
	Table string // Table.Key
	Gone  bool   // it is removed
	Fact  string // a line of the file, from the number of the layout on
}

// digest returns the ID of the epoch.
func (e *Epoch) digest() string {
	text := []byte("after " + strings.Join(e.After, " ") + "\n")
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
	out := &Lock{Tables: tables, Epochs: slices.Clip(l.Epochs), last: l.Revisions(), known: stateOf(tables)}
	before, heads := l.known, []string(nil)
	if len(l.Epochs) > 0 {
		for _, r := range out.last {
			heads = append(heads, r.ID)
		}
	} else if len(l.Tables) > 0 { // of a file without epochs
		before = stateOf(l.Tables)
		out.add(state{}, nil, before)
		heads = []string{out.Epochs[0].ID}
	}
	if out.add(before, heads, out.known) {
		out.last = []*Revision{revisionOf(out.Epochs[len(out.Epochs)-1].ID, tables, out.last)}
	}
	return out
}

// add adds an epoch, if there are changes. It reports whether there are.
func (l *Lock) add(known state, after []string, now state) bool {
	e := Epoch{After: after, Changes: known.changes(now)}
	if len(e.Changes) > 0 {
		e.ID = e.digest()
		l.Epochs = append(l.Epochs, e)
	}
	return len(e.Changes) > 0
}

// Missing returns the epochs of another lock that the lock does not have: it is no later version of that.
func (l *Lock) Missing(other *Lock) (out []Epoch) {
	return slices.DeleteFunc(slices.Clone(other.Epochs), func(e Epoch) bool {
		return slices.ContainsFunc(l.Epochs, func(o Epoch) bool { return o.ID == e.ID })
	})
}

// history is the epochs of a file.
type history struct {
	file   string
	epochs []Epoch // each after those that it follows
	index  map[string]int
	known  map[string]*Revision
}

// historyOf sorts epochs. The error is an *Error if one follows an epoch that is not there.
func historyOf(file string, epochs []Epoch) (*history, error) {
	h := &history{file: file, index: map[string]int{}, known: map[string]*Revision{}}
	all := map[string]*Epoch{}
	for i := range epochs {
		all[epochs[i].ID] = &epochs[i]
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if err := h.add(all, id); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// add adds an epoch, after those that it follows.
func (h *history) add(all map[string]*Epoch, id string) error {
	if _, known := h.index[id]; known {
		return nil
	}
	h.index[id] = -1 // until those are added
	for _, before := range all[id].After {
		if n, known := h.index[before]; all[before] == nil || known && n < 0 {
			return &Error{File: h.file, Problem: Incomplete, Reason: fmt.Sprintf("epoch %s follows %s, which the file lacks", id, before)}
		}
		if err := h.add(all, before); err != nil {
			return err
		}
	}
	h.index[id] = len(h.epochs)
	h.epochs = append(h.epochs, *all[id])
	return nil
}

// heads returns the epochs that no other one follows.
func (h *history) heads() (out []string) {
	followed := map[string]bool{}
	for _, e := range h.epochs {
		for _, id := range e.After {
			followed[id] = true
		}
	}
	for _, e := range h.epochs {
		if !followed[e.ID] {
			out = append(out, e.ID)
		}
	}
	return out
}

// revisions returns what the file said after some epochs. The error is an *Error.
func (h *history) revisions(ids []string) (out []*Revision, err error) {
	for _, id := range ids {
		r := h.known[id]
		if r == nil {
			if r, err = h.revision(&h.epochs[h.index[id]]); err != nil {
				return nil, err
			}
			h.known[id] = r
		}
		out = append(out, r)
	}
	return out, nil
}

// revision returns what the file said after an epoch. A table that this did not change is that of the revision before. The
// error is an *Error.
func (h *history) revision(e *Epoch) (*Revision, error) {
	after, err := h.revisions(e.After)
	if err != nil {
		return nil, err
	}
	before, err := h.joined(after)
	if err != nil {
		return nil, err
	}
	facts, ok := before.after(e)
	if !ok {
		return nil, &Error{File: h.file, Reason: fmt.Sprintf("epoch %s removes what no other one has added", e.ID)}
	}
	out := &Revision{ID: e.ID, After: after, tables: map[string]*Table{}, facts: facts}
	for key, is := range facts {
		for _, r := range after {
			if was := r.facts[key]; len(was) == len(is) && &was[0] == &is[0] {
				out.tables[key] = r.tables[key]
			}
		}
		if out.tables[key] != nil {
			continue
		}
		if out.tables[key], err = parseTable(key, is); err != nil {
			return nil, unknown(h.file, key, err)
		}
	}
	return out, nil
}

// joined returns what some revisions say together. The error is an *Error if they contradict each other.
func (h *history) joined(all []*Revision) (state, error) {
	if len(all) == 0 {
		return state{}, nil
	}
	out, epochs := all[0].facts, h.before(all[0].ID)
	for _, r := range all[1:] {
		base, own := state{}, h.before(r.ID)
		for _, e := range slices.Backward(h.epochs) {
			if epochs[e.ID] && own[e.ID] {
				base = h.known[e.ID].facts
				break
			}
		}
		var err error
		if out, err = join(h.file, base, out, r.facts); err != nil {
			return nil, err
		}
		maps.Copy(epochs, own)
	}
	return out, nil
}

// before returns an epoch and all that are before it.
func (h *history) before(id string) map[string]bool {
	out := map[string]bool{id: true}
	for _, e := range slices.Backward(h.epochs[:h.index[id]+1]) {
		if out[e.ID] {
			for _, o := range e.After {
				out[o] = true
			}
		}
	}
	return out
}
