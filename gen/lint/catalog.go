package lint

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// tableChecks are the checks of rules about tables.
var tableChecks = map[string]tableCheck{
	"C01": tinyCells,
	"C02": longNames,
	"C05": manyColumns,
	"C07": severalRows,
	"C10": unreadableView,
	"K01": keyBeginsWithTime,
	"K02": sequentialID,
	"K03": hotTail,
	"K04": unpaddedLabel,
	"K05": delimiterInSegment,
	"K10": newestFirst,
	"K13": rateAbovePrecision,
	"K16": opaqueBytes,
	"K17": unsortedTies,
	"K19": shortTime,
	"K21": endlessRow,
	"K26": hotState,
	"K27": equalLayouts,
	"K28": unreadRollup,
	"L01": keySize,
	"L02": cellSize,
	"L03": rowSize,
	"L04": qualifierSize,
	"L05": ofAllFamilies(familyName),
	"L07": tableID,
	"L09": ofAllFamilies(gcRuleSize),
	"L10": ofAllFamilies(gcRuleAge),
	"L12": splitCount,
	"L13": filterSize,
	"L15": rowCells,
	"L17": largeViewRows,
	"T01": ofFamilies(noGCRule),
	"T02": ofFamilies(fewVersions),
	"T03": ofFamilies(misfit),
	"T04": ofFamilies(misfit),
	"T05": ofFamilies(misfit),
	"T07": ofFamilies(misfit),
	"T08": ofFamilies(neverCollects),
	"T11": ofFamilies(replicatedVersions),
	"T14": ofFamilies(lateEvents),
	"T15": shortLived,
	"T17": plannedStorage,
	"T18": tierOfExpiries,
	"T19": youngTier,
	"T20": emptyTier,
	"T21": coldReads,
	"T22": lastingView,
	"T23": briefRollup,
}

// tableCheck is the check of a rule about tables, and familyCheck that of one about each of their families.
type (
	tableCheck  func(l *layout.Layout, t *layout.Table, report reporter)
	familyCheck func(l *layout.Layout, t *layout.Table, f layout.Family, report reporter)
)

// ofFamilies and ofAllFamilies check the families of events, and all families.
var (
	ofFamilies    = eachOf(func(t *layout.Table) []layout.Family { return t.Families })
	ofAllFamilies = eachOf((*layout.Table).AllFamilies)
)

// eachOf returns a function that makes the check of families one of tables.
func eachOf(of func(t *layout.Table) []layout.Family) func(check familyCheck) tableCheck {
	return func(check familyCheck) tableCheck {
		return func(l *layout.Layout, t *layout.Table, report reporter) {
			for _, f := range of(t) {
				check(l, t, f, report)
			}
		}
	}
}

// queryChecks are the checks of rules about queries.
var queryChecks = map[string]func(l *layout.Layout, q *layout.Query, report reporter){
	"K06": fullScan,
	"K08": hashedKey,
	"K09": saltedQuery,
	"K18": walksTimes,
}

// sharedChecks are the checks of rules about tables with all schemas that share them.
var sharedChecks = map[string]func(tables []*layout.Table, report reporter){
	"L06": manyFamilies,
	"L16": manyViews,
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
		r := Rule{ID: head[0], Severity: severities[head[1]], Limit: head[1] == "limit", By: Finder(slices.IndexFunc(finders[:], func(f finder) bool { return f.name == head[2] })), Title: head[3], cases: map[string]diag.Sentence{}}
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
	says, way := diag.Fill(r.rule.cases, name, args...)
	*r.found = append(*r.found, diag.Diagnostic{Pos: pos, Severity: r.severity, Rule: r.rule.ID, Message: says, Hint: way})
}
