package codec_test

import (
	"fmt"
	"math"
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
		must(t, err)
		s := text.Draw(t, "text")
		if want := ends[0] <= s && s <= ends[1]; re.MatchString(s) != want {
			t.Errorf("%q in %q: want %v by %s", s, ends, want, pattern)
		}
	})
}

// A pattern for unpadded numbers, between two or from one on, matches exactly those, whatever their lengths.
func TestNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.IntRange(1, 200), rapid.IntRange(1, 1_000_000), rapid.SampledFrom([]int{9, 10, 99, 100, 101, 999, 1000}))
		ends := []int{number.Draw(t, "from"), number.Draw(t, "to")}
		slices.Sort(ends)
		piece := codec.KeyPiece{Text: strconv.Itoa(ends[0]), High: strconv.Itoa(ends[1]), Number: true}
		if rapid.Bool().Draw(t, "without end") {
			piece.High, ends[1] = "", math.MaxInt
		}
		re, err := regexp.Compile("^" + codec.KeyPieces{piece}.Regexp() + "$")
		must(t, err)
		n := number.Draw(t, "number")
		for text, want := range map[string]bool{strconv.Itoa(n): ends[0] <= n && n <= ends[1], strconv.Itoa(n)[1:] + "#": false, "0" + strconv.Itoa(n): false} {
			if re.MatchString(text) != want {
				t.Errorf("%s from %d to %d: want %v by %s", text, ends[0], ends[1], want, re)
			}
		}
	})
}
