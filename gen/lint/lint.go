// Package lint holds the rules: what Bigtable refuses, what loses data and what
// hurts in production. A rule reads the layout, and computes no fact about a table
// that the layout does not have; what it proposes instead is written with the words
// of the schema.
package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
)

// Finder says who finds what a rule is about.
type Finder int

// The finders.
const (
	BySchema   Finder = iota // this package, in a schema
	ByLanguage               // the language or its layout, which cannot go on
	ByWriter                 // the generated writer, in an event
	BySetup                  // the set-up, in a live table
	ByDesign                 // nobody: what is generated holds it
)

// Rule is one thing that a table must not do.
type Rule struct {
	ID       string        // stable: a schema names it to excuse it
	Severity diag.Severity // of its worst findings
	Title    string        // in a few words
	Reason   string        // why, in sentences
	Source   string        // the page that it comes from
	Fix      string        // what to do, in sentences
	By       Finder
	// Limit marks what Bigtable itself refuses, or what the generated code
	// could not do: a schema cannot excuse it.
	Limit bool
	// Instead is what to write where a schema would excuse the rule in vain.
	Instead string
	check   func(l *layout.Layout, t *layout.Table, report reporter) // of a rule about tables
	query   func(l *layout.Layout, q *layout.Query, report reporter) // of a rule about queries
}

// Excusable reports whether a schema can allow what the rule finds.
func (r Rule) Excusable() bool { return !r.Limit && r.By == BySchema }

// reporter takes the findings of a rule.
type reporter struct {
	rule     string
	severity diag.Severity
	schema   *schema.Schema // for proposals
	found    *diag.List
}

// at takes a finding.
func (r reporter) at(pos diag.Pos, hint, format string, args ...any) {
	*r.found = append(*r.found, diag.Diagnostic{
		Pos: pos, Severity: r.severity, Rule: r.rule,
		Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// as returns a reporter of findings of another severity.
func (r reporter) as(severity diag.Severity) reporter {
	r.severity = severity
	return r
}

// Check returns what the rules find in one schema and its layout, without what it
// excuses.
func Check(s *schema.Schema, l *layout.Layout) diag.List {
	var found diag.List
	for _, t := range l.Tables {
		of := subject{"table", fmt.Sprintf("table %q", t.ID), t.Allow}
		found = append(found, of.check(func(r Rule) (bool, diag.List) { return r.check != nil, r.find(s, l, t) })...)
	}
	for i := range l.Queries {
		q := &l.Queries[i]
		of := subject{"query", "query " + q.Name, q.Allow}
		found = append(found, of.check(func(r Rule) (bool, diag.List) { return r.query != nil, r.findQuery(s, l, q) })...)
		found = append(found, checkScan(q)...)
	}
	return found
}

// subject is a table or a query: what rules are about and can be excused for.
type subject struct {
	kind  string // "table" or "query"
	name  string // for messages
	allow []layout.Allowance
}

// check returns what the rules find in a subject and it does not excuse. find
// reports whether a rule is about such subjects, and what it finds in this one.
func (s subject) check(find func(r Rule) (bool, diag.List)) diag.List {
	var found diag.List
	rules := Rules()
	for _, rule := range rules {
		about, findings := find(rule)
		i := slices.IndexFunc(s.allow, func(a layout.Allowance) bool { return a.Rule == rule.ID })
		if !rule.Excusable() || i < 0 {
			found = append(found, findings...)
		} else if about && len(findings) == 0 {
			found.Warnf(s.allow[i].Pos, "unused allow: rule %s (%s) finds nothing in %s", rule.ID, rule.Title, s.name).Hint = "leave it out"
		}
	}
	return append(found, s.checkAllowances(rules)...)
}

// find returns what a rule finds in a table.
func (r Rule) find(s *schema.Schema, l *layout.Layout, t *layout.Table) diag.List {
	var found diag.List
	if r.check == nil || r.Severity != diag.Error && !t.Complete() {
		return nil // what is doubtful about a table that cannot be is of no use
	}
	r.check(l, t, reporter{r.ID, r.Severity, s, &found})
	return found
}

// findQuery returns what a rule finds in a query.
func (r Rule) findQuery(s *schema.Schema, l *layout.Layout, q *layout.Query) diag.List {
	var found diag.List
	if r.query != nil {
		r.query(l, q, reporter{r.ID, r.Severity, s, &found})
	}
	return found
}

// kind is what a rule is about. Those that look at several schemas at once are
// about a table too.
func (r Rule) kind() string {
	if r.query != nil {
		return "query"
	}
	return "table"
}

// checkAllowances refuses excuses that cannot have an effect.
func (s subject) checkAllowances(rules []Rule) diag.List {
	var found diag.List
	for _, a := range s.allow {
		i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == a.Rule })
		switch {
		case i < 0:
			found.Errorf(a.Pos, "there is no rule %s", a.Rule).Hint = "leave it out; those that can be allowed are " + excusable(rules, s.kind)
		case rules[i].Instead != "":
			found.Errorf(a.Pos, "rule %s (%s) is not allowed in this way", a.Rule, rules[i].Title).Hint = rules[i].Instead
		case !rules[i].Excusable():
			found.Errorf(a.Pos, "rule %s (%s) cannot be allowed: %s", a.Rule, rules[i].Title, rules[i].whyNot()).Hint = "leave it out"
		case rules[i].kind() == s.kind:
		case s.kind == "table":
			found.Errorf(a.Pos, "rule %s (%s) is about queries, and not allowed for all of a table at once", a.Rule, rules[i].Title).Hint =
				fmt.Sprintf("write it with the query: queries: {ByHost: {by: [host], allow: {%s: \"…\"}}}", a.Rule)
		default:
			found.Errorf(a.Pos, "rule %s (%s) is about tables", a.Rule, rules[i].Title).Hint = "write it with the table"
		}
	}
	return found
}

// checkScan says that a query is allowed a scan that it does not make.
func checkScan(q *layout.Query) diag.List {
	var found diag.List
	if q.Scan != "" && !q.Scans() {
		found.Warnf(q.ScanPos, "query %s asks table %q for %s: there is no scan to allow", q.Name, q.Table.ID, sample.Ranges(q)).Hint = "leave scan out"
	}
	return found
}

// whyNot says why a schema cannot allow what a rule finds.
func (r Rule) whyNot() string {
	switch r.By {
	case BySetup:
		return "it is about live tables, and the set-up is told what is allowed there"
	case ByDesign:
		return "the generated code keeps to it"
	}
	return "neither Bigtable nor the generated code could live with it"
}

// excusable lists the rules that a schema can excuse with a table or a query.
func excusable(rules []Rule, kind string) string {
	var ids []string
	for _, r := range rules {
		if r.Excusable() && r.kind() == kind {
			ids = append(ids, r.ID)
		}
	}
	return strings.Join(ids, ", ")
}

// sameKeyFields reports whether GoogleSQL reads the keys of two schemas of a table
// in the same way.
func sameKeyFields(a, b *layout.Table) bool {
	return slices.Equal(a.KeyFields, b.KeyFields) && (a.KeyFields == nil || a.Delimiter == b.Delimiter)
}

// maxFamilies is Bigtable's guidance for the column families of a table.
const maxFamilies = 100

// CheckShared checks the tables that several schemas write to: each must have
// families of its own, or the events of one would be read as the other's.
func CheckShared(layouts []*layout.Layout) diag.List {
	var found diag.List
	families := map[string]map[string]diag.Pos{}
	tables, protections := map[string]*layout.Table{}, map[string]*layout.Table{}
	for _, l := range layouts {
		for _, t := range l.Tables {
			if first := tables[t.ID]; first == nil {
				tables[t.ID] = t
			} else if !sameKeyFields(first, t) {
				found.Errorf(t.Pos, "table %q has another row key schema at %s, or just one of the two has one: GoogleSQL reads all keys of a table in one way", t.ID, first.Pos).Hint = "use another table, or leave row_key_schema out"
			}
			if first := protections[t.ID]; t.Protected != nil && first != nil && *first.Protected != *t.Protected {
				found.Errorf(t.Pos, "table %q has another deletion_protection at %s", t.ID, first.Pos).Hint = "say the same in both, or leave it out of one"
			} else if t.Protected != nil {
				protections[t.ID] = t
			}
			of := families[t.ID]
			if of == nil {
				of = map[string]diag.Pos{}
				families[t.ID] = of
			}
			for _, f := range t.Families {
				if first, taken := of[f.Name]; taken {
					found.Errorf(f.Pos, "family %q of table %q is used at %s already", f.Name, t.ID, first).Hint = "give the family another name: schemas that share a table have families of their own"
					continue
				}
				of[f.Name] = f.Pos
				if len(of) == maxFamilies+1 && !t.Allows("L06") {
					found = append(found, diag.Diagnostic{
						Pos: t.Pos, Severity: diag.Warning, Rule: "L06", Hint: "use another table",
						Message: fmt.Sprintf("table %q has over %d column families, which is Bigtable's guidance", t.ID, maxFamilies),
					})
				}
			}
		}
	}
	return found
}
