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
		begin:    func(pos diag.Pos, kind int, t *TTL) { t.Pos, t.Kind = pos, strategies[kind] },
		kind:     func(t TTL) int { return slices.Index(strategies, t.Kind) },
		variants: []block[TTL]{maxAgeTTL, maxVersionsTTL, combinedTTL("any_of"), combinedTTL("all_of")},
	}
	if !nested {
		u.variants = append(u.variants, oneSecondTTL, defaultExpirationTTL, classesTTL, keepTTL)
		u.instead = ttlOf
		return u.form()
	}
	u.what = "a nested ttl"
	return u.form()
}

// strategies are those of the variants of a ttl.
var strategies = []Strategy{MaxAge, MaxVersions, AnyOf, AllOf, OneSecond, DefaultExpiration, Classes, KeepForever}

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
var fromKey = put("from", word("value of from", []string{"event", "write"}), func(t *TTL) *Value[string] { return &t.From })

// The strategies. The first key of each identifies it.
var (
	maxAgeTTL = block[TTL]{
		what: "a ttl with max_age",
		keys: []key[TTL]{
			must(put("max_age", ttlAgeForm, ageOf)),
			fromKey,
		},
	}
	maxVersionsTTL = block[TTL]{
		what: "a ttl with max_versions",
		keys: []key[TTL]{
			must(put("max_versions", integer(1, math.MaxInt32), func(t *TTL) *Value[int] { return &t.Versions })),
			fromKey,
		},
	}
	oneSecondTTL = block[TTL]{
		what: "a ttl with one_second",
		keys: []key[TTL]{
			oneSecondKey,
			writtenAtKey,
		},
	}
	defaultExpirationTTL = block[TTL]{
		what: "a ttl with default_expiration",
		keys: []key[TTL]{must(defaultExpirationKey), writtenAtKey},
	}
	classesTTL = block[TTL]{
		what: "a ttl with classes",
		keys: []key[TTL]{
			must(set("classes", named("a mapping from classes to ages", "write `classes: {short: 1h, long: 3d}`", classNameForm, in(ageForm, func(c *Class) *Value[time.Duration] { return &c.Age }), func(c *Class) *Value[string] { return &c.Name }), func(t *TTL) *[]Class { return &t.Classes })),
		},
	}
	keepTTL = block[TTL]{
		what: "a ttl with keep",
		keys: []key[TTL]{constant[TTL]("keep", foreverForm, "forever"), fromKey},
	}
)

var foreverForm = word("value of keep", []string{"forever"}, func(text string) string {
	if age, ok := intended(text); ok {
		return "data kept for an age has `ttl: {max_age: " + age + "}`"
	}
	return ""
})

// oneSecondKey may contain the name of the column for the write time, which is written next to it.
var oneSecondKey = func() key[TTL] {
	k := must(inline("one_second", block[TTL]{what: "the block one_second", keys: []key[TTL]{writtenAtKey}}))
	k.text = func(*TTL) string { return "{}" }
	return k
}()

// defaultExpirationKey accepts an age, or a block with the age.
var defaultExpirationKey = put("default_expiration", ttlAgeForm, ageOf).or(inline("", block[TTL]{
	what: "the block default_expiration",
	keys: []key[TTL]{must(put("age", ageForm, ageOf)), writtenAtKey},
}))

// combinedTTL returns the block of a strategy that combines others.
func combinedTTL(name string) block[TTL] {
	nested := lazy("a ttl", func() form[TTL] { return ttlForm(true) })
	rules := listOf("a list of rules", "write `"+name+": [{max_age: 30d}, {max_versions: 3}]`", nested).like(func(s *shape) { s.json.MinItems = 2 })
	return block[TTL]{
		what: "a ttl with " + name,
		keys: []key[TTL]{must(set(name, rules, func(t *TTL) *[]TTL { return &t.Rules }))},
		check: func(w *walker, n *node, _ *TTL) {
			if v := n.entry(name); v.kind == list && len(v.items) == 1 {
				w.reject(v.pos, "one-rule", name, name)
			}
		},
	}
}
