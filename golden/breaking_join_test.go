package golden

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// TestBreakingJoin joins the locks of random edits of the catalog that have a common ancestor, one or
// two on each side, accepted: the result has every fact of both sides that is never forgotten, and the schemas are judged.
func TestBreakingJoin(t *testing.T) {
	byBase := map[string][]edit{}
	for _, e := range testlong.Sample(edits(t), 16) {
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
		for range testlong.Pick(8, 20) * len(all) {
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
	if joined < testlong.Pick(12, 600) {
		t.Errorf("%d joined", joined)
	}
}

// single are the facts of which a layout has one, or a list.
var single = []string{"removed", "since", "table", "pattern", "precision", "delimiter", "key", "bucket", "time", "sequence", "blob"}

// missingIn returns the lines of one side that a joined lock lacks in all layouts, apart from those that the other
// side has changed since the base.
func missingIn(joined, base, side, other *lock.Lock) (out []string) {
	all, before, theirs := linesOf(joined), linesOf(base), linesOf(other)
	named := map[string]bool{} // what there is a fact about
	for line := range all {
		named[about(line)] = true
	}
	for line := range linesOf(side) {
		words, was := strings.Fields(line), strings.TrimSuffix(line, " retired")
		switch {
		case slices.Contains(single, words[1]): // if both sides have changed it, one of them has it
		case words[1] != "accepted" && named[about(line)]: // the rest may be that of the other side
		case !all[line] && (!before[was] || theirs[was]):
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

// about returns what a fact is about.
func about(line string) string {
	words := strings.Fields(line)
	return strings.Join(words[:min(3, len(words))], " ")
}

// linesOf returns the facts of a lock, without the numbers of layouts.
func linesOf(l *lock.Lock) map[string]bool {
	out := map[string]bool{}
	for _, line := range factsOf(l) {
		words := strings.Fields(line)
		if _, err := strconv.Atoi(words[1]); err == nil {
			line = strings.Replace(line, " "+words[1]+" ", " ", 1)
		}
		if words[1] != "serves" {
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
