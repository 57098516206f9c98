// Package facts states what decides where and how the events of a table are stored, in the words in which
// setups record it in an instance: a program finds the events of a layout if no fact of it contradicts its own.
// The generator derives the facts of a layout from a schema; package setup compares them with the recorded ones.
// It knows neither schemas nor tables, and only words for what facts say.
package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Kind is what a fact is about.
type Kind string

// The kinds. Since, Until and Schema say which events a layout has, and Names is for people. The other kinds
// are those of columns.
const (
	Since     Kind = "since"
	Until     Kind = "until"
	Schema    Kind = "schema" // its part is the package and the name; earlier versions recorded the name alone
	Pattern   Kind = "pattern"
	Precision Kind = "precision"
	Delimiter Kind = "delimiter"
	Segments  Kind = "key"
	Names     Kind = "names"
	Bucket    Kind = "bucket"
	Time      Kind = "time"
	Sequence  Kind = "sequence"
	Blob      Kind = "blob"
	Family    Kind = "family"
	Rollup    Kind = "rollup" // its part is a family, and its value the width of windows
)

// rules are the rules by which btgen generate refuses an edit of a fact of stored events.
var rules = map[Kind]string{
	Pattern: "E03", Blob: "E03", Bucket: "E04", Delimiter: "E05", Segments: "E05", Sequence: "E05", Time: "E07", Family: "E08",
	"column": "E10", "number": "E10", "name": "E10", Precision: "E16", Since: "E19", Until: "E19", Schema: "E22", Rollup: "E26",
}

// Key identifies a fact of a layout.
type Key struct {
	Kind Kind
	Part string // of events, which other layouts may lack, such as `"speed"`; empty if it is about all of them
	Enum string // of the value of an enum: its number, or its name in quotes
}

// parseKey parses the text of a key.
func parseKey(text string) Key {
	kind, rest := cut(text, " ")
	part, enum := cut(rest, " enum ")
	return Key{Kind(kind), part, enum}
}

// String returns the text of a key.
func (k Key) String() string {
	text := string(k.Kind)
	if k.Part != "" {
		text += " " + k.Part
	}
	if k.Enum != "" {
		text += " enum " + k.Enum
	}
	return text
}

// Fact is one fact of a layout.
type Fact struct {
	Key
	Value string // never empty
}

// String returns the text of a fact.
func (f Fact) String() string { return f.Key.String() + ": " + f.Value }

// family returns the family in the value of a column; empty if it has none.
func family(value string) string {
	_, name, _ := strings.Cut(value, " in ")
	return name
}

// Layout is the facts of one layout of a table, each with a key of its own.
type Layout []Fact

// parseLayout parses a line.
func parseLayout(line string) (Layout, error) {
	var out Layout
	keys := map[Key]bool{}
	for rest := line; rest != ""; {
		var fact string
		fact, rest = cut(rest, "; ")
		text, value := cut(fact, ": ")
		key := parseKey(text)
		if keys[key] || value == "" {
			return nil, fmt.Errorf("undecodable fact %q", fact)
		}
		keys[key] = true
		out = append(out, Fact{key, value})
		if _, err := time.Parse(time.RFC3339Nano, value); err != nil && (key.Kind == Since || key.Kind == Until) {
			return nil, fmt.Errorf("undecodable time %q in fact %q", value, text)
		}
	}
	return out, nil
}

// cut cuts s around the first sep that is not in a quoted string.
func cut(s, sep string) (before, after string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(s[i:], sep):
			return s[:i], s[i+len(sep):]
		}
	}
	return s, ""
}

// String returns the facts on one line.
func (l Layout) String() string {
	out := make([]string, len(l))
	for i, f := range l {
		out[i] = f.String()
	}
	return strings.Join(out, "; ")
}

// Add adds a fact.
func (l *Layout) Add(key Key, words ...string) { *l = append(*l, Fact{key, strings.Join(words, " ")}) }

// value returns the value of a fact; empty if there is none.
func (l Layout) value(key Key) string {
	if i := slices.IndexFunc(l, func(f Fact) bool { return f.Key == key }); i >= 0 {
		return l[i].Value
	}
	return ""
}

// values returns the values of all facts.
func (l Layout) values() map[Key]string {
	out := make(map[Key]string, len(l))
	for _, f := range l {
		out[f.Key] = f.Value
	}
	return out
}

// time returns the time in a fact; zero if there is none.
func (l Layout) time(kind Kind) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, l.value(Key{Kind: kind})) // zero if it is none
	return at.UTC()
}

// Since returns the time of the first event; zero if there is no bound.
func (l Layout) Since() time.Time { return l.time(Since) }

// Until returns the time before which all events are; zero if there is no bound.
func (l Layout) Until() time.Time { return l.time(Until) }

// Pattern returns the pattern.
func (l Layout) Pattern() codec.Pattern { return codec.ParsePattern(l.value(Key{Kind: Pattern})) }

// parts returns the parts of a kind.
func (l Layout) parts(kind Kind) []string {
	var out []string
	for _, f := range l {
		if f.Kind == kind {
			out = append(out, f.Part)
		}
	}
	return out
}

// Families returns the column families of events, with the kind of rows if schemas share one by that.
func (l Layout) Families() []string { return l.parts(Family) }

// liveName returns the name in the table of a column family.
func liveName(family string) string {
	name, _, _ := strings.Cut(family, ":")
	return name
}

// Kinds returns the meaning of the timestamps, by column family in the table: "events", "class", "expiry",
// "shifted" with a lifetime, or "rollup".
func (l Layout) Kinds() map[string]string {
	out := map[string]string{}
	for _, f := range l {
		switch f.Kind {
		case Family:
			out[liveName(f.Part)] = f.Value
		case Rollup:
			out[f.Part] = "rollup"
		}
	}
	return out
}

// Columns adds the columns of events to those of each column family, and reports whether each field has a column of its own.
func (l Layout) Columns(to map[string][]string) bool {
	for _, f := range l {
		quoted, _ := strconv.QuotedPrefix(f.Part) // before the family of an older column
		name, err := strconv.Unquote(quoted)
		if err != nil || f.Kind != "column" || f.Enum != "" {
			continue
		}
		in := []string{family(f.Value)}
		if in[0] == "" { // the families of TTL classes
			in = l.Families()
		}
		for _, live := range in {
			to[liveName(live)] = append(to[liveName(live)], name)
		}
	}
	return l.Pattern().FieldColumns()
}

// Difference is a fact that two layouts contradict each other in.
type Difference struct {
	Key
	Was, Is string // empty if a layout has no such fact
}

// String returns the text of a difference.
func (d Difference) String() string {
	return d.Key.String() + ": " + cmp.Or(d.Was, "none") + " → " + cmp.Or(d.Is, "none")
}

// rule returns the rule by which btgen generate refuses the edit; empty if there is none.
func (d Difference) rule() string {
	switch rule := rules[d.Kind]; {
	case d.Enum != "":
		return "E11"
	case d.Kind == Family && d.Part != "": // another strategy
		return "E15"
	case rule == "E19" && (d.Was == "" || d.Is == ""): // a layout by time more or less
		return ""
	case rule == "E10" && family(d.Was) != family(d.Is):
		return "E08"
	case d.Kind == Segments && strings.Contains(d.Was+d.Is, "salt "):
		return "E06"
	default:
		return rule
	}
}

// Rules returns the rules by which btgen generate refuses the edits, each once, in ascending order.
func Rules(all []Difference) []string {
	var out []string
	for _, d := range all {
		if rule := d.rule(); rule != "" {
			out = append(out, rule)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Contradictions returns the facts of a layout that another one contradicts, apart from those of some kinds.
// One that lacks a part of events contradicts nothing.
func (l Layout) Contradictions(other Layout, ignored ...Kind) []Difference {
	var out []Difference
	was, is := l.values(), other.values()
	for i, f := range slices.Concat(l, other) {
		d := Difference{f.Key, was[f.Key], is[f.Key]}
		switch lacks := d.Was == "" || d.Is == ""; {
		case d.Was == d.Is, i >= len(l) && d.Was != "": // the same, or seen
		case f.Kind == Names, slices.Contains(ignored, f.Kind), f.Part != "" && lacks, d.narrows():
		case other.alsoReads(f.Key, d.Was), l.alsoReads(f.Key, d.Is):
		default:
			out = append(out, d)
		}
	}
	return out
}

// narrows reports whether windows of a rollup become narrower so that stored ones consist of several.
func (d Difference) narrows() bool {
	was, err := time.ParseDuration(d.Was)
	is, failed := time.ParseDuration(d.Is)
	return d.Kind == Rollup && err == nil && failed == nil && is > 0 && was%is == 0
}

// alsoReads reports whether a column that has a value in other layouts is also read where these have it, though
// events are written to the column of the same name in another family.
func (l Layout) alsoReads(key Key, value string) bool {
	name := family(value)
	if name == "" {
		return false
	}
	key.Part += " in " + name
	return l.value(key) == value
}

// Added returns the facts about parts of events that another layout has and l lacks, and of rollups whose
// windows become narrower.
func (l Layout) Added(other Layout) []Fact {
	was := l.values()
	return slices.DeleteFunc(slices.Clone(other), func(f Fact) bool {
		d := Difference{f.Key, was[f.Key], f.Value}
		return f.Part == "" || d.Was != "" && (d.Was == d.Is || !d.narrows())
	})
}

// With returns the facts of l, and the parts of events that only an older layout has: their columns may still be
// stored.
func (l Layout) With(older Layout) Layout {
	own, out := l.values(), slices.Clone(l)
	for _, f := range older {
		if f.Part != "" && own[f.Key] == "" {
			out = append(out, f)
		}
	}
	return out
}

// classes returns the families of TTL classes that l has and another layout lacks.
func (l Layout) classes(other Layout) []string {
	var out []string
	for _, f := range l {
		if f.Kind == Family && f.Value == "class" && other.value(f.Key) == "" {
			out = append(out, f.Part)
		}
	}
	return out
}
