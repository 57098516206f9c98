package schema

import (
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/diag"
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
