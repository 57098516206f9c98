package golden

import (
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// TestBreakingForgotten takes the last epoch out of the locks after all edits, as a revert or the wrong side of a merge
// conflict does, and compares them with those before: it is missed. A lock that generate has written has forgotten none.
func TestBreakingForgotten(t *testing.T) {
	at := func(*lock.Table) diag.Pos { return diag.Pos{File: lock.Name} }
	forgotten := func(e edit, old, now *lock.Lock) []evolve.Finding {
		c := e.diff(t, old, len(e.versions)-1)
		c.AddForgotten(now, at, "git checkout main -- btgen.lock")
		return slices.DeleteFunc(c.Findings, func(f evolve.Finding) bool { return f.Diagnostic.Rule != "E23" })
	}
	taken := 0
	for _, e := range testlong.Sample(edits(t), 12) {
		known, c := e.compare(t)
		next := acceptAll(t, c)
		for _, f := range forgotten(e, known, next) {
			t.Errorf("%s: generate has forgotten a fact: %v", e.name, f.Diagnostic)
		}
		if n := len(next.Epochs) - 1; n > 0 {
			taken++
			last := next.Epochs[n]
			if got := forgotten(e, next, &lock.Lock{Tables: known.Tables, Epochs: next.Epochs[:n]}); !slices.ContainsFunc(got, func(f evolve.Finding) bool {
				name, _, _ := strings.Cut(last.Changes[0].Table, "/")
				return f.Name == "E23:"+name+"/"+last.ID
			}) {
				t.Errorf("%s: epoch %s is not missed: %v", e.name, last.ID, got)
			}
		}
		for i, table := range next.Tables {
			less := &lock.Lock{Tables: slices.Delete(slices.Clone(next.Tables), i, i+1)} // of a file without epochs
			if len(forgotten(e, &lock.Lock{Tables: next.Tables}, less)) == 0 {
				t.Errorf("%s: table %s is not missed", e.name, table.Name)
			}
		}
	}
	if taken < testlong.Pick(7, 100) {
		t.Errorf("%d epochs", taken)
	}
}
