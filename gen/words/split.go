package words

import (
	"strings"
	"unicode"
)

// Split splits a name into words: at underscores, at anything else that is neither letter
// nor digit, and where a capital follows a small letter or a digit.
func Split(name string) []string {
	out := make([]string, 0, 4) // few have more
	begin, small := -1, false   // no word has begun
	end := func(i int) {
		if begin >= 0 {
			out = append(out, name[begin:i])
		}
		begin = -1
	}
	for i, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end(i)
			small = false
			continue
		}
		if small && unicode.IsUpper(r) {
			end(i)
		}
		if begin < 0 {
			begin = i
		}
		small = unicode.IsLower(r) || unicode.IsDigit(r)
	}
	end(len(name))
	return out
}

// Snake returns a name in lowercase words with underscores between them: HourlyNormal is
// hourly_normal.
func Snake(name string) string { return strings.ToLower(strings.Join(Split(name), "_")) }
