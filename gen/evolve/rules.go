package evolve

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/btgen-dev/btgen/gen/diag"
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

// Rule is a kind of change that has one effect.
type Rule struct {
	ID     string // stable, since acceptances name it; such as "E04"
	Class  Class
	Title  string // a noun phrase, or a clause
	Reason string // what the rule detects and what follows, in full sentences
	Fix    string // the way out, in full sentences
	// NoAccept marks a rule of class Data whose changes cannot be accepted.
	NoAccept bool

	accept   string   // when its changes may be accepted
	explains []string // causes of losses that its findings name
	about    string   // what its findings are about, if not where values are
	shows    string   // examples: row keys, or a cell
}

// The rules that code names. The others are those of sentences, and named in their file alone.
var (
	tableRemoved       = ruleOf("E01")
	tableDraft         = ruleOf("E02")
	fieldElsewhere     = ruleOf("E09")
	valueChanged       = ruleOf("E10")
	fieldReplaced      = ruleOf("E17")
	layoutMoved        = ruleOf("E19")
	readLacks          = ruleOf("E21")
	tableTaken         = ruleOf("E22")
	rollupServes       = ruleOf("E25")
	windowsLost        = ruleOf("E26")
	lifeLongerClusters = ruleOf("E36")
	stateRemoved       = ruleOf("E44")
	fieldAdded         = ruleOf("E70")
	lifeLonger         = ruleOf("E71")
	lossUnnamed        = ruleOf("X01")
)

// ways return the way out of a change of a rule, with schema text to paste; empty if it is to restore what was.
var ways = map[string]func(h *hinting) string{
	"E09": renameHint,
	"E10": valueHint,
	"E11": enumHint,
	"E12": requiredHint,
	"E14": reuseHint,
	"E17": replacedHint,
}

// ruleText is the catalog of the rules, sorted by ID. A line begins a rule with its ID and title; the indented lines
// below it have its other parts, and the sentences of its changes, each with a name. The way out of a change depends
// on it.
//
//go:embed rules.txt
var ruleText string

// sentence is what a change of a rule says.
type sentence struct {
	diag.Sentence
	rule *Rule
}

// catalog has all rules, and their sentences by name.
type catalog struct {
	rules     []*Rule
	sentences map[string]sentence
}

// read reads the catalog on first use.
var read = sync.OnceValue(func() catalog {
	out := catalog{sentences: map[string]sentence{}}
	for _, e := range diag.ReadEntries(ruleText) {
		id, title, _ := strings.Cut(e.Head, " ")
		r := &Rule{ID: id, Class: classOf(id), Title: title, accept: "if losing stored events is acceptable"}
		out.rules = append(out.rules, r)
		for _, line := range e.Lines {
			out.add(r, line)
		}
	}
	return out
})

// classOf returns the class of a rule, which its ID tells.
func classOf(id string) Class {
	first := []string{Rollout: "E30", Source: "E50", Safe: "E70"}
	class := Safe
	for class > Data && (id < first[class] || id[0] == 'X') {
		class--
	}
	return class
}

// add adds a part of a rule: its name, and a text.
func (c *catalog) add(r *Rule, part string) {
	switch name, text, _ := strings.Cut(part, " "); name {
	case "why":
		r.Reason = text
	case "do":
		r.Fix = text
	case "explains":
		r.explains = strings.Fields(text)
	case "about":
		r.about = text
	case "shows":
		r.shows = text
	case "accept":
		r.accept, r.NoAccept = text, text == "never"
	default:
		c.sentences[strings.TrimPrefix(name, "says:")] = sentence{diag.Sentence{Says: text}, r}
	}
}

// Rules returns all rules, sorted by ID.
func Rules() []*Rule { return slices.Clone(read().rules) }

// ruleOf returns the rule with an ID.
func ruleOf(id string) *Rule {
	all := read().rules
	return all[slices.IndexFunc(all, func(r *Rule) bool { return r.ID == id })]
}

// as returns a change that a sentence says, of the rule which has that.
func (c Change) as(name string, args ...any) Change {
	s := read().sentences[name]
	c.Rule = s.rule
	c.Message, _ = s.Fill(args...)
	return c
}

// named reports whether a name of a change, such as "E04:balloon_buckets", is that of one of the
// rule.
func (r *Rule) named(change string) bool { return strings.HasPrefix(change, r.ID+":") }

// harms reports whether any of some changes is of class Data.
func harms(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Rule.Class == Data })
}
