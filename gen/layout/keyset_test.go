package layout_test

import (
	"fmt"
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/internal/keyset"
)

// A range has the strings of its length that sort between its ends, and no others.
func TestBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) string { return fmt.Sprintf("%03d", rapid.IntRange(0, 999).Draw(t, name)) }
		low, high, s := draw("low"), draw("high"), draw("string")
		low, high = min(low, high), max(low, high)
		got, ok := keyset.Overlap(keyset.Between(low, high, keyset.Digits), keyset.Text(s))
		if want := low <= s && s <= high; ok != want || ok && got != s {
			t.Fatalf("%s in %s to %s: got %q, %v", s, low, high, got, ok)
		}
	})
}

// Sets of two letters and short strings overlap if a regular expression finds one of all
// short strings in both.
func TestOverlapOfRandomSets(t *testing.T) {
	var all []string
	for n := 0; n <= 5; n++ {
		for i := range 1 << n {
			s := ""
			for k := range n {
				s += string(rune('a' + i>>k&1))
			}
			all = append(all, s)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, ra := drawSet(t, 3)
		b, rb := drawSet(t, 3)
		want := false
		for _, s := range all {
			want = want || ra.MatchString(s) && rb.MatchString(s)
		}
		got, ok := keyset.Overlap(a, b)
		if ok && (!ra.MatchString(got) || !rb.MatchString(got)) {
			t.Fatalf("%q is not in both %s and %s", got, ra, rb)
		}
		if want && !ok || ok && !want && len(got) <= 5 {
			t.Fatalf("overlap of %s and %s: %v, want %v", ra, rb, ok, want)
		}
	})
}

// drawSet draws a set, and the regular expression for it.
func drawSet(t *rapid.T, depth int) (keyset.Set, *regexp.Regexp) {
	s, text := drawPart(t, depth)
	return s, regexp.MustCompile("^(?:" + text + ")$")
}

func drawPart(t *rapid.T, depth int) (keyset.Set, string) {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind %= 3
	}
	switch kind {
	case 0:
		text := rapid.StringMatching("[ab]{0,2}").Draw(t, "text")
		return keyset.Text(text), text
	case 1:
		n := rapid.IntRange(1, 2).Draw(t, "n")
		return keyset.Repeat(keyset.Class{{'a', 'b'}}, n), fmt.Sprintf("[ab]{%d}", n)
	case 2:
		c := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "byte")
		return keyset.Repeat(keyset.Class{{c[0], c[0]}}, 0), c + "+"
	}
	a, ra := drawPart(t, depth-1)
	b, rb := drawPart(t, depth-1)
	if kind == 3 {
		return keyset.Optional(a), "(?:" + ra + ")?"
	}
	if kind == 4 {
		return keyset.Union(a, b), "(?:" + ra + "|" + rb + ")"
	}
	return keyset.Concat(a, b), "(?:" + ra + ")(?:" + rb + ")"
}
