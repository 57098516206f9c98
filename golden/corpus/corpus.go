// Package corpus draws schemas for tests. Its schemas are cut into parts, at the places that the
// JSON Schema of the language lists, and a schema is drawn by exchanging, adding and removing parts
// of another one. So settings meet that nobody has written side by side, and a new setting is drawn
// as soon as one schema has it.
package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/archive"
)

// Corpus is a set of schemas without errors, and their parts.
type Corpus struct {
	language rule
	keys     []string                // of the language
	settings []string                // of the language
	places   []string                // that a schema of the corpus has
	pairs    []Pair                  // of settings
	schemas  map[string][]*yaml.Node // by place, and by setting
	parts    map[string][]*yaml.Node // by the last name of their places, since those with the same one are alike
}

// rule is a part of the JSON Schema of the language.
type rule struct {
	Properties map[string]rule `json:"properties"`
	Additional others          `json:"additionalProperties"`
	Items      *rule           `json:"items"`
	AnyOf      []rule          `json:"anyOf"`
	Ref        string          `json:"$ref"`
	Enum       []any           `json:"enum"`
	Type       any             `json:"type"`
	Required   []string        `json:"required"`

	Definitions map[string]rule `json:"definitions"`
}

// others is the rule of the members that the language does not name; nil if there are none.
type others struct{ *rule }

// UnmarshalJSON parses a rule, or false.
func (o *others) UnmarshalJSON(text []byte) error {
	if string(text) == "false" {
		return nil
	}
	return json.Unmarshal(text, &o.rule)
}

// Load returns the corpus of the schemas that stand without errors in the YAML files and archives
// below folders.
func Load(folders ...string) (*Corpus, error) {
	c := &Corpus{schemas: map[string][]*yaml.Node{}, parts: map[string][]*yaml.Node{}}
	if err := json.Unmarshal(schema.JSONSchema(), &c.language); err != nil {
		return nil, err
	}
	for _, folder := range folders {
		if err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			return c.load(path)
		}); err != nil {
			return nil, err
		}
	}
	c.settings = c.settingsOf()
	c.keys, c.pairs = c.keysOf(), c.pairsOf()
	c.places = slices.DeleteFunc(slices.Sorted(maps.Keys(c.schemas)), func(s string) bool { return strings.Contains(s, "=") })
	if len(c.places) == 0 {
		return nil, fmt.Errorf("no schemas in %v", folders)
	}
	return c, nil
}

// load adds the schemas of a file or an archive.
func (c *Corpus) load(path string) error {
	switch filepath.Ext(path) {
	case ".yaml":
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		c.add(text)
	case ".txtar":
		a, err := archive.ParseFile(path)
		if err != nil {
			return err
		}
		for _, f := range a.Files {
			if filepath.Ext(f.Name) == ".yaml" {
				c.add(f.Data)
			}
		}
	}
	return nil
}

// add adds a schema and its parts, if it has no errors.
func (c *Corpus) add(text []byte) {
	var doc yaml.Node
	if Layout(text) == nil || yaml.Unmarshal(text, &doc) != nil || len(doc.Content) == 0 {
		return
	}
	root := doc.Content[0]
	for _, p := range c.partsOf(root) {
		for _, s := range p.settings() {
			if of := c.schemas[s]; len(of) == 0 || of[len(of)-1] != root {
				c.schemas[s] = append(of, root)
			}
		}
		c.parts[last(p.place)] = append(c.parts[last(p.place)], p.value)
	}
}

// Layout returns the layout of a schema; nil if it has errors.
func Layout(text []byte) *layout.Layout {
	r := gen.Resolve([]gen.Input{{Name: "schema.yaml", Text: text}})
	if r.Diagnostics.HasErrors() || len(r.Layouts) != 1 {
		return nil
	}
	return r.Layouts[0]
}

// part is a value in a schema.
type part struct {
	place string // as in tables.*.key.segments[]
	rules []rule // of the language, for the value
	key   string // empty in a sequence
	in    *yaml.Node
	index int // of the value in the node
	value *yaml.Node
}

// last returns the last names of a place: up to the last one that is a key of the language.
func last(place string) string {
	names := strings.Split(place, ".")
	n := len(names) - 1
	for n > 0 && strings.Trim(names[n], "*[]") == "" {
		n--
	}
	return strings.Join(names[n:], ".")
}

// parent returns the place of the mapping that has a key, and its name.
func parent(place string) (in, key string) {
	i := strings.LastIndex(place, ".")
	return place[:max(i, 0)], place[i+1:]
}

// partsOf returns all parts of a schema, in their order.
func (c *Corpus) partsOf(root *yaml.Node) (out []part) {
	var visit func(n *yaml.Node, r []rule, place string)
	visit = func(n *yaml.Node, r []rule, place string) {
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				key := n.Content[i].Value
				below, named := c.member(r, key)
				at := join(place, key)
				if !named {
					at = join(place, "*")
				}
				out = append(out, part{at, below, key, n, i + 1, n.Content[i+1]})
				visit(n.Content[i+1], below, at)
			}
		case yaml.SequenceNode:
			var below []rule
			for _, one := range r {
				if one.Items != nil {
					below = append(below, c.flat(*one.Items)...)
				}
			}
			for i := range n.Content {
				out = append(out, part{place + "[]", below, "", n, i, n.Content[i]})
				visit(n.Content[i], below, place+"[]")
			}
		}
	}
	visit(root, c.flat(c.language), "")
	return out
}

// join returns the place of a member.
func join(place, key string) string {
	if place == "" {
		return key
	}
	return place + "." + key
}

// member returns the rules of a member of a mapping, and whether the language names it.
func (c *Corpus) member(rules []rule, key string) (below []rule, named bool) {
	for _, r := range rules {
		if of, ok := r.Properties[key]; ok {
			below, named = append(below, c.flat(of)...), true
		}
	}
	if named {
		return below, true
	}
	for _, r := range rules {
		if r.Additional.rule != nil {
			below = append(below, c.flat(*r.Additional.rule)...)
		}
	}
	return below, false
}

// flat returns a rule and its alternatives.
func (c *Corpus) flat(r rule) []rule {
	if name, ok := strings.CutPrefix(r.Ref, "#/definitions/"); ok {
		r = c.language.Definitions[name]
	}
	out := []rule{r}
	for _, of := range r.AnyOf {
		out = append(out, c.flat(of)...)
	}
	return out
}

// keysOf returns the places of all keys that the language names, in ascending order. Those of nested
// times to live are listed once.
func (c *Corpus) keysOf() []string {
	all := map[string]bool{}
	var visit func(r rule, place string)
	visit = func(r rule, place string) {
		if strings.Count(place, "_of") > 1 { // nested
			return
		}
		for _, of := range c.flat(r) {
			for key, below := range of.Properties {
				all[join(place, key)] = true
				visit(below, join(place, key))
			}
			if of.Additional.rule != nil {
				visit(*of.Additional.rule, join(place, "*"))
			}
			if of.Items != nil {
				visit(*of.Items, place+"[]")
			}
		}
	}
	visit(c.language, "")
	return slices.Sorted(maps.Keys(all))
}

// Drawn is a schema that was drawn.
type Drawn struct {
	Text   []byte
	Layout *layout.Layout
}

// Draw draws a schema without errors, by a number of edits of one of the corpus. Those with rare settings
// are drawn as often as others.
func (c *Corpus) Draw(random *rand.Rand, edits int) Drawn {
	of := c.schemas[c.places[random.IntN(len(c.places))]]
	root := clone(of[random.IntN(len(of))])
	for tries := 0; edits > 0 && tries < 200; tries++ {
		if edited := c.edited(random, root); edited != nil {
			root, edits = edited, edits-1
		}
	}
	return drawn(root)
}

// DrawAll draws schemas from those of some folders, more and more edited; the same for the same numbers.
func DrawAll(first, end int, folders ...string) ([]Drawn, error) {
	c, err := Load(folders...)
	if err != nil {
		return nil, err
	}
	var out []Drawn
	for i := first; i < end; i++ {
		out = append(out, c.Draw(rand.New(rand.NewPCG(uint64(i), 0)), i%6))
	}
	return out, nil
}

// drawn returns a schema that was drawn.
func drawn(root *yaml.Node) Drawn {
	text := format(root)
	return Drawn{text, Layout(text)}
}

// Edit returns a schema without errors that differs from another one by an edit; false if it finds none.
func (c *Corpus) Edit(random *rand.Rand, text []byte) (edited []byte, ok bool) {
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil || len(doc.Content) == 0 {
		return nil, false
	}
	root := clone(doc.Content[0])
	for range 100 {
		if edited := c.edited(random, root); edited != nil {
			return format(edited), true
		}
	}
	return nil, false
}

// edited returns an edited copy of a schema; nil if that has errors, or is the same.
func (c *Corpus) edited(random *rand.Rand, root *yaml.Node) *yaml.Node {
	edited := clone(root)
	for range 1 + random.IntN(2) { // some settings need another one
		c.edit(random, edited)
	}
	if text := format(edited); Layout(text) == nil || bytes.Equal(text, format(root)) {
		return nil
	}
	return edited
}

// Without returns the schemas that lack one part of a schema each, which most have errors.
func (c *Corpus) Without(text []byte) (out [][]byte) {
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil || len(doc.Content) == 0 {
		return nil
	}
	for i := range c.partsOf(doc.Content[0]) {
		root := clone(doc.Content[0])
		c.partsOf(root)[i].remove()
		out = append(out, format(root))
	}
	return out
}

// remove removes a part.
func (p *part) remove() {
	first := p.index
	if p.key != "" {
		first--
	}
	p.in.Content = slices.Delete(p.in.Content, first, p.index+1)
}

// edit exchanges, adds or removes a part.
func (c *Corpus) edit(random *rand.Rand, root *yaml.Node) {
	all := c.partsOf(root)
	p := all[random.IntN(len(all))]
	switch random.IntN(5) {
	case 0, 1: // a key of the language
		in, key := parent(c.keys[random.IntN(len(c.keys))])
		all = slices.DeleteFunc(append(all, part{value: root, rules: c.flat(c.language)}), func(p part) bool { return p.place != in || has(p.value, key) })
		if len(all) == 0 {
			return
		}
		p = all[random.IntN(len(all))]
		of := slices.DeleteFunc(slices.Clone(c.parts[last(in)]), func(n *yaml.Node) bool { return !has(n, key) })
		if p.in != nil && len(of) > 0 && random.IntN(2) == 0 { // in place of others, as some exclude each other
			p.in.Content[p.index] = clone(of[random.IntN(len(of))])
			return
		}
		rules, _ := c.member(p.rules, key)
		if value := c.pick(random, join(in, key), rules); value != nil && p.value.Kind == yaml.MappingNode {
			p.value.Content = append(p.value.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
		}
	case 2: // without it
		p.remove()
	case 3: // one more element, or a member with another name
		value := c.pick(random, p.place, p.rules)
		switch {
		case value == nil:
		case p.key == "":
			p.in.Content = slices.Insert(p.in.Content, p.index, value)
		case strings.HasSuffix(p.place, ".*"):
			p.in.Content = append(p.in.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: p.key + "x"}, value)
		}
	default:
		if value := c.pick(random, p.place, p.rules); value != nil {
			p.in.Content[p.index] = value
		}
	}
}

// pick draws a value for a place: one of those that the language lists, or a part of the corpus; nil if
// there is none.
func (c *Corpus) pick(random *rand.Rand, place string, rules []rule) *yaml.Node {
	all := slices.Clone(c.parts[last(place)])
	for _, r := range rules {
		for _, v := range r.Enum {
			all = append(all, &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(v)})
		}
		if r.Type == "boolean" {
			all = append(all, &yaml.Node{Kind: yaml.ScalarNode, Value: "true"}, &yaml.Node{Kind: yaml.ScalarNode, Value: "false"})
		}
	}
	if len(all) == 0 {
		return nil
	}
	return clone(all[random.IntN(len(all))])
}

// has reports whether a node is a mapping that has a key.
func has(n *yaml.Node, key string) bool { return member(n, key) > 0 }

// member returns the index of the value of a key in a mapping, or -1.
func member(n *yaml.Node, key string) int {
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i + 1
		}
	}
	return -1
}

// clone returns a copy of a node without comments.
func clone(n *yaml.Node) *yaml.Node {
	out := *n
	out.HeadComment, out.LineComment, out.FootComment = "", "", ""
	out.Content = make([]*yaml.Node, len(n.Content))
	for i := range n.Content {
		out.Content[i] = clone(n.Content[i])
	}
	return &out
}

// format returns the text of a schema.
func format(root *yaml.Node) []byte {
	text, err := yaml.Marshal(root)
	if err != nil {
		panic(err) // of nodes that were parsed
	}
	return text
}

// Inputs returns the files of a pattern, each with its path in the project as its name.
func Inputs(tb testing.TB, pattern string) []gen.Input {
	tb.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		tb.Fatal("no schemas", paths, err)
	}
	var out []gen.Input
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, gen.Input{Name: strings.TrimLeft(filepath.ToSlash(path), "./"), Text: text})
	}
	return out
}
