package evolve

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/rehearse"
)

// Class classifies the effect of a change. The most severe class comes first, so that classes
// compare by severity.
type Class int

// The classes.
const (
	Data    Class = iota // stored events become unreadable, wrong or deleted
	Rollout              // safe only in one order of deployment
	Source               // Go code that uses the generated code must change
	Safe                 // nothing
)

// Classes lists the names of the classes.
var Classes = []string{Data: "DATA", Rollout: "ROLLOUT", Source: "SOURCE", Safe: "SAFE"}

// String returns the class in upper case.
func (c Class) String() string { return Classes[c] }

// Severity returns the severity of findings of the class.
func (c Class) Severity() diag.Severity {
	return []diag.Severity{Data: diag.Error, Rollout: diag.Warning, Source: diag.Advice, Safe: diag.Advice}[c]
}

// Rule is a kind of change that has one effect. Each rule is declared once, in the file with the
// comparison that finds its changes; nothing else in the code knows its ID. Its texts are in rules.txt.
type Rule struct {
	ID     string // stable, since acceptances name it; such as "E04"
	Class  Class
	Title  string // a noun phrase, or a clause
	Reason string // what the rule detects and what follows, in full sentences
	Fix    string // the way out, in full sentences
	// NoAccept marks a rule of class Data whose changes cannot be accepted.
	NoAccept bool

	names []rehearse.Cause // of losses that its findings name
	rows  bool             // its changes tell in which rows events are
	cells bool             // its examples show a cell of an example event
	// way returns the way out of one change, with schema text to paste; empty if it is to restore
	// what was. It may be nil.
	way func(h *hinting) string
}

// registered are the rules that files of this package declare, in any order.
var registered []*Rule

// Rules returns all rules, sorted by ID.
func Rules() []*Rule {
	return slices.SortedFunc(slices.Values(registered), func(a, b *Rule) int { return cmp.Compare(a.ID, b.ID) })
}

// data declares a rule of class Data. rollout, source and safe declare those of the other classes.
func data(r Rule) *Rule    { return register(Data, r) }
func rollout(r Rule) *Rule { return register(Rollout, r) }
func source(r Rule) *Rule  { return register(Source, r) }
func safe(r Rule) *Rule    { return register(Safe, r) }

// ruleText has the texts of the rules: a line with the ID and the title, and indented lines with the reason and the fix.
//
//go:embed rules.txt
var ruleText string

// ruleTexts are the parts of ruleText, by the IDs of rules.
var ruleTexts = sync.OnceValue(func() map[string]diag.Entry {
	out := map[string]diag.Entry{}
	for _, e := range diag.ReadEntries(ruleText) {
		id, title, _ := strings.Cut(e.Head, " ")
		out[id] = diag.Entry{Head: title, Lines: e.Lines}
	}
	return out
})

// messageText has the sentences of changes. Their ways out depend on the change.
//
//go:embed messages.txt
var messageText string

var messages = diag.NewCatalog(messageText)

// message returns a sentence with its arguments.
func message(name string, args ...any) string {
	says, _ := messages.Fill(name, args...)
	return says
}

// register declares a rule.
func register(class Class, r Rule) *Rule {
	r.Class = class
	if e := ruleTexts()[r.ID]; len(e.Lines) == 2 {
		r.Title, r.Reason, r.Fix = e.Head, e.Lines[0], e.Lines[1]
	}
	registered = append(registered, &r)
	return &r
}

// named reports whether a name of a change, such as "E04:balloon_buckets", is that of one of the
// rule.
func (r *Rule) named(change string) bool { return strings.HasPrefix(change, r.ID+":") }

// harms reports whether any of some changes is of class Data.
func harms(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Rule.Class == Data })
}
