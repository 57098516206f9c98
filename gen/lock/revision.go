package lock

import (
	"slices"
	"strings"
)

// Revision is what a file said after one of its epochs.
type Revision struct {
	ID     string      // of the epoch; empty if the file has none
	After  []*Revision // those that it follows: none if it is the first, several after a merge
	tables map[string]*Table
	facts  state // of these; nil of a lock that was not parsed
}

// Revisions returns what the last epochs said: one, or several after a merge; none if nothing was locked.
func (l *Lock) Revisions() []*Revision {
	if l.last == nil && len(l.Tables) > 0 { // it was not parsed
		l.last = []*Revision{revisionOf("", l.Tables, nil)}
	}
	return l.last
}

// Accepted returns how often a change was accepted until then.
func (r *Revision) Accepted(name string) (n int) {
	for _, t := range r.tables {
		n += len(t.Reasons(name))
	}
	return n
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

// Before returns the last revision that two have in common; nil if there is none.
func (r *Revision) Before(other *Revision) *Revision {
	all := map[*Revision]bool{}
	for line := []*Revision{other}; len(line) > 0; line = line[1:] {
		if at := line[0]; !all[at] {
			all[at] = true
			line = append(line, at.After...)
		}
	}
	seen := map[*Revision]bool{}
	for line := []*Revision{r}; len(line) > 0; line = line[1:] {
		if at := line[0]; all[at] {
			return at
		} else if !seen[at] {
			seen[at] = true
			line = append(line, at.After...)
		}
	}
	return nil
}

// Table returns a table by its key; nil if the file did not have it.
func (r *Revision) Table(key string) *Table { return r.tables[key] }

// Has reports whether the file had a table, given its key.
func (r *Revision) Has(key string) bool { return r.tables[key] != nil }

// Tables returns all tables, by their keys.
func (r *Revision) Tables() map[string]*Table { return r.tables }

// revisionOf returns the revision with some tables.
func revisionOf(id string, tables []Table, after []*Revision) *Revision {
	out := &Revision{ID: id, After: after, tables: map[string]*Table{}}
	for i := range tables {
		out.tables[tables[i].Key()] = &tables[i]
	}
	return out
}

// Lock returns the lock without what was before.
func (r *Revision) Lock() *Lock {
	out := &Lock{}
	for _, t := range r.tables {
		out.Tables = append(out.Tables, *t)
	}
	out.Sort()
	return out
}
