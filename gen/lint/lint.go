// Package lint checks schemas against rules: what Bigtable rejects, what loses data,
// and what hurts in production. Rules read the layout and compute no facts about a table
// themselves. They propose fixes as YAML that can be pasted into the schema.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/schema"
)

// Finder is the part of btgen that applies a rule.
type Finder int

// The finders.
const (
	BySchema   Finder = iota // this package, in a schema
	ByLanguage               // the schema parser or the layout: an error
	ByWriter                 // the generated writer, in an event
	BySetup                  // setup, in a live table
	ByLock                   // package evolve, in a change of a schema
	ByDesign                 // nobody: generated code always complies
)

// finder describes a Finder: its name in the catalog, what it does, and why a schema cannot allow the rules that it applies.
type finder struct{ name, does, whyNot string }

var finders = [...]finder{
	BySchema:   {"schema", "detected in the schema", "it is a hard limit"},
	ByLanguage: {"language", "enforced by the schema language", "it is a hard limit"},
	ByWriter:   {"writer", "enforced by the generated writer", "it is a hard limit"},
	BySetup:    {"setup", "detected by setup in a live table", "it concerns live tables; changes to them are allowed during setup"},
	ByLock:     {"lock", "detected when a schema changes", "it concerns a change; btgen generate --accept accepts one by name"},
	ByDesign:   {"design", "generated code always complies", "generated code always complies"},
}

// Rule is one check.
type Rule struct {
	ID       string        // stable, since schemas name it in allow; such as "K01"
	Severity diag.Severity // of its worst findings
	Title    string        // a noun phrase, or a clause
	Reason   string        // full sentences
	Source   string        // URL of Bigtable's documentation, or "our judgment"
	Fix      string        // full sentences
	By       Finder
	// Limit marks a hard limit of Bigtable or of generated code, which no schema can allow.
	Limit bool
	// HowToAllow replaces the usual instruction for a rule that is allowed by other means
	// than allow; empty for all others.
	HowToAllow string
	class      string                   // of a change; see Class
	cases      map[string]diag.Sentence // of findings, by their names
}

// Class returns what the finding of a change is called, such as "DATA", and the severity of other findings.
func (r Rule) Class() string { return cmp.Or(r.class, r.Severity.String()) }

// Allowable reports whether a schema can allow the findings of the rule.
func (r Rule) Allowable() bool { return !r.Limit && r.By == BySchema }

// reporter collects the findings of a rule about a table, a query, or a table that schemas share.
type reporter struct {
	rule     Rule
	severity diag.Severity
	found    *diag.List
	schema   *schema.Schema // for proposals
	l        *layout.Layout
	t        *layout.Table   // that of a query
	q        *layout.Query   // nil for a table
	tables   []*layout.Table // of all schemas
	// size returns the estimated size of the table, which several rules about tables need.
	size func() estimate.Estimate
}

// CheckBroken returns the errors that rules find in a schema that has others, so that its layout may lack
// anything. What only warns, or estimates, waits until these are mended.
func CheckBroken(s *schema.Schema, l *layout.Layout) diag.List {
	var found diag.List
	for _, t := range l.AllPeriods() {
		found = append(found, ofTable(s, l, t).check(true)...)
	}
	for i := range l.Queries {
		found = append(found, ofQuery(s, l, &l.Queries[i]).check(true)...)
	}
	return found
}

// Check returns the findings of all rules in a schema and its layout without errors, except those that
// the schema allows. Unused and invalid allow entries are findings too. Of an earlier layout, whose data is stored, it is
// too late for warnings.
func Check(s *schema.Schema, l *layout.Layout) diag.List {
	var found diag.List
	for _, t := range l.Tables {
		found = append(found, ofTable(s, l, t).check(false)...)
		for _, older := range t.Older {
			found = append(found, ofTable(s, l, older).check(true)...)
		}
	}
	for i := range l.Queries {
		q := &l.Queries[i]
		found = append(found, ofQuery(s, l, q).check(false)...)
		if q.Scan != "" && !slices.ContainsFunc(q.AllPeriods(), (*layout.Query).Scans) {
			found.Warnf(q.ScanPos, "unused scan: in table %q, query %s reads %s", q.Table.ID, q.Name, prose.Ranges(q)).Hint = "remove scan"
		}
	}
	return found
}

// subject is a table or a query, to which rules apply and which can allow them.
type subject struct {
	kind   string // "table" or "query"
	name   string // for messages
	allow  []schema.Allow
	checks checks
	on     func(r Rule) []reporter // what to apply a rule to, until there are findings
}

// ofTable returns a table as a subject. It estimates the size at most once.
func ofTable(s *schema.Schema, l *layout.Layout, t *layout.Table) subject {
	size := sync.OnceValue(func() estimate.Estimate { return estimate.Of(l, t) })
	return subject{"table", fmt.Sprintf("table %q", t.ID), t.Allow, tableChecks, func(Rule) []reporter {
		return []reporter{{schema: s, l: l, t: t, size: size}}
	}}
}

// ofQuery returns a query as a subject. Its findings are those of the newest layout or, if there
// are none, of the newest of the earlier layouts with any, whose events the query reads, too.
// Errors are also found in the other tables from which the query deletes.
func ofQuery(s *schema.Schema, l *layout.Layout, q *layout.Query) subject {
	return subject{"query", "query " + q.Name, q.Allow, queryChecks, func(r Rule) (on []reporter) {
		all := q.Periods()
		if r.Severity == diag.Error {
			all = q.AllPeriods()
		}
		for _, of := range all {
			on = append(on, reporter{schema: s, l: l, t: of.Table, q: of})
		}
		return on
	}}
}

// check returns the findings, or only the errors, that the subject does not allow.
func (s subject) check(onlyErrors bool) diag.List {
	var out diag.List
	for _, rule := range Rules() {
		if onlyErrors && rule.Severity != diag.Error {
			continue
		}
		var found diag.List
		check, applies := s.checks[rule.ID]
		for _, r := range s.on(rule) {
			if r.rule, r.severity, r.found = rule, rule.Severity, &found; applies && len(found) == 0 {
				check(r)
			}
		}
		i := slices.IndexFunc(s.allow, func(a schema.Allow) bool { return a.Rule.V == rule.ID })
		if !rule.Allowable() || i < 0 {
			out = append(out, found...)
		} else if applies && len(found) == 0 {
			out.Warnf(s.allow[i].Rule.Pos, "unused allow: rule %s (%s) finds nothing in %s", rule.ID, rule.Title, s.name).Hint = "remove it"
		}
	}
	if onlyErrors {
		return slices.DeleteFunc(out, func(d diag.Diagnostic) bool { return d.Severity != diag.Error })
	}
	return append(out, s.checkAllowances()...)
}

// kind returns "table" or "query", whichever the rule applies to.
func (r Rule) kind() string {
	if queryChecks[r.ID] != nil {
		return "query"
	}
	return "table"
}

// checkAllowances reports allow entries that cannot have an effect.
func (s subject) checkAllowances() diag.List {
	var found diag.List
	rules := Rules()
	for _, a := range s.allow {
		i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == a.Rule.V })
		switch {
		case i < 0:
			found.Errorf(a.Rule.Pos, "unknown rule %s", a.Rule.V).Hint = fmt.Sprintf("remove it; a %s can allow %s", s.kind, allowable(rules, s.kind))
		case rules[i].HowToAllow != "":
			found.Errorf(a.Rule.Pos, "allow does not apply to rule %s (%s)", a.Rule.V, rules[i].Title).Hint = rules[i].HowToAllow
		case !rules[i].Allowable():
			found.Errorf(a.Rule.Pos, "rule %s (%s) cannot be allowed: %s", a.Rule.V, rules[i].Title, finders[rules[i].By].whyNot).Hint = "remove it"
		case rules[i].kind() == s.kind:
		case s.kind == "table":
			found.Errorf(a.Rule.Pos, "rule %s (%s) applies to queries, not to tables", a.Rule.V, rules[i].Title).Hint =
				fmt.Sprintf("move it to the query, as in queries: {ByHost: {by: [host], allow: {%s: \"…\"}}}", a.Rule.V)
		default:
			found.Errorf(a.Rule.Pos, "rule %s (%s) applies to tables, not to queries", a.Rule.V, rules[i].Title).Hint = "move it to the table"
		}
	}
	return found
}

// allowable lists the rules that a table or a query can allow.
func allowable(rules []Rule, kind string) string {
	var ids []string
	for _, r := range rules {
		if r.Allowable() && r.kind() == kind {
			ids = append(ids, r.ID)
		}
	}
	return strings.Join(ids, ", ")
}
