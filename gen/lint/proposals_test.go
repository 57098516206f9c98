package lint_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/internal/frame"
	"github.com/btgen-dev/btgen/gen/internal/yaml"
	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/archive"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// This file applies the proposals in messages like a user who knows nothing else: it
// pastes entries into the nearest mapping that can contain them, blocks at the top of
// the schema, and everything else in place of what the message refers to.

// proposalsOf returns the proposals in a hint: texts in backquotes, and the indented
// lines at its end.
func proposalsOf(hint string) []string {
	line, block, _ := strings.Cut(hint, "\n")
	var out []string
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line, -1) {
		out = append(out, m[1])
	}
	if block != "" {
		out = append(out, block)
	}
	if m := regexp.MustCompile(`^(?:leave|remove) ([a-z_]+)(?: out\b|;|$)`).FindStringSubmatch(line); m != nil && m[1] != "some" {
		out = append(out, "-"+m[1])
	}
	return out
}

// place is the place of a finding: a node and its parents.
type place struct {
	parent *yaml.Node // a mapping or a list
	index  int        // in its Content
	around []*yaml.Node
}

// find returns the innermost node at a position.
func find(n *yaml.Node, pos diag.Pos, around []*yaml.Node) (place, bool) {
	around = append(slices.Clip(around), n)
	for i, child := range n.Content {
		if p, ok := find(child, pos, around); ok {
			return p, true
		}
		if child.Line == pos.Line && child.Column == pos.Column && n.Kind != yaml.DocumentNode {
			return place{n, i, around}, true
		}
	}
	return place{}, false
}

// isKey reports whether the place is the key of an entry.
func (p place) isKey() bool { return p.parent.Kind == yaml.MappingNode && p.index%2 == 0 }

// value returns the node, or the value of the entry whose key it is.
func (p place) value() *yaml.Node {
	if p.isKey() {
		return p.parent.Content[p.index+1]
	}
	return p.parent.Content[p.index]
}

// mappings returns the mappings into which an entry with the given key can be pasted:
// first the one that contains such an entry, then the nearest.
func (p place) mappings(key string) []*yaml.Node {
	out := []*yaml.Node{}
	for _, n := range append(slices.Clone(p.around), p.value()) {
		if n.Kind == yaml.MappingNode {
			out = append(out, n)
		}
	}
	if p.parent.Kind == yaml.MappingNode && p.parent.Content[p.index&^1].Value == key {
		out = append(out, p.parent)
	}
	slices.Reverse(out)
	return out
}

// remove removes the entry or item of the place, and then its parents if they are
// empty.
func (p place) remove() {
	first, n := p.index, 1
	if p.parent.Kind == yaml.MappingNode {
		first, n = p.index&^1, 2
	}
	p.parent.Content = slices.Delete(p.parent.Content, first, first+n)
	if len(p.parent.Content) > 0 || len(p.around) < 2 {
		return
	}
	if outer := p.around[len(p.around)-2]; outer.Kind != yaml.DocumentNode {
		place{outer, slices.Index(outer.Content, p.parent), p.around[:len(p.around)-1]}.remove()
	}
}

// entry returns the index of a key's value; -1 if there is none.
func entry(n *yaml.Node, key string) int {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i + 1
		}
	}
	return -1
}

// merged lists the mappings to which entries are added rather than replaced.
var merged = []string{"where", "allow", "expect", "tables", "queries", "fields", "series"}

// paste adds entries to a mapping. Below tables and queries, it merges them into
// existing entries.
func paste(into, entries *yaml.Node, deep bool) {
	for i := 0; i+1 < len(entries.Content); i += 2 {
		key, value := entries.Content[i], entries.Content[i+1]
		at := entry(into, key.Value)
		switch {
		case at < 0:
			into.Content = append(into.Content, key, value)
		case into.Content[at].Kind == yaml.MappingNode && value.Kind == yaml.MappingNode && (deep || slices.Contains(merged, key.Value)):
			paste(into.Content[at], value, key.Value == "tables" || key.Value == "queries")
		default:
			into.Content[at] = value
		}
	}
}

// parsed returns the node of a YAML text.
func parsed(t testing.TB, text string) *yaml.Node {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) == 0 {
		t.Fatalf("%q: %v", text, err)
	}
	return &doc
}

// follow applies a proposal of a finding to a schema; false if there is no place for
// it.
func follow(t testing.TB, text []byte, d diag.Diagnostic, proposal string) (string, bool) {
	t.Helper()
	key, _, _ := strings.Cut(strings.TrimPrefix(proposal, "-"), ":")
	_, before := schema.Parse("before.yaml", text)
	for outwards := 0; ; outwards++ {
		doc := parsed(t, string(text))
		p, ok := find(doc, d.Pos, nil)
		if !ok || outwards >= len(p.mappings(key)) {
			return "", false
		}
		if !followIn(t, doc, p, p.mappings(key)[outwards], d, proposal) {
			continue
		}
		out := encode(t, doc)
		_, now := schema.Parse("after.yaml", []byte(out))
		if _, is := worse(before, now); !is && (count(before, d) == 0 || count(now, d) < count(before, d)) {
			return out, true
		}
	}
}

// followIn is follow for a given mapping. It reports whether it changed anything.
func followIn(t testing.TB, doc *yaml.Node, p place, into *yaml.Node, d diag.Diagnostic, proposal string) bool {
	if name, isRemoval := strings.CutPrefix(proposal, "-"); isRemoval {
		at := entry(into, name)
		switch {
		case name == "it" || name == "one" || p.parent.Content[p.index].Value == name:
			p.remove()
		case at < 0:
			return false
		default:
			into.Content = slices.Delete(into.Content, at-1, at+1)
		}
		return true
	}
	content := parsed(t, proposal).Content[0]
	entries := content.Kind == yaml.MappingNode && content.Style&yaml.FlowStyle == 0
	switch {
	case strings.Contains(proposal, "\n"):
		paste(doc.Content[0], content, false)
	case entries:
		if strings.HasPrefix(d.Message, "unknown key") {
			p.remove()
		}
		paste(into, content, false)
	case p.isKey():
		p.parent.Content[p.index].Value = content.Value
	default:
		*p.parent.Content[p.index] = *content
	}
	return true
}

// encode formats a schema.
func encode(t testing.TB, doc *yaml.Node) string {
	t.Helper()
	out, err := yaml.Marshal(doc)
	must(t, err)
	return string(out)
}

// places matches the parts of a message that depend on line numbers.
var places = regexp.MustCompile(`line [0-9]+|:[0-9]+:[0-9]+`)

// worse returns the first new error.
func worse(before, now diag.List) (diag.Diagnostic, bool) {
	message := func(d diag.Diagnostic) string { return places.ReplaceAllString(d.Message, "") }
	for _, d := range now {
		if d.Severity == diag.Error && !slices.ContainsFunc(before, func(b diag.Diagnostic) bool { return message(b) == message(d) }) {
			return d, true
		}
	}
	return diag.Diagnostic{}, false
}

// count returns the number of findings with the same rule or, if there is none, the
// same message.
func count(found diag.List, of diag.Diagnostic) int {
	n := 0
	for _, d := range found {
		if d.Rule == of.Rule && (d.Rule != "" || d.Message == of.Message) {
			n++
		}
	}
	return n
}

// project contains schemas by file name.
type project map[string][]byte

// find returns the findings in the schemas. If a schema violates the language, it
// returns only such errors.
func (p project) find() (found diag.List, language bool) {
	var inputs []gen.Input
	for name, text := range p {
		_, errors := schema.Parse(name, text)
		found = append(found, errors...)
		inputs = append(inputs, gen.Input{Name: name, Text: text})
	}
	if len(found) > 0 {
		return found, true
	}
	return gen.Resolve(inputs).Diagnostics, false
}

// with returns the project with another text for one schema.
func (p project) with(name, text string) project {
	out := maps.Clone(p)
	out[name] = []byte(text)
	return out
}

// maxSteps is the number of further proposals to apply until a schema is valid:
// changing the pattern may require another key.
const maxSteps = 5

// try applies a proposal, and then the first proposal of each new finding. It returns
// an empty string if the finding and all others are gone, else what is wrong.
func (p project) try(t testing.TB, d diag.Diagnostic, proposal string) string {
	t.Helper()
	before, language := p.find()
	text, ok := follow(t, p[d.Pos.File], d, proposal)
	if !ok {
		return "there is no place for it"
	}
	now := p.with(d.Pos.File, text)
	for range maxSteps {
		found, still := now.find()
		next, new := worse(before, found)
		switch {
		case count(found, d) >= count(before, d):
			return "the finding is still there\n" + text + found.Error()
		case language && !still, !new, before.HasErrors() && !still:
			return "" // the remaining errors were hidden before
		}
		proposals := proposalsOf(next.Hint)
		if len(proposals) == 0 {
			return "there is another error, without a way out: " + next.Error() + "\n" + text
		}
		text, ok = follow(t, now[next.Pos.File], next, proposals[0])
		if !ok {
			return "no place for " + proposals[0] + "\n" + text
		}
		now = now.with(next.Pos.File, text)
	}
	return "there are always more errors\n" + text
}

// errorCases are the cases of errors of the language.
const errorCases = "../schema/testdata/errors/*.txtar"

// goldenProjects returns the schemas of the golden cases.
func goldenProjects(t testing.TB) map[string]project {
	t.Helper()
	out := map[string]project{}
	paths, err := filepath.Glob("../../golden/*/*.txtar")
	cases, err2 := filepath.Glob(errorCases)
	if len(paths) == 0 || len(cases) == 0 {
		t.Fatal("no files", err, err2)
	}
	for _, path := range append(paths, cases...) {
		a, err := archive.ParseFile(path)
		must(t, err)
		schemas := project{}
		for _, f := range a.Files {
			switch {
			case filepath.Dir(path) == filepath.Dir(errorCases) && filepath.Ext(f.Name) == ".yaml" && filepath.Base(path) != "raw.txtar":
				out[path+"/"+f.Name] = project{f.Name: []byte(frame.Schema(string(f.Data)))}
			case strings.HasPrefix(f.Name, "schemas/"):
				schemas[f.Name] = f.Data
			}
		}
		valid := project{} // others would hide its findings
		for name, text := range schemas {
			if _, errors := schema.Parse(name, text); len(errors) == 0 {
				valid[name] = text
				delete(schemas, name)
			}
		}
		if len(valid) > 0 {
			out[path] = valid
		}
		if len(schemas) > 0 {
			out[path+" (language)"] = schemas
		}
	}
	return out
}

// unproposed lists the rules whose messages do not propose YAML, and why.
var unproposed = map[string]string{
	"C03": "the language has no way to break it",
	"C08": "only another program can read the columns",
	"K25": "only the user knows which table to leave out",
	"K23": "only the user knows what computes the salt",
	"K27": "what is to be removed is more than one entry",
	"L01": "only the user knows what to shorten",
	"L02": "large values belong elsewhere",
	"L04": "only the user knows what to shorten",
	"L06": "only the user knows which families belong together",
	"L07": "the id of a table is a key, which is not pasted",
	"L09": "only the user knows which rules to leave out",
	"L12": "only the user knows which splits to leave out",
	"L13": "only the user knows what to shorten",
	"T17": "it is what to plan for",
	"K28": "which table serves a read is a decision",
	"K29": "a table with data begins a new layout",
}

// deadEnds lists cases in which a required part is missing, or would be.
var deadEnds = []string{"../schema/testdata/errors/keys.txtar/null.yaml", "../schema/testdata/errors/ttls.txtar/nested_null.yaml", "../schema/testdata/errors/top.txtar/series_and_field.yaml"}

// TestProposals applies every proposal of every finding in the golden cases and the
// cases of errors. It must fix the finding and cause no other error. Every case of every rule is found there, and every message is short.
func TestProposals(t *testing.T) {
	tried, said := map[string]int{}, map[string][]string{}
	for name, p := range testlong.SampleMap(goldenProjects(t), 10) {
		found, _ := p.find()
		for _, d := range found {
			if checkShort(t, name, d); slices.Contains(deadEnds, name) {
				continue
			}
			said[d.Rule] = append(said[d.Rule], d.Message)
			if strings.Contains(d.Message+d.Hint, "%!") {
				t.Errorf("%s: %v\n  help: %s", name, d, d.Hint)
			}
			for _, proposal := range proposalsOf(d.Hint) {
				tried[d.Rule]++
				assert.Same(t, "", p.try(t, d, proposal), name, d, d.Hint, proposal)
			}
		}
	}
	for _, rule := range lint.Rules() {
		for name, sentence := range rule.Cases() {
			if testlong.Enabled() && !slices.ContainsFunc(said[rule.ID], regexp.MustCompile(sentence.Pattern()).MatchString) {
				t.Errorf("rule %s: no golden case says %q", rule.ID, name)
			}
		}
		reason, none := unproposed[rule.ID]
		switch {
		case rule.By == lint.ByWriter || rule.By == lint.BySetup || rule.By == lint.ByLock || rule.By == lint.ByDesign:
		case none && tried[rule.ID] > 0, !none && tried[rule.ID] == 0 && testlong.Enabled():
			t.Errorf("rule %s: %d proposals, although %q", rule.ID, tried[rule.ID], reason)
		}
	}
	text, err := os.ReadFile("../layout/messages.txt")
	must(t, err)
	all := slices.Concat(slices.Collect(maps.Values(said))...)
	for name, sentence := range diag.ReadCatalog(string(text)) {
		known := sentence.Says == "%s" || name == "unanswered-series" // no such layout is known
		if testlong.Enabled() && !known && !slices.ContainsFunc(all, regexp.MustCompile(sentence.Pattern()).MatchString) {
			t.Errorf("no golden case says %q of the layout", name)
		}
	}
	if tried[""] < testlong.Pick(8, 100) {
		t.Errorf("%d proposals of the language", tried[""])
	}
}

// mostWords is the maximum number of words in a message, and in a hint without its
// proposals.
const mostWords = 25

// words counts the words of a text without proposals and lists of names.
func words(text string) int {
	text, _, _ = strings.Cut(text, "\n")
	text = regexp.MustCompile("\\([^)]*\\)|`[^`]+`|\"[^\"]*\"|\\{[^}]*\\}|\\[[^]]*\\]").ReplaceAllString(text, "x")
	text = regexp.MustCompile(`(\w+, )+`).ReplaceAllString(text, "x ")
	return len(strings.Fields(text))
}

// checkShort checks that a message fits a terminal.
func checkShort(t *testing.T, name string, d diag.Diagnostic) {
	t.Helper()
	for _, text := range append(strings.Split(d.Message, "; in table"), d.Hint) { // one part per table
		if n := words(text); n > mostWords {
			t.Errorf("%s: %d words: %s [%s]", name, n, text, d.Rule)
		}
	}
}

var must = assert.Must
