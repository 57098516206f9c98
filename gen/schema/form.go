package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/words"
)

// Tables describe the language: a block lists the keys of a mapping, and the form of each
// key says which values it accepts and how to read them. The tables are in language.go,
// field.go, key.go and ttl.go; this file has their building blocks.

// form describes the values of a key or of the items of a list. read reports whether the
// node has a value; if not, it has added an error. It is never called with a broken node.
type form[V any] struct {
	shape shape
	read  func(w *walker, n *node) (V, bool)
}

// shape describes a form for documentation, formatting and the JSON Schema.
type shape struct {
	kind     shapeKind
	what     string             // with its article, such as "a duration"
	example  string             // hint if the value is something else; may be empty
	words    []string           // the words of shapeWord; for shapeBool, true or false if only one is valid
	syntax   []string           // regular expressions, all of which a string must match
	format   string             // of a string, as in JSON Schema: date or date-time; may be empty
	not      []shape            // exceptions
	least    int                // characters of a string, or entries of a list or mapping
	most     int                // characters of a string; 0 if unlimited
	min, max json.Number        // of a number; empty if unlimited
	distinct bool               // list items must be distinct
	name     *shape             // keys of an open mapping
	item     func() shape       // items of a list, or values of an open mapping
	keys     func() []keyShape  // of a closed mapping
	cases    func() []caseShape // of a closed mapping; may be nil
	either   []shape            // the alternatives of shapeEither
}

type shapeKind int

// The kinds of shapes.
const (
	shapeText    shapeKind = iota // a string
	shapeWord                     // one of words
	shapeBool                     // true or false
	shapeInteger                  // from min to max
	shapeNumber                   // from min to max, with or without a fraction
	shapeScalar                   // any scalar
	shapeList                     // of item
	shapeOpen                     // a mapping from names to item
	shapeClosed                   // a mapping with keys
	shapeEither                   // one of either
	shapeLazy                     // item, which may contain this shape
	shapeNever                    // no value: the key is not allowed
)

// keyShape describes a key of a closed mapping.
type keyShape struct {
	name     string
	doc      string
	more     string
	required bool
	shape    shape
}

// caseShape describes keys of a closed mapping under the condition that key has value.
type caseShape struct {
	key   string
	value any
	keys  []keyShape
}

// block is a mapping with a fixed set of keys.
type block[T any] struct {
	what    string // with its article, such as "a table"; language.txt describes it
	keys    []key[T]
	foreign func(name string) (string, bool) // hints for keys of other variants; may be nil
	cases   func() []caseShape               // what check requires, for the JSON Schema; may be nil
	begin   func(pos diag.Pos, t *T)         // called before the keys are read; may be nil
	check   func(w *walker, n *node, t *T)   // called after the keys are read; may be nil
}

// key is one key of a block.
type key[T any] struct {
	name     string
	doc      string // instead of what language.txt says
	more     string // instead of what language.txt says
	required bool
	shape    shape
	read     func(w *walker, n *node, into *T)
	propose  func(n *node) string // the entry to add to a mapping that lacks it, or ""; may be nil
}

// set returns a key whose value is stored at the given place of T.
func set[T, V any](name string, f form[V], at func(*T) *V) key[T] {
	read := func(w *walker, n *node, into *T) {
		if v, ok := f.read(w, n); ok {
			*at(into) = v
		}
	}
	return key[T]{name: name, shape: f.shape, read: read}
}

// put is set for a value with its position.
func put[T, V any](name string, f form[V], at func(*T) *Value[V]) key[T] {
	return set(name, located(f), at)
}

// inline returns a key whose mapping is read into T itself.
func inline[T any](name string, b block[T]) key[T] {
	return key[T]{name: name, shape: b.shape(), read: b.read}
}

// must returns k as a required key.
func must[T any](k key[T]) key[T] {
	k.required = true
	return k
}

// about returns k with a doc that lists words.
func (k key[T]) about(doc string) key[T] {
	k.doc = doc
	return k
}

// also returns k with further sentences for editors.
func (k key[T]) also(more string) key[T] {
	k.more = more
	return k
}

// proposed returns k with the entry to add to a mapping that lacks it.
func (k key[T]) proposed(propose func(n *node) string) key[T] {
	k.propose = propose
	return k
}

// missing returns the hint for a mapping that lacks the key.
func (k key[T]) missing(what string, n *node) string {
	if k.propose != nil {
		if entry := k.propose(n); entry != "" {
			return "add " + diag.Code(entry)
		}
	}
	doc, _ := k.docs(what)
	return k.name + ": " + doc
}

// docs returns what a key of a block is, and further sentences.
func (k key[T]) docs(what string) (doc, more string) {
	doc, more = guideOf(what).key(k.name)
	return cmp.Or(k.doc, doc), cmp.Or(k.more, more)
}

// or returns k with a hint for values that are no mappings; instead returns "" where it
// has none.
func (k key[T]) or(instead func(n *node) string) key[T] {
	read := k.read
	k.read = func(w *walker, n *node, into *T) {
		if n.kind != mapping {
			if hint := instead(n); hint != "" {
				w.want(n, k.shape.what, hint)
				return
			}
		}
		read(w, n, into)
	}
	return k
}

// shape returns the shape of the block.
func (b block[T]) shape() shape {
	return shape{kind: shapeClosed, what: b.what, cases: b.cases, keys: func() []keyShape {
		var keys []keyShape
		for _, k := range b.keys {
			doc, more := k.docs(b.what)
			keys = append(keys, keyShape{k.name, doc, more, k.required, k.shape})
		}
		return keys
	}}
}

// names returns the names of the block's keys.
func (b block[T]) names() []string {
	names := make([]string, len(b.keys))
	for i, k := range b.keys {
		names[i] = k.name
	}
	return names
}

// key returns the key with the given name, and whether there is one.
func (b block[T]) key(name string) (key[T], bool) {
	i := slices.IndexFunc(b.keys, func(k key[T]) bool { return k.name == name })
	if i < 0 {
		return key[T]{}, false
	}
	return b.keys[i], true
}

// read reads a mapping into t.
func (b block[T]) read(w *walker, n *node, into *T) {
	if n.kind != mapping {
		w.want(n, b.what, guideOf(b.what).example)
		return
	}
	if b.begin != nil {
		b.begin(n.pos, into)
	}
	meant := map[string]bool{}
	for _, e := range n.entries {
		k, ok := b.key(e.key.text)
		if !ok {
			meant[b.unknown(w, n, e.key)] = true
		} else if e.value.kind != broken {
			k.read(w, e.value, into)
		}
	}
	for _, k := range b.keys {
		if k.required && n.entry(k.name) == nil && !meant[k.name] {
			w.reject(n.pos, "missing-key", b.what, k.name, k.missing(b.what, n))
		}
	}
	if b.check != nil {
		b.check(w, n, into)
	}
}

// unknown reports a key that the block does not have. It returns the key that was probably
// meant, so that it is not also reported as missing.
func (b block[T]) unknown(w *walker, n, k *node) string {
	d := w.errorf(k.pos, "unknown key %s in %s", quote(k.text), b.what)
	meant := ""
	if hint, rule, ok := b.hint(k.text); ok {
		d.Hint, d.Rule = hint, rule
		meant = strings.TrimSuffix(strings.TrimPrefix(hint, "write `"), "`")
	} else {
		meant, _ = w.nearest(k.text, b.names())
		d.Hint = w.suggest(k.text, b.names(), "the keys are ")
	}
	if meant != "" && n.entry(meant) != nil {
		d.Hint = "remove it; " + meant + " is already set"
	}
	return meant
}

// hint returns the hint for a key that belongs somewhere else and the rule that explains it, and whether there is one.
func (b block[T]) hint(name string) (hint, rule string, ok bool) {
	if e, ok := guideOf(b.what).elsewhere[name]; ok {
		return e.hint, e.rule, true
	}
	if b.foreign != nil {
		hint, ok = b.foreign(name)
	}
	return hint, "", ok
}

// record returns the form of a mapping that is read as a T.
func record[T any](b block[T]) form[T] {
	return form[T]{b.shape(), func(w *walker, n *node) (t T, ok bool) {
		b.read(w, n, &t)
		return t, n.kind == mapping
	}}
}

// short returns the form long with a scalar as its short form.
func short[T any](scalarShape shape, fromScalar func(w *walker, n *node) (T, bool), long form[T]) form[T] {
	s := shape{kind: shapeEither, what: long.shape.what, either: []shape{scalarShape, long.shape}}
	return form[T]{s, func(w *walker, n *node) (T, bool) {
		if n.kind == scalar {
			return fromScalar(w, n)
		}
		return long.read(w, n)
	}}
}

// union is a mapping that is one of several blocks, identified by the first key of the
// block.
type union[T any] struct {
	what     string               // with its article, such as "a key segment"; language.txt describes it
	both     func(n *node) string // hint if the value has the first keys of two blocks
	variants []block[T]
}

// form returns the form of the union.
func (u union[T]) form() form[T] {
	s := shape{kind: shapeEither, what: u.what}
	for _, v := range u.variants {
		s.either = append(s.either, v.shape())
	}
	return form[T]{s, u.read}
}

// kinds returns the first key of each variant.
func (u union[T]) kinds() []string {
	names := make([]string, len(u.variants))
	for i, v := range u.variants {
		names[i] = v.keys[0].name
	}
	return names
}

func (u union[T]) read(w *walker, n *node) (t T, ok bool) {
	if n.kind != mapping {
		w.want(n, u.what, guideOf(u.what).example)
		return t, false
	}
	chosen, kinds := -1, u.kinds()
	for _, e := range n.entries {
		i := slices.Index(kinds, e.key.text)
		if i < 0 {
			continue
		}
		if chosen >= 0 {
			w.reject(e.key.pos, "two-kinds", u.what, kinds[chosen], e.key.text, u.meant(w, n, u.variants[chosen], u.variants[i]))
			return t, false
		}
		chosen = i
	}
	if chosen < 0 {
		u.none(w, n)
		return t, false
	}
	u.variant(chosen).read(w, n, &t)
	return t, n.entry(kinds[chosen]).kind != broken
}

// meant returns the hint for a value with the first keys of two variants: one of them may be a misspelling.
func (u union[T]) meant(w *walker, n *node, of ...block[T]) string {
	for _, b := range of {
		others := slices.DeleteFunc(b.names(), func(name string) bool { return n.entry(name) != nil })
		for _, e := range n.entries {
			if near, ok := w.nearest(e.key.text, others); ok && slices.Contains(u.kinds(), e.key.text) {
				return diag.Code(e.key.text) + ": did you mean " + diag.Code(near) + "?"
			}
		}
	}
	return u.both(n)
}

// variant returns a block with hints for the keys of the other variants.
func (u union[T]) variant(chosen int) block[T] {
	b := u.variants[chosen]
	b.foreign = func(name string) (hint string, ok bool) {
		var kinds []string
		for i, other := range u.variants {
			if _, ok := other.key(name); ok {
				kinds = append(kinds, u.kinds()[i])
			}
		}
		return fmt.Sprintf("%q is only valid with %s", name, strings.Join(kinds, ", ")), len(kinds) > 0
	}
	return b
}

// none reports a mapping that matches no variant.
func (u union[T]) none(w *walker, n *node) {
	for _, e := range n.entries {
		if known, ok := guideOf(u.what).elsewhere[e.key.text]; ok {
			pos := e.key.pos
			if strings.HasPrefix(known.hint, "write `{") { // it replaces the mapping
				pos = n.pos
			}
			d := w.errorf(pos, "unknown key %s in %s", quote(e.key.text), u.what)
			d.Hint, d.Rule = known.hint, known.rule
			return
		}
	}
	for _, e := range n.entries {
		if !slices.ContainsFunc(u.variants, func(b block[T]) bool { _, ok := b.key(e.key.text); return ok }) {
			w.reject(e.key.pos, "unknown-kind", quote(e.key.text), u.what, w.suggest(e.key.text, u.kinds(), "one of "))
			return
		}
	}
	w.reject(n.pos, "no-kind", u.what, oneOf(u.kinds()), guideOf(u.what).example)
}

// or returns f with a hint for values that are no mappings; instead returns "" where it
// has none.
func (f form[V]) or(instead func(n *node) string) form[V] {
	return form[V]{f.shape, func(w *walker, n *node) (v V, ok bool) {
		if n.kind != mapping {
			if hint := instead(n); hint != "" {
				w.want(n, f.shape.what, hint)
				return v, false
			}
		}
		return f.read(w, n)
	}}
}

// like returns f with its shape modified.
func (f form[V]) like(more func(*shape)) form[V] {
	more(&f.shape)
	return f
}

// located returns f with the position of the value.
func located[V any](f form[V]) form[Value[V]] {
	return form[Value[V]]{f.shape, func(w *walker, n *node) (Value[V], bool) {
		v, ok := f.read(w, n)
		if !ok {
			return Value[V]{}, false
		}
		return Value[V]{V: v, Pos: n.pos}, true
	}}
}

// pointer returns f with a pointer to its value, for values that may be missing.
func pointer[V any](f form[V]) form[*V] {
	return form[*V]{f.shape, func(w *walker, n *node) (*V, bool) {
		v, ok := f.read(w, n)
		return &v, ok
	}}
}

// boxed returns f with its value as an any.
func boxed[V any](f form[V]) form[any] {
	return form[any]{f.shape, func(w *walker, n *node) (any, bool) {
		v, ok := f.read(w, n)
		return v, ok
	}}
}

// listOf returns the form of a non-empty list.
func listOf[V any](what, example string, item form[V]) form[[]V] {
	s := shape{kind: shapeList, what: what, least: 1, item: func() shape { return item.shape }}
	return form[[]V]{s, func(w *walker, n *node) ([]V, bool) {
		if n.kind != list || len(n.items) == 0 {
			w.wantSome(n, what, listHint(n, example))
			return nil, false
		}
		var values []V
		for _, i := range n.items {
			if i.kind == broken {
				continue
			}
			if v, ok := item.read(w, i); ok {
				values = append(values, v)
			}
		}
		return values, true
	}}
}

// wantSome is want for a list or a mapping that must not be empty.
func (w *walker) wantSome(n *node, what, hint string) {
	if n.kind == scalar || len(n.items)+len(n.entries) > 0 {
		w.want(n, what, hint)
	} else {
		w.reject(n.pos, "empty", what, hint)
	}
}

// distinct returns f with an error for each repeated item.
func distinct(f form[[]Value[string]]) form[[]Value[string]] {
	f.shape.distinct = true
	return form[[]Value[string]]{f.shape, func(w *walker, n *node) ([]Value[string], bool) {
		all, ok := f.read(w, n)
		seen := map[string]bool{}
		kept := all[:0]
		for _, v := range all {
			if seen[v.V] {
				w.reject(v.Pos, "listed-twice", quote(v.V))
				continue
			}
			seen[v.V] = true
			kept = append(kept, v)
		}
		return kept, ok
	}}
}

// named returns the form of a mapping from names to values, in the order of the file. An
// entry that cannot be read keeps its name, so that references to it are not errors too.
func named[V any](what, example string, name form[string], item form[V], at func(*V) *Value[string]) form[[]V] {
	s := shape{kind: shapeOpen, what: what, least: 1, name: &name.shape, item: func() shape { return item.shape }}
	return form[[]V]{s, func(w *walker, n *node) ([]V, bool) {
		if n.kind != mapping || len(n.entries) == 0 {
			w.wantSome(n, what, example)
			return nil, false
		}
		values := make([]V, 0, len(n.entries))
		for _, e := range n.entries {
			name.read(w, e.key)
			var v V
			if e.value.kind != broken {
				v, _ = item.read(w, e.value)
			}
			*at(&v) = Value[string]{V: e.key.text, Pos: e.key.pos}
			values = append(values, v)
		}
		return values, true
	}}
}

// word returns the form of one of several words. synonyms maps common mistakes, in lower
// case, to the correct word; it may be nil.
func word(what string, words []string, synonyms map[string]string) form[string] {
	return hintedWord(what, words, func(text string) string {
		if right := synonyms[strings.ToLower(text)]; right != "" {
			return "write " + diag.Code(right)
		}
		return ""
	})
}

// hintedWord is word with a function that returns the hint for a wrong word, or "" if it
// has none.
func hintedWord(what string, all []string, hint func(text string) string) form[string] {
	s := shape{kind: shapeWord, what: words.WithArticle(what), words: all}
	return form[string]{s, func(w *walker, n *node) (string, bool) {
		switch {
		case n.kind != scalar:
			w.want(n, s.what, "one of "+oneOf(all))
		case slices.Contains(all, n.text):
			return n.text, true
		default:
			d := w.errorf(n.pos, "unknown %s %s", what, quote(n.text))
			switch known := hint(n.text); {
			case known != "":
				d.Hint = known
			case len(all) == 1:
				d.Hint = "write " + diag.Code(all[0])
			default:
				d.Hint = w.suggestWord(n.text, all)
			}
		}
		return "", false
	}}
}

// suggestWord is suggest for one of several words. It also recognizes the last part of a
// word, as in serialized, and words with a part left out, as in bucket_cells.
func (w *walker) suggestWord(text string, words []string) string {
	var ends []string
	for _, word := range words {
		if text != "" && strings.HasSuffix(word, "_"+strings.ToLower(text)) {
			ends = append(ends, diag.Code(word))
		}
	}
	if near, ok := w.nearest(text, words); ok {
		ends = []string{diag.Code(near)}
	}
	if len(ends) == 0 {
		parts := strings.Split(strings.ToLower(text), "_")
		for _, word := range words {
			of := strings.Split(word, "_")
			if len(parts) > 1 && !slices.ContainsFunc(parts, func(p string) bool { return !slices.Contains(of, p) }) {
				ends = append(ends, diag.Code(word))
			}
		}
	}
	if len(ends) == 0 {
		return "one of " + oneOf(words)
	}
	return "did you mean " + strings.Join(ends, " or ") + "?"
}

// parsed returns the form of a string with a syntax. If parse returns a *problem, its hint
// is reported too.
func parsed[V any](what, example string, parse func(string) (V, error)) form[V] {
	return form[V]{shape{kind: shapeText, what: what, example: example}, func(w *walker, n *node) (v V, ok bool) {
		if n.kind != scalar {
			w.want(n, what, example)
			return v, false
		}
		v, err := parse(n.text)
		if p := (*problem)(nil); errors.As(err, &p) {
			w.problem(n, p)
		} else if err != nil {
			w.errorf(n.pos, "%s", err)
		}
		return v, err == nil
	}}
}

// text returns the form of any string, including the empty one.
func text(what string) form[string] {
	return parsed(what, "write a string", func(s string) (string, error) { return s, nil })
}

// filled returns the form of a non-empty string.
func filled(what string) form[string] {
	return parsed(what, "write a string", func(s string) (string, error) {
		if s == "" {
			return "", newProblem("empty-text", what)
		}
		return s, nil
	}).like(func(s *shape) { s.least = 1 })
}

// noControls matches strings without control characters other than line breaks and tabs.
const noControls = "^[^\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\u2028\u2029]*$"

// prose returns the form of a string that is copied into comments.
func prose(what string) form[string] {
	return parsed(what, "write a string", func(s string) (string, error) {
		s = strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n"))
		for _, r := range s {
			if unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\u2028' || r == '\u2029' {
				return "", newProblem("control-character", what, r)
			}
		}
		return s, nil
	}).like(func(s *shape) { s.syntax = []string{noControls} })
}

// reason returns the form of the reason for an exception: words, not a boolean.
func reason(what, example string) form[string] {
	filled := prose(what).like(func(s *shape) {
		s.syntax = append(s.syntax, `\S`)
		s.not = []shape{boolean.shape}
	})
	return form[string]{filled.shape, func(w *walker, n *node) (string, bool) {
		s, ok := filled.read(w, n)
		if ok && (s == "" || n.boolean) {
			w.reject(n.pos, "no-reason", quote(n.text), diag.Code(strconv.Quote(example)))
			return "", false
		}
		return s, ok
	}}
}

// boolean is the form of true and false; it rejects YAML's other spellings.
var boolean = form[bool]{shape{kind: shapeBool, what: "true or false"}, func(w *walker, n *node) (bool, bool) {
	if n.plain && (n.text == "true" || n.text == "false") {
		return n.text == "true", true
	}
	hint := "write true or false"
	switch s := strings.ToLower(n.text); {
	case n.kind != scalar:
	case slices.Contains([]string{"true", "yes", "y", "on", "1"}, s):
		hint = "write `true`, without quotes"
	case slices.Contains([]string{"false", "no", "n", "off", "0"}, s):
		hint = "write `false`, without quotes"
	}
	w.want(n, "true or false", hint)
	return false, false
}}

// integerText is the syntax of integers. Leading zeros are excluded, since some YAML
// parsers read them as octal.
var integerText = regexp.MustCompile(`^-?(0|[1-9][0-9]*(_[0-9]+)*)$`)

// isNumber reports whether a node is a number with the given syntax and without quotes. If not, it adds an
// error with the hint.
func (w *walker) isNumber(n *node, syntax *regexp.Regexp, what, hint string) bool {
	switch ok := n.kind == scalar && syntax.MatchString(n.text) && len(n.text) <= maxNumber; {
	case ok && n.plain:
		return true
	case ok:
		hint = "write " + diag.Code(n.text) + ", without quotes"
	}
	w.want(n, what, hint)
	return false
}

// maxNumber is the maximum length of a number, in bytes.
const maxNumber = 400

// whole returns the form of an integer from least to most.
func whole(least, most *big.Int) form[*big.Int] {
	what := fmt.Sprintf("an integer from %v to %v", least, most)
	s := shape{kind: shapeInteger, what: what, min: json.Number(least.String()), max: json.Number(most.String())}
	return form[*big.Int]{s, func(w *walker, n *node) (*big.Int, bool) {
		if !w.isNumber(n, integerText, what, repairWhole(n.text, least, most)) {
			return nil, false
		}
		v, ok := new(big.Int).SetString(n.text, 0)
		if !ok || v.Cmp(least) < 0 || v.Cmp(most) > 0 {
			w.want(n, what, "")
			return nil, false
		}
		return v, true
	}}
}

// scaledNumber is the syntax of a number with a unit such as k, MB or g.
var scaledNumber = regexp.MustCompile(`^((?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,18})?)\s?([kKmMgG]?)[bB]?$`)

// repairWhole returns the hint for a scaled number, with the integer that it means if that
// is in the range, or "" for anything else.
func repairWhole(text string, least, most *big.Int) string {
	m := scaledNumber.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	sum, _ := new(big.Rat).SetString(m[1]) // it is one
	thousands := map[string]int64{"": 0, "k": 1, "m": 2, "g": 3}[strings.ToLower(m[2])]
	sum.Mul(sum, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(1000), big.NewInt(thousands), nil)))
	if !sum.IsInt() || sum.Num().Cmp(least) < 0 || sum.Num().Cmp(most) > 0 {
		return "write an integer"
	}
	return fmt.Sprintf("write an integer, such as `%v`", sum.Num())
}

// integer returns the form of an integer from least to most.
func integer[V int | int64](least, most V) form[V] {
	f := whole(big.NewInt(int64(least)), big.NewInt(int64(most)))
	return form[V]{f.shape, func(w *walker, n *node) (V, bool) {
		v, ok := f.read(w, n)
		if !ok {
			return 0, false
		}
		return V(v.Int64()), true
	}}
}

// unsigned returns the form of an unsigned integer with the given number of bits.
func unsigned(bits uint) form[uint64] {
	f := whole(new(big.Int), new(big.Int).SetUint64(1<<bits-1))
	return form[uint64]{f.shape, func(w *walker, n *node) (uint64, bool) {
		v, ok := f.read(w, n)
		if !ok {
			return 0, false
		}
		return v.Uint64(), true
	}}
}

var floatText = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// float returns the form of a finite floating-point number with 32 or 64 bits.
func float(bits int) form[float64] {
	what := fmt.Sprintf("a finite %d-bit number", bits)
	s := shape{kind: shapeNumber, what: what}
	if bits == 32 { // the largest that rounds to a finite 32-bit number; JSON parsers limit 64-bit numbers themselves
		s.max = json.Number(strconv.FormatFloat(math.Nextafter(1<<128-1<<103, 0), 'e', -1, 64))
		s.min = "-" + s.max
	}
	return form[float64]{s, func(w *walker, n *node) (float64, bool) {
		if !w.isNumber(n, floatText, what, "write a number such as 1, 9.5 or 1e3") {
			return 0, false
		}
		if _, err := strconv.ParseFloat(n.text, bits); err != nil {
			w.reject(n.pos, "wide-number", quote(n.text), bits)
			return 0, false
		}
		v, err := strconv.ParseFloat(n.text, 64)
		return v, err == nil
	}}
}

// number returns the form of a number from least to most.
func number(least, most float64) form[float64] {
	what := fmt.Sprintf("a number from %v to %v", least, most)
	s := shape{kind: shapeNumber, what: what, min: json.Number(fmt.Sprint(least)), max: json.Number(fmt.Sprint(most))}
	return form[float64]{s, func(w *walker, n *node) (float64, bool) {
		if !w.isNumber(n, floatText, what, "write a number, such as 0.9") {
			return 0, false
		}
		v, err := strconv.ParseFloat(n.text, 64)
		if err != nil || !(v >= least && v <= most) {
			w.want(n, what, "")
			return 0, false
		}
		return v, true
	}}
}

// lazy returns a form that f creates on use, so that forms can contain themselves.
func lazy[V any](what string, f func() form[V]) form[V] {
	s := shape{kind: shapeLazy, what: what, item: func() shape { return f().shape }}
	return form[V]{s, func(w *walker, n *node) (V, bool) { return f().read(w, n) }}
}
