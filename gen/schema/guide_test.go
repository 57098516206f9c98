package schema

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// TestLanguageText checks that language.txt describes all keys, and nothing else, and that no block has a key twice.
func TestLanguageText(t *testing.T) {
	described := map[string]bool{} // blocks and their keys
	var visit func(s shape)
	seen := map[string]bool{}
	visit = func(s shape) {
		if s.kind == shapeLazy {
			if seen[s.what] {
				return
			}
			seen[s.what] = true
		}
		if described[s.what] = true; s.what == "" {
			t.Errorf("%+v does not say what it is", s)
		}
		for _, word := range s.json.Enum {
			described[s.what+": "+word] = true
			if _, misplaced := guideOf(s.what).elsewhere[word]; misplaced {
				t.Errorf("%s is %s", word, s.what)
			}
		}
		if s.item != nil {
			visit(s.item())
		}
		for _, e := range s.either {
			visit(e)
		}
		if s.keys == nil {
			return
		}
		twice := map[string]bool{}
		for _, k := range s.keys() {
			described["any: "+k.name], described[s.what+": "+k.name] = true, true
			if k.doc == "" || twice[k.name] {
				t.Errorf("%s: key %s is not described, or twice", s.what, k.name)
			}
			twice[k.name] = true
			if _, misplaced := guideOf(s.what).elsewhere[k.name]; misplaced {
				t.Errorf("%s has the key %s, which belongs elsewhere", s.what, k.name)
			}
			visit(k.shape)
		}
	}
	visit(rootBlock.shape())
	visit(configBlock.shape())
	for _, e := range diag.ReadEntries(languageText) {
		seen := map[string]bool{}
		for _, line := range e.Lines {
			names, isHint := strings.CutPrefix(line, "- ")
			names, _, _ = strings.Cut(names, ": ")
			for name := range strings.FieldsSeq(names) {
				if isHint && seen[name] {
					t.Errorf("%s: %s is twice", e.Head, name)
				}
				seen[name] = isHint
			}
		}
	}
	for what, g := range guides() {
		if what != "any" && what != "a nested ttl" && !described[what] {
			t.Errorf("there is no block %q", what)
		}
		for name := range g.keys {
			if !described[what+": "+name] {
				t.Errorf("%s has no key %s", what, name)
			}
		}
	}
}

// TestPatternTexts checks that there is a text about each pattern.
func TestPatternTexts(t *testing.T) {
	for _, p := range codec.Patterns() {
		if about, guidance := guideOf("a pattern").key(p.String()); about == "" || guidance == "" {
			t.Errorf("%s: %q, %q", p, about, guidance)
		}
	}
}

// TestOtherTypes checks that the proposal for each type of other languages is a type of this language.
func TestOtherTypes(t *testing.T) {
	for name, e := range guideOf("a type").elsewhere {
		words := regexp.MustCompile("[a-z0-9]+").FindAllString(strings.Join(regexp.MustCompile("`[^`]+`").FindAllString(e.hint, -1), " "), -1)
		if !slices.ContainsFunc(words, func(w string) bool { return slices.Contains(typeNames(), w) }) {
			t.Errorf("no type in %q", e.hint)
		}
		if slices.Contains(typeNames(), name) || name != strings.ToLower(name) {
			t.Errorf("%s is a type of the language, or not in small letters", name)
		}
	}
}

// TestTypeHint checks that the proposal for a type of another language can hold its
// values.
func TestTypeHint(t *testing.T) {
	for _, test := range []struct{ types, want string }{
		{"decimal DECIMAL money numeric decimal(10,2) NUMERIC(18,4)", "`int64` in the smallest unit"},
		{"int integer long bigint INT INTEGER", "`int64`"},
		{"float double real Double", "`float64`"},
		{"number", "`int64` for whole numbers, or `float64`"},
		{"date", "`timestamp`, for its midnight in UTC, or `string`"},
		{"datetime time timestamptz time.Time", "`timestamp`"},
		{"text varchar varchar(255) str", "`string`"},
		{"blob bytea binary(16)", "`bytes`"},
		{"int64? *int64 optional<int64> int64|null Optional[int64]", "`{type: int64, optional: true}`"},
		{"[]string string[] list<string> array", "`json`"},
		{"string(64) String<64>", "`string`"},
		{"Enumeration", "`{type: enum, of: [drizzle, rain]}`"},
		{"enum(a,b) enum[a,b] enum<a|b>", "`{type: enum, of: [a, b]}`"},
		{"strng complex128 x", ""},
	} {
		for name := range strings.FieldsSeq(test.types) {
			if got := typeHint(name); !strings.Contains(got, test.want) || test.want == "" && got != "" {
				t.Errorf("%s: got %q, want %q", name, got, test.want)
			}
		}
	}
}
