package golden

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// TestBreakingJoin joins the locks of random edits of the catalog that have a common ancestor, one or
// two on each side, accepted: the result has every fact of both sides that is never forgotten, and the schemas are judged.
func TestBreakingJoin(t *testing.T) {
	byBase := map[string][]edit{}
	for _, e := range testlong.Sample(edits(t), 8) {
		if n := len(e.versions); n >= 2 && len(e.beside[n-2]) == 0 {
			base := string(e.versions[n-2].Text)
			byBase[base] = append(byBase[base], e)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	joined := 0
	for _, base := range slices.Sorted(maps.Keys(byBase)) {
		all := byBase[base]
		if len(all) < 2 {
			continue
		}
		for range 20 * len(all) {
			e := all[random.IntN(len(all))]
			known := e.diff(t, &lock.Lock{}, len(e.versions)-2).Next(nil)
			var sides [2]*lock.Lock
			names := ""
			for i := range sides {
				sides[i] = known
				for range 1 + random.IntN(2) {
					e := all[random.IntN(len(all))]
					sides[i] = acceptAll(t, e.diff(t, sides[i], len(e.versions)-1))
					names += " " + e.name
					if i == 1 && len(sides[0].Missing(sides[1])) == 0 {
						known = sides[1] // both have made the same edits until then
					}
				}
				names += ";"
			}
			out, err := lock.Parse(lock.Name, append(sides[0].Text(), sides[1].Text()...))
			if err != nil {
				t.Errorf("%s: %v", names, err)
				continue
			}
			joined++
			for i := range sides {
				if lost := missingIn(out, known, sides[i], sides[1-i]); len(lost) > 0 {
					t.Errorf("%s side %d has lost:\n%s", names, i, strings.Join(lost, "\n"))
				}
			}
		}
	}
	if joined < testlong.Pick(60, 600) {
		t.Errorf("%d joined", joined)
	}
}

// single are the facts of which a layout has one, or a list.
var single = []string{"since", "table", "pattern", "precision", "delimiter", "key", "bucket", "time", "sequence", "blob"}

// missingIn returns the lines of one side that a joined lock lacks, apart from those that the other
// side has changed since the base.
func missingIn(joined, base, side, other *lock.Lock) []string {
	all, before, theirs := linesOf(joined), linesOf(base), linesOf(other)
	for line := range linesOf(base) { // in the layout that an accepted change puts in place of the first one
		before[strings.Replace(line, " 1 ", " 2 ", 1)] = true
	}
	begins := map[string]bool{}
	for line := range all {
		begins[strings.Join(strings.Fields(line)[:min(4, len(strings.Fields(line)))], " ")] = true
	}
	var out []string
	for line := range linesOf(side) {
		if words := strings.Fields(line); slices.Contains(single, words[min(2, len(words)-1)]) {
			continue // if both sides have changed it, one of them has it
		}
		kept := all[line] || all[line+" retired"] || all[strings.TrimSuffix(line, " retired")]
		if words := strings.Fields(line); slices.Contains([]string{"family", "column", "number", "name"}, words[2]) {
			kept = kept || begins[strings.Join(words[:4], " ")] // the rest may be that of the other side
		}
		if was := strings.TrimSuffix(line, " retired"); !kept && !(before[was] && !theirs[was]) {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

// linesOf returns the facts of a lock.
func linesOf(l *lock.Lock) map[string]bool {
	out := map[string]bool{}
	for _, line := range factsOf(l) {
		if strings.Fields(line)[1] != "serves" {
			out[line] = true
		}
	}
	return out
}

// factsOf returns the facts of a lock, after the keys of their tables.
func factsOf(l *lock.Lock) (out []string) {
	for _, e := range new(lock.Lock).Next(l.Tables).Epochs {
		for _, c := range e.Changes {
			out = append(out, c.Table+" "+c.Fact)
		}
	}
	return out
}
