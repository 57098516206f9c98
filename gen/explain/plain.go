package explain

import (
	"strconv"
	"strings"
	"unicode"
)

// oneLine puts a text of the schema on a line. What cannot be shown, or would
// steer a terminal, is written as Go does.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
	}
	return b.String()
}
