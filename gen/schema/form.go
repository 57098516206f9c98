package schema

import (
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
)

// The language is described by tables: a block lists the keys of a mapping, and
// every key has a form, which says what may stand behind it and how that is
// read. The tables are in language.go, key.go and ttl.go; this file is what
// they are made of.

// form is what may stand behind a key or in a list. read reports whether there
// is a value; where there is none, it has said why. It is never called with a
// broken node.
type form[V any] struct {
	shape shape
	read  func(w *walker, n *node) (V, bool)
}

// shape describes a form for those who do not read but document.
type shape struct {
	kind     shapeKind
	what     string             // in words, such as "a duration"
	example  string             // what to write, where there is something else; may be empty
	words    []string           // of an enumeration; of true or false, if only one of them can be
	syntax   []string           // regular expressions that a text matches, each of them
	format   string             // of a text, as JSON Schema calls it: date or date-time
	not      []shape            // what it cannot be, though it looks so
	least    int                // characters of a text, or entries of a list
	most     int                // characters of a text; 0 for any number
	min, max json.Number        // of a number; may be empty
	distinct bool               // a list without repetitions
	name     *shape             // of the names in an open mapping
	item     func() shape       // of a list, and of the values of an open mapping
	keys     func() []keyShape  // of a closed mapping
	cases    func() []caseShape // of a closed mapping; may be nil
	either   []shape            // of a choice
}

type shapeKind int

// The kinds of shapes.
const (
	shapeText    shapeKind = iota // any text that reads as what
	shapeWord                     // one of words
	shapeBool                     // true or false
	shapeInteger                  // from min to max
	shapeNumber                   // the same, and may have a fraction
	shapeScalar                   // any scalar
	shapeList                     // of item
	shapeOpen                     // a mapping from names to item
	shapeClosed                   // a mapping with keys
	shapeEither                   // one of either
	shapeLazy                     // item, which may contain this shape again
	shapeNever                    // nothing: the key cannot be there
)

// keyShape describes a key of a closed mapping.
type keyShape struct {
	name     string
	doc      string
	more     string
	required bool
	shape    shape
}

// caseShape says what keys of a closed mapping are, where the key has the value.
type caseShape struct {
	key   string
	value any
	keys  []keyShape
}

// block is a mapping with a fixed set of keys.
type block[T any] struct {
	what      string // with its article, such as "a table"
	example   string // what to write, where there is no mapping
	keys      []key[T]
	elsewhere map[string]string                // keys that people look for here, and the hint for each
	foreign   func(name string) (string, bool) // the same for keys of other variants; may be nil
	cases     func() []caseShape               // what check says of a key and another; may be nil
	begin     func(pos diag.Pos, t *T)         // called first; may be nil
	check     func(w *walker, n *node, t *T)   // called last; may be nil
}

// key is one key of a block.
type key[T any] struct {
	name     string
	doc      string // for people who write schemas
	more     string // the rest of what an editor shows: the range, the default, an example
	required bool
	shape    shape
	read     func(w *walker, n *node, into *T)
}

// set returns a key whose value is stored at a place of T.
func set[T, V any](name, doc string, f form[V], at func(*T) *V) key[T] {
	read := func(w *walker, n *node, into *T) {
		if v, ok := f.read(w, n); ok {
			*at(into) = v
		}
	}
	return key[T]{name: name, doc: doc, shape: f.shape, read: read}
}

// put is set for a value that keeps its position.
func put[T, V any](name, doc string, f form[V], at func(*T) *Value[V]) key[T] {
	return set(name, doc, located(f), at)
}

// inline returns a key whose mapping is part of T itself.
func inline[T any](name, doc string, b block[T]) key[T] {
	return key[T]{name: name, doc: doc, shape: b.shape(), read: b.read}
}

// must returns k as a key that cannot be left out.
func must[T any](k key[T]) key[T] {
	k.required = true
	return k
}

// also returns k with more to show in an editor, in whole sentences.
func (k key[T]) also(more string) key[T] {
	k.more = more
	return k
}

// shape describes the block.
func (b block[T]) shape() shape {
	return shape{kind: shapeClosed, what: b.what, example: b.example, cases: b.cases, keys: func() []keyShape {
		var keys []keyShape
		for _, k := range b.keys {
			keys = append(keys, keyShape{k.name, k.doc, k.more, k.required, k.shape})
		}
		return keys
	}}
}

// names returns the keys of the block.
func (b block[T]) names() []string {
	names := make([]string, len(b.keys))
	for i, k := range b.keys {
		names[i] = k.name
	}
	return names
}

// key returns the key with a name.
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
		w.want(n, b.what, b.example)
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
			w.errorf(n.pos, "%s needs the key %q", b.what, k.name).Hint = k.name + ": " + k.doc
		}
	}
	if b.check != nil {
		b.check(w, n, into)
	}
}

// unknown reports a key that the block does not have. It returns the key that
// was probably meant, which is then not missing as well.
func (b block[T]) unknown(w *walker, n, k *node) string {
	d := w.errorf(k.pos, "unknown key %s in %s", quote(k.text), b.what)
	meant := ""
	if hint, ok := b.hint(k.text); ok {
		d.Hint = hint
		meant = strings.TrimSuffix(strings.TrimPrefix(hint, "write `"), "`")
	} else {
		meant, _ = w.nearest(k.text, b.names())
		d.Hint = w.suggest(k.text, b.names(), "the keys are ")
	}
	if meant != "" && n.entry(meant) != nil {
		d.Hint = "leave it out: " + meant + " is here already"
	}
	return meant
}

// hint returns what to write instead of a key that belongs somewhere else.
func (b block[T]) hint(name string) (string, bool) {
	if hint, ok := b.elsewhere[name]; ok {
		return hint, true
	}
	if b.foreign != nil {
		return b.foreign(name)
	}
	return "", false
}

// record returns the form of a mapping that is a T.
func record[T any](b block[T]) form[T] {
	return form[T]{b.shape(), func(w *walker, n *node) (t T, ok bool) {
		b.read(w, n, &t)
		return t, n.kind == mapping
	}}
}

// short returns the form that is long, or a scalar that stands for the whole.
func short[T any](scalarShape shape, fromScalar func(w *walker, n *node) (T, bool), long form[T]) form[T] {
	s := shape{kind: shapeEither, what: long.shape.what, either: []shape{scalarShape, long.shape}}
	return form[T]{s, func(w *walker, n *node) (T, bool) {
		if n.kind == scalar {
			return fromScalar(w, n)
		}
		return long.read(w, n)
	}}
}

// union is a mapping that is one of several: which one, the first key of a
// block tells.
type union[T any] struct {
	what      string               // with its article, such as "a key segment"
	example   string               // what to write, where there is no mapping
	both      func(n *node) string // what to write, where there are two in one
	elsewhere map[string]string
	variants  []block[T]
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
		w.want(n, u.what, u.example)
		return t, false
	}
	chosen, kinds := -1, u.kinds()
	for _, e := range n.entries {
		i := slices.Index(kinds, e.key.text)
		if i < 0 {
			continue
		}
		if chosen >= 0 {
			w.errorf(e.key.pos, "%s is either %q or %q, not both", u.what, kinds[chosen], e.key.text).Hint = u.both(n)
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

// variant returns a block that knows which keys belong to the others.
func (u union[T]) variant(chosen int) block[T] {
	b := u.variants[chosen]
	b.foreign = func(name string) (hint string, ok bool) {
		var kinds []string
		for i, other := range u.variants {
			if _, ok := other.key(name); ok {
				kinds = append(kinds, u.kinds()[i])
			}
		}
		return fmt.Sprintf("%q goes with %s", name, strings.Join(kinds, ", ")), len(kinds) > 0
	}
	return b
}

// none reports a mapping that is none of the variants.
func (u union[T]) none(w *walker, n *node) {
	for _, e := range n.entries {
		if hint, ok := u.elsewhere[e.key.text]; ok {
			w.errorf(e.key.pos, "unknown key %s in %s", quote(e.key.text), u.what).Hint = hint
			return
		}
	}
	for _, e := range n.entries {
		if !slices.ContainsFunc(u.variants, func(b block[T]) bool { _, ok := b.key(e.key.text); return ok }) {
			w.errorf(e.key.pos, "unknown key %s in %s", quote(e.key.text), u.what).Hint = w.suggest(e.key.text, u.kinds(), "one of ")
			return
		}
	}
	w.errorf(n.pos, "%s needs one of the keys %s", u.what, oneOf(u.kinds())).Hint = u.example
}

// like returns f with more said of its shape.
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

// pointer returns f as a pointer, for what may be missing.
func pointer[V any](f form[V]) form[*V] {
	return form[*V]{f.shape, func(w *walker, n *node) (*V, bool) {
		v, ok := f.read(w, n)
		return &v, ok
	}}
}

// boxed returns f as a value of any type.
func boxed[V any](f form[V]) form[any] {
	return form[any]{f.shape, func(w *walker, n *node) (any, bool) {
		v, ok := f.read(w, n)
		return v, ok
	}}
}

// listOf returns the form of a list that is not empty.
func listOf[V any](what, example string, item form[V]) form[[]V] {
	s := shape{kind: shapeList, what: what, least: 1, item: func() shape { return item.shape }}
	return form[[]V]{s, func(w *walker, n *node) ([]V, bool) {
		if n.kind != list || len(n.items) == 0 {
			w.wantSome(n, what, example)
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

// wantSome is want for a list or a mapping that may not be empty.
func (w *walker) wantSome(n *node, what, hint string) {
	if n.kind == scalar || len(n.items)+len(n.entries) > 0 {
		w.want(n, what, hint)
	} else {
		w.errorf(n.pos, "expected %s, found nothing in it", what).Hint = hint
	}
}

// distinct returns f without repetitions, which are errors.
func distinct(f form[[]Value[string]]) form[[]Value[string]] {
	f.shape.distinct = true
	return form[[]Value[string]]{f.shape, func(w *walker, n *node) ([]Value[string], bool) {
		all, ok := f.read(w, n)
		seen := map[string]bool{}
		kept := all[:0]
		for _, v := range all {
			if seen[v.V] {
				w.errorf(v.Pos, "%s is here twice", quote(v.V)).Hint = "remove one"
				continue
			}
			seen[v.V] = true
			kept = append(kept, v)
		}
		return kept, ok
	}}
}

// named returns the form of a mapping from names to values, which keeps the
// order of the file. An entry that cannot be read is kept by its name, so that
// whoever refers to it is not wrong as well.
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

// word returns the form of one of several words. Synonyms are words that
// people bring from elsewhere, with the right one for each.
func word(what string, words []string, synonyms map[string]string) form[string] {
	return hintedWord(what, words, func(text string) string {
		if right := synonyms[strings.ToLower(text)]; right != "" {
			return "write " + diag.Code(right)
		}
		return ""
	})
}

// hintedWord is word with a function that says what to write instead of another
// text; nothing if it does not know.
func hintedWord(what string, words []string, hint func(text string) string) form[string] {
	s := shape{kind: shapeWord, what: "a " + what, words: words}
	return form[string]{s, func(w *walker, n *node) (string, bool) {
		switch {
		case n.kind != scalar:
			w.want(n, "a "+what, "one of "+oneOf(words))
		case slices.Contains(words, n.text):
			return n.text, true
		default:
			d := w.errorf(n.pos, "unknown %s %s", what, quote(n.text))
			switch known := hint(n.text); {
			case known != "":
				d.Hint = known
			case len(words) == 1:
				d.Hint = "write " + diag.Code(words[0])
			default:
				d.Hint = w.suggestWord(n.text, words)
			}
		}
		return "", false
	}}
}

// suggestWord is suggest for one of several words, of which people may know the end.
func (w *walker) suggestWord(text string, words []string) string {
	var ends []string
	for _, word := range words {
		if text != "" && strings.HasSuffix(word, "_"+strings.ToLower(text)) {
			ends = append(ends, diag.Code(word))
		}
	}
	if len(ends) == 0 {
		return w.suggest(text, words, "one of ")
	}
	return "did you mean " + strings.Join(ends, " or ") + "?"
}

// parsed returns the form of a text that has a syntax of its own.
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

// text is any text, which may be empty.
func text(what string) form[string] {
	return parsed(what, "write one text", func(s string) (string, error) { return s, nil })
}

// filled is any text that is not empty.
func filled(what string) form[string] {
	return parsed(what, "write one text", func(s string) (string, error) {
		if s == "" {
			return "", &problem{what + " cannot be empty", "write one, or leave the key out"}
		}
		return s, nil
	}).like(func(s *shape) { s.least = 1 })
}

// noControls is a text without control characters but for line breaks and tabs.
const noControls = "^[^\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\u2028\u2029]*$"

// prose is a text for people: it ends up in comments.
func prose(what string) form[string] {
	return parsed(what, "write one text", func(s string) (string, error) {
		s = strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n"))
		for _, r := range s {
			if unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\u2028' || r == '\u2029' {
				return "", &problem{fmt.Sprintf("%s cannot contain the control character %U", what, r), "remove it"}
			}
		}
		return s, nil
	}).like(func(s *shape) { s.syntax = []string{noControls} })
}

// reason is why something is allowed that btgen advises against.
func reason(what, example string) form[string] {
	filled := prose(what).like(func(s *shape) {
		s.syntax = append(s.syntax, `\S`)
		s.not = []shape{boolean.shape}
	})
	return form[string]{filled.shape, func(w *walker, n *node) (string, bool) {
		s, ok := filled.read(w, n)
		if ok && (s == "" || n.boolean) {
			w.errorf(n.pos, "%s has to say why", what).Hint = "write the reason in quotes, such as " + diag.Code(strconv.Quote(example))
			return "", false
		}
		return s, ok
	}}
}

// boolean is true or false, and nothing else that YAML has for them.
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

// integerText is how whole numbers are written: a leading zero would be octal
// to some readers of YAML.
var integerText = regexp.MustCompile(`^-?(0|[1-9][0-9]*(_[0-9]+)*)$`)

// whole returns the form of a whole number in a range.
func whole(least, most *big.Int) form[*big.Int] {
	what := fmt.Sprintf("a whole number from %v to %v", least, most)
	s := shape{kind: shapeInteger, what: what, min: json.Number(least.String()), max: json.Number(most.String())}
	return form[*big.Int]{s, func(w *walker, n *node) (*big.Int, bool) {
		if n.kind != scalar || !integerText.MatchString(n.text) || len(n.text) > 40 {
			w.want(n, what, repairWhole(n.text, least, most))
			return nil, false
		}
		if !n.plain {
			w.want(n, what, "write the number without quotes")
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

// scaledNumber is a number with a unit of sizes, or of thousands.
var scaledNumber = regexp.MustCompile(`^((?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,18})?)\s?([kKmMgG]?)[bB]?$`)

// repairWhole returns the hint for what was probably meant as a whole number of the
// range; empty if there is none.
func repairWhole(text string, least, most *big.Int) string {
	m := scaledNumber.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	sum, _ := new(big.Rat).SetString(m[1]) // it is one
	thousands := map[string]int64{"": 0, "k": 1, "m": 2, "g": 3}[strings.ToLower(m[2])]
	sum.Mul(sum, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(1000), big.NewInt(thousands), nil)))
	if !sum.IsInt() || sum.Num().Cmp(least) < 0 || sum.Num().Cmp(most) > 0 {
		return "write a whole number"
	}
	return fmt.Sprintf("write a whole number, such as `%v`", sum.Num())
}

// integer returns the form of a whole number in a range.
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

// unsigned returns the form of a whole number of so many bits.
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

// float returns the form of a finite number of so many bits.
func float(bits int) form[float64] {
	what := fmt.Sprintf("a finite number of %d bits", bits)
	s := shape{kind: shapeNumber, what: what}
	if bits == 32 { // what rounds to the largest of 32 bits; that of 64 is the largest of most readers of JSON
		s.max = json.Number(strconv.FormatFloat(math.Nextafter(1<<128-1<<103, 0), 'e', -1, 64))
		s.min = "-" + s.max
	}
	return form[float64]{s, func(w *walker, n *node) (float64, bool) {
		if n.kind != scalar || !n.plain || !floatText.MatchString(n.text) {
			hint := "such as 1, 9.5 or 1e3"
			if n.kind == scalar && !n.plain {
				hint = "write the number without quotes"
			}
			w.want(n, what, hint)
			return 0, false
		}
		if _, err := strconv.ParseFloat(n.text, bits); err != nil {
			w.errorf(n.pos, "%s does not fit in %d bits", quote(n.text), bits).Hint = "write a smaller number"
			return 0, false
		}
		v, err := strconv.ParseFloat(n.text, 64)
		return v, err == nil
	}}
}

// lazy returns a form that is made when it is needed: forms may nest in
// themselves.
func lazy[V any](what string, f func() form[V]) form[V] {
	s := shape{kind: shapeLazy, what: what, item: func() shape { return f().shape }}
	return form[V]{s, func(w *walker, n *node) (V, bool) { return f().read(w, n) }}
}
