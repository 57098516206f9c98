package codec_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/runtime/codec"
	"pgregory.net/rapid"
)

// A pattern for a range of strings matches exactly those. Go's regular expressions work
// on runes, so the test uses ASCII.
func TestBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "bytes")
		text := rapid.StringOfN(rapid.RuneFrom([]rune("\x00\x0109:a~")), n, n, n)
		ends := []string{text.Draw(t, "low"), text.Draw(t, "high")}
		slices.Sort(ends)
		pattern := strings.NewReplacer(`\C`, `[\x00-\x7f]`, `\xff`, `\x7f`).Replace(codec.KeyPieces{{Text: ends[0], High: ends[1]}}.Regexp())
		re, err := regexp.Compile(fmt.Sprintf("^(?:%s)$", pattern))
		if err != nil {
			t.Fatal(err)
		}
		s := text.Draw(t, "text")
		if want := ends[0] <= s && s <= ends[1]; re.MatchString(s) != want {
			t.Errorf("%q in %q: want %v by %s", s, ends, want, pattern)
		}
	})
}

// A pattern for numbers from a minimum on matches exactly those.
func TestNumbersFrom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.IntRange(1, 200), rapid.IntRange(1, 1_000_000), rapid.SampledFrom([]int{9, 10, 99, 100, 101, 999, 1000}))
		from, n := number.Draw(t, "from"), number.Draw(t, "number")
		pattern := strings.NewReplacer(`\C`, `[\x00-\x7f]`, `\xff`, `\x7f`).Replace(codec.KeyPieces{{Text: strconv.Itoa(from), From: true}}.Regexp())
		re, err := regexp.Compile("^" + pattern + "$")
		if err != nil {
			t.Fatal(err)
		}
		if re.MatchString(strconv.Itoa(n)) != (n >= from) {
			t.Errorf("%d from %d on: %s", n, from, pattern)
		}
	})
}
