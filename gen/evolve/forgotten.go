package evolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/lock"
)

// AddForgotten adds the findings for epochs and tables of the old lock that the one of the new version lacks:
// btgen generate keeps all, so that the file was deleted, reverted, or is the wrong side of a
// conflict. The schemas do not tell what only the lock knew, such as columns of removed fields.
// at is the position of a table in the file, and restore says where the file with the lines is.
func (c *Comparison) AddForgotten(now *lock.Lock, at func(*lock.Table) diag.Pos, restore string) {
	add := func(t *lock.Table, item, what string) {
		c.Findings = append(c.Findings, finding(t.Name, at(t), Change{
			Item: item, way: way{text: fmt.Sprintf("restore the lines: %s, and run btgen generate, which adds the changes of this version", restore)},
		}.as("facts-forgotten", lock.Name, what)))
	}
	for _, e := range now.Missing(c.in.Old) {
		var t lock.Table
		t.Name, t.Family, _ = strings.Cut(e.Changes[0].Table, "/")
		add(&t, e.ID, fmt.Sprintf("epoch %s, which says what has changed in table %q", e.ID, t.Name))
	}
	for i := range c.in.Old.Tables {
		if t := &c.in.Old.Tables[i]; !has(now, t) {
			add(t, t.Family, fmt.Sprintf("table %q with family %q", t.Name, t.Family))
		}
	}
	c.sort()
}

// kept adds the finding for a table that is about to be locked, although another project still has
// its facts. It reports whether there is one.
func (c *Comparison) kept(p *pair) bool {
	if c.in.Kept == nil {
		return false
	}
	file, text := c.in.Kept(p.layout, p.facts)
	if file == "" {
		return false
	}
	c.add(p, Change{way: way{text: text}}, "second-lock", p.facts.Name, file)
	return true
}

// lostTable reports whether a lock that lacks a table had it when the code was generated.
func (c *Comparison) lostTable(t *lock.Table) bool {
	if slices.Contains(c.in.Locked, t.Key()) {
		return true
	}
	other := slices.ContainsFunc(c.in.Old.Tables, func(o lock.Table) bool { return o.Name == t.Name })
	return !other && slices.ContainsFunc(c.in.Locked, func(key string) bool { return strings.HasPrefix(key, t.Name+"/") })
}

// lost adds the finding for a table that the lock has lost.
func (c *Comparison) lost(p *pair) {
	c.add(p, Change{way: way{text: restoreLock}}, "forgotten", lock.Name, p.facts.Name)
}

// restoreLock is the way out for a lock that has lost a table.
const restoreLock = "restore the file: `git checkout HEAD -- " + lock.Name + "`; in a merge, restore the conflict: `git checkout -m -- " + lock.Name + "`, and run btgen generate; if the schema has moved from another project, generate both in one run"

// lostLock adds the findings for tables that neither an empty lock nor the schemas have, and the
// generated code has: the lock was lost, and the removal of the tables would not be noticed.
func (c *Comparison) lostLock() {
	if !c.in.Whole || len(c.in.Old.Tables) > 0 {
		return
	}
	for _, key := range c.in.Locked {
		name, _, _ := strings.Cut(key, "/")
		if slices.ContainsFunc(c.pairs, func(p pair) bool { return p.table != nil && p.table.ID == name }) {
			continue
		}
		c.Findings = append(c.Findings, finding(name, diag.Pos{File: lock.Name}, Change{way: way{text: restoreLock}}.as("lock-lost", lock.Name, name)))
	}
}

// has reports whether a lock has a table of an earlier version, or had it: a newer layout of it is in another table, then.
func has(now *lock.Lock, old *lock.Table) bool {
	epoch := func(e *lock.Epoch) bool {
		return slices.ContainsFunc(e.Changes, func(c lock.Change) bool { return c.Table == old.Key() })
	}
	return slices.ContainsFunc(now.Epochs, epoch) || slices.ContainsFunc(now.Tables, func(t lock.Table) bool {
		return t.Key() == old.Key() || slices.ContainsFunc(t.Layouts, func(l lock.Layout) bool {
			return l.Table == old.Name && l.Number == old.Newest().Number && shareFamilies(&l, old.Newest())
		})
	})
}
