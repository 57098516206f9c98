package words

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Width returns how many columns of a terminal a text occupies.
func Width(text string) int {
	n := 0
	for _, r := range text {
		if r < utf8.RuneSelf {
			n++
			continue
		}
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}
