package lint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testschema"
)

// Every rule that applies to schemas has exactly one check, and no other rule has one: no
// finding of a rule is made elsewhere.
func TestEveryRuleHasItsCheck(t *testing.T) {
	for _, r := range Rules() {
		checks := 0
		for _, is := range []bool{tableChecks[r.ID] != nil, queryChecks[r.ID] != nil, sharedChecks[r.ID] != nil} {
			if is {
				checks++
			}
		}
		assert.Same(t, map[bool]int{true: 1}[r.By == BySchema], checks, r.ID)
	}
}

// families returns a layout of table "wide" with some families; more is added to the table.
func families(t *testing.T, name string, from, to int, more string) *layout.Layout {
	t.Helper()
	var fields, list []string
	for i := from; i < to; i++ {
		fields = append(fields, fmt.Sprintf("  v%d: {type: int64, family: f%d}\n", i, i))
		list = append(list, fmt.Sprintf("f%d: {ttl: {max_age: 30d}}", i))
	}
	text := "btgen: v1\npackage: app\nname: " + name + "\nseries: {host: string}\ntime: {precision: 1s}\nfields:\n" + strings.Join(fields, "") +
		"tables:\n  wide:\n    pattern: bucket_new_cells\n    key: {delimiter: \"#\", segments: [host, bucket]}\n    bucket: 1h\n    families: {" +
		strings.Join(list, ", ") + "}\n" + more
	_, l := testschema.Parse(t, name+".yaml", text)
	return l
}

// Too many families are one finding, in the schema that adds the first one too many, unless
// that schema allows the rule.
func TestManyFamilies(t *testing.T) {
	const allow = "    allow: {L06: \"measured\"}\n"
	for name, tt := range map[string]struct {
		layouts []*layout.Layout
		want    string
	}{
		"at the limit":        {[]*layout.Layout{families(t, "A", 0, 60, ""), families(t, "B", 60, 100, "")}, ""},
		"one schema":          {[]*layout.Layout{families(t, "A", 0, 101, "")}, "A.yaml"},
		"three schemas":       {[]*layout.Layout{families(t, "A", 0, 60, ""), families(t, "B", 60, 120, ""), families(t, "C", 120, 130, "")}, "B.yaml"},
		"allowed":             {[]*layout.Layout{families(t, "A", 0, 60, ""), families(t, "B", 60, 120, allow)}, ""},
		"allowed elsewhere":   {[]*layout.Layout{families(t, "A", 0, 60, allow), families(t, "B", 60, 120, "")}, "B.yaml"},
		"allowed, not needed": {[]*layout.Layout{families(t, "A", 0, 60, allow)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, d := range CheckShared(tt.layouts) {
				got += d.Pos.File
				assert.Same(t, "L06", d.Rule, d)
			}
			assert.Same(t, tt.want, got)
		})
	}
}
