package lint

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testschema"
	"github.com/btgen-dev/btgen/runtime/codec"
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

// The size of a rule is that of its message.
func TestWireSize(t *testing.T) {
	age := codec.GCRule{Kind: codec.GCMaxAge, MaxAge: 90*24*time.Hour + time.Millisecond}
	versions := codec.GCRule{Kind: codec.GCMaxVersions, MaxVersions: 300}
	union := codec.GCRule{Kind: codec.GCUnion, Rules: []codec.GCRule{age, versions}}
	both := codec.GCRule{Kind: codec.GCIntersection}
	for range 20 {
		both.Rules = append(both.Rules, union)
	}
	for _, rule := range []codec.GCRule{{}, age, versions, union, both} {
		assert.Same(t, proto.Size(messageOf(rule)), wireSize(rule), rule)
	}
}

func messageOf(r codec.GCRule) *adminpb.GcRule {
	var rules []*adminpb.GcRule
	for _, rule := range r.Rules {
		rules = append(rules, messageOf(rule))
	}
	switch r.Kind {
	case codec.GCMaxAge:
		return &adminpb.GcRule{Rule: &adminpb.GcRule_MaxAge{MaxAge: durationpb.New(r.MaxAge)}}
	case codec.GCMaxVersions:
		return &adminpb.GcRule{Rule: &adminpb.GcRule_MaxNumVersions{MaxNumVersions: int32(r.MaxVersions)}}
	case codec.GCUnion:
		return &adminpb.GcRule{Rule: &adminpb.GcRule_Union_{Union: &adminpb.GcRule_Union{Rules: rules}}}
	case codec.GCIntersection:
		return &adminpb.GcRule{Rule: &adminpb.GcRule_Intersection_{Intersection: &adminpb.GcRule_Intersection{Rules: rules}}}
	}
	return &adminpb.GcRule{}
}
