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

// Too many families are one finding, in the schema that adds the first one too many, unless that schema allows the rule.
func TestManyFamilies(t *testing.T) {
	const allow = "    allow: {L06: \"measured\"}\n"
	of := func(name string, from, to int, more string) *layout.Layout { // of table "wide" with some families
		var fields, list []string
		for i := from; i < to; i++ {
			fields = append(fields, fmt.Sprintf("v%d: {type: int64, family: f%d}", i, i))
			list = append(list, fmt.Sprintf("f%d: {ttl: {max_age: 30d}}", i))
		}
		_, l := testschema.Parse(t, name, fmt.Sprintf(`btgen: v1
package: app
name: %s
series: {host: string}
fields: {%s}
tables:
  wide:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [host, bucket]}
    bucket: 1h
    families: {%s}
%s`, name, strings.Join(fields, ", "), strings.Join(list, ", "), more))
		return l
	}
	for name, tt := range map[string]struct {
		layouts []*layout.Layout
		want    string
	}{
		"at the limit":        {[]*layout.Layout{of("A", 0, 60, ""), of("B", 60, 100, "")}, ""},
		"one schema":          {[]*layout.Layout{of("A", 0, 101, "")}, "A"},
		"three schemas":       {[]*layout.Layout{of("A", 0, 60, ""), of("B", 60, 120, ""), of("C", 120, 130, "")}, "B"},
		"allowed":             {[]*layout.Layout{of("A", 0, 60, ""), of("B", 60, 120, allow)}, ""},
		"allowed elsewhere":   {[]*layout.Layout{of("A", 0, 60, allow), of("B", 60, 120, "")}, "B"},
		"allowed, not needed": {[]*layout.Layout{of("A", 0, 60, allow)}, ""},
	} {
		got := ""
		for _, d := range CheckShared(tt.layouts) {
			got += d.Pos.File
			assert.Same(t, "L06", d.Rule, d)
		}
		assert.Same(t, tt.want, got, name)
	}
}
