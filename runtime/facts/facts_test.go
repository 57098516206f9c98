package facts_test

import (
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/facts"
)

// TestLayoutsThatContinue compares layouts with later ones whose ends differ: the newest of the
// earlier ones may get an end, and no other end may change.
func TestLayoutsThatContinue(t *testing.T) {
	parse := func(lines ...string) facts.Layouts {
		out, err := facts.Parse(strings.Join(lines, "\n"))
		assert.Must(t, err)
		return out
	}
	for _, c := range []struct {
		what           string
		earlier, later facts.Layouts
		grown, ok      bool
	}{
		{"the same", parse("bucket: 1d"), parse("bucket: 1d"), false, true},
		{"an end", parse("bucket: 1d"), parse("bucket: 1d; until: 2027-01-01T00:00:00Z"), true, true},
		{"another end", parse("bucket: 1d; until: 2026-01-01T00:00:00Z"), parse("bucket: 1d; until: 2027-01-01T00:00:00Z"), false, false},
		{"no end", parse("bucket: 1d; until: 2026-01-01T00:00:00Z"), parse("bucket: 1d"), false, false},
		{"an end of the second", parse("bucket: 1d", "bucket: 1w"), parse("bucket: 1d", "bucket: 1w; until: 2027-01-01T00:00:00Z"), false, false},
		{"a newer layout", parse("bucket: 1d"), parse("bucket: 1h", "bucket: 1d; until: 2027-01-01T00:00:00Z"), true, true},
		{"another bucket", parse("bucket: 1d"), parse("bucket: 1w"), false, false},
	} {
		if how, ok := c.later.Continues(c.earlier); how.Grown() != c.grown || ok != c.ok {
			t.Errorf("%s: grown %v, ok %v", c.what, how.Grown(), ok)
		}
	}
}

// TestParse parses the text of layouts, and writes it again.
func TestParse(t *testing.T) {
	for text, ok := range map[string]bool{
		`pattern: latest; key: string text; key 1 enum 5: "a; b: c"; column "x\"; y: z" in m enum "q": by name`: true,
		"bucket: 1d\nuntil: 2027-01-01T00:00:00Z; bucket: 1h":                                                   true,
		"bucket: 1d; bucket: 1h": false,
		"bucket":                 false,
		"since: tomorrow":        false,
		`column "a: integer`:     false,
	} {
		if got, err := facts.Parse(text); (err == nil) != ok || ok && got.String() != text {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}
