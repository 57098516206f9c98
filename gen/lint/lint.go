// Package lint holds the rules: what Bigtable refuses, what loses data and what
// hurts in production. A rule reads the layout and nothing else; it computes no
// fact about a table that the layout does not have.
package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
)

// Rule is one thing that a table must not do.
type Rule struct {
	ID       string // stable: a schema names it to excuse it
	Severity diag.Severity
	Title    string // in a few words
	// Limit marks what Bigtable itself refuses, or what the generated code
	// could not do: a schema cannot excuse it.
	Limit bool
	// Writer marks what only the generated writer can know, and refuses.
	Writer bool
	check  func(l *layout.Layout, t *layout.Table, report reporter)
}

// reporter takes a finding of a rule.
type reporter func(pos diag.Pos, hint, format string, args ...any)

// Rules returns all rules in the order of their ids.
func Rules() []Rule {
	return []Rule{
		{ID: "K01", Title: "the row key begins with time", check: keyBeginsWithTime},
		{ID: "K04", Title: "an unpadded number where order matters", check: unpaddedLabel},
		{ID: "K05", Title: "a key segment contains the delimiter", Limit: true, check: delimiterInSegment},
		{ID: "K06", Title: "a query that scans the whole table", Limit: true, check: fullScan},
		{ID: "K13", Title: "the key's time is coarser than the events", Limit: true}, // by package layout, which could not go on
		{ID: "K18", Severity: diag.Warning, Title: "a query that leaves a segment before the time open", check: walksTimes},
		{ID: "L01", Title: "row key over 4 KiB", Limit: true, check: keySize},
		{ID: "L02", Title: "cell over 100 MiB", Limit: true, Writer: true},
		{ID: "L03", Title: "row over 256 MB", check: rowSize},
		{ID: "L04", Title: "column qualifier over 16 KiB", Limit: true, check: qualifierSize},
		{ID: "L05", Title: "name of a column family", Limit: true, check: familyName},
		{ID: "L06", Severity: diag.Warning, Title: "over 100 column families"}, // see CheckAll
		{ID: "L07", Title: "table id", Limit: true, check: tableID},
		{ID: "L09", Title: "garbage collection rule over 500 bytes", Limit: true, check: gcRuleSize},
		{ID: "L10", Title: "age below one second", Limit: true, check: gcRuleAge},
		{ID: "L12", Title: "over 100 initial splits", Limit: true, check: splitCount},
		{ID: "T01", Title: "no garbage collection rule", Limit: true, check: noGCRule},
		{ID: "T02", Title: "max versions below the cells of a bucket", check: fewVersions},
		{ID: "T03", Title: "max versions on new columns", check: versionsOnNewColumns},
		{ID: "T04", Title: "one-second expiration where cells are timed by their events", Limit: true, check: stamped("T04")},
		{ID: "T05", Title: "default expiration where cells are timed by their events", Limit: true, check: stamped("T05")},
		{ID: "T07", Title: "an age from the writing where cells are timed by their events", Limit: true, check: stamped("T07")},
		{ID: "T08", Severity: diag.Warning, Title: "a rule that never collects", check: neverCollects},
		{ID: "T12", Title: "an event past its time to live", Limit: true, Writer: true},
		{ID: "T14", Severity: diag.Warning, Title: "events come later than their age allows", check: lateEvents},
	}
}

// CheckAll returns what the rules find in the schemas of a project, without
// what they excuse: each for itself, and where several share a table.
func CheckAll(layouts []*layout.Layout) diag.List {
	var found diag.List
	for _, l := range layouts {
		found = append(found, check(l)...)
	}
	return append(found, checkShared(layouts)...)
}

// check returns what the rules find in one schema.
func check(l *layout.Layout) diag.List {
	var found diag.List
	rules := Rules()
	for _, t := range l.Tables {
		for _, rule := range rules {
			findings := rule.find(l, t)
			if rule.Limit || !t.Allows(rule.ID) {
				found = append(found, findings...)
			} else if len(findings) == 0 && rule.check != nil { // the others look at several schemas
				found = append(found, unused(t, rule))
			}
		}
		found = append(found, checkAllowances(t, rules)...)
	}
	return found
}

// find returns what a rule finds in a table.
func (r Rule) find(l *layout.Layout, t *layout.Table) diag.List {
	var found diag.List
	if r.check == nil {
		return nil
	}
	r.check(l, t, func(pos diag.Pos, hint, format string, args ...any) {
		found = append(found, diag.Diagnostic{
			Pos: pos, Severity: r.Severity, Rule: r.ID,
			Message: fmt.Sprintf(format, args...), Hint: hint,
		})
	})
	return found
}

// unused says that a schema excuses what it does not do.
func unused(t *layout.Table, rule Rule) diag.Diagnostic {
	i := slices.IndexFunc(t.Allow, func(a layout.Allowance) bool { return a.Rule == rule.ID })
	return diag.Diagnostic{
		Pos: t.Allow[i].Pos, Severity: diag.Warning, Hint: "leave it out",
		Message: fmt.Sprintf("rule %s (%s) finds nothing in table %q: there is nothing to allow", rule.ID, rule.Title, t.ID),
	}
}

// checkAllowances refuses excuses that cannot have an effect.
func checkAllowances(t *layout.Table, rules []Rule) diag.List {
	var found diag.List
	for _, a := range t.Allow {
		i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == a.Rule })
		switch {
		case i < 0:
			found.Errorf(a.Pos, "there is no rule %s", a.Rule).Hint = "leave it out; those that can be allowed are " + excusable(rules)
		case rules[i].Limit:
			found.Errorf(a.Pos, "rule %s (%s) cannot be allowed: neither Bigtable nor the generated code could live with it", a.Rule, rules[i].Title).Hint = "leave it out"
		}
	}
	return found
}

// excusable lists the rules that a schema can excuse.
func excusable(rules []Rule) string {
	var ids []string
	for _, r := range rules {
		if !r.Limit {
			ids = append(ids, r.ID)
		}
	}
	return strings.Join(ids, ", ")
}

// maxFamilies is Bigtable's guidance for the column families of a table.
const maxFamilies = 100

// checkShared checks the tables that several schemas write to: each must have
// families of its own, or the events of one would be read as the other's.
func checkShared(layouts []*layout.Layout) diag.List {
	var found diag.List
	families := map[string]map[string]diag.Pos{}
	for _, l := range layouts {
		for _, t := range l.Tables {
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
