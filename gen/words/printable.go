package words

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns a text in one line that steers neither a terminal nor a
// program: control characters, line ends, characters that nobody sees or that
// turn the order of others round, and bytes that are not UTF-8 are written as Go
// escapes them.
func Printable(text string) string {
	if !strings.ContainsFunc(text, hidden) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			fmt.Fprintf(&b, `\x%02x`, text[i])
		} else if hidden(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden reports whether a character is none that Printable leaves as it is.
func hidden(r rune) bool { return !unicode.IsPrint(r) }
