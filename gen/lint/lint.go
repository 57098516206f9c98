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
	class      string              // of a change; see Class
	cases      map[string]caseText // of findings, by their names
}

// Class returns what the finding of a change is called, such as "DATA", and the severity of other findings.
func (r Rule) Class() string { return cmp.Or(r.class, r.Severity.String()) }

// Allowable reports whether a schema can allow the findings of the rule.
func (r Rule) Allowable() bool { return !r.Limit && r.By == BySchema }

// reporter collects the findings of a rule.
type reporter struct {
	rule     Rule
	severity diag.Severity
	schema   *schema.Schema // for proposals
	found    *diag.List
	// size returns the estimated size of the table, which several rules need; nil for rules that
	// are not about one table.
	size func() estimate.Estimate
}

// as returns a reporter that adds findings with the given severity.
func (r reporter) as(severity diag.Severity) reporter {
	r.severity = severity
	return r
}

// CheckBroken returns the errors that rules find in a schema that has others, so that its layout may lack
// anything. What only warns, or estimates, waits until these are mended.
func CheckBroken(s *schema.Schema, l *layout.Layout) diag.List {
	var found diag.List
	for _, t := range l.AllPeriods() {
		found = append(found, errorsOf(s, l, t)...)
	}
	for i := range l.Queries {
		q := &l.Queries[i]
		of := subject{"query", "query " + q.Name, q.Allow}
		found = append(found, of.errors(func(r Rule) diag.List { return r.findQuery(s, l, q) })...)
	}
	return found
}

// Check returns the findings of all rules in a schema and its layout without errors, except those that
// the schema allows. Unused and invalid allow entries are findings too.
func Check(s *schema.Schema, l *layout.Layout) diag.List {
	var found diag.List
	for _, t := range l.Tables {
		of := subject{"table", fmt.Sprintf("table %q", t.ID), t.Allow}
		size := sizeOf(l, t)
		found = append(found, of.check(func(r Rule) (bool, diag.List) { return tableChecks[r.ID] != nil, r.find(s, l, t, size) })...)
		for _, older := range t.Older {
			found = append(found, errorsOf(s, l, older)...)
		}
	}
	for i := range l.Queries {
		q := &l.Queries[i]
		of := subject{"query", "query " + q.Name, q.Allow}
		found = append(found, of.check(func(r Rule) (bool, diag.List) { return queryChecks[r.ID] != nil, r.findQuery(s, l, q) })...)
		found = append(found, checkScan(q)...)
	}
	return found
}

// sizeOf returns a function that estimates the size of a table once.
func sizeOf(l *layout.Layout, t *layout.Table) func() estimate.Estimate {
	return sync.OnceValue(func() estimate.Estimate { return estimate.Of(l, t) })
}

// errorsOf returns the errors of a table. Of an earlier layout, whose data is stored, it is too late
// for warnings.
func errorsOf(s *schema.Schema, l *layout.Layout, t *layout.Table) diag.List {
	size, of := sizeOf(l, t), subject{"table", fmt.Sprintf("table %q", t.ID), t.Allow}
	return of.errors(func(r Rule) diag.List { return r.find(s, l, t, size) })
}

// subject is a table or a query, to which rules apply and which can allow them.
type subject struct {
	kind  string // "table" or "query"
	name  string // for messages
	allow []layout.Allowance
}

// check returns the findings that the subject does not allow. find reports whether a
// rule applies to such subjects, and returns its findings in this one.
func (s subject) check(find func(r Rule) (bool, diag.List)) diag.List {
	var found diag.List
	rules := Rules()
	for _, rule := range rules {
		about, findings := find(rule)
		i := slices.IndexFunc(s.allow, func(a layout.Allowance) bool { return a.Rule == rule.ID })
		if !rule.Allowable() || i < 0 {
			found = append(found, findings...)
		} else if about && len(findings) == 0 {
			found.Warnf(s.allow[i].Pos, "unused allow: rule %s (%s) finds nothing in %s", rule.ID, rule.Title, s.name).Hint = "remove it"
		}
	}
	return append(found, s.checkAllowances(rules)...)
}

// errors returns the errors that the subject does not allow.
func (s subject) errors(find func(r Rule) diag.List) diag.List {
	var found diag.List
	for _, rule := range Rules() {
		allowed := rule.Allowable() && slices.ContainsFunc(s.allow, func(a layout.Allowance) bool { return a.Rule == rule.ID })
		if rule.Severity == diag.Error && !allowed {
			found = append(found, find(rule)...)
		}
	}
	return slices.DeleteFunc(found, func(d diag.Diagnostic) bool { return d.Severity != diag.Error })
}

// find returns the findings of a rule in a table. size estimates its size.
func (r Rule) find(s *schema.Schema, l *layout.Layout, t *layout.Table, size func() estimate.Estimate) diag.List {
	var found diag.List
	if check := tableChecks[r.ID]; check != nil {
		check(l, t, reporter{r, r.Severity, s, &found, size})
	}
	return found
}

// findQuery returns the findings of a rule in a query: those of the newest layout or, if there
// are none, of the newest of the earlier layouts with any, whose events the query reads, too.
// Errors are also found in the other tables from which the query deletes.
func (r Rule) findQuery(s *schema.Schema, l *layout.Layout, q *layout.Query) diag.List {
	var found diag.List
	check := queryChecks[r.ID]
	if check == nil {
		return nil
	}
	all := q.Periods()
	if r.Severity == diag.Error {
		all = q.AllPeriods()
	}
	for _, of := range all {
		if len(found) == 0 {
			check(l, of, reporter{rule: r, severity: r.Severity, schema: s, found: &found})
		}
	}
	return found
}

// kind returns "table" or "query", whichever the rule applies to.
func (r Rule) kind() string {
	if queryChecks[r.ID] != nil {
		return "query"
	}
	return "table"
}

// checkAllowances reports allow entries that cannot have an effect.
func (s subject) checkAllowances(rules []Rule) diag.List {
	var found diag.List
	for _, a := range s.allow {
		i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == a.Rule })
		switch {
		case i < 0:
			found.Errorf(a.Pos, "unknown rule %s", a.Rule).Hint = fmt.Sprintf("remove it; a %s can allow %s", s.kind, allowable(rules, s.kind))
		case rules[i].HowToAllow != "":
			found.Errorf(a.Pos, "allow does not apply to rule %s (%s)", a.Rule, rules[i].Title).Hint = rules[i].HowToAllow
		case !rules[i].Allowable():
			found.Errorf(a.Pos, "rule %s (%s) cannot be allowed: %s", a.Rule, rules[i].Title, rules[i].whyNot()).Hint = "remove it"
		case rules[i].kind() == s.kind:
		case s.kind == "table":
			found.Errorf(a.Pos, "rule %s (%s) applies to queries, not to tables", a.Rule, rules[i].Title).Hint =
				fmt.Sprintf("move it to the query, as in queries: {ByHost: {by: [host], allow: {%s: \"…\"}}}", a.Rule)
		default:
			found.Errorf(a.Pos, "rule %s (%s) applies to tables, not to queries", a.Rule, rules[i].Title).Hint = "move it to the table"
		}
	}
	return found
}

// checkScan reports an unused scan.
func checkScan(q *layout.Query) diag.List {
	var found diag.List
	if q.Scan != "" && !slices.ContainsFunc(q.AllPeriods(), (*layout.Query).Scans) {
		found.Warnf(q.ScanPos, "unused scan: in table %q, query %s reads %s", q.Table.ID, q.Name, prose.Ranges(q)).Hint = "remove scan"
	}
	return found
}

// whyNot explains why a schema cannot allow the rule.
func (r Rule) whyNot() string {
	switch r.By {
	case ByLock:
		return "it concerns a change; btgen generate --accept accepts one by name"
	case BySetup:
		return "it concerns live tables; changes to them are allowed during setup"
	case ByDesign:
		return "generated code always complies"
	}
	return "it is a hard limit"
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
