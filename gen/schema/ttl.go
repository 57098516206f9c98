package schema

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
)

// ttlForm returns the form of a ttl. A nested one is a garbage collection rule, and cannot
// be a strategy that determines the whole family.
func ttlForm(nested bool) form[TTL] {
	u := union[TTL]{
		what:     "a ttl",
		both:     combineTTLs,
		variants: []block[TTL]{maxAgeTTL, maxVersionsTTL, combinedTTL(AnyOf, "any_of"), combinedTTL(AllOf, "all_of")},
	}
	if !nested {
		u.variants = append(u.variants, oneSecondTTL, defaultExpirationTTL, classesTTL, keepTTL)
		return u.form().or(ttlOf)
	}
	u.what = "a nested ttl"
	return u.form()
}

// ttlOf returns the hint for a ttl that is only an age, or a word for none.
func ttlOf(n *node) string {
	if n.kind != scalar {
		return ""
	}
	if meansForever(n.text) {
		return "write `{keep: forever}`"
	}
	if age, ok := intended(n.text); ok {
		return "write " + diag.Code("{max_age: "+age+"}")
	}
	return ""
}

// meansForever reports whether a word says that data never expires.
func meansForever(s string) bool {
	return slices.Contains([]string{"forever", "never", "infinite", "infinity", "inf", "unlimited", "none", "no", "off", "false", "always"}, strings.ToLower(s))
}

// combineTTLs returns the hint for a ttl with several rules: how to combine them.
func combineTTLs(n *node) string {
	var rules []string
	for _, e := range n.entries {
		if slices.Contains([]string{"max_age", "max_versions"}, e.key.text) && e.value.kind == scalar && bareQuantity.MatchString(e.value.text) {
			rules = append(rules, "{"+e.key.text+": "+e.value.text+"}")
		}
	}
	if len(rules) < 2 {
		return "only max_age and max_versions can be combined, as in ttl: {any_of: [{max_age: 30d}, {max_versions: 3}]}"
	}
	text := "[" + strings.Join(rules, ", ") + "]"
	return "to delete when any rule applies, write " + diag.Code("ttl: {any_of: "+text+"}") + "; when all apply, " + diag.Code("ttl: {all_of: "+text+"}")
}

// bareQuantity matches a number with or without a unit.
var bareQuantity = regexp.MustCompile(`^[0-9]+[0-9a-z]*$`)

// beginTTL returns the begin function of a block for a strategy.
func beginTTL(kind TTLKind) func(diag.Pos, *TTL) {
	return func(pos diag.Pos, t *TTL) { t.Pos, t.Kind = pos, kind }
}

func ageOf(t *TTL) *Value[time.Duration] { return &t.Age }

// writtenAtKey names the column for the write time. It may be inside the strategy or next
// to it.
var writtenAtKey = func() key[TTL] {
	k := put("written_at", filled("a column"), func(t *TTL) *Value[string] { return &t.WrittenAt })
	read := k.read
	k.read = func(w *walker, n *node, t *TTL) {
		if t.WrittenAt.IsSet() {
			w.reject(n.pos, "written-at-twice")
			return
		}
		read(w, n, t)
	}
	return k
}()

// fromKey says what the timestamps of cells are.
var fromKey = put("from", word("value of from", []string{"event", "write"}, map[string]string{"written_at": "write", "time": "event"}), func(t *TTL) *Value[string] { return &t.From })

// The strategies. The first key of each identifies it.
var (
	maxAgeTTL = block[TTL]{
		what:  "a ttl with max_age",
		begin: beginTTL(MaxAge),
		keys: []key[TTL]{
			must(put("max_age", ttlAgeForm, ageOf)),
			fromKey,
		},
	}
	maxVersionsTTL = block[TTL]{
		what:  "a ttl with max_versions",
		begin: beginTTL(MaxVersions),
		keys: []key[TTL]{
			must(put("max_versions", integer(1, math.MaxInt32), func(t *TTL) *Value[int] { return &t.Versions })),
			fromKey,
		},
	}
	oneSecondTTL = block[TTL]{
		what:  "a ttl with one_second",
		begin: beginTTL(OneSecond),
		keys: []key[TTL]{
			must(inline("one_second", block[TTL]{
				what: "the block one_second", keys: []key[TTL]{writtenAtKey},
			})),
			writtenAtKey,
		},
	}
	defaultExpirationTTL = block[TTL]{
		what:  "a ttl with default_expiration",
		begin: beginTTL(DefaultExpiration),
		keys:  []key[TTL]{must(defaultExpirationKey), writtenAtKey},
	}
	classesTTL = block[TTL]{
		what:  "a ttl with classes",
		begin: beginTTL(Classes),
		keys: []key[TTL]{
			must(set("classes", named("a mapping from classes to ages", "write `classes: {short: 1h, long: 3d}`", classNameForm, classForm, func(c *Class) *Value[string] { return &c.Name }), func(t *TTL) *[]Class { return &t.Classes })),
		},
	}
	keepTTL = block[TTL]{
		what:  "a ttl with keep",
		begin: beginTTL(KeepForever),
		keys: []key[TTL]{must(key[TTL]{
			name:  "keep",
			shape: foreverForm.shape,
			read:  func(w *walker, n *node, _ *TTL) { foreverForm.read(w, n) },
		}), fromKey},
	}
)

var foreverForm = hintedWord("value of keep", []string{"forever"}, func(text string) string {
	if age, ok := intended(text); ok {
		return "data kept for an age has `ttl: {max_age: " + age + "}`"
	}
	return ""
})

// classForm is the form of the age of a class.
var classForm = form[Class]{ageForm.shape, func(w *walker, n *node) (Class, bool) {
	age, ok := located(ageForm).read(w, n)
	return Class{Age: age}, ok
}}

// defaultExpirationKey accepts an age, or a block with the age.
var defaultExpirationKey = func() key[TTL] {
	age := put("default_expiration", ttlAgeForm, ageOf)
	long := inline("", block[TTL]{
		what: "the block default_expiration",
		keys: []key[TTL]{must(put("age", ageForm, ageOf)), writtenAtKey},
	})
	k := age
	k.shape = shape{kind: shapeEither, what: "an age", either: []shape{age.shape, long.shape}}
	k.read = func(w *walker, n *node, t *TTL) {
		if n.kind == scalar {
			age.read(w, n, t)
		} else {
			long.read(w, n, t)
		}
	}
	return k
}()

// combinedTTL returns the block of a strategy that combines others.
func combinedTTL(kind TTLKind, name string) block[TTL] {
	nested := lazy("a ttl", func() form[TTL] { return ttlForm(true) })
	rules := listOf("a list of rules", "write `"+name+": [{max_age: 30d}, {max_versions: 3}]`", nested).like(func(s *shape) { s.least = 2 })
	return block[TTL]{
		what:  "a ttl with " + name,
		begin: beginTTL(kind),
		keys:  []key[TTL]{must(set(name, rules, func(t *TTL) *[]TTL { return &t.Rules }))},
		check: func(w *walker, n *node, _ *TTL) {
			if v := n.entry(name); v.kind == list && len(v.items) == 1 {
				w.reject(v.pos, "one-rule", name, name)
			}
		},
	}
}
