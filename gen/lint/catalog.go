package lint

import (
	"cmp"
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// checks are the checks of rules, by their IDs.
type checks map[string]func(r reporter)

// tableChecks are the checks of rules about tables; queryChecks and sharedChecks have those of others.
var tableChecks = func() checks {
	all := checks{}
	for _, some := range []checks{columnChecks, keyChecks, limitChecks, loadChecks, tierChecks, ttlChecks, viewChecks} {
		maps.Copy(all, some)
	}
	return all
}()

// ofFamilies and ofAllFamilies make a check of each family of events, and of each family, one of the table.
func ofFamilies(check func(r reporter, f layout.Family)) func(r reporter) {
	return func(r reporter) {
		for _, f := range r.t.Families {
			check(r, f)
		}
	}
}
func ofAllFamilies(check func(r reporter, f layout.Family)) func(r reporter) {
	return func(r reporter) {
		for _, f := range r.t.AllFamilies() {
			check(r, f)
		}
	}
}

// ruleText is the catalog of the rules, except those of changes. A line begins a rule with its ID, severity (limit for a
// hard limit, which no schema can allow), finder and title. The indented lines below it have its other parts.
//
//go:embed rules.txt
var ruleText string

// Rules returns all rules, sorted by ID. The slice is shared: callers must not modify it.
func Rules() []Rule { return rules() }

// rules reads the catalog on first use.
var rules = sync.OnceValue(func() []Rule {
	all := changeRules()
	severities := map[string]diag.Severity{"warning": diag.Warning, "advice": diag.Advice}
	for _, e := range diag.ReadEntries(ruleText) {
		head := strings.SplitN(e.Head, " ", 4)
		by := slices.IndexFunc(finders[:], func(f finder) bool { return f.name == head[2] })
		r := Rule{ID: head[0], Severity: severities[head[1]], Limit: head[1] == "limit", By: Finder(by), Title: head[3], cases: map[string]diag.Sentence{}}
		for _, line := range e.Lines {
			r.add(line)
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	return all
})

// add adds a part of the rule: its name, and a text.
func (r *Rule) add(part string) {
	switch name, text, _ := strings.Cut(part, " "); name {
	case "source":
		r.Source = text
	case "why":
		r.Reason = text
	case "do":
		r.Fix = text
	case "allow":
		r.HowToAllow = text
	default:
		of, key, _ := strings.Cut(name, ":")
		c := r.cases[key]
		if of == "says" {
			c.Says = text
		} else {
			c.Way = text
		}
		r.cases[key] = c
	}
}

// at adds a finding of a case. Its arguments are those of the sentence, followed by those of the way out.
func (r reporter) at(pos diag.Pos, name string, args ...any) {
	for i, arg := range args {
		if d, is := arg.(time.Duration); is {
			args[i] = schema.FormatDuration(d)
		}
	}
	says, way := r.ofEarlier(diag.Fill(r.rule.cases, name, args...))
	*r.found = append(*r.found, diag.Diagnostic{Pos: pos, Severity: r.severity, Rule: r.rule.ID, Message: says, Hint: way})
}
