// Package frame completes the parts of schemas that tests are written in.
package frame

import (
	"regexp"
	"strings"
)

// keys is a schema without errors, by top-level key. A test case contains the keys that
// it tests, and keys provides the others.
var keys = []struct{ key, text string }{
	{"btgen", "btgen: v1\n"},
	{"package", "package: weather\n"},
	{"name", "name: Balloon\n"},
	{"series", "series: {location: string, balloon_id: int64}\n"},
	{"fields", "fields: {pressure: int64}\n"},
	{"tables", "tables:\n  readings:\n    pattern: single_unserialized\n    key: {delimiter: \"#\", segments: [location, balloon_id, time]}\n"},
}

// Schema appends the missing top-level keys to text, so that the line numbers of text do
// not change.
func Schema(text string) string {
	var rest strings.Builder
	for _, k := range keys {
		if !regexp.MustCompile(`(?m)^` + k.key + `:`).MatchString(text) {
			rest.WriteString(k.text)
		}
	}
	return text + rest.String()
}
