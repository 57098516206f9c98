package golden

import (
	"slices"
	"testing"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// TestBreakingForgotten takes each fact about what events may contain out of the locks after all
// edits, as a revert or the wrong side of a merge conflict does, and compares them with those
// before: each is found by name. A lock that generate has written has forgotten none.
func TestBreakingForgotten(t *testing.T) {
	at := func(*lock.Table) diag.Pos { return diag.Pos{File: lock.Name} }
	forgotten := func(e edit, old, now *lock.Lock) []evolve.Finding {
		c := e.diff(t, old, len(e.versions)-1)
		c.AddForgotten(now, at, "git checkout main -- btgen.lock")
		return slices.DeleteFunc(c.Findings, func(f evolve.Finding) bool { return f.Diagnostic.Rule != "E23" })
	}
	taken := 0
	for _, e := range testlong.Sample(edits(t), 4) {
		known, c := e.compare(t)
		var accept []string
		for _, f := range c.Findings {
			if f.Rule.Class == evolve.Data {
				accept = append(accept, f.Name+"=a test")
			}
		}
		accepted, err := c.Accept(accept)
		if err != nil {
			t.Fatal(err)
		}
		next := c.Next(accepted)
		for _, f := range forgotten(e, known, next) {
			t.Errorf("%s: generate has forgotten a fact: %v", e.name, f.Diagnostic)
		}
		for what, less := range without(next) {
			taken++
			if len(forgotten(e, next, less)) == 0 {
				t.Errorf("%s: without %s: not found", e.name, what)
			}
		}
	}
	if taken < testlong.Pick(200, 1000) {
		t.Errorf("%d facts", taken)
	}
}

// without returns the locks that lack one fact of a lock each, by that.
func without(l *lock.Lock) map[string]*lock.Lock {
	out := map[string]*lock.Lock{}
	change := func(what string, edit func(*lock.Lock)) {
		less, err := lock.Parse(lock.Name, l.Text())
		if err != nil {
			panic(err)
		}
		edit(less)
		out[what] = less
	}
	for i, table := range l.Tables {
		change("table "+table.Name, func(l *lock.Lock) { l.Tables = slices.Delete(l.Tables, i, i+1) })
		for k, a := range table.Accepted {
			change(a.Change+" of "+table.Name, func(l *lock.Lock) { l.Tables[i].Accepted = slices.Delete(l.Tables[i].Accepted, k, k+1) })
		}
		for k, reason := range table.Lacks {
			if len(l.Tables) > 1 {
				change("lacks "+string(reason)+" of "+table.Name, func(l *lock.Lock) { l.Tables[i].Lacks = slices.Delete(l.Tables[i].Lacks, k, k+1) })
			}
		}
		for j, facts := range table.Layouts {
			at := func(l *lock.Lock) *lock.Layout { return &l.Tables[i].Layouts[j] }
			in := "layout " + string(rune('0'+facts.Number)) + " of " + table.Name
			change(in, func(l *lock.Lock) { l.Tables[i].Layouts = slices.Delete(l.Tables[i].Layouts, j, j+1) })
			for k, a := range facts.Accepted {
				change(a.Change+" in "+in, func(l *lock.Lock) { at(l).Accepted = slices.Delete(at(l).Accepted, k, k+1) })
			}
			for k, col := range facts.Columns {
				change("column "+col.Key+" "+col.Family+" in "+in, func(l *lock.Lock) { at(l).Columns = slices.Delete(at(l).Columns, k, k+1) })
				for v := range col.Enum {
					change("value "+col.Enum[v].Name+" of "+col.Key+" in "+in, func(l *lock.Lock) {
						at(l).Columns[k].Enum = slices.Delete(at(l).Columns[k].Enum, v, v+1)
					})
				}
			}
			for k, g := range facts.Segments {
				for v := range g.Enum {
					change("value "+g.Enum[v].Name+" of "+g.Name+" in "+in, func(l *lock.Lock) {
						at(l).Segments[k].Enum = slices.Delete(at(l).Segments[k].Enum, v, v+1)
					})
				}
			}
		}
	}
	return out
}
