package corpus

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// untold are the keys that change no cell and no method: they are for readers, estimates and findings.
var untold = []string{"btgen", "doc", "unit", "example", "expect", "allow", "cardinality"}

// narrow are settings, by how they begin, that pair only with those that begin in one of some ways. All others pair with each
// other. A type meets its member, and how tables write its values; what a table was before, and what rules of
// garbage collection combine, meet their siblings.
var narrow = map[string][]string{
	"fields.*.type=":         {"fields.", "tables.*.pattern=", "tables.*.values=", "tables.*.blob.format="},
	"fields.*.was[].":        {"fields.", "tables.*.pattern="},
	"series.*.type=":         {"series.", "tables.*.pattern=", "tables.*.key."},
	"tables.*.before[].":     {"tables.*.before[].", "tables.*.pattern="},
	"tables.*.ttl.all_of[].": {"tables.*.ttl.", "tables.*.pattern="},
	"tables.*.ttl.any_of[].": {"tables.*.ttl.", "tables.*.pattern="},
}

// Settings returns the settings of the language, in ascending order: each value of an enumeration at its place, as in
// tables.*.pattern=latest, what a boolean is if it is not the default, and each other key, as in
// tables.*.rollup.after. Keys without which no part is complete are not listed, nor are those of [untold]. Of keys
// with the same name, as ttl has in tables, rollups and families, what is below one is listed once, at the
// shallowest place.
func (c *Corpus) Settings() []string { return c.settings }

// settingsOf returns the settings; see [Corpus.Settings].
func (c *Corpus) settingsOf() []string {
	type at struct {
		place string
		rules []rule
	}
	all, depth := map[string]bool{}, map[string]int{}
	for todo := []at{{"", c.flat(c.language)}}; len(todo) > 0; todo = todo[1:] {
		place, keys, needed, forms := todo[0].place, map[string][]rule{}, map[string]int{}, 0
		for _, r := range todo[0].rules {
			for _, v := range values(place, r) {
				all[valued(place, v)] = true
			}
			for key, below := range r.Properties {
				keys[key] = append(keys[key], c.flat(below)...)
			}
			for _, key := range r.Required {
				needed[key]++
			}
			if r.Properties != nil {
				forms++
			}
			if r.Additional.rule != nil {
				todo = append(todo, at{join(place, "*"), c.flat(*r.Additional.rule)})
			}
			if r.Items != nil {
				todo = append(todo, at{place + "[]", c.flat(*r.Items)})
			}
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if slices.Contains(untold, key) {
				continue
			}
			of := at{join(place, key), keys[key]}
			name, n := top(of.place)+"."+key, strings.Count(of.place, ".")
			again := depth[name] > 0 && depth[name] < n
			if !again {
				depth[name] = n
				todo = append(todo, of)
			}
			free := func(r rule) bool { return len(values(of.place, r)) == 0 && len(r.AnyOf) == 0 }
			if needed[key] < forms && (again || slices.ContainsFunc(of.rules, free)) {
				all[of.place] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// top returns the first name of a place.
func top(place string) string {
	name, _, _ := strings.Cut(place, ".")
	return name
}

// values returns the values that a rule of a place lists, without the default of a boolean.
func values(place string, r rule) (out []string) {
	switch {
	case r.Type == "boolean" && strings.HasSuffix(place, ".serves"):
		return []string{"false"}
	case r.Type == "boolean":
		return []string{"true"}
	}
	for _, v := range r.Enum {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

// valued returns the setting that is a value at a place. A field or series value that is only a word has that type.
func valued(place, value string) string {
	if place == "fields.*" || place == "series.*" {
		place += ".type"
	}
	return place + "=" + value
}

// placeOf returns the place of a setting.
func placeOf(setting string) string {
	place, _, _ := strings.Cut(setting, "=")
	return place
}

// Pair is two settings of the language that a schema has together, in ascending order; see [Corpus.Settings]. Two settings of
// a table are together only in one table, since there they meet, and so are those of a field, a series value or a query. Two
// values of the same key, as patterns, are in any tables, and such pairs are counted only of tables. The others that are not
// counted are those of narrow settings.
type Pair struct{ A, B string }

// String returns both settings.
func (p Pair) String() string { return p.A + " & " + p.B }

// counted reports whether a pair is counted.
func (p Pair) counted() bool {
	if placeOf(p.A) == placeOf(p.B) && top(p.A) != "tables" {
		return false
	}
	for begin, meets := range narrow {
		for _, of := range []Pair{p, {p.B, p.A}} {
			if strings.HasPrefix(of.A, begin) && !slices.ContainsFunc(meets, func(m string) bool { return strings.HasPrefix(of.B, m) }) {
				return false
			}
		}
	}
	return p.A < p.B
}

// AllPairs returns all pairs of settings, in ascending order.
func (c *Corpus) AllPairs() []Pair { return c.pairs }

// pairsOf returns the pairs of settings; see [Corpus.AllPairs].
func (c *Corpus) pairsOf() (out []Pair) {
	for _, a := range c.settings {
		for _, b := range c.settings {
			if p := (Pair{a, b}); p.counted() {
				out = append(out, p)
			}
		}
	}
	return out
}

// sets are the settings of a schema, with the names of the members of the map at its top that have them.
type sets map[string][]string

// setsOf returns the settings of a schema.
func (c *Corpus) setsOf(root *yaml.Node) sets {
	out, member := sets{}, ""
	for _, p := range c.partsOf(root) {
		switch strings.Count(p.place, ".") {
		case 0:
			member = ""
		case 1:
			member = p.key
		}
		for _, s := range p.settings() {
			if of := out[s]; len(of) == 0 || of[len(of)-1] != member {
				out[s] = append(of, member)
			}
		}
	}
	return out
}

// settings returns what may be settings: a place, and a value at it.
func (p *part) settings() []string {
	if p.value.Kind != yaml.ScalarNode {
		return []string{p.place}
	}
	return []string{p.place, valued(p.place, p.value.Value)}
}

// together reports whether a schema has a pair.
func (s sets) together(p Pair) bool {
	if len(s[p.A]) == 0 || len(s[p.B]) == 0 {
		return false
	}
	apart := top(p.A) != top(p.B) || placeOf(p.A) == placeOf(p.B)
	return slices.ContainsFunc(s[p.A], func(a string) bool {
		return slices.ContainsFunc(s[p.B], func(b string) bool { return apart || a == b })
	})
}

// Pairs returns the pairs that schemas of the corpus have.
func (c *Corpus) Pairs() map[Pair]bool {
	out := map[Pair]bool{}
	for _, root := range c.schemas["btgen"] {
		for _, p := range c.pairsIn(root) {
			out[p] = true
		}
	}
	return out
}

// pairsIn returns the pairs of a schema.
func (c *Corpus) pairsIn(root *yaml.Node) (out []Pair) {
	s := c.setsOf(root)
	for _, p := range c.pairs {
		if s.together(p) {
			out = append(out, p)
		}
	}
	return out
}

// DrawPair draws a schema without errors that has a pair, from one that has one of the settings and another one that
// has the other. It also returns all pairs of the schema, and false if a number of tries finds none: then they cannot stand together,
// as far as is known.
func (c *Corpus) DrawPair(random *rand.Rand, p Pair, tries int) (Drawn, []Pair, bool) {
	settings, of := [2]string{p.A, p.B}, [2][]*yaml.Node{c.schemas[p.A], c.schemas[p.B]}
	if len(of[0]) == 0 || len(of[1]) == 0 {
		return Drawn{}, nil, false
	}
	for range tries {
		i := random.IntN(2)
		root, other := clone(of[i][random.IntN(len(of[i]))]), of[1-i][random.IntN(len(of[1-i]))]
		c.cross(random, root, other, settings[i], settings[1-i])
		for range random.IntN(3) {
			c.edit(random, root)
		}
		if c.setsOf(root).together(p) && Layout(format(root)) != nil {
			return drawn(root), c.pairsIn(root), true
		}
	}
	return Drawn{}, nil, false
}

// cross adds a setting to a schema, with some of what stands beside it in another one. If the schema has another setting of
// the same map, it mostly adds it to the member that has that.
func (c *Corpus) cross(random *rand.Rand, to, from *yaml.Node, has, wanted string) {
	anyOf := func(root *yaml.Node, matches func(p part) bool) *part {
		all := slices.DeleteFunc(c.partsOf(root), func(p part) bool { return !matches(p) })
		if len(all) == 0 {
			return nil
		}
		return &all[random.IntN(len(all))]
	}
	w := anyOf(from, func(p part) bool { return slices.Contains(p.settings(), wanted) })
	donor := anyOf(from, func(p part) bool { return strings.Count(p.place, ".") == 1 && contains(p.value, w.value) })
	hosts := c.setsOf(to)[has]
	host := anyOf(to, func(p part) bool {
		return donor != nil && p.place == donor.place && (top(has) != top(wanted) || slices.Contains(hosts, p.key))
	})
	if host != nil && random.IntN(4) > 0 {
		host.in.Content[host.index-1].Value = donor.key
	}
	merge(random, to, from, w.value, []float64{0, 0, 0.1, 0.3, 0.6}[random.IntN(5)])
}

// merge exchanges and adds parts of a mapping or a sequence by those of another one, at a rate, and surely one of them.
func merge(random *rand.Rand, to, from, wanted *yaml.Node, rate float64) {
	step := 1
	if from.Kind == yaml.MappingNode {
		step = 2
	}
	for i := step - 1; i < len(from.Content); i += step {
		value, at := from.Content[i], i
		if step == 2 {
			at = member(to, from.Content[i-1].Value)
		}
		known := at >= 0 && at < len(to.Content)
		switch {
		case known && value.Kind != yaml.ScalarNode && to.Content[at].Kind == value.Kind && random.IntN(4) > 0:
			merge(random, to.Content[at], value, wanted, rate)
		case !contains(value, wanted) && random.Float64() >= rate:
		case known:
			to.Content[at] = clone(value)
		default:
			for _, n := range from.Content[i+1-step : i+1] {
				to.Content = append(to.Content, clone(n))
			}
		}
	}
}

// contains reports whether a node is another one or contains it.
func contains(n, wanted *yaml.Node) bool {
	return n == wanted || slices.ContainsFunc(n.Content, func(below *yaml.Node) bool { return contains(below, wanted) })
}
