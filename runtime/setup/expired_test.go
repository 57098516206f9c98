package setup

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/facts"
)

// The times at which the layouts of these tests begin and end, which cut time into parts.
var edges = []time.Time{time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)}

// chain says which layout of one table has the events of each part of time, oldest first: a or b in
// family m, c in n, which differs from a only in that, or none, '-', since they are in another table
// or nowhere.
type chain [3]byte

// chains returns all chains with a layout.
func chains() []chain {
	var out []chain
	for _, x := range []byte("-abc") {
		for _, y := range []byte("-abc") {
			for _, z := range []byte("-abc") {
				if c := (chain{x, y, z}); c != (chain{'-', '-', '-'}) {
					out = append(out, c)
				}
			}
		}
	}
	return out
}

// familyOf returns the family of a layout.
func familyOf(layout byte) string { return map[byte]string{'a': "m", 'b': "m", 'c': "n"}[layout] }

// layouts returns the layouts as the generator writes them.
func (c chain) layouts(t *testing.T) facts.Layouts {
	t.Helper()
	var lines []string
	for to := len(c); to > 0; {
		from := to - 1
		for from > 0 && c[from-1] == c[to-1] {
			from--
		}
		if c[from] != '-' {
			line := fmt.Sprintf("bucket: %s; family %s: events", map[byte]string{'a': "1d", 'b': "1h", 'c': "1d"}[c[from]], familyOf(c[from]))
			if to < len(c) {
				line = "until: " + edges[to-1].Format(time.RFC3339) + "; " + line
			}
			if from > 0 {
				line = "since: " + edges[from-1].Format(time.RFC3339) + "; " + line
			}
			lines = append(lines, line)
		}
		to = from
	}
	out, err := facts.Parse(strings.Join(lines, "\n"))
	assert.Must(t, err)
	return out
}

// begins and ends return the times of a part; the first has no beginning and the last one no end.
func begins(part int) time.Time {
	if part == 0 {
		return time.Time{}
	}
	return edges[part-1]
}

func ends(part int) time.Time {
	if part == len(edges) {
		return time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return edges[part]
}

// mayStore reports whether the events of a part in a layout may be stored at a time: the part has
// begun, and not all of them were collected.
func mayStore(part int, layout byte, rules map[string]codec.GCRule, now time.Time) bool {
	if begins(part).After(now) {
		return false
	}
	rule, exists := rules[familyOf(layout)]
	end := ends(part)
	switch {
	case !exists:
		return !end.Add(7 * 24 * time.Hour).Before(now)
	case rule.Kind == codec.GCMaxAge:
		return !end.Add(rule.MaxAge + 7*24*time.Hour).Before(now)
	}
	return true
}

// hides returns a part of which there may be events as the recorded chain has them, in this table or
// in another one, that a build with another one does not find; -1 if there is none.
func (recorded chain) hides(own chain, rules map[string]codec.GCRule, now time.Time) int {
	for part := range recorded {
		holder := recorded[part]
		if holder == '-' {
			holder = own[part] // what another table may have; its rules are not known
		}
		if recorded[part] != own[part] && mayStore(part, holder, rules, now) {
			return part
		}
	}
	return -1
}

// harmless reports whether setup should let a build go on: newer layouts are above the recorded
// ones, but have not begun, and what is different below has expired, wherever it is.
func (recorded chain) harmless(own chain, rules map[string]codec.GCRule, now time.Time) bool {
	part := len(recorded) - 1
	for ; part >= 0 && recorded[part] != own[part]; part-- {
		newer := recorded[part] != '-' && recorded[part] == recorded[len(recorded)-1] && begins(part).After(now)
		if !newer || part > 0 && recorded[part-1] != recorded[part] { // it is what the recorded one was to go on as
			break
		}
	}
	shared := part
	for ; part >= 0 && recorded[part] == own[part]; part-- {
	}
	same := slices.ContainsFunc(recorded[part+1:shared+1], func(layout byte) bool { return layout != '-' })
	same = same && !(recorded.older(part) && own.older(part)) // a layout is edited
	for ; part >= 0; part-- {
		holder := recorded[part]
		if holder == '-' {
			holder = own[part]
		}
		if holder != '-' && mayStore(part, holder, rules, now) {
			return false
		}
	}
	return same
}

// older reports whether there are other layouts up to a part than the one that follows it.
func (c chain) older(part int) bool {
	for ; part >= 0 && c[part] == c[part+1]; part-- {
	}
	return part >= 0 && slices.ContainsFunc(c[:part+1], func(layout byte) bool { return layout != '-' })
}

// liveOf returns a table with rules.
func liveOf(rules map[string]codec.GCRule) *liveTable {
	live := liveTable{families: map[string]liveFamily{}}
	for name, rule := range rules {
		live.families[name] = liveFamily{rule: rule}
	}
	return &live
}

// momentsOfTests are before, at and after every time at which anything changes.
func momentsOfTests() []time.Time {
	var out []time.Time
	for _, edge := range edges {
		for _, age := range []time.Duration{0, 7, 37, 372} {
			for _, d := range []time.Duration{0, time.Second} {
				out = append(out, edge.Add(age*24*time.Hour+d))
			}
		}
	}
	return out
}

// setUp returns what a setup does with a build's chain if the history has recorded others, oldest
// first: the change that it records; false if there is none.
func setUp(t *testing.T, recorded []chain, own chain, live *liveTable, now time.Time) (c Change, records bool) {
	t.Helper()
	h := &layoutHistory{now: func() time.Time { return now }}
	var of []recordedLayout
	for i, c := range recorded {
		was := c.layouts(t)
		of = append(of, recordedLayout{RecordedLayout{"t", "x", i + 1, was.String()}, was})
	}
	is := own.layouts(t)
	if _, c, records = h.compare("t", live, is, of); records {
		h.begun(&c, is, of)
	}
	return c, records
}

// TestForgottenLayouts compares all layouts of a table with all others, at all times and with all
// live rules: after setup by a build, it finds every event that a recorded layout may still hold,
// or setup was refused by name. And setup refuses none of the ordinary changes.
func TestForgottenLayouts(t *testing.T) {
	accepted, refused := 0, 0
	month := maxAge(30)
	for name, rules := range map[string]map[string]codec.GCRule{ // of the families of a table
		"a month": {"m": month, "n": month}, "a year and a month": {"m": maxAge(365), "n": month},
		"forever and a month": {"m": {}, "n": month}, "one family is missing": {"m": month},
	} {
		live := liveOf(rules)
		for _, now := range momentsOfTests() {
			for _, recorded := range testlong.Sample(chains(), 15) {
				if b := slices.Index(recorded[:], 'b'); b >= 0 && !slices.Contains(recorded[:b], 'a') {
					continue // a and b are alike
				}
				for _, own := range chains() {
					if c, _ := setUp(t, []chain{recorded}, own, live, now); len(c.Hazards) > 0 {
						refused++
						if recorded.harmless(own, rules, now) {
							t.Errorf("%s, %s: %s after %s is refused: %s", name, now, own, recorded, c)
						}
						continue
					}
					accepted++
					if part := recorded.hides(own, rules, now); part >= 0 {
						t.Errorf("%s, %s: %s after %s hides part %d", name, now, own, recorded, part)
					}
				}
				if t.Failed() {
					return
				}
			}
		}
	}
	t.Logf("%d accepted, %d refused", accepted, refused)
}

// TestForgottenLayoutsInTurn lets random builds set up a table one after the other, each of which
// writes events of all times so far, while time passes, and the time to live becomes longer. Each build
// that is not refused finds all events that are stored.
func TestForgottenLayoutsInTurn(t *testing.T) {
	type place struct {
		part   int
		layout byte
	}
	all, accepted := chains(), 0
	for seed := range testlong.Pick[uint64](500, 3000) {
		random := rand.New(rand.NewPCG(seed, 1))
		rules := map[string]codec.GCRule{"m": maxAge(30), "n": maxAge(90)}
		now := edges[0].Add(-ageDay)
		var recorded []chain
		stored := map[place]bool{}
		for range 12 {
			now = now.Add(time.Duration(random.IntN(40)) * ageDay)
			maps.DeleteFunc(stored, func(p place, _ bool) bool { return !mayStore(p.part, p.layout, rules, now) })
			if random.IntN(8) == 0 {
				rules[familyOf("ac"[random.IntN(2)])] = codec.GCRule{}
			}
			own := all[random.IntN(len(all))]
			if recorded != nil && random.IntN(3) > 0 { // an edit of one that was there
				own = recorded[random.IntN(len(recorded))]
				own[random.IntN(len(own))] = "-abc"[random.IntN(4)]
			}
			if own == (chain{'-', '-', '-'}) {
				continue
			}
			if recorded == nil {
				recorded = []chain{own}
			} else if c, records := setUp(t, recorded, own, liveOf(rules), now); len(c.Hazards) > 0 {
				continue
			} else if records {
				recorded = append(recorded, own)
			}
			accepted++
			for p := range stored {
				if own[p.part] != p.layout {
					t.Fatalf("seed %d, %s: %s after %s hides part %d of layout %c", seed, now, own, recorded, p.part, p.layout)
				}
			}
			for part, layout := range own {
				if layout != '-' && mayStore(part, layout, rules, now) {
					stored[place{part, layout}] = true
				}
			}
		}
	}
	t.Logf("%d accepted", accepted)
}
