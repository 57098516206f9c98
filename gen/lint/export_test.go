package lint

import (
	"regexp"
	"strings"
)

// Sentences returns a pattern for the sentence of each case of findings, by its name.
func (r Rule) Sentences() map[string]*regexp.Regexp {
	out := map[string]*regexp.Regexp{}
	for name, c := range r.cases {
		parts := verb.Split(strings.ReplaceAll(c.says, "%%", "\x00"), -1)
		for i, part := range parts {
			parts[i] = strings.ReplaceAll(regexp.QuoteMeta(part), "\x00", "%")
		}
		out[name] = regexp.MustCompile("^" + strings.Join(parts, "(.*)") + "$")
	}
	return out
}
