package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	write func(v V) string // the value in the language; nil for valueText
}

// text returns a value in the language.
func (f form[V]) text(v V) string {
	if f.write == nil {
		return valueText(v)
	}
	return f.write(v)
}

// shape describes a form for documentation, formatting and the JSON Schema.
type shape struct {
	kind    shapeKind
	what    string             // with its article, such as "a duration"
	example string             // hint if the value is something else; may be empty
	json    jsonSchema         // what the kind does not say
	syntax  []string           // of shapeText: regular expressions, all of which a string must match
	name    *shape             // keys of an open mapping
	item    func() shape       // items of a list, or values of an open mapping
	keys    func() []keyShape  // of a closed mapping
	cases   func() []caseShape // of a closed mapping; may be nil
	either  []shape            // the alternatives of shapeEither
}

type shapeKind int

// The kinds of shapes.
const (
	shapeText   shapeKind = iota // a string, or any scalar
	shapeScalar                  // a scalar that json describes
	shapeList                    // of item
	shapeOpen                    // a mapping from names to item
	shapeClosed                  // a mapping with keys
	shapeEither                  // one of either
	shapeLazy                    // item, which may contain this shape
	shapeNever                   // no value: the key is not allowed
)

// oneOfWords is the JSON Schema of words.
func oneOfWords(words ...string) jsonSchema { return jsonSchema{Type: "string", Enum: words} }

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
	instead func(n *node) string             // hints for values that are no mappings; may be nil, and return ""
	foreign func(name string) (string, bool) // hints for keys of other variants; may be nil
	cases   func() []caseShape               // what check requires, for the JSON Schema; may be nil
	begin   func(pos diag.Pos, t *T)         // called before the keys are read; may be nil
	check   func(w *walker, n *node, t *T)   // called after the keys are read; may be nil
}

// key is one key of a block.
type key[T any] struct {
	name     string
	required bool
	shape    shape
	read     func(w *walker, n *node, into *T)
	has      func(t *T) bool      // whether the value is set
	text     func(t *T) string    // the value in the language
	propose  func(n *node) string // the entry to add to a mapping that lacks it, or ""; may be nil
	typed    bool                 // the value of a field's key is of its type
	types    func(t Type) bool    // of fields that may have the key; nil for all
	misfit   string               // the message for others
}

// set returns a key whose value is stored at the given place of T.
func set[T, V any](name string, f form[V], at func(*T) *V) key[T] {
	read := func(w *walker, n *node, into *T) {
		if v, ok := f.read(w, n); ok {
			*at(into) = v
		}
	}
	has := func(t *T) bool {
		v := reflect.ValueOf(at(t)).Elem()
		return !v.IsZero() && (v.Kind() != reflect.Slice || v.Len() > 0)
	}
	return key[T]{name: name, shape: f.shape, read: read, has: has, text: func(t *T) string { return f.text(*at(t)) }}
}

// put is set for a value with its position.
func put[T, V any](name string, f form[V], at func(*T) *Value[V]) key[T] {
	k := set(name, located(f), at)
	k.has = func(t *T) bool { return at(t).IsSet() }
	return k
}

// inline returns a key whose mapping is read into T itself.
func inline[T any](name string, b block[T]) key[T] {
	return key[T]{name: name, shape: b.shape(), read: b.read, has: func(*T) bool { return false }, text: b.text}
}

// constant returns a key with only one value, which is not stored.
func constant[T, V any](name string, f form[V], v V) key[T] {
	k := set(name, f, func(*T) *V { return new(V) })
	k.text = func(*T) string { return f.text(v) }
	return must(k)
}

// inCheck returns k without a read: the check of the block reads the value.
func (k key[T]) inCheck() key[T] {
	k.read = func(*walker, *node, *T) {}
	return k
}

// ofTypes returns k for fields of some types, with a message for others.
func (k key[T]) ofTypes(types func(t Type) bool, misfit string) key[T] {
	k.types, k.misfit = types, misfit
	return k
}

// fits reports whether a field of a type may have the key.
func (k key[T]) fits(t Type) bool { return k.types == nil || k.types(t) }

// must returns k as a required key.
func must[T any](k key[T]) key[T] {
	k.required = true
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
	doc, _ := guideOf(what).key(k.name)
	return k.name + ": " + doc
}

// or returns k for scalars, and another key for other values.
func (k key[T]) or(other key[T]) key[T] {
	read, text := k.read, k.text
	k.shape = shape{kind: shapeEither, what: k.shape.what, either: []shape{k.shape, other.shape}}
	k.read = func(w *walker, n *node, into *T) {
		if n.kind == scalar {
			read(w, n, into)
		} else {
			other.read(w, n, into)
		}
	}
	has := k.has
	k.has = func(t *T) bool { return has(t) || other.has(t) }
	k.text = func(t *T) string {
		if other.has(t) {
			return other.text(t)
		}
		return text(t)
	}
	return k
}

// insteadOf reports a value that is not a mapping, with the hint of instead, or else of language.txt.
func (w *walker) insteadOf(n *node, what string, instead func(n *node) string) {
	hint := ""
	if instead != nil {
		hint = instead(n)
	}
	w.want(n, what, cmp.Or(hint, guideOf(what).example))
}

// shape returns the shape of the block.
func (b block[T]) shape() shape {
	return shape{kind: shapeClosed, what: b.what, cases: b.cases, keys: sync.OnceValue(func() []keyShape {
		var keys []keyShape
		for _, k := range b.keys {
			doc, more := guideOf(b.what).key(k.name)
			keys = append(keys, keyShape{k.name, doc, more, k.required, k.shape})
		}
		return keys
	})}
}

// text returns t in the language: a mapping of the keys that are set.
func (b block[T]) text(t *T) string { return "{" + strings.Join(b.entries(t), ", ") + "}" }

// entries returns the keys of t that are set and their values in the language.
func (b block[T]) entries(t *T) []string {
	var out []string
	for _, k := range b.keys {
		if k.required || k.has(t) {
			out = append(out, k.name+": "+k.text(t))
		}
	}
	return out
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
		w.insteadOf(n, b.what, b.instead)
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
	}, func(t T) string { return b.text(&t) }}
}

// short returns the form of a block whose mapping with a single key may be written as the value of that key.
func short[T any](b block[T], name string) form[T] {
	k, _ := b.key(name)
	alone := form[T]{k.shape, func(w *walker, n *node) (t T, ok bool) {
		b.read(w, &node{kind: mapping, pos: n.pos, entries: []entry{{&node{kind: scalar, pos: n.pos, text: name}, n}}}, &t)
		return t, true
	}, func(t T) string { return k.text(&t) }}
	return either(scalar, alone, record(b), func(t T) bool { return len(b.entries(&t)) == 1 && (k.required || k.has(&t)) })
}

// either returns the form of nodes of a kind, such as a scalar, or else of something longer. is reports whether a value is one of
// the former.
func either[T any](kind nodeKind, alone, long form[T], is func(t T) bool) form[T] {
	s := shape{kind: shapeEither, what: long.shape.what, either: []shape{alone.shape, long.shape}}
	return form[T]{s, func(w *walker, n *node) (T, bool) {
		if n.kind == kind {
			return alone.read(w, n)
		}
		return long.read(w, n)
	}, func(t T) string {
		if is(t) {
			return alone.text(t)
		}
		return long.text(t)
	}}
}

// union is a mapping that is one of several blocks, identified by the first key of the
// block.
type union[T any] struct {
	what     string                             // with its article, such as "a key segment"; language.txt describes it
	instead  func(n *node) string               // as in block
	both     func(n *node) string               // hint if the value has the first keys of two blocks
	begin    func(pos diag.Pos, kind int, t *T) // kind is the index of the block
	kind     func(t T) int
	variants []block[T]
}

// form returns the form of the union.
func (u union[T]) form() form[T] {
	s := shape{kind: shapeEither, what: u.what}
	for _, v := range u.variants {
		s.either = append(s.either, v.shape())
	}
	return form[T]{s, u.read, func(t T) string { return u.variants[u.kind(t)].text(&t) }}
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
		w.insteadOf(n, u.what, u.instead)
		return t, false
	}
	chosen, kinds := -1, u.kinds()
	for _, e := range n.entries {
		i := slices.Index(kinds, e.key.text)
		if i < 0 {
			continue
		}
		if chosen >= 0 {
			at, way := u.meant(w, n, e.key.pos, u.variants[chosen], u.variants[i])
			w.reject(at, "two-kinds", u.what, kinds[chosen], e.key.text, way)
			return t, false
		}
		chosen = i
	}
	if chosen < 0 {
		u.none(w, n)
		return t, false
	}
	u.begin(n.pos, chosen, &t)
	u.variant(chosen).read(w, n, &t)
	return t, n.entry(kinds[chosen]).kind != broken
}

// meant returns the place of the second one of the first keys of two variants, and a hint: if one of them may be a
// misspelling, its place.
func (u union[T]) meant(w *walker, n *node, second diag.Pos, of ...block[T]) (at diag.Pos, hint string) {
	for _, b := range of {
		others := slices.DeleteFunc(b.names(), func(name string) bool { return n.entry(name) != nil })
		for _, e := range n.entries {
			if near, ok := w.nearest(e.key.text, others); ok && slices.Contains(u.kinds(), e.key.text) {
				return e.key.pos, "did you mean " + diag.Code(near) + "?"
			}
		}
	}
	return second, u.both(n)
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
	return f.unless(func(w *walker, n *node) bool {
		if n.kind == mapping {
			return false
		}
		hint := instead(n)
		if hint != "" {
			w.want(n, f.shape.what, hint)
		}
		return hint != ""
	})
}

// unless returns f without the values that refuse reports; it says whether it has.
func (f form[V]) unless(refuse func(w *walker, n *node) bool) form[V] {
	read := f.read
	f.read = func(w *walker, n *node) (v V, ok bool) {
		if refuse(w, n) {
			return v, false
		}
		return read(w, n)
	}
	return f
}

// checked returns f with a further check of its values, which returns what remains of them.
func (f form[V]) checked(check func(w *walker, n *node, v V) (V, bool)) form[V] {
	read := f.read
	f.read = func(w *walker, n *node) (V, bool) {
		v, ok := read(w, n)
		if ok {
			v, ok = check(w, n, v)
		}
		return v, ok
	}
	return f
}

// like returns f with its shape modified.
func (f form[V]) like(more func(*shape)) form[V] {
	more(&f.shape)
	return f
}

// as returns a form with the values of f in a T.
func as[V, T any](f form[V], to func(v V, pos diag.Pos) T, from func(t T) V) form[T] {
	return form[T]{f.shape, func(w *walker, n *node) (t T, ok bool) {
		v, ok := f.read(w, n)
		if ok {
			t = to(v, n.pos)
		}
		return t, ok
	}, func(t T) string { return f.text(from(t)) }}
}

// located returns f with the position of the value.
func located[V any](f form[V]) form[Value[V]] {
	return as(f, func(v V, pos diag.Pos) Value[V] { return Value[V]{v, pos} }, func(v Value[V]) V { return v.V })
}

// in returns f with its values at a place of an otherwise empty T.
func in[T, V any](f form[V], at func(*T) *Value[V]) form[T] {
	return as(f, func(v V, pos diag.Pos) (t T) {
		*at(&t) = Value[V]{v, pos}
		return t
	}, func(t T) V { return at(&t).V })
}

// pointer returns f with a pointer to its value, for values that may be missing.
func pointer[V any](f form[V]) form[*V] {
	return as(f, func(v V, _ diag.Pos) *V { return &v }, func(v *V) V { return *v })
}

// boxed returns f with its value as an any.
func boxed[V any](f form[V]) form[any] {
	out := as(f, func(v V, _ diag.Pos) any { return v }, func(any) (v V) { return v })
	out.write = nil
	return out
}

// listOf returns the form of a non-empty list.
func listOf[V any](what, example string, item form[V]) form[[]V] {
	s := shape{kind: shapeList, what: what, json: jsonSchema{MinItems: 1}, item: func() shape { return item.shape }}
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
	}, func(values []V) string {
		var out []string
		for _, v := range values {
			out = append(out, item.text(v))
		}
		return "[" + strings.Join(out, ", ") + "]"
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
	f.shape.json.UniqueItems = true
	return f.checked(func(w *walker, _ *node, all []Value[string]) ([]Value[string], bool) {
		seen := map[string]bool{}
		return slices.DeleteFunc(all, func(v Value[string]) bool {
			again := seen[v.V]
			if again {
				w.reject(v.Pos, "listed-twice", quote(v.V))
			}
			seen[v.V] = true
			return again
		}), true
	})
}

// named returns the form of a mapping from names to values, in the order of the file. An
// entry that cannot be read keeps its name, so that references to it are not errors too.
func named[V any](what, example string, name form[string], item form[V], at func(*V) *Value[string]) form[[]V] {
	s := shape{kind: shapeOpen, what: what, json: jsonSchema{MinProperties: 1}, name: &name.shape, item: func() shape { return item.shape }}
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
	}, func(values []V) string {
		var out []string
		for i := range values {
			out = append(out, name.text(at(&values[i]).V)+": "+item.text(values[i]))
		}
		return "{" + strings.Join(out, ", ") + "}"
	}}
}

// word returns the form of one of several words. language.txt has the hints for wrong words; others are those of more, if it
// returns one.
func word(what string, all []string, more ...func(text string) string) form[string] {
	s := shape{kind: shapeScalar, what: words.WithArticle(what), json: oneOfWords(all...)}
	return form[string]{shape: s, read: func(w *walker, n *node) (string, bool) {
		switch {
		case n.kind != scalar:
			w.want(n, s.what, "one of "+oneOf(all))
			return "", false
		case slices.Contains(all, n.text):
			return n.text, true
		}
		d := w.errorf(n.pos, "unknown %s %s", what, quote(n.text))
		known := wordHint(s.what, n.text)
		for _, hint := range more {
			known.hint = cmp.Or(known.hint, hint(n.text))
		}
		switch d.Rule = known.rule; {
		case known.hint != "":
			d.Hint = known.hint
		case len(all) == 1:
			d.Hint = "write " + diag.Code(all[0])
		default:
			d.Hint = w.suggestWord(n.text, all)
		}
		return "", false
	}}
}

// wordHint returns what language.txt says to write instead of a word.
func wordHint(what, text string) elsewhere {
	return guideOf(what).elsewhere[strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), " ", "_")]
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
	return form[V]{shape: shape{kind: shapeText, what: what, example: example}, read: func(w *walker, n *node) (v V, ok bool) {
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
	}).like(func(s *shape) { s.json.MinLength = 1 })
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
	return prose(what).like(func(s *shape) {
		s.syntax = append(s.syntax, `\S`)
		s.json.Not = &jsonSchema{Type: "boolean"}
	}).unless(func(w *walker, n *node) bool {
		empty := n.kind == scalar && (strings.TrimSpace(n.text) == "" || n.boolean)
		if empty {
			w.reject(n.pos, "no-reason", quote(n.text), diag.Code(strconv.Quote(example)))
		}
		return empty
	})
}

// boolean is the form of true and false; it rejects YAML's other spellings.
var boolean = form[bool]{shape: shape{kind: shapeScalar, what: "true or false", json: jsonSchema{Type: "boolean"}}, read: func(w *walker, n *node) (bool, bool) {
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
	s := shape{kind: shapeScalar, what: what, json: jsonSchema{
		Type: []string{"integer", "string"}, Minimum: json.Number(least.String()), Maximum: json.Number(most.String()),
		Pattern: "^-?[1-9][0-9]*(_[0-9]+)+$", PatternMessage: "expected " + what, // YAML 1.2 parsers read a number with underscores as a string
	}}
	return form[*big.Int]{shape: s, read: func(w *walker, n *node) (*big.Int, bool) {
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
	return as(whole(big.NewInt(int64(least)), big.NewInt(int64(most))),
		func(v *big.Int, _ diag.Pos) V { return V(v.Int64()) }, func(v V) *big.Int { return big.NewInt(int64(v)) })
}

// unsigned returns the form of an unsigned integer with the given number of bits.
func unsigned(bits uint) form[uint64] {
	return as(whole(new(big.Int), new(big.Int).SetUint64(1<<bits-1)),
		func(v *big.Int, _ diag.Pos) uint64 { return v.Uint64() }, func(v uint64) *big.Int { return new(big.Int).SetUint64(v) })
}

var floatText = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// decimal returns the form of a number that fits, and a hint for what is none.
func decimal(s shape, hint string, fits func(w *walker, n *node, v float64) bool) form[float64] {
	s.kind, s.json.Type = shapeScalar, "number"
	return form[float64]{shape: s, read: func(w *walker, n *node) (float64, bool) {
		if !w.isNumber(n, floatText, s.what, hint) {
			return 0, false
		}
		v, _ := strconv.ParseFloat(n.text, 64) // infinite if it is too large
		return v, fits(w, n, v)
	}}
}

// float returns the form of a finite floating-point number with 32 or 64 bits.
func float(bits int) form[float64] {
	s := shape{what: fmt.Sprintf("a finite %d-bit number", bits)}
	if bits == 32 { // the largest that rounds to a finite 32-bit number; JSON parsers limit 64-bit numbers themselves
		s.json.Maximum = json.Number(strconv.FormatFloat(math.Nextafter(1<<128-1<<103, 0), 'e', -1, 64))
		s.json.Minimum = "-" + s.json.Maximum
	}
	return decimal(s, "write a number such as 1, 9.5 or 1e3", func(w *walker, n *node, _ float64) bool {
		_, err := strconv.ParseFloat(n.text, bits)
		if err != nil {
			w.reject(n.pos, "wide-number", quote(n.text), bits)
		}
		return err == nil
	})
}

// number returns the form of a number from least to most.
func number(least, most float64) form[float64] {
	what := fmt.Sprintf("a number from %v to %v", least, most)
	s := shape{what: what, json: jsonSchema{Minimum: json.Number(fmt.Sprint(least)), Maximum: json.Number(fmt.Sprint(most))}}
	return decimal(s, "write a number, such as 0.9", func(w *walker, n *node, v float64) bool {
		fits := v >= least && v <= most
		if !fits {
			w.want(n, what, "")
		}
		return fits
	})
}

// lazy returns a form that f creates on use, so that forms can contain themselves.
func lazy[V any](what string, f func() form[V]) form[V] {
	s := shape{kind: shapeLazy, what: what, item: func() shape { return f().shape }}
	return form[V]{s, func(w *walker, n *node) (V, bool) { return f().read(w, n) }, func(v V) string { return f().text(v) }}
}
