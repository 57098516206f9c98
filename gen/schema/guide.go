package schema

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"

	"github.com/btgen-dev/btgen/gen/diag"
)

// languageText describes the blocks of the language. A line begins the description of a block, or of several, separated
// by " | ". The indented lines below it begin with
//
//	?  what to write if the value is not a mapping
//	+  a key: its name, and what it is, a noun phrase or a clause for hints and editors
//	.  further sentences about the key, for editors: range, default, example
//	   (in both, $patterns and others are lists of words)
//	-  keys that do not belong here, a colon, and what to write instead; at the end, the rule that explains it
//
// Block "any" has keys of several blocks. Lists of words, such as "a type", are described like blocks; what is mistaken for
// one of the words is in lower case, with underscores for spaces.
//
//go:embed language.txt
var languageText string

// guide is the description of a block.
type guide struct {
	example   string
	keys      map[string][2]string // what a key is, and further sentences
	elsewhere map[string]elsewhere
}

// ruleAtEnd matches a hint that ends with a rule.
var ruleAtEnd = regexp.MustCompile(`^(.*) \[([A-Z]\d\d)\]$`)

// elsewhere is what to write instead of a key.
type elsewhere struct{ hint, rule string }

// guideOf returns the description of a block. It must not be changed.
func guideOf(what string) *guide {
	if g := guides()[what]; g != nil {
		return g
	}
	return &guide{}
}

// key returns what a key is, and further sentences.
func (g *guide) key(name string) (doc, more string) {
	texts, ok := g.keys[name]
	if !ok {
		texts = guides()["any"].keys[name]
	}
	return lists().Replace(texts[0]), lists().Replace(texts[1])
}

// lists replaces the names of lists in descriptions.
var lists = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("$patterns", oneOf(patterns), "$about_patterns", aboutPatterns(), "$encodings", oneOf(encodings),
		"$view_widths", strings.Join(viewWidths, ", "), "$go_types", goTypes(Types()), "$go_key_types", goTypes(keyTypes()))
})

// InsteadOf returns what to write instead of a word of another language; empty if it is none that is often mistaken for what is
// wanted, such as "a time format".
func InsteadOf(word, wanted string) string { return wordHint(wanted, word).hint }

// guides reads the descriptions on first use.
var guides = sync.OnceValue(func() map[string]*guide {
	out := map[string]*guide{}
	for _, e := range diag.ReadEntries(languageText) {
		for what := range strings.SplitSeq(e.Head, " | ") {
			g := out[what]
			if g == nil {
				g = &guide{keys: map[string][2]string{}, elsewhere: map[string]elsewhere{}}
				out[what] = g
			}
			g.add(e.Lines)
		}
	}
	return out
})

// add adds lines to the description of a block.
func (g *guide) add(lines []string) {
	key := ""
	for _, line := range lines {
		switch sign, text, _ := strings.Cut(line, " "); sign {
		case "?":
			g.example = text
		case "+":
			key, text, _ = strings.Cut(text, " ")
			g.keys[key] = [2]string{text}
		case ".":
			g.keys[key] = [2]string{g.keys[key][0], text}
		case "-":
			names, hint, _ := strings.Cut(text, ": ")
			rule := ""
			if m := ruleAtEnd.FindStringSubmatch(hint); m != nil {
				hint, rule = m[1], m[2]
			}
			for name := range strings.FieldsSeq(names) {
				g.elsewhere[name] = elsewhere{hint, rule}
			}
		}
	}
}
