package words

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns an untrusted text on one line, in a form that is safe in terminals and
// for programs: control, invisible and bidirectional characters, line ends, and bytes that
// are not UTF-8 become Go escapes.
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

// Excerpt returns the beginning of an untrusted text like [Printable], with at most a number of characters and then an
// ellipsis: for messages that repeat a text of any size.
func Excerpt(text string, most int) string {
	whole := len(text) <= 4*most // a character has at most four bytes
	out := []rune(Printable(text[:min(len(text), 4*most)]))
	if len(out) > most || !whole {
		out = append(out[:min(len(out), most)], '…')
	}
	return string(out)
}

// hidden reports whether Printable escapes a character.
func hidden(r rune) bool { return !unicode.IsPrint(r) }
