package infer

import (
	"fmt"
	"slices"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// versionsOf returns the number of cells of a column that a rule keeps; 0 if it does not count them.
func versionsOf(r codec.GCRule) int {
	if r.Kind == codec.GCMaxVersions {
		return r.MaxVersions
	}
	for _, rule := range r.Rules {
		if n := versionsOf(rule); n > 0 {
			return n
		}
	}
	return 0
}

// withoutVersions returns a rule that keeps what the rule keeps, apart from numbers of cells.
func withoutVersions(r codec.GCRule) codec.GCRule {
	switch {
	case versionsOf(r) == 0:
		return r
	case r.Kind != codec.GCUnion:
		return codec.GCRule{}
	}
	var rules []codec.GCRule
	for _, rule := range r.Rules {
		if rule = withoutVersions(rule); rule.Kind != codec.GCNone {
			rules = append(rules, rule)
		}
	}
	return codec.GCRule{Kind: codec.GCUnion, Rules: rules}.Normalize()
}

// countsVersions reports whether a family of the draft keeps a number of cells of each column.
func (d *draft) countsVersions() bool {
	return slices.ContainsFunc(d.families(), func(f string) bool { return versionsOf(d.key.table.Families[f]) > 0 })
}

// versionsQuestion asks about a family that keeps a number of cells of each column: where that is one in a row without
// a time, the table may have the newest event of each series; else, the schema may lack the number. It is empty if
// nothing is unclear.
func (d *draft) versionsQuestion(family string, o options) string {
	rule := d.key.table.Families[family].Normalize()
	n := versionsOf(rule)
	switch {
	case n == 0:
		return ""
	case n == 1 && d.pattern == codec.BucketNewCells && d.bucket == "none":
		said := ""
		if o.worn {
			said = " The schema leaves out max_versions, which setup would remove: " + d.noVersions + "."
		}
		return fmt.Sprintf("The family keeps one cell of each column. Does a row have the newest event of its series? Then write pattern: latest and ttl: %s, without bucket, in a "+
			"schema that also has the table with all events.", ruleText(rule, false)) + said
	case o.worn:
		return fmt.Sprintf("The family has the rule ttl: %s, of which the schema leaves out max_versions: %s. Does the table need it? Setup would remove it.", ruleText(rule, false), d.noVersions)
	}
	return ""
}
