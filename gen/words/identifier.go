package words

import (
	"strconv"
	"strings"
)

// Identifier returns a name with only ASCII letters, digits and underscores, which begins with a
// letter.
func Identifier(name string) string {
	out := strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' {
			return c
		}
		return '_'
	}, name)
	if out == "" || out[0] == '_' || '0' <= out[0] && out[0] <= '9' {
		return "t" + "_" + strings.TrimLeft(out, "_")
	}
	return out
}

// Free returns a name with a number if it is taken.
func Free(name string, taken func(name string) bool) string {
	for n, own := 2, name; ; n++ {
		if !taken(own) {
			return own
		}
		own = name + "_" + strconv.Itoa(n)
	}
}
